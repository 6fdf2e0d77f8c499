// Scratch memory of CMSIS-NN's kernels: what its functions *_get_buffer_size answer, by the
// instructions of the core. Facts of CMSIS-NN at revision 99f736a6 (July 2026), for GCC; Arm's own
// compiler asks for 4 bytes a channel more in 1x1 convolutions on cores with DSP instructions.
// Bytes. Pure functions.
#pragma once

#include <cstdint>

namespace edgesage::cmsis_nn {

enum class Core : uint8_t {
  kPlain,  // Cortex-M0, M0+, M3
  kDsp,    // M4, M7, M33: 16-bit multiplications in pairs
  kMve,    // M52, M55, M85: Helium
};

// A convolution over NHWC. `pad_*` is the padding before the image.
struct Window {
  int64_t batch = 1, in_w = 1, in_h = 1, in_c = 1;
  int64_t filter_w = 1, filter_h = 1, filter_c = 1;
  int64_t out_w = 1, out_c = 1;
  int64_t stride_w = 1, stride_h = 1, dilation_w = 1, dilation_h = 1;
  int64_t pad_w = 0, pad_h = 0;
};

[[nodiscard]] int64_t convolution_s8(Core core, const Window& window);
[[nodiscard]] int64_t convolution_s16(Core core, const Window& window);
// Weights of 8 bits; of 4 bits.
[[nodiscard]] int64_t depthwise_s8(Core core, const Window& window);
[[nodiscard]] int64_t depthwise_s4(Core core, const Window& window);
[[nodiscard]] int64_t transposed_convolution_s8(Core core, const Window& window);
// The second buffer, of the reversed filter; 0 where the filter is not reversed.
[[nodiscard]] int64_t reversed_filter_s8(const Window& window);
[[nodiscard]] int64_t fully_connected_s8(Core core, int64_t outputs);
[[nodiscard]] int64_t average_pool(Core core, int64_t channels);  // 8 and 16 bits
[[nodiscard]] int64_t svdf_s8(Core core, int64_t filters);

}  // namespace edgesage::cmsis_nn
