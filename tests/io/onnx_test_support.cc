#include "tests/io/onnx_test_support.h"

#include <cstring>
#include <protozero/pbf_writer.hpp>

namespace edgesage::test {
namespace {

using onnx::ElementType;
using protozero::pbf_writer;
using Kind = onnx::Attribute::Kind;

// An AttributeProto with its name and type; `fill` writes the value.
template <class Fill>
OnnxAttribute make_attr(std::string_view name, Kind kind, Fill fill) {
  OnnxAttribute attribute;
  pbf_writer writer(attribute.proto);
  writer.add_string(1, name.data(), name.size());
  fill(writer);
  writer.add_int32(20, static_cast<int32_t>(kind));
  return attribute;
}

void begin_tensor(pbf_writer& writer, std::string_view name, ElementType type,
                  const std::vector<int64_t>& dims) {
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, static_cast<int32_t>(type));
  writer.add_string(8, name.data(), name.size());
}

std::string shape_text(const OnnxDims& dims) {
  std::string shape;
  pbf_writer writer(shape);
  for (const OnnxDim& dim : dims) {
    std::string text;
    pbf_writer one(text);
    if (const auto* number = std::get_if<int64_t>(&dim.value)) {
      one.add_int64(1, *number);
    } else if (const auto& symbol = std::get<std::string>(dim.value); !symbol.empty()) {
      one.add_string(2, symbol);
    }
    writer.add_message(1, text);  // a nested writer would leave out an empty one
  }
  return shape;
}

OnnxType wrap(protozero::pbf_tag_type field, const std::string& inner) {
  OnnxType type;
  pbf_writer(type.proto).add_message(field, inner);
  return type;
}

void add_value(std::string& graph, protozero::pbf_tag_type field, std::string_view name,
               const OnnxType* type) {
  pbf_writer writer(graph);
  pbf_writer value(writer, field);
  value.add_string(1, name.data(), name.size());
  if (type != nullptr) value.add_message(2, type->proto);
}

std::string entry(std::string_view key, std::string_view value) {
  std::string text;
  pbf_writer writer(text);
  writer.add_string(1, key.data(), key.size());
  writer.add_string(2, value.data(), value.size());
  return text;
}

std::string opset_text(std::string_view domain, int64_t version) {
  std::string text;
  pbf_writer writer(text);
  writer.add_string(1, domain.data(), domain.size());
  writer.add_int64(2, version);
  return text;
}

}  // namespace

OnnxAttribute attr(std::string_view name, int value) {
  return attr(name, static_cast<int64_t>(value));
}

OnnxAttribute attr(std::string_view name, int64_t value) {
  return make_attr(name, Kind::kInt, [&](pbf_writer& to) { to.add_int64(3, value); });
}

OnnxAttribute attr(std::string_view name, float value) {
  return make_attr(name, Kind::kFloat, [&](pbf_writer& to) { to.add_float(2, value); });
}

OnnxAttribute attr(std::string_view name, const char* value) {
  return make_attr(name, Kind::kString, [&](pbf_writer& to) { to.add_bytes(4, value); });
}

OnnxAttribute attr(std::string_view name, std::initializer_list<int64_t> values) {
  return attr(name, std::vector<int64_t>(values));
}

OnnxAttribute attr(std::string_view name, const std::vector<int64_t>& values) {
  return make_attr(name, Kind::kInts, [&](pbf_writer& to) {
    for (const int64_t value : values) to.add_int64(8, value);
  });
}

OnnxAttribute attr(std::string_view name, const std::vector<float>& values) {
  return make_attr(name, Kind::kFloats, [&](pbf_writer& to) {
    for (const float value : values) to.add_float(7, value);
  });
}

OnnxAttribute attr(std::string_view name, const std::vector<std::string>& values) {
  return make_attr(name, Kind::kStrings, [&](pbf_writer& to) {
    for (const std::string& value : values) to.add_bytes(9, value);
  });
}

OnnxAttribute attr(std::string_view name, const OnnxTensor& value) {
  return make_attr(name, Kind::kTensor, [&](pbf_writer& to) { to.add_message(5, value.proto); });
}

OnnxAttribute attr(std::string_view name, const OnnxGraph& value) {
  return make_attr(name, Kind::kGraph, [&](pbf_writer& to) { to.add_message(6, value.proto); });
}

OnnxAttribute attr_reference(std::string_view name, std::string_view reference, Kind kind) {
  return make_attr(name, kind,
                   [&](pbf_writer& to) { to.add_string(21, reference.data(), reference.size()); });
}

