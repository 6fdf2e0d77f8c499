#include <fmt/format.h>

#include <set>
#include <string>

#include "src/graph/custom_ops.h"
#include "src/graph/op_registry.h"
#include "src/lower/control_flow.h"
#include "src/lower/edge_tpu_rows.h"
#include "src/lower/ethos_rows.h"
#include "src/lower/generic_rows.h"
#include "src/lower/row_builder.h"
#include "src/lower/rows.h"
#include "src/lower/xnnpack_rows.h"

namespace edgesage {
namespace {

// Operators whose inside cannot be seen are said once each, however often they occur.
void warn_of_opaque_operators(RowBuilder& builder, bool expanded) {
  std::set<std::string> said;
  for (size_t i = 0; i < builder.subgraph().operators.size(); ++i) {
    const Operator& op = builder.subgraph().operators[i];
    std::string text;
    if (is_control_flow(op.kind)) {
      if (expanded) continue;
      text = fmt::format("operator {} ({}): its subgraphs are not expanded into rows", i,
                         op_name(op.kind));
    } else if (op.kind == OpKind::kCustom) {
      text = describe_custom(builder.graph(), op);
    } else if (op.kind == OpKind::kUnknown) {
      text = fmt::format("operator {} has a builtin code that this version does not know", i);
    }
    if (!text.empty() && said.insert(text).second) builder.warn(std::move(text));
  }
}

Lowering lower_graph(const Graph& graph, const Target& target, bool expanded) {
  Lowering lowering;
  lowering.target = target;
  if (graph.subgraphs.empty()) {
    lowering.warnings.emplace_back("the model has no subgraph, so nothing runs");
    return lowering;
  }
  RowBuilder builder(graph, lowering);
  warn_of_opaque_operators(builder, expanded);
  if (target.is_ethos())
    lower_ethos(builder);
  else if (target.kind == TargetKind::kGeneric)
    lowering.partitions = lower_generic(builder);
  else if (target.kind == TargetKind::kEdgeTpuLike)
    lowering.partitions = lower_edge_tpu(builder);
  else
    lowering.partitions = lower_xnnpack(builder);
  return lowering;
}

}  // namespace

Lowering lower(const Graph& graph, const Target& target) {
  return lower_graph(graph, target, false);
}

Lowering lower(const Expansion& expansion, const Target& target) {
  Lowering lowering = lower_graph(expansion.graph, target, true);
  for (Row& row : lowering.rows)
    if (row.op >= 0) row.repeat = expansion.repeat[static_cast<size_t>(row.op)];
  return lowering;
}

}  // namespace edgesage
