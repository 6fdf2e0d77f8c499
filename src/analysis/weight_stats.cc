#include "src/analysis/weight_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace edgesage {
namespace {

constexpr size_t kSample = 4096;

// Counts by distance from the zero point, -255 ... 255.
using Histogram = std::array<int32_t, 511>;

Histogram sample_histogram(std::span<const std::byte> bytes, bool is_signed, int64_t zero) {
  Histogram counts{};
  const size_t taken = std::min(bytes.size(), kSample);
  for (size_t i = 0; i < taken; ++i) {
    const auto raw = std::to_integer<uint8_t>(bytes[i * bytes.size() / taken]);
    const int64_t value = is_signed ? static_cast<int64_t>(static_cast<int8_t>(raw)) : raw;
    ++counts[static_cast<size_t>(std::clamp<int64_t>(value - zero + 255, 0, 510))];
  }
  return counts;
}

// The codec's ways to write a value: a Golomb-Rice code of its zigzag number (the divisors that its
// encoder picks are 1, 2, 4, 8 and 32), a fixed number of bits, or either of an index into a
// palette of at most 32 values. Runs of zeros can be counted instead of written.
constexpr std::array<int, 5> kShifts = {0, 1, 2, 3, 5};
constexpr double kUnaryOverhead = 0.1;  // bits a value lost to alignment of the unary parts
constexpr size_t kPalette = 32;
constexpr double kStreamOverhead = 1.05;  // changes of code within a stream, by measurement

double golomb_bits(std::span<const int32_t> counts, double total) {
  double best = 9;
  for (const int shift : kShifts) {
    double bits = 0;
    for (size_t number = 0; number < counts.size(); ++number)
      bits += static_cast<double>(counts[number]) *
              static_cast<double>((number >> shift) + 1 + static_cast<size_t>(shift));
    best = std::min(best, bits / total + kUnaryOverhead);
  }
  return best;
}

double fixed_bits(size_t distinct) {
  return std::max(std::ceil(std::log2(static_cast<double>(std::max<size_t>(distinct, 2)))), 1.0);
}

// Bits of one value, over zigzag counts of which `total` are not zero.
double value_bits(std::span<const int32_t> zigzag, double total) {
  size_t last = 0;
  std::vector<int32_t> ranked;
  for (size_t number = 0; number < zigzag.size(); ++number) {
    if (zigzag[number] == 0) continue;
    last = number;
    ranked.push_back(zigzag[number]);
  }
  double bits = std::min(golomb_bits(zigzag, total), fixed_bits(last + 1));
  if (ranked.size() <= kPalette) {
    std::ranges::sort(ranked, std::greater<>());
    bits = std::min({bits, fixed_bits(ranked.size()), golomb_bits(ranked, total)});
  }
  return bits;
}

double encoded_bits(const Histogram& counts, double total) {
  std::vector<int32_t> zigzag(511, 0);
  for (int value = -255; value <= 255; ++value)
    zigzag[static_cast<size_t>(value < 0 ? -2 * value - 1 : 2 * value)] =
        counts[static_cast<size_t>(value + 255)];
  const double plain = value_bits(zigzag, total);
  const double zeros = zigzag[0];
  if (zeros <= 0 || zeros >= total) return plain;
  zigzag.erase(zigzag.begin());  // numbers without zero, counted from it
  const double others = total - zeros, run = zeros / others;
  const double run_shift = std::max(std::floor(std::log2(std::max(run, 1.0))), 0.0);
  const double run_bits = run / std::exp2(run_shift) + 1 + run_shift - (run_shift > 0 ? 0.5 : 0.0);
  return std::min(plain, others / total * (value_bits(zigzag, others) + run_bits));
}

// Medians over the convolutions of sampled networks.
constexpr WeightStats kTypical{.zero_fraction = 0.02,
                               .distinct = 200,
                               .entropy_bits = 6.6,
                               .mean_abs = 30,
                               .encoded_bits_estimate = 7.5};

// A constant that has elements but no bytes.
bool is_absent(const Graph& graph, const Tensor& tensor) {
  return tensor.buffer >= 0 && static_cast<size_t>(tensor.buffer) < graph.buffers.size() &&
         tensor.element_count() > 0;
}

}  // namespace

WeightStats weight_stats(const Graph& graph, const Tensor& tensor) {
  WeightStats stats;
  const bool is_signed = tensor.type == DataType::kInt8;
  if (!is_signed && tensor.type != DataType::kUInt8) return stats;
  const std::span<const std::byte> bytes = graph.constant(tensor);
  if (bytes.empty()) return is_absent(graph, tensor) ? kTypical : stats;
  const std::vector<int64_t>& zeros = tensor.quantization.zero_point;
  const Histogram counts = sample_histogram(bytes, is_signed, zeros.empty() ? 0 : zeros.front());
  const auto total = static_cast<double>(std::min(bytes.size(), kSample));
  for (int value = -255; value <= 255; ++value) {
    const int32_t count = counts[static_cast<size_t>(value + 255)];
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    stats.distinct += 1;
    stats.entropy_bits -= share * std::log2(share);
    stats.mean_abs += share * std::abs(value);
    if (value == 0) stats.zero_fraction = share;
  }
  stats.encoded_bits_estimate = kStreamOverhead * encoded_bits(counts, total);
  return stats;
}

}  // namespace edgesage
