#include "src/io/onnx/convert_emitter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace edgesage::onnx::convert {
namespace {

constexpr int64_t kMostPermuted8Bit = int64_t{4} << 20;
constexpr int64_t kMostPermuted = int64_t{64} << 10;
constexpr int64_t kMostPermutedInAll = int64_t{64} << 20;
constexpr float kNominalScale = 1.0F / 128;

// Copies elements of `width` bytes so that result dimension i is source dimension order[i].
std::vector<std::byte> permuted(std::span<const std::byte> source, const Shape& sides,
                                std::span<const int64_t> order, size_t width) {
  std::vector<int64_t> strides(sides.size(), 1);
  for (size_t i = sides.size(); i-- > 1;) strides[i - 1] = strides[i] * sides[i];
  std::vector<int64_t> index(order.size(), 0);
  std::vector<std::byte> result(source.size());
  int64_t at = 0;
  for (size_t out = 0; out + width <= result.size(); out += width) {
    std::memcpy(result.data() + out, source.data() + static_cast<size_t>(at) * width, width);
    for (size_t d = order.size(); d-- > 0;) {
      const auto from = static_cast<size_t>(order[d]);
      at += strides[from];
      if (++index[d] < sides[from]) break;
      at -= strides[from] * sides[from];
      index[d] = 0;
    }
  }
  return result;
}

std::array<std::byte, 8> scalar_bytes(double value, DataType type, double scale, size_t& width) {
  std::array<std::byte, 8> bytes{};
  const auto put = [&](auto stored) {
    std::memcpy(bytes.data(), &stored, sizeof stored);
    width = sizeof stored;
  };
  switch (type) {
    case DataType::kFloat32:
      put(static_cast<float>(value));
      break;
    case DataType::kFloat64:
      put(value);
      break;
    case DataType::kInt32:
      put(static_cast<int32_t>(std::clamp(value, -2147483648.0, 2147483647.0)));
      break;
    case DataType::kInt64:
      put(static_cast<int64_t>(std::clamp(value, -9e18, 9e18)));
      break;
    case DataType::kInt8:
      put(static_cast<int8_t>(std::clamp(std::round(value / scale), -128.0, 127.0)));
      break;
    default:
      width = 0;  // a shape without bytes
  }
  return bytes;
}

}  // namespace

DataType data_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return DataType::kFloat32;
    case ElementType::kUint8:
    case ElementType::kFloat8E8M0:
      return DataType::kUInt8;
    case ElementType::kInt8:
      return DataType::kInt8;
    case ElementType::kUint16:
      return DataType::kUInt16;
    case ElementType::kInt16:
      return DataType::kInt16;
    case ElementType::kInt32:
      return DataType::kInt32;
    case ElementType::kInt64:
      return DataType::kInt64;
    case ElementType::kString:
      return DataType::kString;
    case ElementType::kBool:
      return DataType::kBool;
    case ElementType::kFloat16:
      return DataType::kFloat16;
    case ElementType::kDouble:
      return DataType::kFloat64;
    case ElementType::kUint32:
      return DataType::kUInt32;
    case ElementType::kUint64:
      return DataType::kUInt64;
    case ElementType::kComplex64:
      return DataType::kComplex64;
    case ElementType::kComplex128:
      return DataType::kComplex128;
    case ElementType::kBfloat16:
      return DataType::kBFloat16;
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
      return DataType::kFloat8E4M3FN;
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
      return DataType::kFloat8E5M2;
    case ElementType::kUint4:
    case ElementType::kFloat4E2M1:
      return DataType::kUInt4;
    case ElementType::kInt4:
      return DataType::kInt4;
    case ElementType::kUint2:
    case ElementType::kInt2:
      return DataType::kInt2;
    default:
      return DataType::kUnknown;
  }
}

