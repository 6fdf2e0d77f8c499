#include "src/lower/ethos_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/graph/custom_ops.h"
#include "src/lower/ethos_decompositions.h"
#include "src/lower/ethos_memory_rows.h"
#include "src/lower/ethos_placement.h"
#include "src/lower/op_rows.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

bool is_clamp(OpKind kind) {
  return kind == OpKind::kRelu || kind == OpKind::kRelu6 || kind == OpKind::kReluN1To1 ||
         kind == OpKind::kRelu0To1;
}

bool is_lut(OpKind kind, DataType type) {
  switch (kind) {
    case OpKind::kLogistic:
    case OpKind::kTanh:
      return type == DataType::kInt8 || type == DataType::kUInt8 || type == DataType::kInt16;
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kRsqrt:
      return type == DataType::kInt8 || type == DataType::kUInt8 || type == DataType::kInt16;
    case OpKind::kHardSwish:
    case OpKind::kElu:
    case OpKind::kGelu:
    case OpKind::kPrelu:
    case OpKind::kLeakyRelu:
      return type == DataType::kInt8 || type == DataType::kUInt8;
    default:
      return false;
  }
}

// Below eight output channels a convolution cannot clamp or look up as it writes.
bool is_thin_convolution(const Row& row) {
  const bool convolves = row.kind == RowKind::kConv2D || row.kind == RowKind::kDepthwiseConv2D ||
                         row.kind == RowKind::kTransposeConv;
  return convolves && row.ofm.c < 8;
}

// Rows whose result the NPU can still clamp or look up before it is written.
bool takes_activation(const Row& row) {
  if (is_thin_convolution(row)) return false;
  switch (row.kind) {
    case RowKind::kConv2D:
    case RowKind::kDepthwiseConv2D:
    case RowKind::kTransposeConv:
    case RowKind::kFullyConnected:
    case RowKind::kMatMul:
    case RowKind::kAveragePool:
    case RowKind::kMaxPool:
    case RowKind::kAdd:
    case RowKind::kSub:
    case RowKind::kMul:
    case RowKind::kMinMax:
    case RowKind::kQuantize:
      return row.placement == Placement::kNpu && !row.ofm_tensors.empty();
    default:
      return false;
  }
}

bool fuse_activation(RowBuilder& builder, int32_t index) {
  const Operator& op = builder.op(index);
  const int32_t input = op.inputs.front();
  const int32_t producer = builder.writer(input);
  if (producer < 0 || !builder.is_only_use(input, index)) return false;
  // A concatenation or a border has several writers; each would have to clamp its part.
  const int32_t maker = builder.producer(input);
  if (maker >= 0 && default_row_kind(builder.op(maker).kind) == RowKind::kCopy) return false;
  if (maker >= 0 && default_row_kind(builder.op(maker).kind) == RowKind::kPad) return false;
  Row& row = builder.row(producer);
  if (!takes_activation(row) || row.activation != OpKind::kUnknown) return false;
  row.activation = op.kind;
  builder.fuse(index, producer);
  return true;
}

// Operators with a lowering of their own.
using Lower = void (*)(RowBuilder&, int32_t);
Lower special_lowering(const RowBuilder& builder, const Operator& op) {
  if (is_reshape(op.kind)) return ethos::lower_reshape;
  switch (op.kind) {
    case OpKind::kSoftmax:
      return ethos::lower_softmax;
    case OpKind::kMean:
      return ethos::lower_mean;
    case OpKind::kSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
      return ethos::lower_reduction;
    case OpKind::kArgMax:
      return ethos::lower_arg_max;
    case OpKind::kResizeBilinear:
    case OpKind::kResizeNearestNeighbor:
      return ethos::lower_resize;
    case OpKind::kBatchMatmul:
      return ethos::lower_mat_mul;
    case OpKind::kFullyConnected: {
      const Tensor* weights = input_tensor(builder.subgraph(), op, 1);
      return weights != nullptr && !weights->is_constant() ? ethos::lower_mat_mul : nullptr;
    }
    case OpKind::kSquaredDifference:
      return ethos::lower_squared_difference;
    case OpKind::kTranspose:
      return ethos::lower_transpose;
    case OpKind::kDepthwiseConv2D:
      return ethos::lower_depthwise;
    case OpKind::kLeakyRelu:
      return ethos::lower_leaky_relu;
    case OpKind::kPrelu:
      return ethos::lower_prelu;
    case OpKind::kConcatenation:
    case OpKind::kPack:
      return ethos::lower_concatenation;
    case OpKind::kSlice:
    case OpKind::kStridedSlice:
    case OpKind::kSplit:
    case OpKind::kSplitV:
    case OpKind::kUnpack:
      return ethos::lower_slice;
    case OpKind::kPad:
    case OpKind::kPadv2:
      return ethos::lower_pad;
    case OpKind::kTile:
      return ethos::lower_tile;
    default:
      return nullptr;
  }
}

