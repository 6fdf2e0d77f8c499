#include "src/io/custom_options.h"

#include <flatbuffers/flexbuffers.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace edgesage {
namespace {

constexpr std::string_view kDetection = "TFLite_Detection_PostProcess";

// The positive number of that name in a map of options.
std::optional<int64_t> option(const flexbuffers::Map& map, const char* name) {
  const flexbuffers::Reference value = map[name];
  if (!value.IsIntOrUint()) return std::nullopt;
  const int64_t number = value.AsInt64();
  if (number < 1 || number > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return number;
}

// Detections in a result: how many, times the classes of each.
std::optional<int64_t> detections(const Operator& op) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(op.custom_options.data());
  const size_t size = op.custom_options.size();
  if (size < 3 || !flexbuffers::VerifyBuffer(bytes, size)) return std::nullopt;
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes, size);
  if (!root.IsMap()) return std::nullopt;
  const flexbuffers::Map map = root.AsMap();
  const auto most = option(map, "max_detections");
  if (!most) return std::nullopt;
  return *most * option(map, "max_classes_per_detection").value_or(1);
}

void complete_detection(const Operator& op, Subgraph& subgraph) {
  const std::optional<int64_t> count = detections(op);
  if (!count) return;
  const std::array<std::vector<int64_t>, 4> shapes = {
      std::vector<int64_t>{1, *count, 4}, {1, *count}, {1, *count}, {1}};
  for (size_t i = 0; i < std::min(shapes.size(), op.outputs.size()); ++i) {
    if (op.outputs[i] < 0) continue;
    Tensor& tensor = subgraph.tensors[static_cast<size_t>(op.outputs[i])];
    if (tensor.is_constant() || (tensor.has_rank && !tensor.shape.empty())) continue;
    tensor.has_rank = true;
    tensor.shape = shapes[i];
  }
}

}  // namespace

void complete_custom_results(Graph& graph) {
  for (Subgraph& subgraph : graph.subgraphs)
    for (const Operator& op : subgraph.operators)
      if (op.kind == OpKind::kCustom && op.custom_code == kDetection)
        complete_detection(op, subgraph);
}

}  // namespace edgesage
