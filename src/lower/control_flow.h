// Control flow: which subgraphs an operator runs, how often, and the graph with them in line.
//
// A branch (IF, STABLEHLO_CASE) counts its larger alternative, by MACs; a loop its body as often as
// the attribute `trip_count` says (once, with a warning, where it is absent) and its condition once
// more; a composite its decomposition; CALL_ONCE nothing, for it runs before the first inference
// alone. Subgraphs that contain themselves are found and count nothing. Nothing here recurses:
// files may nest as deep as they like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

[[nodiscard]] bool is_control_flow(OpKind kind);

// A subgraph that an operator runs in one inference.
struct SubgraphRun {
  int32_t subgraph = 0;
  int64_t times = 1;
};

// MACs of subgraphs, each walked once, however many operators name it. Time: linear in the tables.
class SubgraphWork {
 public:
  explicit SubgraphWork(const Graph& graph);

  // Of an operator in one run of its subgraph, with what it calls. Saturates.
  [[nodiscard]] int64_t macs(const Subgraph& subgraph, const Operator& op) const;
  // What the operator runs; empty for operators that are no control flow.
  [[nodiscard]] std::vector<SubgraphRun> runs(const Operator& op) const;

 private:
  const Graph& graph_;
  std::vector<int64_t> macs_;  // of one run of each subgraph; 0 while (and if) it contains itself
};

// A graph with the bodies of its control flow in the main subgraph, in front of the operator that
// runs them. That operator stays, reading their results.
struct Expansion {
  Graph graph;                  // one subgraph; buffers shared with the original
  std::vector<int32_t> origin;  // for each of its operators, the original's that is charged
  std::vector<int64_t> repeat;  // and how often it runs in an inference
  std::vector<std::string> warnings;
  std::vector<std::string> unsupported;  // of these, what --strict refuses
};

// False where expanding would change nothing.
[[nodiscard]] bool has_control_flow(const Graph& graph);

// Never fails. A file whose subgraphs unfold to more than a million operators and tensors, and four
// times what it holds, is expanded up to there, with a warning and an entry in `unsupported`.
[[nodiscard]] Expansion expand_control_flow(const Graph& graph);

// Rows of the expanded graph, each with its `repeat`.
[[nodiscard]] Lowering lower(const Expansion& expansion, const Target& target);

}  // namespace edgesage
