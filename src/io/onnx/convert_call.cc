#include "src/io/onnx/convert_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace edgesage::onnx::convert {
namespace {

constexpr size_t kMostValues = 65536;  // of a constant that a rule looks into

template <class Stored, class Value>
void take(std::span<const std::byte> bytes, std::vector<Value>& values) {
  for (size_t at = 0; at + sizeof(Stored) <= bytes.size(); at += sizeof(Stored)) {
    Stored stored{};
    std::memcpy(&stored, bytes.data() + at, sizeof stored);
    values.push_back(static_cast<Value>(stored));
  }
}

float half_to_float(uint16_t half) {
  const auto sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  float value = 0;
  if (exponent == 0) {
    value = static_cast<float>(mantissa) / 16777216.0F;
    return sign != 0 ? -value : value;
  }
  const uint32_t bits = sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (mantissa << 13);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

void Conversion::note(std::string text) {
  if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

bool is_real(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16 || type == ElementType::kDouble;
}

Shape known_shape(const ValueType& type) {
  Shape shape;
  for (const Dimension& dim : type.shape) shape.push_back(dim.known() ? dim.value : 1);
  return shape;
}

std::optional<std::vector<int64_t>> constant_integers(const Constant& constant) {
  if (constant.data_missing || constant.data.size() > kMostValues * 8) return std::nullopt;
  std::vector<int64_t> values;
  switch (constant.element) {
    case ElementType::kInt64:
      take<int64_t>(constant.data, values);
      break;
    case ElementType::kInt32:
      take<int32_t>(constant.data, values);
      break;
    case ElementType::kUint8:
      take<uint8_t>(constant.data, values);
      break;
    case ElementType::kInt8:
      take<int8_t>(constant.data, values);
      break;
    case ElementType::kUint16:
      take<uint16_t>(constant.data, values);
      break;
    case ElementType::kInt16:
      take<int16_t>(constant.data, values);
      break;
    case ElementType::kUint32:
      take<uint32_t>(constant.data, values);
      break;
    case ElementType::kBool:
      take<uint8_t>(constant.data, values);
      break;
    default:
      return std::nullopt;
  }
  return values;
}

std::optional<std::vector<double>> constant_reals(const Constant& constant) {
  if (constant.data_missing || constant.data.size() > kMostValues * 8) return std::nullopt;
  std::vector<double> values;
  switch (constant.element) {
    case ElementType::kFloat:
      take<float>(constant.data, values);
      return values;
    case ElementType::kDouble:
      take<double>(constant.data, values);
      return values;
    case ElementType::kFloat16: {
      std::vector<uint16_t> halves;
      take<uint16_t>(constant.data, halves);
      for (const uint16_t half : halves) values.push_back(half_to_float(half));
      return values;
    }
    default:
      break;
  }
  const auto integers = constant_integers(constant);
  if (!integers) return std::nullopt;
  return std::vector<double>(integers->begin(), integers->end());
}

Quant make_quant(const Val& scale, const Val* zero_point, int64_t axis, DataType otherwise) {
  if (!scale.is_constant()) return nullptr;
  const auto scales = constant_reals(*scale.constant);
  if (!scales || scales->empty()) return nullptr;
  auto made = std::make_shared<QuantParameters>();
  made->type = otherwise;
  made->scale.assign(scales->begin(), scales->end());
  made->zero_point.assign(made->scale.size(), 0);
  if (zero_point != nullptr && zero_point->exists()) {
    made->type = data_type(zero_point->element);
    const auto zeros =
        zero_point->is_constant() ? constant_integers(*zero_point->constant) : std::nullopt;
    if (zeros && zeros->size() == made->scale.size()) made->zero_point = *zeros;
  }
  if (made->scale.size() > 1) made->axis = axis;
  return made;
}

Quant nominal_quant(const Val& integers) {
  auto made = std::make_shared<QuantParameters>();
  made->type = data_type(integers.element);
  made->scale = {1.0F / 128};
  made->zero_point = {0};
  return made;
}

Quant quantizer_of(Scope& scope, int32_t value) {
  if (value < 0) return nullptr;
  const int32_t index = scope.uses.quantizer(value);
  if (index < 0) return nullptr;
  const auto at = static_cast<size_t>(index);
  if (scope.quantizers.empty()) scope.quantizers.resize(scope.table.nodes.size());
  if (scope.quantizers[at] != nullptr) return scope.quantizers[at];
  const Node& node = scope.table.nodes[at];
  const auto inputs = scope.uses.inputs(at);
  // Scales are initialisers, whose values stand before any node is converted.
  const auto val = [&](size_t i) -> const Val* {
    if (i >= node.inputs.size() || inputs[i] < 0) return nullptr;
    return &scope.values[static_cast<size_t>(inputs[i])];
  };
  const Val* scale = val(1);
  if (scale == nullptr) return nullptr;
  const int64_t type = node.attr_int("output_dtype", 0);
  const DataType otherwise =
      type > 0 ? data_type(static_cast<ElementType>(type)) : DataType::kUInt8;
  Quant quant = make_quant(*scale, val(2), node.attr_int("axis", 1), otherwise);
  // Activations have one scale; slices of them are said by the first.
  return scope.quantizers[at] = std::move(quant);
}

Call::Call(Scope& scope, size_t index)
    : node(scope.table.nodes[index]),
      net(scope.net),
      scope_(scope),
      inputs_(scope.uses.inputs(index)),
      outputs_(scope.uses.outputs(index)) {
  bool integers = false, reals = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Val& value = in(i);
    if (!value.exists() || value.is_constant() || !is_real(value.element)) continue;
    (value.quant != nullptr ? integers : reals) = true;
  }
  if (integers && !reals && !outputs_.empty()) quant_ = quantizer_of(scope, outputs_[0]);
}

const Val& Call::value(size_t i) const {
  static const Val kNothing;
  if (i >= node.inputs.size() || inputs_[i] < 0) return kNothing;
  return scope_.values[static_cast<size_t>(inputs_[i])];
}

bool Call::all_ranked() const {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (in(i).exists() && !in(i).ranked) return false;
  return true;
}

bool Call::wants(size_t output) const {
  return output < outputs_.size() && outputs_[output] >= 0 &&
         scope_.uses.reads(outputs_[output]) > 0;
}

bool Call::knows(size_t output) const {
  if (output >= outputs_.size() || outputs_[output] < 0) return false;
  const InferredValue* known = scope_.uses.inferred(outputs_[output]);
  return known != nullptr && known->type.kind == ValueType::Kind::kTensor && known->type.has_shape;
}

Shape Call::out_shape(size_t output) const {
  return knows(output) ? known_shape(scope_.uses.inferred(outputs_[output])->type) : Shape{};
}

ElementType Call::out_element(size_t output) const {
  const InferredValue* known = output < outputs_.size() && outputs_[output] >= 0
                                   ? scope_.uses.inferred(outputs_[output])
                                   : nullptr;
  if (known != nullptr && known->type.element != ElementType::kUndefined)
    return known->type.element;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (in(i).exists()) return in(i).element;
  return ElementType::kFloat;
}

Made Call::made(size_t output) const {
  const ElementType element = out_element(output);
  if (quant_ != nullptr && is_real(element)) return {quant_->type, quant_};
  return {data_type(element), nullptr};
}

std::optional<std::vector<int64_t>> Call::ints(size_t i) const {
  if (!has(i) || !in(i).is_constant()) return std::nullopt;
  return constant_integers(*in(i).constant);
}

std::optional<std::vector<double>> Call::reals(size_t i) const {
  if (!has(i) || !in(i).is_constant()) return std::nullopt;
  auto values = constant_reals(*in(i).constant);
  const Quant& quant = in(i).quant;
  if (values && quant != nullptr && quant->scale.size() == 1)
    for (double& value : *values)
      value = (value - static_cast<double>(quant->zero_point[0])) *
              static_cast<double>(quant->scale[0]);
  return values;
}

std::optional<double> Call::real(size_t i) const {
  const auto values = reals(i);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

std::optional<std::vector<int64_t>> Call::ints_of(std::string_view attribute, size_t input) const {
  if (node.find(attribute) != nullptr) {
    const auto values = node.attr_ints(attribute);
    return std::vector<int64_t>(values.begin(), values.end());
  }
  return ints(input);
}

std::optional<int64_t> Call::axis(int64_t value, size_t rank) {
  const auto sides = static_cast<int64_t>(rank);
  if (value < 0) value += sides;
  if (value < 0 || value >= sides) return std::nullopt;
  return value;
}

bool Call::wants_image(size_t output) const {
  return output < outputs_.size() && outputs_[output] >= 0 &&
         scope_.uses.wants_image(outputs_[output]);
}

bool Call::waits_for_shape(size_t i) const {
  const Val& value = in(i);
  if (value.is_constant() || !value.ranked || !value.view.is_plain()) return false;
  const Shape shape = value.view.shape();
  const Shape& stored = scope_.net.shape(value.tensor);
  if (stored == shape) return false;
  // An image whose channels or pixels are one lies in both orders: it stays an image.
  return shape.size() < 3 || stored != value.view.stored_shape(image_order(shape.size()));
}

DimOrder Call::layout(size_t i) const {
  const Val& value = in(i);
  if (waits_for_shape(i)) return plain_order(value.view.rank());
  if (!value.is_constant() && value.tensor != kNoTensor)
    if (auto order = value.view.order_in(scope_.net.shape(value.tensor))) return *std::move(order);
  return wants_image() && value.view.rank() > 2 ? image_order(value.view.rank())
                                                : plain_order(value.view.rank());
}

Id Call::x(const Val& value, const DimOrder& order) {
  std::vector<DimOrder> groups;
  for (const int32_t d : order) groups.push_back(d == kNoDim ? DimOrder{} : DimOrder{d});
  const bool foreign =
      quantised() && value.is_constant() && value.quant == nullptr && is_real(value.element);
  if (foreign) return net.absent(made(), value.view.stored_shape(order));
  const Id id = net.stored(value, groups);
  return value.quant != nullptr && !quantised() ? net.dequantized(id) : id;
}

Id Call::x(size_t i, const DimOrder& order) { return x(in(i), order); }

Id Call::x(size_t i, std::span<const DimOrder> groups) {
  const Id id = net.stored(in(i), groups);
  return in(i).quant != nullptr && !quantised() ? net.dequantized(id) : id;
}

Id Call::as_it_lies(size_t i) {
  const Val& value = in(i);
  if (value.is_constant() || waits_for_shape(i)) return x(i, plain_order(rank(i)));
  return value.quant != nullptr && !quantised() ? net.dequantized(value.tensor) : value.tensor;
}

Val Call::result(Id tensor, View view, size_t output) {
  Val value;
  value.tensor = tensor;
  value.view = std::move(view);
  value.element = out_element(output);
  if (quantised() && is_real(value.element)) value.quant = quant_;
  value.made_by = static_cast<int32_t>(net.subgraph().operators.size()) - 1;
  return value;
}

Val Call::result(Id tensor, const DimOrder& order, size_t output) {
  return result(tensor, View(out_shape(output), order), output);
}

Val Call::moved(Id tensor, View view, const Val& from, size_t output) {
  Val value = result(tensor, std::move(view), output);
  value.quant = from.quant;
  return value;
}

Operator* Call::sole_producer(size_t i) {
  const Val& value = in(i);
  if (value.made_by < 0 || value.tensor == kNoTensor || scope_.uses.reads(inputs_[i]) != 1)
    return nullptr;
  Operator& op = net.subgraph().operators[static_cast<size_t>(value.made_by)];
  if (op.outputs.size() != 1 || op.outputs.front() != value.tensor) return nullptr;
  return &op;
}

tl::unexpected<Error> Call::bad(std::string message) const {
  std::string where =
      node.name.empty()
          ? fmt::format("node {} that makes {}", node.op_type,
                        node.outputs.empty() ? std::string_view("nothing") : node.outputs[0])
          : fmt::format("node {} ({})", node.name, node.op_type);
  return make_error(ErrorCode::kBadModel, std::move(where), std::move(message));
}

Outcome one(Val value) {
  std::vector<Val> values;
  values.push_back(std::move(value));
  return values;
}

Rule find_rule(const Node& node) {
  static const std::unordered_map<std::string_view, Rule> kRules = [] {
    std::unordered_map<std::string_view, Rule> rules;
    for (const auto group :
         {elementwise_rules(), window_rules(), matrix_rules(), shape_rules(), selection_rules(),
          reduction_rules(), normalization_rules(), recurrent_rules(), attention_rules(),
          quantization_rules(), control_rules()})
      for (const NamedRule& named : group) rules.emplace(named.op, named.rule);
    return rules;
  }();
  if (!node.domain.empty() && node.domain != "com.microsoft") return nullptr;
  const auto it = kRules.find(node.op_type);
  return it == kRules.end() ? nullptr : it->second;
}

}  // namespace edgesage::onnx::convert
