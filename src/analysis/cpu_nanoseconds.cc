#include "src/analysis/cpu_nanoseconds.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/row_costs.h"

namespace edgesage {
namespace {

// Nanoseconds, fitted to LiteRT 2.3 on one core of a server with AVX-512 and VNNI.
constexpr double kRow = 35;
constexpr double kBuiltin = 150;        // preparing one of the runtime's own kernels
constexpr double kPartition = 320;      // entering a delegated partition
constexpr double kInt8Mac = 1.0 / 520;  // packed 16 outputs by 4 inputs
constexpr double kFloatMac = 1.0 / 126;
constexpr double kOutput = 0.09;  // requantising and storing a convolution's output
constexpr double kPixel = 0.65;
constexpr double kIndirection = 0.2;  // one pointer for each tap of each pixel
constexpr double kInt8Weight = 0.006, kFloatWeight = 0.039;  // one pass over a matrix
constexpr double kDepthwise9 = 0.26, kDepthwise25 = 0.65;    // an output, up to that many taps
// Beyond 25 taps no kernel of the delegate keeps its sums in registers.
constexpr int64_t kUnrolledTaps = 25;
constexpr double kSlowDepthwiseTap = 0.325;

double whole(double value, double unit) { return std::ceil(std::max(value, 0.0) / unit) * unit; }

double convolution_ns(const Row& row) {
  const int64_t taps = int64_t{row.kernel_h} * row.kernel_w;
  const double pixels = static_cast<double>(row.ofm.n) * static_cast<double>(row.ofm.h) *
                        static_cast<double>(row.ofm.w);
  const double depth =
      static_cast<double>(taps) * static_cast<double>(row.ifm.c / std::max<int64_t>(row.groups, 1));
  const double mac = row.ifm_type == DataType::kFloat32 ? kFloatMac : kInt8Mac;
  const double indirect = taps > 1 ? kIndirection * pixels * static_cast<double>(taps) : 0.0;
  return pixels * (whole(static_cast<double>(row.ofm.c), 16) * whole(depth, 4) * mac + kPixel) +
         indirect + kOutput * static_cast<double>(row.ofm.elements());
}

double depthwise_ns(const Row& row) {
  const int64_t taps = int64_t{row.kernel_h} * row.kernel_w;
  const double outputs = static_cast<double>(row.ofm.n) * static_cast<double>(row.ofm.h) *
                         static_cast<double>(row.ofm.w) * whole(static_cast<double>(row.ofm.c), 16);
  if (taps > kUnrolledTaps)
    return static_cast<double>(row.ofm.elements()) * static_cast<double>(taps) * kSlowDepthwiseTap;
  return outputs * (taps <= 9 ? kDepthwise9 : kDepthwise25);
}

double fully_connected_ns(const Row& row, double macs) {
  const bool is_float = row.ifm_type == DataType::kFloat32;
  const double weights = static_cast<double>(row.ifm.c) * static_cast<double>(row.ofm.c);
  return std::max(weights * (is_float ? kFloatWeight : kInt8Weight),
                  macs * (is_float ? kFloatMac : kInt8Mac));
}

// By output element: in the delegate, and in the runtime's own kernels.
double element_ns(const Row& row, bool is_builtin) {
  switch (row.kind) {
    case RowKind::kAdd:
    case RowKind::kSub:
      return is_builtin ? 1.0 : 0.084;
    case RowKind::kMul:
      return is_builtin ? 1.0 : 0.18;
    case RowKind::kActivation:
    case RowKind::kElementwise:
    case RowKind::kMinMax:
      return is_builtin ? 3.04 : 0.042;
    case RowKind::kSoftmax:
      return is_builtin ? 2.33 : 0.3;
    case RowKind::kResize:
      return is_builtin ? 0.03 : 0.5;
    case RowKind::kArgMax:
      return 1.0;
    case RowKind::kQuantize:
      return is_builtin ? 1.0 : 0.04;
    default:
      return is_builtin ? 0.05 : 0.035;
  }
}

double row_ns(const Row& row, const RowCost& cost) {
  const bool is_builtin = row.placement == Placement::kCpu;
  const auto macs = static_cast<double>(cost.macs);
  const auto elements = static_cast<double>(row.ofm.elements());
  const double taps = static_cast<double>(row.kernel_h) * row.kernel_w;
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kTransposeConv:
      return convolution_ns(row);
    case RowKind::kDepthwiseConv2D:
      return depthwise_ns(row);
    case RowKind::kFullyConnected:
      return fully_connected_ns(row, macs);
    case RowKind::kMatMul:
      return 2 * macs * kInt8Mac + kOutput * elements;
    case RowKind::kRecurrent:
      return macs * (is_builtin ? 0.1 : kFloatMac);
    case RowKind::kAveragePool:
      return elements * taps * (is_builtin ? 0.177 : 0.04);
    case RowKind::kMaxPool:
      return elements * taps * (is_builtin ? 0.177 : 0.039);
    case RowKind::kReduce:
      return static_cast<double>(cost.ifm_bytes) * (is_builtin ? 0.5 : 0.021);
    default:
      return elements * element_ns(row, is_builtin);
  }
}

}  // namespace

std::vector<double> cpu_row_ns(const Graph& graph, const Lowering& lowering) {
  return cpu_row_ns(lowering, row_costs(graph, lowering));
}

std::vector<double> cpu_row_ns(const Lowering& lowering, std::span<const RowCost> costs) {
  std::vector<double> nanoseconds(lowering.rows.size(), 0.0);
  if (lowering.target.kind != TargetKind::kLitertXnnpack) return nanoseconds;
  int32_t partition = -1;
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    const Row& row = lowering.rows[i];
    nanoseconds[i] = kRow + row_ns(row, costs[i]);
    if (row.placement == Placement::kCpu) nanoseconds[i] += kBuiltin;
    if (row.partition >= 0 && row.partition != partition) nanoseconds[i] += kPartition;
    partition = row.partition;
  }
  return nanoseconds;
}

}  // namespace edgesage
