// What the lowerings of all targets share: making rows, linking them, fusing, aliasing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/graph.h"
#include "src/lower/rows.h"

namespace edgesage {

// Builds `lowering` of one graph in order of execution. Holds references to both: keep them alive.
// The graph must have a main subgraph.
class RowBuilder {
 public:
  RowBuilder(const Graph& graph, Lowering& lowering);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Subgraph& subgraph() const { return subgraph_; }
  [[nodiscard]] const Operator& op(int32_t index) const {
    return subgraph_.operators[static_cast<size_t>(index)];
  }
  [[nodiscard]] const Target& target() const { return lowering_.target; }
  [[nodiscard]] int32_t row_count() const { return static_cast<int32_t>(lowering_.rows.size()); }
  [[nodiscard]] Row& row(int32_t index) { return lowering_.rows[static_cast<size_t>(index)]; }

  // A row of the operator with its geometry filled in; not yet added.
  [[nodiscard]] Row make(int32_t op, RowKind kind, Placement placement) const;

  // Appends the row, adds to its inputs the rows that write its ifm_tensors; gives its index.
  int32_t add(Row row);

  // One step of a decomposition: reads the results of `inputs`, no tensors of the file.
  int32_t add_inner(const Row& like, RowKind kind, Shape4 ifm, Shape4 ofm,
                    std::vector<int32_t> inputs);

  void place(int32_t op, Placement placement, std::string reason);
  [[nodiscard]] bool is_placed_on(int32_t op, Placement placement) const;

  // The last row that writes the tensor, or -1. A concatenation has several writers.
  [[nodiscard]] int32_t writer(int32_t tensor) const;
  // True when the tensor's only use is this operator, so that its producer may write the
  // operator's result instead.
  [[nodiscard]] bool is_only_use(int32_t tensor, int32_t op) const;
  // The operator that makes the tensor, or -1.
  [[nodiscard]] int32_t producer(int32_t tensor) const {
    return index_.producer[static_cast<size_t>(tensor)];
  }
  [[nodiscard]] bool is_graph_output(int32_t tensor) const;
  [[nodiscard]] const std::vector<int32_t>& consumers(int32_t tensor) const;

  // The operator is done inside `row`, which from now on writes the operator's output in place of
  // its input.
  void fuse(int32_t op, int32_t row);
  // The operator does nothing: its outputs are (parts of) its input's memory.
  void alias(int32_t op);
  // Row `row` no longer writes `tensor`: a later step will.
  void take_output(int32_t row, int32_t tensor);
  // The rows that write `part` write `tensor` (a part of it) in its place: a concatenation without
  // a copy. Gives their indexes.
  std::vector<int32_t> write_into(int32_t part, int32_t tensor);

  void warn(std::string text);

 private:
  [[nodiscard]] int32_t resolve(int32_t tensor) const;

  const Graph& graph_;
  const Subgraph& subgraph_;
  Lowering& lowering_;
  GraphIndex index_;
  std::vector<std::vector<int32_t>> writers_;
  std::vector<uint8_t> is_graph_output_;
};

}  // namespace edgesage
