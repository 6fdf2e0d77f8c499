// ONNX files for tests, put together field by field: every piece is the text of one protobuf
// message, so that a test may append to it whatever a sane writer would not.
//
//   OnnxGraph graph("g");
//   graph.input("x", kFloat, {"N", 3, 8, 8})
//       .initializer(onnx_floats("w", {4, 3, 1, 1}, std::vector<float>(12)))
//       .node("Conv", {"x", "w"}, {"y"}, {attr("pads", {0, 0, 0, 0})})
//       .output("y", kFloat, {"N", 4, 8, 8});
//   const std::vector<std::byte> file = OnnxModel(graph).opset("", 17).bytes();
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/io/onnx/model.h"

namespace edgesage::test {

// The text of one message; distinct types, so that a node is not given where an attribute belongs.
struct OnnxAttribute {
  std::string proto;
};
struct OnnxTensor {
  std::string proto;
};
struct OnnxType {
  std::string proto;
};

// A number, a name, or nothing ("").
struct OnnxDim {
  OnnxDim(int number) : value(number) {}                       // NOLINT: literals are dims
  OnnxDim(int64_t number) : value(number) {}                   // NOLINT
  OnnxDim(const char* symbol) : value(std::string(symbol)) {}  // NOLINT
  OnnxDim(std::string symbol) : value(std::move(symbol)) {}    // NOLINT
  std::variant<int64_t, std::string> value;
};
using OnnxDims = std::vector<OnnxDim>;
using OnnxNames = std::vector<std::string>;

class OnnxGraph;

// Attributes by what they hold, their type set.
[[nodiscard]] OnnxAttribute attr(std::string_view name, int value);
[[nodiscard]] OnnxAttribute attr(std::string_view name, int64_t value);
[[nodiscard]] OnnxAttribute attr(std::string_view name, float value);
[[nodiscard]] OnnxAttribute attr(std::string_view name, const char* value);
[[nodiscard]] OnnxAttribute attr(std::string_view name, std::initializer_list<int64_t> values);
[[nodiscard]] OnnxAttribute attr(std::string_view name, const std::vector<int64_t>& values);
[[nodiscard]] OnnxAttribute attr(std::string_view name, const std::vector<float>& values);
[[nodiscard]] OnnxAttribute attr(std::string_view name, const std::vector<std::string>& values);
[[nodiscard]] OnnxAttribute attr(std::string_view name, const OnnxTensor& value);
[[nodiscard]] OnnxAttribute attr(std::string_view name, const OnnxGraph& value);
// In a function: the value is that of the call's attribute `reference`.
[[nodiscard]] OnnxAttribute attr_reference(std::string_view name, std::string_view reference,
                                           onnx::Attribute::Kind kind);

// Tensors: elements as raw_data, or in the field that their type has.
[[nodiscard]] OnnxTensor onnx_raw(std::string_view name, onnx::ElementType type,
                                  const std::vector<int64_t>& dims, std::string_view raw);
[[nodiscard]] OnnxTensor onnx_floats(std::string_view name, const std::vector<int64_t>& dims,
                                     const std::vector<float>& values);
[[nodiscard]] OnnxTensor onnx_int64s(std::string_view name, const std::vector<int64_t>& dims,
                                     const std::vector<int64_t>& values);
// int32_data, which carries all types of at most 32 bits but float.
[[nodiscard]] OnnxTensor onnx_int32s(std::string_view name, onnx::ElementType type,
                                     const std::vector<int64_t>& dims,
                                     const std::vector<int32_t>& values);
[[nodiscard]] OnnxTensor onnx_strings(std::string_view name, const std::vector<int64_t>& dims,
                                      const OnnxNames& values);
// Elements in another file: the keys location, offset, length, ...
[[nodiscard]] OnnxTensor onnx_external(
    std::string_view name, onnx::ElementType type, const std::vector<int64_t>& dims,
    const std::vector<std::pair<std::string, std::string>>& entries);

// Types of values. Without dims the shape is unknown; with empty dims it is a scalar.
[[nodiscard]] OnnxType onnx_tensor_type(onnx::ElementType type,
                                        const std::optional<OnnxDims>& dims);
[[nodiscard]] OnnxType onnx_sequence_type(const OnnxType& of);
[[nodiscard]] OnnxType onnx_optional_type(const OnnxType& of);
[[nodiscard]] OnnxType onnx_map_type(onnx::ElementType key, const OnnxType& of);

struct OnnxNodeExtras {
  std::string name;
  std::string domain;
  std::string overload;
};

[[nodiscard]] std::string onnx_node(std::string_view op_type, const OnnxNames& inputs,
                                    const OnnxNames& outputs,
                                    const std::vector<OnnxAttribute>& attributes = {},
                                    const OnnxNodeExtras& extras = {});

// A GraphProto: the main graph, or a body to be given as an attribute.
class OnnxGraph {
 public:
  explicit OnnxGraph(std::string_view name = "graph");
  OnnxGraph& node(std::string_view op_type, const OnnxNames& inputs, const OnnxNames& outputs,
                  const std::vector<OnnxAttribute>& attributes = {},
                  const OnnxNodeExtras& extras = {});
  OnnxGraph& initializer(const OnnxTensor& tensor);
  OnnxGraph& sparse_initializer(const OnnxTensor& values, const OnnxTensor& indices,
                                const std::vector<int64_t>& dims);
  OnnxGraph& input(std::string_view name, onnx::ElementType type,
                   const std::optional<OnnxDims>& dims);
  OnnxGraph& input(std::string_view name, const OnnxType& type);
  OnnxGraph& output(std::string_view name, onnx::ElementType type,
                    const std::optional<OnnxDims>& dims);
  OnnxGraph& output(std::string_view name, const OnnxType& type);
  OnnxGraph& output(std::string_view name);  // of no stated type, as bodies have them
  OnnxGraph& value_info(std::string_view name, onnx::ElementType type,
                        const std::optional<OnnxDims>& dims);

  std::string proto;
};

// A FunctionProto.
class OnnxFunction {
 public:
  OnnxFunction(std::string_view domain, std::string_view name, const OnnxNames& inputs,
               const OnnxNames& outputs, std::string_view overload = "");
  OnnxFunction& node(std::string_view op_type, const OnnxNames& inputs, const OnnxNames& outputs,
                     const std::vector<OnnxAttribute>& attributes = {},
                     const OnnxNodeExtras& extras = {});
  OnnxFunction& attribute(std::string_view name);               // one without a default
  OnnxFunction& attribute_default(const OnnxAttribute& value);  // one with a default
  OnnxFunction& opset(std::string_view domain, int64_t version);

  std::string proto;
};

// A ModelProto: IR version 8, and operator set 17 where none is named.
class OnnxModel {
 public:
  OnnxModel() = default;
  explicit OnnxModel(const OnnxGraph& graph);
  OnnxModel& ir_version(int64_t version);
  OnnxModel& opset(std::string_view domain, int64_t version);
  OnnxModel& no_opset();
  OnnxModel& function(const OnnxFunction& function);
  OnnxModel& metadata(std::string_view key, std::string_view value);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  std::string graph_;
  std::string rest_;
  std::string opsets_;
  int64_t ir_version_ = 8;
  bool default_opset_ = true;
  bool has_graph_ = false;
};

[[nodiscard]] std::vector<std::byte> to_bytes(std::string_view text);

// The .onnx files of models/index.csv, and those of Debian's libonnx-testdata; none where they are
// not installed.
[[nodiscard]] std::vector<std::filesystem::path> published_onnx_files();

}  // namespace edgesage::test