Quantization quantization_of(const QuantParameters& parameters, int32_t axis_dim) {
  Quantization quantization;
  // Blocks have more scales than a tensor's description can say; the first stands for them.
  const bool many = parameters.block > 0;
  quantization.scale =
      many && !parameters.scale.empty() ? std::vector{parameters.scale.front()} : parameters.scale;
  quantization.zero_point = many && !parameters.zero_point.empty()
                                ? std::vector{parameters.zero_point.front()}
                                : parameters.zero_point;
  quantization.axis = many ? 0 : axis_dim;
  return quantization;
}

int64_t elements(const Shape& shape) {
  Tensor tensor;
  tensor.shape = shape;
  return tensor.element_count();
}

int32_t Constants::add(Buffer buffer) {
  graph_.buffers.push_back(std::move(buffer));
  return static_cast<int32_t>(graph_.buffers.size()) - 1;
}

int32_t Constants::absent() { return add({}); }

int32_t Constants::bytes(std::span<const std::byte> data) { return add(make_buffer(data)); }

int32_t Constants::buffer(const Constant& constant, const View& view, const Shape& stored,
                          const View::Move& move) {
  const auto [it, added] = made_.try_emplace(
      Key{&constant, move.permutation.empty() ? Shape{} : move.split, move.permutation, 0, 0}, 0);
  if (!added) return it->second;
  const int width = element_bits(constant.element);
  std::shared_ptr<const void> storage = constant.storage;
  if (storage == nullptr) storage = model_;
  const auto size = static_cast<int64_t>(constant.data.size());
  const int64_t most = width == 8 ? kMostPermuted8Bit : kMostPermuted;
  if (move.permutation.empty()) return it->second = add({constant.data, std::move(storage)});
  const Shape& sides = move.split.empty() ? stored : move.split;
  if (width % 8 != 0 || size == 0 || size > most || permuted_bytes_ + size > kMostPermutedInAll ||
      view.atoms().empty())
    return it->second = absent();
  permuted_bytes_ += size;
  return it->second = bytes(
             permuted(constant.data, sides, move.permutation, static_cast<size_t>(width) / 8));
}

int32_t Constants::slice(const Constant& constant, int64_t begin, int64_t count) {
  const auto [it, added] = made_.try_emplace(Key{&constant, {}, {}, begin, count}, 0);
  if (!added) return it->second;
  const auto size = static_cast<int64_t>(constant.data.size());
  if (begin < 0 || count <= 0 || begin > size || count > size - begin) return it->second = absent();
  std::shared_ptr<const void> storage = constant.storage;
  if (storage == nullptr) storage = model_;
  return it->second =
             add({constant.data.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
                  std::move(storage)});
}

Id Emitter::add_tensor(std::string_view name, const Made& made, Shape shape) {
  Tensor added;
  added.name = name;
  added.type = made.type;
  added.shape = std::move(shape);
  const auto id = static_cast<Id>(subgraph().tensors.size());
  if (made.quant != nullptr) {
    added.quantization = quantization_of(*made.quant, 0);
    quants_[id] = made.quant;
  }
  subgraph().tensors.push_back(std::move(added));
  return id;
}

Id Emitter::adopt(Tensor tensor, std::string_view name, const Quant& quant) {
  const auto id = static_cast<Id>(subgraph().tensors.size());
  tensor.name = name;
  tensor.buffer = kNoBuffer;
  if (quant != nullptr) quants_[id] = quant;
  subgraph().tensors.push_back(std::move(tensor));
  return id;
}

Made Emitter::made_of(Id x) {
  const auto it = quants_.find(x);
  return {tensor(x).type, it == quants_.end() ? nullptr : it->second};
}

Id Emitter::ints(const std::vector<int64_t>& values, bool scalar) {
  std::vector<int64_t> key = values;
  key.push_back(scalar ? 1 : 0);
  const auto [it, added] = ints_.try_emplace(std::move(key), kNoTensor);
  if (!added) return it->second;
  std::vector<int32_t> narrow;
  for (const int64_t value : values)
    narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)));
  const Id id = add_tensor("", {DataType::kInt32, nullptr},
                           scalar ? Shape{} : Shape{static_cast<int64_t>(values.size())});
  tensor(id).buffer = constants_.bytes(std::as_bytes(std::span(narrow)));
  return it->second = id;
}

