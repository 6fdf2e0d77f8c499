#include "src/analysis/weight_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace edgesage {
namespace {

// Counts by distance from the zero point, -255 ... 255.
using Histogram = std::array<int32_t, 511>;

void count_value(std::byte byte, bool is_signed, int64_t zero, Histogram& counts) {
  const auto raw = std::to_integer<uint8_t>(byte);
  const int64_t value = is_signed ? static_cast<int64_t>(static_cast<int8_t>(raw)) : raw;
  ++counts[static_cast<size_t>(std::clamp<int64_t>(value - zero + 255, 0, 510))];
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
    int32_t bits = 0;  // at most kWeightSample times 512
    for (int32_t number = 0; number < static_cast<int32_t>(counts.size()); ++number)
      bits += counts[static_cast<size_t>(number)] * ((number >> shift) + 1 + shift);
    best = std::min(best, static_cast<double>(bits) / total + kUnaryOverhead);
  }
  return best;
}

double fixed_bits(size_t distinct) {
  return std::max(std::ceil(std::log2(static_cast<double>(std::max<size_t>(distinct, 2)))), 1.0);
}

// Bits of one value, over zigzag counts of which `total` are not zero.
double value_bits(std::span<const int32_t> zigzag, double total) {
  size_t used = zigzag.size();
  while (used > 1 && zigzag[used - 1] == 0) --used;
  const double bits = std::min(golomb_bits(zigzag.first(used), total), fixed_bits(used));
  std::array<int32_t, kPalette> ranked{};
  size_t distinct = 0;
  for (const int32_t count : zigzag.first(used)) {
    if (count == 0) continue;
    if (distinct == kPalette) return bits;
    ranked[distinct++] = count;
  }
  const std::span<int32_t> palette = std::span(ranked).first(distinct);
  std::ranges::sort(palette, std::greater<>());
  return std::min({bits, fixed_bits(distinct), golomb_bits(palette, total)});
}

double encoded_bits(const Histogram& counts, double total) {
  std::array<int32_t, 511> zigzag{};
  for (int value = -255; value <= 255; ++value)
    zigzag[static_cast<size_t>(value < 0 ? -2 * value - 1 : 2 * value)] =
        counts[static_cast<size_t>(value + 255)];
  const double plain = value_bits(zigzag, total);
  const double zeros = zigzag[0];
  if (zeros <= 0 || zeros >= total) return plain;
  const std::span<const int32_t> without_zero = std::span(zigzag).subspan(1);
  const double others = total - zeros, run = zeros / others;
  const double run_shift = std::max(std::floor(std::log2(std::max(run, 1.0))), 0.0);
  const double run_bits = run / std::exp2(run_shift) + 1 + run_shift - (run_shift > 0 ? 0.5 : 0.0);
  return std::min(plain, others / total * (value_bits(without_zero, others) + run_bits));
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

WeightStats stats_of(const Histogram& counts, double total) {
  WeightStats stats;
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

}  // namespace

WeightStats weight_stats_of_sample(std::span<const std::byte> sample, bool is_signed,
                                   int64_t zero_point) {
  if (sample.empty()) return {};
  Histogram counts{};
  for (const std::byte byte : sample) count_value(byte, is_signed, zero_point, counts);
  return stats_of(counts, static_cast<double>(sample.size()));
}

WeightStats weight_stats(const Graph& graph, const Tensor& tensor) {
  WeightStats stats;
  const bool is_signed = tensor.type == DataType::kInt8;
  if (!is_signed && tensor.type != DataType::kUInt8) return stats;
  const std::span<const std::byte> bytes = graph.constant(tensor);
  if (bytes.empty()) return is_absent(graph, tensor) ? kTypical : stats;
  const std::vector<int64_t>& zeros = tensor.quantization.zero_point;
  const int64_t zero = zeros.empty() ? 0 : zeros.front();
  // Evenly spread; every element of a small tensor.
  const size_t taken = std::min(bytes.size(), kWeightSample);
  Histogram counts{};
  for (size_t i = 0; i < taken; ++i)
    count_value(bytes[weight_sample_index(i, bytes.size())], is_signed, zero, counts);
  return stats_of(counts, static_cast<double>(taken));
}

std::vector<WeightStats> row_weight_stats(const Graph& graph, const Lowering& lowering) {
  std::vector<WeightStats> stats(lowering.rows.size());
  if (graph.subgraphs.empty()) return stats;
  const std::vector<Tensor>& tensors = graph.main().tensors;
  std::vector<int32_t> first_row(tensors.size(), -1);  // that reads the tensor
  for (size_t i = 0; i < stats.size(); ++i) {
    const int32_t weights = lowering.rows[i].weights;
    if (weights < 0) continue;
    int32_t& first = first_row[static_cast<size_t>(weights)];
    if (first < 0) {
      first = static_cast<int32_t>(i);
      stats[i] = weight_stats(graph, tensors[static_cast<size_t>(weights)]);
    } else {
      stats[i] = stats[static_cast<size_t>(first)];
    }
  }
  return stats;
}

}  // namespace edgesage
