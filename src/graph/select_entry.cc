#include "src/graph/select_entry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace edgesage {
namespace {

std::string_view body_attribute(OpKind kind) {
  switch (kind) {
    case OpKind::kWhile:
    case OpKind::kStablehloWhile:
      return "body_subgraph_index";
    case OpKind::kCallOnce:
      return "init_subgraph_index";
    case OpKind::kStablehloComposite:
      return "decomposition_subgraph_index";
    default:
      return {};
  }
}

}  // namespace

bool names_subgraphs(const Operator& op, std::string_view attribute) {
  return attribute.ends_with("subgraph_index") || attribute.ends_with("subgraph_indices") ||
         attribute == "called_computations" ||
         (attribute == "subgraph" && op.kind == OpKind::kCall);
}

Status select_signature(Graph& graph, std::string_view key) {
  const auto chosen = std::ranges::find(graph.signatures, key, &Signature::key);
  if (chosen == graph.signatures.end()) {
    std::vector<std::string> keys;
    for (const Signature& signature : graph.signatures) keys.push_back(signature.key);
    return make_error(ErrorCode::kInvalidArgument, fmt::format("--signature {}", key),
                      keys.empty() ? std::string("the model has no signatures; leave the flag out")
                                   : fmt::format("the model has no such signature; it has: {}",
                                                 fmt::join(keys, ", ")));
  }
  const auto other = static_cast<size_t>(chosen->subgraph);
  if (other == 0) return {};
  std::swap(graph.subgraphs.front(), graph.subgraphs[other]);
  const auto moved = [other](int64_t index) {
    return index == 0                     ? static_cast<int64_t>(other)
           : std::cmp_equal(index, other) ? int64_t{0}
                                          : index;
  };
  for (Signature& signature : graph.signatures)
    signature.subgraph = static_cast<int32_t>(moved(signature.subgraph));
  for (Subgraph& subgraph : graph.subgraphs)
    for (Operator& op : subgraph.operators) {
      // Left out, it is the schema's default: subgraph 0.
      if (const std::string_view body = body_attribute(op.kind);
          !body.empty() && op.find(body) == nullptr)
        op.set(body, int64_t{0});
      for (Attribute& attribute : op.attributes) {
        if (!names_subgraphs(op, attribute.name)) continue;
        if (auto* index = std::get_if<int64_t>(&attribute.value)) *index = moved(*index);
        if (auto* list = std::get_if<std::vector<int64_t>>(&attribute.value))
          for (int64_t& index : *list) index = moved(index);
      }
    }
  return {};
}

void warn_of_entries(Graph& graph) {
  std::vector<std::string> others;
  for (const Signature& signature : graph.signatures)
    if (signature.subgraph != 0) others.push_back(signature.key);
  if (!others.empty())
    graph.warnings.push_back(
        fmt::format("the model has further entries, which are not counted; --signature takes one: "
                    "{}",
                    fmt::join(others, ", ")));
}

void set_trip_counts(Graph& graph, int64_t count) {
  for (Subgraph& subgraph : graph.subgraphs)
    for (Operator& op : subgraph.operators)
      if ((op.kind == OpKind::kWhile || op.kind == OpKind::kStablehloWhile) &&
          op.find("trip_count") == nullptr)
        op.set("trip_count", count);
}

}  // namespace edgesage
