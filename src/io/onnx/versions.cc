#include "src/io/onnx/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace edgesage::onnx {
namespace {

using Imports = std::unordered_map<std::string_view, int64_t>;

// The newest operator set of each IR version: https://onnx.ai/onnx/repo-docs/Versioning.html
constexpr std::array<int64_t, kNewestIrVersion + 1> kOpsetOfIr = {1,  1,  1,  8,  9,  10, 11, 14,
                                                                  18, 20, 22, 23, 24, 27, 28};

int64_t assumed_opset(int64_t ir_version) {
  return kOpsetOfIr[static_cast<size_t>(std::clamp<int64_t>(ir_version, 0, kNewestIrVersion))];
}

Imports imports_of(const std::vector<OperatorSet>& opsets, Oddities& oddities) {
  Imports imports;
  for (const OperatorSet& opset : opsets) {
    const auto [at, is_new] = imports.try_emplace(opset.domain, opset.version);
    if (!is_new && at->second != opset.version)
      oddities.note("{} operator sets are imported in more than one version; the last one counts",
                    opset.domain.empty() ? "ai.onnx" : opset.domain);
    at->second = opset.version;
    if (opset.domain.empty() && (opset.version < 1 || opset.version > kNewestOpset))
      oddities.note("{} imports of an operator set are not known to this version",
                    fmt::format("version {} where 1 to {} are known; read as far as it is alike",
                                opset.version, kNewestOpset));
  }
  return imports;
}

// In a function's imports (or none), else in the model's.
std::optional<int64_t> version_of(std::string_view domain, const Imports* function,
                                  const Imports& model) {
  for (const Imports* imports : {function, &model})
    if (imports != nullptr)
      if (const auto found = imports->find(domain); found != imports->end()) return found->second;
  return std::nullopt;
}

// Nodes outside of functions, which have imports of their own.
bool uses_own_set(const ParsedFile& file) {
  if (file.model.opsets.empty()) return true;
  for (size_t i = 0; i < file.graphs.size(); ++i)
    if (file.function_of[i] < 0 &&
        std::ranges::find(file.graphs[i].nodes, "", &Node::domain) != file.graphs[i].nodes.end())
      return true;
  return false;
}

}  // namespace

void set_versions(ParsedFile& file, Oddities& oddities) {
  Model& model = file.model;
  if (model.ir_version < 3 || model.ir_version > kNewestIrVersion)
    oddities.note("{} version of the format is not known to this version",
                  fmt::format("ir_version {} where 3 to {} are known; read as far as it is alike",
                              model.ir_version, kNewestIrVersion));
  Imports of_model = imports_of(model.opsets, oddities);
  if (!of_model.contains("") && uses_own_set(file)) {
    const int64_t assumed = assumed_opset(model.ir_version);
    oddities.note("{} import of ONNX's own operator set is missing",
                  fmt::format("version {} is assumed", assumed));
    of_model[""] = assumed;
    model.opsets.push_back({"", assumed});
  }
  std::vector<Imports> of_functions;
  for (Function& function : file.functions) {
    of_functions.push_back(imports_of(function.opsets, oddities));
    function.since = version_of("", &of_functions.back(), of_model).value_or(1);
  }
  for (size_t i = 0; i < file.graphs.size(); ++i) {
    const int32_t function = file.function_of[i];
    const Imports* own = function < 0 ? nullptr : &of_functions[static_cast<size_t>(function)];
    for (Node& node : file.graphs[i].nodes) {
      const std::optional<int64_t> version = version_of(node.domain, own, of_model);
      if (!version)
        oddities.note("{} nodes are of an operator set that is not imported; version 1 is assumed",
                      fmt::format("{} of '{}'", node.op_type, node.domain));
      node.since = version.value_or(1);
    }
  }
}

}  // namespace edgesage::onnx
