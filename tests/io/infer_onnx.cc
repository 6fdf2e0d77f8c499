// Prints the types that are inferred of ONNX files, one JSON object a file and line, for
// comparisons in Python: {"graphs": [{name: [kind, element, shape or null, inner]}], "warnings":
// [...]}.
//
//   infer_onnx [--open] [--shape NAME:1x3x8x8] FILE...   "-": one path a line from standard input
//
// --open leaves an open batch as it is.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "src/base/text.h"
#include "src/io/onnx/read.h"
#include "src/io/onnx/shapes.h"

namespace edgesage::onnx {
namespace {

using nlohmann::json;

json dump(const ValueType& type) {
  json shape = nullptr;
  if (type.has_shape) {
    shape = json::array();
    for (const Dimension& dim : type.shape) shape.push_back(dim.known() ? dim.value : -1);
  }
  json inner = nullptr;
  if (type.inner != nullptr && type.inner->inner == nullptr) inner = dump(*type.inner);
  return json::array({static_cast<int>(type.kind), static_cast<int>(type.element), shape, inner});
}

json dump(const std::string& path, const ShapeOptions& options) {
  const auto file = MappedFile::open(path, ErrorCode::kBadModel);
  if (!file) return {{"error", file.error().to_string()}};
  const auto model = read_onnx(*file, path, {.model_path = path});
  if (!model) return {{"error", model.error().to_string()}};
  const auto inferred = infer_types(*model, options);
  if (!inferred) return {{"error", inferred.error().to_string()}};
  json graphs = json::array();
  for (const InferredGraph& graph : inferred->graphs) {
    json values = json::object();
    for (const InferredValue& value : graph.values)
      values[std::string(value.name)] = dump(value.type);
    graphs.push_back(std::move(values));
  }
  return {{"graphs", graphs}, {"warnings", inferred->warnings}};
}

int run(int argc, char** argv) {
  ShapeOptions options;
  const auto print = [&](const std::string& path) {
    std::cout << dump(path, options).dump(-1, ' ', true, json::error_handler_t::replace) << '\n';
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--open") {
      options.open_batch_is_one = false;
    } else if (argument == "--shape" && i + 1 < argc) {
      const std::string given = argv[++i];
      const size_t colon = given.rfind(':');
      std::vector<int64_t>& dims = options.inputs[given.substr(0, colon)];
      for (const std::string& dim : split(given.substr(colon + 1), 'x'))
        dims.push_back(std::atoll(dim.c_str()));
    } else if (argument == "-") {
      for (std::string path; std::getline(std::cin, path);) print(path);
    } else {
      print(argument);
    }
  }
  return 0;
}

}  // namespace
}  // namespace edgesage::onnx

int main(int argc, char** argv) { return edgesage::onnx::run(argc, argv); }