Id Emitter::scalar(double value, const Made& made) {
  const bool int8 = made.quant != nullptr;
  const Id id = add_tensor("", {made.type, nullptr}, {});
  const double scale = int8 ? std::max(std::abs(value) / 127, 1e-9) : 1;
  if (int8) {
    tensor(id).quantization.scale = {static_cast<float>(scale)};
    tensor(id).quantization.zero_point = {0};
  }
  size_t width = 0;
  const auto bytes = scalar_bytes(value, made.type, scale, width);
  tensor(id).buffer =
      width > 0 ? constants_.bytes(std::span(bytes).first(width)) : constants_.absent();
  return id;
}

Id Emitter::absent(const Made& made, Shape shape) {
  const Id id = add_tensor("", {made.type, nullptr}, std::move(shape));
  if (made.quant != nullptr) {
    tensor(id).quantization.scale = {kNominalScale};
    tensor(id).quantization.zero_point = {0};
  }
  tensor(id).buffer = constants_.absent();
  return id;
}

std::vector<Id> Emitter::add(Operator op, const Made& made, const std::vector<Shape>& shapes) {
  std::vector<Id> ids;
  for (const Shape& shape : shapes) ids.push_back(add_tensor("", made, shape));
  op.outputs = ids;
  subgraph().operators.push_back(std::move(op));
  return ids;
}

Id Emitter::add(Operator op, const Made& made, Shape shape) {
  return add(std::move(op), made, std::vector<Shape>{std::move(shape)}).front();
}

Id Emitter::unary(OpKind kind, Id x, const Made& made) {
  Operator op;
  op.kind = kind;
  op.inputs = {x};
  if (kind == OpKind::kSoftmax) op.set("beta", 1.0);
  return add(std::move(op), made, Shape(shape(x)));
}

Id Emitter::binary(OpKind kind, Id a, Id b, const Made& made) {
  Operator op;
  op.kind = kind;
  op.inputs = {a, b};
  auto result = broadcast_shapes(shape(a), shape(b));
  return add(std::move(op), made, result ? *std::move(result) : Shape(shape(a)));
}

Id Emitter::cast(OpKind kind, Id x, const Made& made) { return unary(kind, x, made); }

Id Emitter::reshape(Id x, const Shape& shape) {
  const auto [it, added] = moved_.try_emplace({x, OpKind::kReshape, shape}, kNoTensor);
  if (!added) return it->second;
  Operator op;
  op.kind = OpKind::kReshape;
  op.inputs = {x, ints(shape)};
  op.set("new_shape", shape);
  return it->second = add(std::move(op), made_of(x), shape);
}

Id Emitter::transpose(Id x, const std::vector<int64_t>& order) {
  const auto [it, added] = moved_.try_emplace({x, OpKind::kTranspose, order}, kNoTensor);
  if (!added) return it->second;
  Shape turned;
  for (const int64_t d : order) turned.push_back(shape(x)[static_cast<size_t>(d)]);
  Operator op;
  op.kind = OpKind::kTranspose;
  op.inputs = {x, ints(order)};
  return it->second = add(std::move(op), made_of(x), std::move(turned));
}

Id Emitter::dequantized(Id x) {
  const auto [it, added] = moved_.try_emplace({x, OpKind::kDequantize, {}}, kNoTensor);
  if (!added) return it->second;
  return it->second = cast(OpKind::kDequantize, x, {DataType::kFloat32, nullptr});
}

