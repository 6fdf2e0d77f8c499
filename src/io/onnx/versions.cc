#include "src/io/onnx/versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace edgesage::onnx {
namespace {

using Imports = std::unordered_map<std::string_view, int64_t>;

// The newest operator set of each IR version: https://onnx.ai/onnx/repo-docs/Versioning.html
constexpr std::array<int64_t, kNewestIrVersion + 1> kOpsetOfIr = {1,  1,  1,  8,  9,  10, 11,
                                                                  14, 18, 20, 22, 23, 24, 27};

int64_t assumed_opset(int64_t ir_version) {
  return kOpsetOfIr[static_cast<size_t>(std::clamp<int64_t>(ir_version, 0, kNewestIrVersion))];
}

void add_imports(const std::vector<OperatorSet>& opsets, Imports& imports, Oddities& oddities) {
  Imports own;
  for (const OperatorSet& opset : opsets) {
    const auto [at, is_new] = own.try_emplace(opset.domain, opset.version);
    if (!is_new && at->second != opset.version)
      oddities.note("{} operator sets are imported in more than one version; the last one counts",
                    opset.domain.empty() ? "ai.onnx" : opset.domain);
    at->second = opset.version;
    if (opset.domain.empty() && (opset.version < 1 || opset.version > kNewestOpset))
      oddities.note(
          "{} imports of an operator set are not known to this version, which ends at 27; read as "
          "far as it is alike",
          fmt::format("version {}", opset.version));
  }
  for (const auto& [domain, version] : own) imports[domain] = version;
}

}  // namespace

void set_versions(ParsedFile& file, Oddities& oddities) {
  Model& model = file.model;
  if (model.ir_version < 3 || model.ir_version > kNewestIrVersion)
    oddities.note(
        "{} version of the format is not known to this version, which knows 3 to 13; "
        "read as far as it is alike",
        fmt::format("ir_version {}", model.ir_version));
  Imports of_model;
  add_imports(model.opsets, of_model, oddities);
  if (!of_model.contains("")) {
    const int64_t assumed = assumed_opset(model.ir_version);
    oddities.note("{} import of ONNX's own operator set is missing",
                  fmt::format("version {} is assumed", assumed));
    of_model[""] = assumed;
    model.opsets.push_back({"", assumed});
  }
  std::vector<Imports> of_functions(file.functions.size(), of_model);
  for (size_t i = 0; i < file.functions.size(); ++i) {
    add_imports(file.functions[i].opsets, of_functions[i], oddities);
    file.functions[i].since = of_functions[i][""];
  }
  for (size_t i = 0; i < file.graphs.size(); ++i) {
    const int32_t function = file.function_of[i];
    const Imports& imports = function < 0 ? of_model : of_functions[static_cast<size_t>(function)];
    for (Node& node : file.graphs[i].nodes) {
      const auto found = imports.find(node.domain);
      if (found == imports.end())
        oddities.note("{} nodes are of an operator set that is not imported; version 1 is assumed",
                      fmt::format("{} of '{}'", node.op_type, node.domain));
      node.since = found == imports.end() ? 1 : found->second;
    }
  }
}

}  // namespace edgesage::onnx