OnnxTensor onnx_raw(std::string_view name, ElementType type, const std::vector<int64_t>& dims,
                    std::string_view raw) {
  OnnxTensor tensor;
  pbf_writer writer(tensor.proto);
  begin_tensor(writer, name, type, dims);
  writer.add_bytes(9, raw.data(), raw.size());
  return tensor;
}

OnnxTensor onnx_floats(std::string_view name, const std::vector<int64_t>& dims,
                       const std::vector<float>& values) {
  OnnxTensor tensor;
  pbf_writer writer(tensor.proto);
  begin_tensor(writer, name, ElementType::kFloat, dims);
  writer.add_packed_float(4, values.begin(), values.end());
  return tensor;
}

OnnxTensor onnx_int64s(std::string_view name, const std::vector<int64_t>& dims,
                       const std::vector<int64_t>& values) {
  OnnxTensor tensor;
  pbf_writer writer(tensor.proto);
  begin_tensor(writer, name, ElementType::kInt64, dims);
  writer.add_packed_int64(7, values.begin(), values.end());
  return tensor;
}

OnnxTensor onnx_int32s(std::string_view name, ElementType type, const std::vector<int64_t>& dims,
                       const std::vector<int32_t>& values) {
  OnnxTensor tensor;
  pbf_writer writer(tensor.proto);
  begin_tensor(writer, name, type, dims);
  writer.add_packed_int32(5, values.begin(), values.end());
  return tensor;
}

OnnxTensor onnx_strings(std::string_view name, const std::vector<int64_t>& dims,
                        const OnnxNames& values) {
  OnnxTensor tensor;
  pbf_writer writer(tensor.proto);
  begin_tensor(writer, name, ElementType::kString, dims);
  for (const std::string& value : values) writer.add_bytes(6, value);
  return tensor;
}

OnnxTensor onnx_external(std::string_view name, ElementType type, const std::vector<int64_t>& dims,
                         const std::vector<std::pair<std::string, std::string>>& entries) {
  OnnxTensor tensor;
  pbf_writer writer(tensor.proto);
  begin_tensor(writer, name, type, dims);
  for (const auto& [key, value] : entries) writer.add_message(13, entry(key, value));
  writer.add_int32(14, 1);
  return tensor;
}

OnnxType onnx_tensor_type(ElementType type, const std::optional<OnnxDims>& dims) {
  std::string tensor;
  pbf_writer writer(tensor);
  writer.add_int32(1, static_cast<int32_t>(type));
  if (dims) writer.add_message(2, shape_text(*dims));
  return wrap(1, tensor);
}

OnnxType onnx_sequence_type(const OnnxType& of) { return wrap(4, wrap(1, of.proto).proto); }

OnnxType onnx_optional_type(const OnnxType& of) { return wrap(9, wrap(1, of.proto).proto); }

OnnxType onnx_map_type(ElementType key, const OnnxType& of) {
  std::string map;
  pbf_writer writer(map);
  writer.add_int32(1, static_cast<int32_t>(key));
  writer.add_message(2, of.proto);
  return wrap(5, map);
}

std::string onnx_node(std::string_view op_type, const OnnxNames& inputs, const OnnxNames& outputs,
                      const std::vector<OnnxAttribute>& attributes, const OnnxNodeExtras& extras) {
  std::string node;
  pbf_writer writer(node);
  for (const std::string& input : inputs) writer.add_string(1, input);
  for (const std::string& output : outputs) writer.add_string(2, output);
  if (!extras.name.empty()) writer.add_string(3, extras.name);
  writer.add_string(4, op_type.data(), op_type.size());
  for (const OnnxAttribute& attribute : attributes) writer.add_message(5, attribute.proto);
  if (!extras.domain.empty()) writer.add_string(7, extras.domain);
  if (!extras.overload.empty()) writer.add_string(8, extras.overload);
  return node;
}

OnnxGraph::OnnxGraph(std::string_view name) {
  pbf_writer(proto).add_string(2, name.data(), name.size());
}

OnnxGraph& OnnxGraph::node(std::string_view op_type, const OnnxNames& inputs,
                           const OnnxNames& outputs, const std::vector<OnnxAttribute>& attributes,
                           const OnnxNodeExtras& extras) {
  pbf_writer(proto).add_message(1, onnx_node(op_type, inputs, outputs, attributes, extras));
  return *this;
}