Id Emitter::pad(Id x, const std::vector<int64_t>& pads, OpKind kind, double value) {
  if (std::ranges::all_of(pads, [](int64_t amount) { return amount == 0; })) return x;
  const Made made = made_of(x);
  // Amounts have a shape of their own, so they are not shared with lists.
  std::vector<int32_t> narrow(pads.begin(), pads.end());
  const Id amounts =
      add_tensor("", {DataType::kInt32, nullptr}, {static_cast<int64_t>(pads.size()) / 2, 2});
  tensor(amounts).buffer = constants_.bytes(std::as_bytes(std::span(narrow)));
  Operator op;
  op.kind = kind;
  op.inputs = {x, amounts};
  if (kind == OpKind::kPadv2) op.inputs.push_back(scalar(value, made));
  Shape padded = shape(x);
  for (size_t i = 0; i < padded.size(); ++i) padded[i] += pads[2 * i] + pads[2 * i + 1];
  return add(std::move(op), made, std::move(padded));
}

Id Emitter::reduce(OpKind kind, Id x, const std::vector<int64_t>& axes, bool keep,
                   const Made& made) {
  Shape reduced;
  for (size_t i = 0; i < shape(x).size(); ++i) {
    const bool gone = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (!gone)
      reduced.push_back(shape(x)[i]);
    else if (keep)
      reduced.push_back(1);
  }
  Operator op;
  op.kind = kind;
  op.inputs = {x, ints(axes)};
  op.set("keep_dims", static_cast<int64_t>(keep));
  return add(std::move(op), made, std::move(reduced));
}

Id Emitter::slice(Id x, const std::vector<int64_t>& begin, const Shape& size) {
  if (size == shape(x)) return x;
  Operator op;
  op.kind = OpKind::kSlice;
  op.inputs = {x, ints(begin), ints(size)};
  return add(std::move(op), made_of(x), size);
}

Id Emitter::move(Id x, const View::Move& move) {
  if (!move.split.empty()) x = reshape(x, move.split);
  if (!move.permutation.empty()) x = transpose(x, move.permutation);
  // An empty target that is meant (a scalar) cannot be told from none; scalars hold one element.
  if (!move.target.empty()) x = reshape(x, move.target);
  return x;
}

Id Emitter::stored(const Val& value, const DimOrder& order) {
  std::vector<DimOrder> groups;
  for (const int32_t d : order) groups.push_back(d == kNoDim ? DimOrder{} : DimOrder{d});
  return stored(value, groups);
}

Id Emitter::stored(const Val& value, std::span<const DimOrder> groups) {
  if (value.is_constant()) return constant(value, groups);
  return move(value.tensor, value.view.plan_move(shape(value.tensor), groups));
}

Id Emitter::constant(const Val& value, std::span<const DimOrder> groups) {
  const Constant& source = *value.constant;
  const Shape flat(value.view.atoms().begin(), value.view.atoms().end());
  const View::Move plan = value.view.plan_move(flat, groups);
  const Shape sides = value.view.shape();
  Shape target;
  int32_t axis_dim = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t side = 1;
    for (const int32_t d : groups[g]) {
      side *= sides[static_cast<size_t>(d)];
      if (value.quant != nullptr && d == value.quant->axis) axis_dim = static_cast<int32_t>(g);
    }
    target.push_back(side);
  }
  const auto [it, added] = constant_tensors_.try_emplace(
      {&source, target, plan.permutation, value.quant.get()}, kNoTensor);
  if (!added) return it->second;
  const Id id = add_tensor(source.name, {data_type(source.element), nullptr}, std::move(target));
  if (value.quant != nullptr) {
    tensor(id).quantization = quantization_of(*value.quant, axis_dim);
    quants_[id] = value.quant;
  }
  tensor(id).buffer = constants_.buffer(source, value.view, flat, plan);
  return it->second = id;
}

void Emitter::rename(Id x, std::string_view name) {
  if (x == kNoTensor || tensor(x).is_constant()) return;
  tensor(x).name = name;
}

}  // namespace edgesage::onnx::convert
