#include "src/analysis/ethos_constants.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/analysis/ethos_machine.h"
#include "src/analysis/ethos_weight_bytes.h"

namespace edgesage {
namespace {

double real(int64_t value) { return static_cast<double>(value); }
double width_of(DataType type) { return std::max(bits_per_element(type) / 8.0, 1.0); }

// Headers of the streams of weights and what fills them up; fitted.
double unestimated(const Row& row, bool is_u85) {
  if (row.kind == RowKind::kDepthwiseConv2D) return 24;
  return is_u85 ? 180 : 66;
}

double operand(const Row& row) {
  constexpr double kAlignment = 16;
  if (row.kind == RowKind::kGather)  // from a table that the model holds
    return real(row.ifm.elements()) * width_of(row.ifm_type);
  if (!row.has_ifm2 || !row.ifm2_constant) return 0;
  const double bytes = real(row.ifm2.elements()) * width_of(row.ifm_type);
  return std::ceil(bytes / kAlignment) * kAlignment;
}

}  // namespace

std::vector<double> ethos_constant_bytes(const Lowering& lowering,
                                         std::span<const double> weights) {
  constexpr double kExponential = 1024, kScalar = 16;
  constexpr double kTable = 160;  // of activations, some of which are the same; fitted
  const bool is_u85 = lowering.target.kind == TargetKind::kEthosU85;
  std::vector<double> bytes(lowering.rows.size(), 0);
  std::set<double> zeros;
  bool had_softmax = false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (lowering.rows[i].placement != Placement::kNpu) continue;
    const Row row = ethos_within_reason(lowering.rows[i]);
    if (weights[i] > 0) bytes[i] += weights[i] + unestimated(row, is_u85);
    bytes[i] += operand(row);
    if (row.op_kind == OpKind::kSoftmax) {
      bytes[i] += had_softmax ? kScalar : kExponential;
      had_softmax = true;
    } else if (ethos_looks_up(row)) {
      bytes[i] += kTable;
    }
    if (!row.spreads) continue;
    const double spread = real(row.ofm.elements()) * width_of(row.ofm_type);
    if (zeros.insert(spread).second) bytes[i] += spread;
  }
  return bytes;
}

}  // namespace edgesage