OnnxGraph& OnnxGraph::initializer(const OnnxTensor& tensor) {
  pbf_writer(proto).add_message(5, tensor.proto);
  return *this;
}

OnnxGraph& OnnxGraph::sparse_initializer(const OnnxTensor& values, const OnnxTensor& indices,
                                         const std::vector<int64_t>& dims) {
  pbf_writer writer(proto);
  pbf_writer sparse(writer, 15);
  sparse.add_message(1, values.proto);
  sparse.add_message(2, indices.proto);
  sparse.add_packed_int64(3, dims.begin(), dims.end());
  return *this;
}

OnnxGraph& OnnxGraph::input(std::string_view name, ElementType type,
                            const std::optional<OnnxDims>& dims) {
  return input(name, onnx_tensor_type(type, dims));
}

OnnxGraph& OnnxGraph::input(std::string_view name, const OnnxType& type) {
  add_value(proto, 11, name, &type);
  return *this;
}

OnnxGraph& OnnxGraph::output(std::string_view name, ElementType type,
                             const std::optional<OnnxDims>& dims) {
  return output(name, onnx_tensor_type(type, dims));
}

OnnxGraph& OnnxGraph::output(std::string_view name, const OnnxType& type) {
  add_value(proto, 12, name, &type);
  return *this;
}

OnnxGraph& OnnxGraph::output(std::string_view name) {
  add_value(proto, 12, name, nullptr);
  return *this;
}

OnnxGraph& OnnxGraph::value_info(std::string_view name, ElementType type,
                                 const std::optional<OnnxDims>& dims) {
  const OnnxType made = onnx_tensor_type(type, dims);
  add_value(proto, 13, name, &made);
  return *this;
}

OnnxFunction::OnnxFunction(std::string_view domain, std::string_view name, const OnnxNames& inputs,
                           const OnnxNames& outputs, std::string_view overload) {
  pbf_writer writer(proto);
  writer.add_string(1, name.data(), name.size());
  for (const std::string& input : inputs) writer.add_string(4, input);
  for (const std::string& output : outputs) writer.add_string(5, output);
  writer.add_string(10, domain.data(), domain.size());
  if (!overload.empty()) writer.add_string(13, overload.data(), overload.size());
}

OnnxFunction& OnnxFunction::node(std::string_view op_type, const OnnxNames& inputs,
                                 const OnnxNames& outputs,
                                 const std::vector<OnnxAttribute>& attributes,
                                 const OnnxNodeExtras& extras) {
  pbf_writer(proto).add_message(7, onnx_node(op_type, inputs, outputs, attributes, extras));
  return *this;
}

OnnxFunction& OnnxFunction::attribute(std::string_view name) {
  pbf_writer(proto).add_string(6, name.data(), name.size());
  return *this;
}

OnnxFunction& OnnxFunction::attribute_default(const OnnxAttribute& value) {
  pbf_writer(proto).add_message(11, value.proto);
  return *this;
}

OnnxFunction& OnnxFunction::opset(std::string_view domain, int64_t version) {
  pbf_writer(proto).add_message(9, opset_text(domain, version));
  return *this;
}

OnnxModel::OnnxModel(const OnnxGraph& graph) : graph_(graph.proto), has_graph_(true) {}

OnnxModel& OnnxModel::ir_version(int64_t version) {
  ir_version_ = version;
  return *this;
}

OnnxModel& OnnxModel::opset(std::string_view domain, int64_t version) {
  if (domain.empty()) default_opset_ = false;
  pbf_writer(opsets_).add_message(8, opset_text(domain, version));
  return *this;
}

OnnxModel& OnnxModel::no_opset() {
  default_opset_ = false;
  return *this;
}

OnnxModel& OnnxModel::function(const OnnxFunction& function) {
  pbf_writer(rest_).add_message(25, function.proto);
  return *this;
}

OnnxModel& OnnxModel::metadata(std::string_view key, std::string_view value) {
  pbf_writer(rest_).add_message(14, entry(key, value));
  return *this;
}

std::string OnnxModel::text() const {
  std::string model;
  pbf_writer writer(model);
  writer.add_int64(1, ir_version_);
  writer.add_string(2, "edgesage-test");
  if (has_graph_) writer.add_message(7, graph_);
  if (default_opset_) writer.add_message(8, opset_text("", 17));
  return model + opsets_ + rest_;
}

std::vector<std::byte> OnnxModel::bytes() const { return to_bytes(text()); }

std::vector<std::byte> to_bytes(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace edgesage::test
