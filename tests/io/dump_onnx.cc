// Prints what the ONNX reader reads, one JSON object a file and line, for comparisons in Python.
//
//   dump_onnx FILE...        "-" takes one path a line from standard input
#include <fmt/format.h>

#include <bit>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/io/onnx/read.h"

namespace edgesage::onnx {
namespace {

using nlohmann::json;

// Text of any kind as hexadecimal: names need not be UTF-8.
std::string hex(std::string_view text) {
  std::string digits;
  for (const char c : text) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits;
}

std::string bits(double value) { return fmt::format("{:016x}", std::bit_cast<uint64_t>(value)); }

template <class List, class Print>
json list(const List& values, Print print) {
  json result = json::array();
  for (const auto& value : values) result.push_back(print(value));
  return result;
}

json dump(const ValueType& type) {
  json result = {{"kind", static_cast<int>(type.kind)},
                 {"element", static_cast<int32_t>(type.element)},
                 {"shape", nullptr}};
  if (type.has_shape)
    result["shape"] = list(type.shape, [](const Dimension& dimension) -> json {
      if (!dimension.symbol.empty()) return fmt::format("s{}", hex(dimension.symbol));
      return dimension.value;
    });
  const ValueType* inner = type.inner.get();
  for (json* at = &result; inner != nullptr; inner = inner->inner.get()) {
    (*at)["inner"] = {{"kind", static_cast<int>(inner->kind)},
                      {"element", static_cast<int32_t>(inner->element)}};
    at = &(*at)["inner"];
  }
  return result;
}

json dump(const Value& value) { return {{"name", hex(value.name)}, {"type", dump(value.type)}}; }

json dump(const Constant& constant) {
  uint64_t sum = 0;
  for (const std::byte byte : constant.data) sum = sum * 31 + static_cast<uint64_t>(byte);
  return {{"name", hex(constant.name)},
          {"element", static_cast<int32_t>(constant.element)},
          {"dims", constant.dims},
          {"bytes", constant.data.size()},
          {"hash", sum},
          {"strings", list(constant.strings, hex)},
          {"missing", constant.data_missing},
          {"sparse", constant.is_sparse}};
}

json dump(const Attribute& attribute) {
  return {{"name", hex(attribute.name)},
          {"kind", static_cast<int32_t>(attribute.kind)},
          {"f", bits(attribute.f)},
          {"i", attribute.i},
          {"s", hex(attribute.s)},
          {"floats", list(attribute.floats, bits)},
          {"ints", attribute.ints},
          {"strings", list(attribute.strings, hex)},
          {"tensors", list(attribute.tensors, [](const Constant& one) { return dump(one); })},
          {"graphs", attribute.graphs},
          {"types", list(attribute.types, [](const ValueType& one) { return dump(one); })}};
}

json dump(const Node& node) {
  return {{"op_type", hex(node.op_type)},
          {"domain", hex(node.domain)},
          {"name", hex(node.name)},
          {"since", node.since},
          {"inputs", list(node.inputs, hex)},
          {"outputs", list(node.outputs, hex)},
          {"attributes", list(node.attributes, [](const Attribute& one) { return dump(one); })}};
}

json dump(const Model& model) {
  const auto values = [](const std::vector<Value>& all) {
    return list(all, [](const Value& one) { return dump(one); });
  };
  return {{"ir_version", model.ir_version},
          {"producer", hex(model.producer_name)},
          {"metadata", model.metadata.size()},
          {"opsets", list(model.opsets,
                          [](const OperatorSet& opset) {
                            return json::array({hex(opset.domain), opset.version});
                          })},
          {"warnings", model.warnings},
          {"graphs", list(model.graphs, [&](const GraphTable& graph) {
             return json{{"name", hex(graph.name)},
                         {"parent", graph.parent},
                         {"nodes", list(graph.nodes, [](const Node& node) { return dump(node); })},
                         {"initializers",
                          list(graph.initializers, [](const Constant& one) { return dump(one); })},
                         {"inputs", values(graph.inputs)},
                         {"outputs", values(graph.outputs)},
                         {"value_info", values(graph.value_info)}};
           })}};
}

void print(const std::string& path) {
  json line;
  const auto file = MappedFile::open(path, ErrorCode::kBadModel);
  const Result<Model> model =
      file ? read_onnx(*file, path, {.model_path = path}) : tl::unexpected(file.error());
  line = model ? dump(*model) : json{{"error", model.error().to_string()}};
  std::cout << line.dump(-1, ' ', true, json::error_handler_t::replace) << '\n';
}

int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) != "-") {
      print(argv[i]);
      continue;
    }
    for (std::string path; std::getline(std::cin, path);) print(path);
  }
  return 0;
}

}  // namespace
}  // namespace edgesage::onnx

int main(int argc, char** argv) { return edgesage::onnx::run(argc, argv); }
