#include "src/analysis/cpu_nanoseconds.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/row_costs.h"

namespace edgesage {
namespace {

constexpr double kLaunchNs = 800;
constexpr double kGemmMacsPerNs = 60;  // int8, vectors of 64
constexpr double kDepthwiseMacsPerNs = 6;
constexpr double kBytesPerNs = 8;

double rounded(int64_t channels, double unit) {
  return std::ceil(static_cast<double>(channels) / unit) * unit;
}

double gemm_ns(const Row& row, double macs) {
  const double ratio = row.ofm.c > 0 ? rounded(row.ofm.c, 16) / static_cast<double>(row.ofm.c) : 1;
  const double slower = row.ifm_type == DataType::kFloat32 ? 2.0 : 1.0;
  return macs * ratio * slower / kGemmMacsPerNs;
}

double row_ns(const Row& row, const RowCost& cost) {
  const auto macs = static_cast<double>(cost.macs);
  const auto elements = static_cast<double>(row.ofm.elements());
  const auto bytes = static_cast<double>(cost.ifm_bytes) + static_cast<double>(cost.ofm_bytes);
  const bool is_builtin = row.placement == Placement::kCpu;
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kTransposeConv:
    case RowKind::kFullyConnected:
    case RowKind::kMatMul:
    case RowKind::kRecurrent:
      return gemm_ns(row, macs) + static_cast<double>(cost.weights_bytes) / kBytesPerNs / 4;
    case RowKind::kDepthwiseConv2D:
      // Beyond 25 taps there is no kernel that keeps its sums in registers.
      return macs /
             (row.kernel_h * row.kernel_w > 25 ? kDepthwiseMacsPerNs / 10 : kDepthwiseMacsPerNs);
    case RowKind::kAveragePool:
    case RowKind::kMaxPool:
      return elements * row.kernel_h * row.kernel_w / (is_builtin ? 4.0 : 16.0);
    case RowKind::kActivation:
    case RowKind::kElementwise:
      return is_builtin ? elements * 4.0 : bytes / kBytesPerNs;
    case RowKind::kSoftmax:
      return elements * (is_builtin ? 6.0 : 1.5);
    case RowKind::kArgMax:
    case RowKind::kResize:
      return elements * (is_builtin ? 1.5 : 0.3);
    default:
      return bytes / (is_builtin ? kBytesPerNs / 4 : kBytesPerNs);
  }
}

}  // namespace

std::vector<double> cpu_row_ns(const Graph& graph, const Lowering& lowering) {
  std::vector<double> nanoseconds(lowering.rows.size(), 0.0);
  if (lowering.target.is_ethos()) return nanoseconds;
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  for (size_t i = 0; i < nanoseconds.size(); ++i)
    nanoseconds[i] = kLaunchNs + row_ns(lowering.rows[i], costs[i]);
  return nanoseconds;
}

}  // namespace edgesage