// Gives a thin convolution's activation function a row of its own.
void split_thin_activation(RowBuilder& builder, int32_t index) {
  const int32_t output = builder.op(index).outputs.front();
  const int32_t row_index = builder.writer(output);
  if (row_index < 0) return;
  Row& row = builder.row(row_index);
  if (row.op != index || row.activation == OpKind::kUnknown || !is_thin_convolution(row)) return;
  Row activation = row;
  activation.kind = RowKind::kActivation;
  activation.activation = OpKind::kUnknown;
  activation.op_kind = row.activation;
  activation.ifm = row.ofm;
  activation.ifm_type = row.ofm_type;
  activation.kernel_h = activation.kernel_w = activation.stride_h = activation.stride_w = 1;
  activation.dilation_h = activation.dilation_w = 1;
  activation.pad_top = activation.pad_left = activation.pad_bottom = activation.pad_right = 0;
  activation.groups = 1;
  activation.weights = activation.bias = kNoTensor;
  activation.fused.clear();
  activation.ifm_tensors.clear();
  activation.inputs = {row_index};
  row.activation = OpKind::kUnknown;
  builder.take_output(row_index, output);
  builder.add(std::move(activation));
}

void lower_npu_operator(RowBuilder& builder, int32_t index) {
  const Operator& op = builder.op(index);
  const Tensor* input = input_tensor(builder.subgraph(), op, operand_roles(op).ifm);
  const DataType type = input != nullptr ? input->type : DataType::kUnknown;
  // A PRELU of several slopes has no table.
  const bool sloped = op.kind == OpKind::kPrelu && !ethos::has_one_slope(builder, index);
  const bool looked_up = !sloped && is_lut(op.kind, type);
  if ((is_clamp(op.kind) || looked_up) && fuse_activation(builder, index)) return;
  if (looked_up) {
    builder.add(builder.make(index, RowKind::kLut, Placement::kNpu));
    return;
  }
  if (const Lower lower_special = special_lowering(builder, op); lower_special != nullptr) {
    lower_special(builder, index);
    return;
  }
  Row row = builder.make(index, default_row_kind(op.kind), Placement::kNpu);
  if (op.kind == OpKind::kConv2D) ethos::absorb_padding(builder, row);
  if (op.kind == OpKind::kNeg) row.kind = RowKind::kSub;  // zero minus the input
  builder.add(std::move(row));
}

// Operators that some output of the graph depends on. The others are dropped by the compiler,
// though not by a runtime on a CPU.
std::vector<uint8_t> needed_operators(const RowBuilder& builder) {
  const auto& operators = builder.subgraph().operators;
  std::vector<uint8_t> needed(operators.size(), 0);
  // A graph without outputs says nothing of what is needed; what has no results works by its
  // effect.
  const bool unknown = builder.subgraph().outputs.empty();
  std::vector<uint8_t> read(builder.subgraph().tensors.size(), 0);
  const auto is_read = [&](int32_t tensor) {
    return tensor >= 0 && static_cast<size_t>(tensor) < read.size() &&
           (read[static_cast<size_t>(tensor)] != 0 || builder.is_graph_output(tensor));
  };
  for (size_t i = operators.size(); i-- > 0;) {
    const Operator& op = operators[i];
    const bool acts = op.outputs.empty() || op.kind == OpKind::kAssignVariable ||
                      op.kind == OpKind::kCallOnce || op.kind == OpKind::kCustom;
    if (!unknown && !acts && std::ranges::none_of(op.outputs, is_read)) continue;
    needed[i] = 1;
    for (const int32_t input : op.inputs)
      if (input >= 0 && static_cast<size_t>(input) < read.size())
        read[static_cast<size_t>(input)] = 1;
  }
  return needed;
}

}  // namespace

void lower_ethos(RowBuilder& builder) {
  const auto count = static_cast<int32_t>(builder.subgraph().operators.size());
  // All placements first: whether an operator is free can depend on who reads its result.
  const std::vector<uint8_t> needed = needed_operators(builder);
  for (int32_t index = 0; index < count; ++index) {
    if (needed[static_cast<size_t>(index)] == 0) {
      builder.place(index, Placement::kFolded, "no output needs it");
      continue;
    }
    std::string reason = ethos_obstacle(builder.graph(), builder.subgraph(), builder.op(index),
                                        builder.target().kind);
    const Placement placement = reason.empty() ? Placement::kNpu : Placement::kCpu;
    builder.place(index, placement, std::move(reason));
  }
  for (int32_t index = 0; index < count; ++index) {
    if (needed[static_cast<size_t>(index)] == 0) continue;
    if (builder.is_placed_on(index, Placement::kNpu)) {
      lower_npu_operator(builder, index);
      if (!builder.op(index).outputs.empty()) split_thin_activation(builder, index);
    } else {
      const RowKind kind = default_row_kind(base_kind(builder.op(index)));
      builder.add(builder.make(index, kind, Placement::kCpu));
    }
  }
}

}  // namespace edgesage
