#include "src/lower/edge_tpu_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "src/graph/op_registry.h"
#include "src/lower/generic_rows.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

bool has_layer(OpKind kind) {
  switch (kind) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kFullyConnected:
    case OpKind::kBatchMatmul:
    case OpKind::kAveragePool2D:
    case OpKind::kMaxPool2D:
    case OpKind::kMean:
    case OpKind::kSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kRelu:
    case OpKind::kRelu6:
    case OpKind::kReluN1To1:
    case OpKind::kRelu0To1:
    case OpKind::kLeakyRelu:
    case OpKind::kPrelu:
    case OpKind::kLogistic:
    case OpKind::kTanh:
    case OpKind::kHardSwish:
    case OpKind::kElu:
    case OpKind::kGelu:
    case OpKind::kAbs:
    case OpKind::kNeg:
    case OpKind::kQuantize:
    case OpKind::kExp:
    case OpKind::kSqrt:
    case OpKind::kRsqrt:
    case OpKind::kSquare:
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
    case OpKind::kConcatenation:
    case OpKind::kPad:
    case OpKind::kPadv2:
    case OpKind::kMirrorPad:
    case OpKind::kSlice:
    case OpKind::kStridedSlice:
    case OpKind::kSplit:
    case OpKind::kSplitV:
    case OpKind::kTranspose:
    case OpKind::kPack:
    case OpKind::kUnpack:
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
    case OpKind::kSpaceToBatchNd:
    case OpKind::kBatchToSpaceNd:
    case OpKind::kResizeNearestNeighbor:
    case OpKind::kTile:
    case OpKind::kBroadcastTo:
    case OpKind::kReverseV2:
      return true;
    default:
      return false;
  }
}

bool has_eight_bits(DataType type) { return type == DataType::kInt8 || type == DataType::kUInt8; }

// Empty: the accelerator has it.
std::string obstacle(const RowBuilder& builder, const Row& row) {
  const Operator& op = builder.op(row.op);
  if (!has_layer(op.kind)) return fmt::format("no layer for {}", op_name(op.kind));
  for (const DataType type : {row.ifm_type, row.ofm_type})
    if (!has_eight_bits(type))
      return fmt::format("{} is not a type of 8 bits, and the machine has no other",
                         type_name(type));
  if (row.kind == RowKind::kReduce) {
    const auto axes = reduction_axes(builder.graph(), builder.subgraph(), op);
    const Tensor* input = input_tensor(builder.subgraph(), op, 0);
    if (!axes || axes->empty() || input == nullptr || input->shape.size() != 4 ||
        !std::ranges::all_of(*axes, [](int64_t axis) { return axis == 1 || axis == 2; }))
      return "only means over height and width of four dimensions have a layer";
  }
  return {};
}

}  // namespace

int32_t lower_edge_tpu(RowBuilder& builder) {
  (void)lower_generic(builder);
  int32_t partitions = 0;
  for (int32_t i = 0; i < builder.row_count(); ++i) {
    Row& row = builder.row(i);
    const bool free = row.kind == RowKind::kReshape;
    std::string reason = free ? std::string() : obstacle(builder, row);
    row.placement = reason.empty() ? Placement::kNpu : Placement::kCpu;
    row.partition = reason.empty() ? 0 : -1;
    if (reason.empty()) partitions = 1;
    builder.place(row.op, row.placement, free ? "moves no data" : std::move(reason));
  }
  return partitions;
}

}  // namespace edgesage
