#include "src/lower/ethos_rows.h"

#include <algorithm>
#include <utility>

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
    case OpKind::kHardSwish:
    case OpKind::kElu:
    case OpKind::kGelu:
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kRsqrt:
    case OpKind::kLeakyRelu:
      return type == DataType::kInt8 || type == DataType::kUInt8;
    default:
      return false;
  }
}

// Rows whose result the NPU can still clamp or look up before it is written.
bool takes_activation(const Row& row) {
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
  Row& row = builder.row(producer);
  if (!takes_activation(row) || row.activation != OpKind::kUnknown) return false;
  row.activation = op.kind;
  builder.fuse(index, producer);
  return true;
}

// 8-bit softmax: the maximum is subtracted, exponentials come from a table, their sum's reciprocal
// is refined in three Newton steps on 32-bit integers.
void lower_softmax(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kSoftmax, Placement::kNpu);
  if (whole.ifm_type != DataType::kInt8 && whole.ifm_type != DataType::kUInt8) {
    builder.add(whole);
    return;
  }
  const Shape4 all{1, 1, whole.ifm.n * whole.ifm.h * whole.ifm.w, whole.ifm.c};
  const Shape4 one{1, 1, all.w, 1};
  Row maximum = whole;
  maximum.kind = RowKind::kMaxPool;
  maximum.ifm = all;
  maximum.ofm = one;
  maximum.kernel_w = static_cast<int32_t>(std::min<int64_t>(all.c, INT32_MAX));
  maximum.ofm_tensors.clear();
  const int32_t max_row = builder.add(std::move(maximum));
  Row exponential = whole;
  exponential.kind = RowKind::kSub;
  exponential.ifm = exponential.ofm = all;
  exponential.ifm2 = one;
  exponential.has_ifm2 = true;
  exponential.ofm_type = DataType::kInt32;
  exponential.activation = OpKind::kExp;
  exponential.ofm_tensors.clear();
  exponential.inputs = {max_row};
  const int32_t exp_row = builder.add(std::move(exponential));
  const int32_t shifted = builder.add_inner(whole, RowKind::kShift, all, all, {exp_row});
  const int32_t sum = builder.add_inner(whole, RowKind::kReduce, all, one, {shifted});
  const int32_t zeros = builder.add_inner(whole, RowKind::kShift, one, one, {sum});
  int32_t last = builder.add_inner(whole, RowKind::kSub, one, one, {zeros});
  last = builder.add_inner(whole, RowKind::kSub, one, one, {last});
  last = builder.add_inner(whole, RowKind::kShift, one, one, {sum, last});
  last = builder.add_inner(whole, RowKind::kMul, one, one, {last});
  last = builder.add_inner(whole, RowKind::kAdd, one, one, {last});
  for (int step = 0; step < 3; ++step)
    for (const RowKind kind :
         {RowKind::kMul, RowKind::kSub, RowKind::kMul, RowKind::kMul, RowKind::kAdd})
      last = builder.add_inner(whole, kind, one, one, {last});
  last = builder.add_inner(whole, RowKind::kMul, one, one, {last});
  last = builder.add_inner(whole, RowKind::kAdd, all, all, {exp_row, last});
  Row result = whole;
  result.kind = RowKind::kShift;
  result.ifm = result.ofm = all;
  result.ifm_type = DataType::kInt32;
  result.ifm_tensors.clear();
  result.inputs = {zeros, last};
  std::ranges::sort(result.inputs);
  builder.add(std::move(result));
}

// A mean over height and width is a depthwise convolution whose weights the compiler makes up.
void lower_mean(RowBuilder& builder, int32_t index) {
  Row row = builder.make(index, RowKind::kReduce, Placement::kNpu);
  const Tensor* input = input_tensor(builder.subgraph(), builder.op(index), 0);
  const auto axes = reduction_axes(builder.graph(), builder.subgraph(), builder.op(index));
  if (input != nullptr && axes) {
    const auto rank = static_cast<int64_t>(input->shape.size());
    const auto reduces = [&](int64_t from_end) {
      return std::ranges::find(*axes, rank - from_end) != axes->end();
    };
    if (!reduces(1)) {
      row.kind = RowKind::kDepthwiseConv2D;
      row.invented_weights = true;
      row.groups = row.ifm.c;
      if (reduces(2)) row.kernel_w = static_cast<int32_t>(row.ifm.w);
      if (reduces(3)) row.kernel_h = static_cast<int32_t>(row.ifm.h);
      row.ofm = {row.ifm.n, reduces(3) ? 1 : row.ifm.h, reduces(2) ? 1 : row.ifm.w, row.ifm.c};
    }
  }
  row.has_ifm2 = false;
  builder.add(std::move(row));
}

void lower_npu_operator(RowBuilder& builder, int32_t index) {
  const Operator& op = builder.op(index);
  const Tensor* input = input_tensor(builder.subgraph(), op, operand_roles(op).ifm);
  const DataType type = input != nullptr ? input->type : DataType::kUnknown;
  builder.place(index, Placement::kNpu, {});
  if (is_reshape(op.kind)) {
    builder.alias(index);
    return;
  }
  if ((is_clamp(op.kind) || is_lut(op.kind, type)) && fuse_activation(builder, index)) return;
  if (op.kind == OpKind::kSoftmax) return lower_softmax(builder, index);
  if (op.kind == OpKind::kMean) return lower_mean(builder, index);
  RowKind kind = default_row_kind(op.kind);
  if (is_lut(op.kind, type)) kind = RowKind::kLut;
  Row row = builder.make(index, kind, Placement::kNpu);
  // One input channel that is multiplied is an ordinary convolution.
  if (row.kind == RowKind::kDepthwiseConv2D && row.ifm.c == 1 && row.ofm.c > 1)
    row.kind = RowKind::kConv2D;
  builder.add(std::move(row));
}

}  // namespace

void lower_ethos(RowBuilder& builder) {
  const auto count = static_cast<int32_t>(builder.subgraph().operators.size());
  for (int32_t index = 0; index < count; ++index) {
    const Operator& op = builder.op(index);
    std::string reason =
        ethos_obstacle(builder.graph(), builder.subgraph(), op, builder.target().kind);
    if (reason.empty()) {
      lower_npu_operator(builder, index);
      continue;
    }
    builder.place(index, Placement::kCpu, std::move(reason));
    builder.add(builder.make(index, default_row_kind(op.kind), Placement::kCpu));
  }
}

}  // namespace edgesage
