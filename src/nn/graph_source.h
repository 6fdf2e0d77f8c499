// Where training takes its graphs from: a batch in memory, or a file that is mapped.
#pragma once

#include <cstdint>

#include "src/nn/batch.h"

namespace edgesage::nn {

// Graphs by number. All have the same widths, and the same kinds of labels present (a missing one
// is NaN). Immutable while it is trained on; const members may be called from several threads.
class GraphSource {
 public:
  virtual ~GraphSource() = default;
  [[nodiscard]] virtual int32_t graphs() const = 0;
  [[nodiscard]] virtual int32_t nodes_of(int32_t graph) const = 0;
  // Appends the graph with its labels, as append_graph does. Allocates only to let `to` grow.
  virtual void append(int32_t graph, Batch& to) const = 0;
};

// The graphs of a batch, which must outlive it.
class BatchSource final : public GraphSource {
 public:
  explicit BatchSource(const Batch& batch) : batch_(batch) {}
  [[nodiscard]] int32_t graphs() const override { return batch_.graphs(); }
  [[nodiscard]] int32_t nodes_of(int32_t graph) const override {
    const auto g = static_cast<size_t>(graph);
    return batch_.graph_offset[g + 1] - batch_.graph_offset[g];
  }
  void append(int32_t graph, Batch& to) const override { append_graph(batch_, graph, to); }

 private:
  const Batch& batch_;
};

}  // namespace edgesage::nn
