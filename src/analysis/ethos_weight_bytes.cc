#include "src/analysis/ethos_weight_bytes.h"

#include <algorithm>

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Zeros that fill up groups of eight channels and four taps are stored too, though shortly.
double filling(const Row& row, int64_t elements, bool part_kernel) {
  const int64_t taps = int64_t{row.kernel_h} * row.kernel_w;
  const bool by_four = part_kernel || row.kind == RowKind::kDepthwiseConv2D;
  double filled = real(round_up(row.ofm.c, 8)) * real(by_four ? round_up(taps, 4) : taps);
  if (row.kind != RowKind::kDepthwiseConv2D)
    filled *= real(round_up(std::max<int64_t>(row.ifm.c / std::max<int64_t>(row.groups, 1), 1), 8));
  return std::max(filled - real(elements), 0.0);
}

}  // namespace

EthosWeightBytes ethos_weight_bytes(const Graph& graph, const Row& row, double bits,
                                    bool part_kernel) {
  constexpr double kBitsOfFilling = 0.25, kHeaderBytes = 40;  // fitted to Vela's output
  EthosWeightBytes bytes;
  if (row.invented_weights) {
    // Ones take a bit each, and a header.
    const int64_t taps = int64_t{row.kernel_h} * row.kernel_w;
    bytes.values = real(round_up(taps, 4)) * real(round_up(row.ofm.c, 8)) / 8 + 16;
  } else if (row.weights >= 0) {
    const Tensor& weights = graph.main().tensors[static_cast<size_t>(row.weights)];
    const int64_t elements = weights.element_count();
    bytes.values =
        (real(elements) * bits + kBitsOfFilling * filling(row, elements, part_kernel)) / 8 +
        kHeaderBytes;
  } else {
    return bytes;
  }
  bytes.scales = real(round_up(10 * row.ofm.c, 16));
  return bytes;
}

Row ethos_within_reason(const Row& row) {
  const auto clamp = [](int64_t side) { return std::clamp<int64_t>(side, 1, 1 << 20); };
  Row result = row;
  for (Shape4* shape : {&result.ifm, &result.ifm2, &result.ofm})
    *shape = {clamp(shape->n), clamp(shape->h), clamp(shape->w), clamp(shape->c)};
  for (int32_t* side : {&result.kernel_h, &result.kernel_w, &result.stride_h, &result.stride_w,
                        &result.dilation_h, &result.dilation_w})
    *side = std::clamp(*side, 1, 1 << 16);
  result.groups = clamp(result.groups);
  return result;
}

}  // namespace edgesage
