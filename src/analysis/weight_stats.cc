#include "src/analysis/weight_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

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

// Golomb-Rice code of zigzag values with the best divisor.
double golomb_bits(const Histogram& counts, double total) {
  double best = 9;
  for (int shift = 0; shift <= 6; ++shift) {
    double bits = 0;
    for (int value = -255; value <= 255; ++value) {
      const int32_t count = counts[static_cast<size_t>(value + 255)];
      const int zigzag = value < 0 ? -2 * value - 1 : 2 * value;
      bits += static_cast<double>(count) * static_cast<double>((zigzag >> shift) + 1 + shift);
    }
    best = std::min(best, bits / total);
  }
  return best;
}

}  // namespace

WeightStats weight_stats(const Graph& graph, const Tensor& tensor) {
  WeightStats stats;
  const bool is_signed = tensor.type == DataType::kInt8;
  if (!is_signed && tensor.type != DataType::kUInt8) return stats;
  const std::span<const std::byte> bytes = graph.constant(tensor);
  if (bytes.empty()) return stats;
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
  stats.encoded_bits_estimate = golomb_bits(counts, total);
  return stats;
}

}  // namespace edgesage
