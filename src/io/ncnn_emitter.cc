#include "src/io/ncnn_emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

constexpr float kNominalScale =
    1.0F / 128;  // the file has none; kinds of rows depend on its presence

}  // namespace

NcnnEmitter::NcnnEmitter(bool int8) : activations_(int8 ? DataType::kInt8 : DataType::kFloat32) {
  graph_.format = "ncnn";
  graph_.buffers.resize(1);
  graph_.subgraphs.resize(1);
  graph_.main().name = "main";
}

int64_t NcnnEmitter::dimension(Id x, int64_t axis) const {
  const auto rank = static_cast<int64_t>(shape(x).size()) - 1;  // without the batch
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return -1;
  if (rank == 3) return axis == 0 ? 3 : axis;
  return axis + 1;
}

NcnnEmitter::Id NcnnEmitter::tensor(std::string_view name, DataType type, Shape shape) {
  auto& tensors = graph_.main().tensors;
  Tensor added;
  added.name = name;
  added.type = type;
  added.shape = std::move(shape);
  if (type == DataType::kInt8) {
    added.quantization.scale = {kNominalScale};
    added.quantization.zero_point = {0};
  }
  tensors.push_back(std::move(added));
  return static_cast<Id>(tensors.size()) - 1;
}

NcnnEmitter::Id NcnnEmitter::input(std::string_view name, Shape shape) {
  const Id id = tensor(name, activations_, std::move(shape));
  graph_.main().inputs.push_back(id);
  return id;
}

NcnnEmitter::Id NcnnEmitter::constant(std::string_view name, Shape shape) {
  const Id id = tensor(name, activations_, std::move(shape));
  graph_.main().tensors.back().buffer = static_cast<int32_t>(graph_.buffers.size());
  graph_.buffers.push_back({});
  return id;
}

NcnnEmitter::Id NcnnEmitter::ints(const std::vector<int64_t>& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  const Id id = tensor("", DataType::kInt32, {static_cast<int64_t>(values.size())});
  graph_.main().tensors.back().buffer = static_cast<int32_t>(graph_.buffers.size());
  graph_.buffers.push_back(make_buffer(std::as_bytes(std::span(narrow))));
  return id;
}

NcnnEmitter::Id NcnnEmitter::scalar(double value, DataType type) {
  const Id id = tensor("", type, {});
  graph_.main().tensors.back().buffer = static_cast<int32_t>(graph_.buffers.size());
  const auto real = static_cast<float>(value);
  const auto stored = static_cast<int8_t>(std::clamp(value * 16, -127.0, 127.0));
  graph_.buffers.push_back(type == DataType::kInt8
                               ? make_buffer(std::as_bytes(std::span(&stored, 1)))
                               : make_buffer(std::as_bytes(std::span(&real, 1))));
  return id;
}

std::vector<NcnnEmitter::Id> NcnnEmitter::add(Operator op, const std::vector<Shape>& shapes) {
  DataType made = activations_;
  for (const Id x : op.inputs) {
    if (x < 0 || graph_.main().tensors[static_cast<size_t>(x)].is_constant()) continue;
    made = type(x);
    break;
  }
  for (const Shape& shape : shapes) op.outputs.push_back(tensor("", made, shape));
  std::vector<Id> outputs = op.outputs;
  graph_.main().operators.push_back(std::move(op));
  return outputs;
}

NcnnEmitter::Id NcnnEmitter::add(Operator op, Shape shape) {
  return add(std::move(op), std::vector<Shape>{std::move(shape)}).front();
}

NcnnEmitter::Id NcnnEmitter::weighted(Operator op, Id x, Shape filter, int64_t channels,
                                      bool has_bias, Shape shape) {
  const bool int8 = type(x) == DataType::kInt8;
  const bool per_channel = op.kind != OpKind::kFullyConnected;
  const bool channel_last = op.kind == OpKind::kDepthwiseConv2D;
  const auto absent = [&](DataType made, Shape dims, size_t scales) {
    const Id id = tensor("", made, std::move(dims));
    Tensor& added = graph_.main().tensors.back();
    added.buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.push_back({});
    if (!int8) return id;
    added.quantization.scale.assign(scales, kNominalScale);
    added.quantization.zero_point.assign(scales, 0);
    return id;
  };
  const auto scales = per_channel ? static_cast<size_t>(channels) : size_t{1};
  const Id weights = absent(type(x), std::move(filter), scales);
  if (int8 && channel_last) graph_.main().tensors.back().quantization.axis = 3;
  const Id bias = has_bias
                      ? absent(int8 ? DataType::kInt32 : DataType::kFloat32, {channels}, scales)
                      : kNoTensor;
  if (op.kind == OpKind::kTransposeConv) {
    const Id target = ints(shape);
    op.inputs = {target, weights, x};
    if (has_bias) op.inputs.push_back(bias);
  } else {
    op.inputs = {x, weights, bias};
  }
  return add(std::move(op), std::move(shape));
}

NcnnEmitter::Id NcnnEmitter::as_float(Id x) {
  if (type(x) == DataType::kFloat32) return x;
  Operator op;
  op.kind = OpKind::kDequantize;
  op.inputs = {x};
  const Id id = add(std::move(op), shape(x));
  Tensor& made = graph_.main().tensors[static_cast<size_t>(id)];
  made.type = DataType::kFloat32;
  made.quantization = {};
  return id;
}

NcnnEmitter::Id NcnnEmitter::unary(OpKind kind, Id x) {
  Operator op;
  op.kind = kind;
  op.inputs = {x};
  return add(std::move(op), shape(x));
}

NcnnEmitter::Id NcnnEmitter::binary(OpKind kind, Id a, Id b, Shape shape) {
  Operator op;
  op.kind = kind;
  op.inputs = {a, b};
  return add(std::move(op), std::move(shape));
}

NcnnEmitter::Id NcnnEmitter::reshape(Id x, Shape shape) {
  Operator op;
  op.kind = OpKind::kReshape;
  op.inputs = {x, ints(shape)};
  op.set("new_shape", shape);
  return add(std::move(op), std::move(shape));
}

NcnnEmitter::Id NcnnEmitter::transpose(Id x, const std::vector<int64_t>& order) {
  Operator op;
  op.kind = OpKind::kTranspose;
  op.inputs = {x, ints(order)};
  Shape shape;
  for (const int64_t dim : order) shape.push_back(this->shape(x)[static_cast<size_t>(dim)]);
  return add(std::move(op), std::move(shape));
}

NcnnEmitter::Id NcnnEmitter::pad(Id x, const std::vector<int64_t>& pads) {
  const Id amounts = ints(pads);
  graph_.main().tensors.back().shape = {static_cast<int64_t>(pads.size()) / 2, 2};
  Operator op;
  op.kind = OpKind::kPad;
  op.inputs = {x, amounts};
  Shape padded = shape(x);
  for (size_t i = 0; i < padded.size(); ++i) padded[i] += pads[2 * i] + pads[2 * i + 1];
  return add(std::move(op), std::move(padded));
}

void NcnnEmitter::rename(Id x, std::string_view name) {
  std::string& given = graph_.main().tensors[static_cast<size_t>(x)].name;
  if (given.empty()) given = name;
}

}  // namespace edgesage
