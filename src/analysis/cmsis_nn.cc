#include "src/analysis/cmsis_nn.h"

#include <algorithm>
#include <initializer_list>

namespace edgesage::cmsis_nn {
namespace {

constexpr int64_t kMveChannels = 124;      // that a depthwise kernel works on at a time
constexpr int64_t kReversedChannels = 16;  // above: a transposed convolution reverses its filter
constexpr int64_t kLargest = int64_t{1}
                             << 40;  // no arena holds it; keeps sums of products from overflow

int64_t product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (const int64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result)) return kLargest;
  return std::clamp<int64_t>(result, 0, kLargest);
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

int64_t taps(const Window& window) { return product({window.filter_w, window.filter_h}); }

bool is_undilated(const Window& window) { return window.dilation_w == 1 && window.dilation_h == 1; }

bool is_pointwise(const Window& window) {
  return window.pad_w == 0 && window.pad_h == 0 && taps(window) == 1 && is_undilated(window) &&
         window.in_c == window.filter_c;
}

// One row in, one row of taps: no columns are unfolded but at the two ends.
bool is_row(const Window& window) {
  return window.in_h == 1 && window.dilation_w == 1 && window.filter_h == 1 &&
         window.stride_w * window.in_c % 4 == 0 && window.in_c == window.filter_c;
}

// Columns as the products want them: two of 16-bit numbers in fours, or with Helium four in
// sixteens.
int64_t unfolded_s8(Core core, const Window& window) {
  const int64_t column = product({taps(window), window.in_c});
  return core == Core::kMve ? 4 * round_up(column, 16) : 4 * round_up(column, 4);
}

int64_t row_mve(const Window& window) {
  const int64_t total = (window.out_w - 1) * window.stride_w + window.filter_w - window.in_w;
  const int64_t uneven = total % 2;
  const auto outputs_over = [&](int64_t padding) {
    return padding == 0 ? 0
                        : std::max<int64_t>(1, (padding + window.stride_w - 1) / window.stride_w);
  };
  const int64_t right = outputs_over(window.pad_w + uneven), left = outputs_over(window.pad_w);
  const int64_t inner = std::max<int64_t>(window.out_w - (right + left), 0);
  if (right + inner + left != window.out_w) return unfolded_s8(Core::kMve, window);
  const int64_t pad_left = product({window.pad_w, window.in_c});
  const int64_t pad_right = uneven != 0 ? product({right, window.in_c}) : pad_left;
  const int64_t row = product({window.filter_w, window.in_c});
  return std::max(row + pad_left, row - window.in_c + pad_right);
}

int64_t fast_depthwise(Core core, const Window& window) {
  if (core == Core::kMve) return product({4, kMveChannels, taps(window)});
  return product({2, window.in_c, taps(window)});
}

bool has_fast_depthwise(const Window& window) {
  return window.in_c == window.out_c && window.batch == 1 && is_undilated(window);
}

bool is_reversed(const Window& window) {
  return window.stride_w <= 2 && window.stride_h <= 2 && window.in_c > kReversedChannels;
}

}  // namespace

int64_t convolution_s8(Core core, const Window& window) {
  if (is_pointwise(window)) return 0;
  return core == Core::kMve && is_row(window) ? row_mve(window) : unfolded_s8(core, window);
}

int64_t convolution_s16(Core core, const Window& window) {
  const int64_t column = product({taps(window), window.in_c});
  return core == Core::kMve ? 8 * round_up(column, 8) : 4 * column;
}

int64_t depthwise_s8(Core core, const Window& window) {
  // Of one channel it is a convolution, whose filter is put in another order first.
  if (core == Core::kMve && window.in_c == 1 && window.out_c > 1) {
    Window plain = window;
    plain.filter_c = 1;
    return convolution_s8(core, plain) + product({taps(window), window.filter_c});
  }
  if (core == Core::kPlain || !has_fast_depthwise(window)) return 0;
  const bool three_by_three =
      window.filter_w == 3 && window.filter_h == 3 && window.pad_w <= 1 && window.pad_h <= 1;
  return core == Core::kDsp && three_by_three ? 0 : fast_depthwise(core, window);
}

int64_t depthwise_s4(Core core, const Window& window) {
  return has_fast_depthwise(window) ? fast_depthwise(core, window) : 0;
}

int64_t transposed_convolution_s8(Core core, const Window& window) {
  if (is_reversed(window)) return unfolded_s8(core, window);
  const int64_t across =
      (window.in_w - 1) * window.stride_w + std::max(window.filter_w, window.stride_h);
  return product({4, across, window.out_c, std::max(window.filter_h, window.stride_h)});
}

int64_t reversed_filter_s8(const Window& window) {
  return is_reversed(window) ? product({taps(window), window.in_c, window.out_c}) : 0;
}

int64_t fully_connected_s8(Core core, int64_t outputs) {
  return core == Core::kMve ? product({4, outputs}) : 0;
}

int64_t average_pool(Core core, int64_t channels) {
  return core == Core::kDsp ? product({4, channels}) : 0;
}

int64_t svdf_s8(Core core, int64_t filters) {
  return core == Core::kMve ? product({4, filters}) : 0;
}

}  // namespace edgesage::cmsis_nn
