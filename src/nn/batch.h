// Batch: any number of graphs as numbers, one after the other; what a network reads.
//
// Inputs are already normalised. The same structure serves as a data set: training draws graphs out
// of it by number.
#pragma once

#include <cstdint>
#include <vector>

#include "edgesage/result.h"
#include "src/nn/config.h"

namespace edgesage::nn {

// Neighbours of node i are index[offset[i]] ... index[offset[i + 1] - 1], all in i's graph.
struct Csr {
  std::vector<int32_t> offset{0};  // nodes + 1
  std::vector<int32_t> index;
};

struct Batch {
  // Widths of the rows below; they must match the model's configuration.
  int32_t features = 0;
  int32_t globals_width = 0;
  int32_t columns = 0;  // ModelConfig::columns()
  int32_t quantities = 0;

  // Graphs. Nodes and operators of a graph are contiguous.
  std::vector<int32_t> graph_offset{0};     // graphs + 1: first node
  std::vector<int32_t> op_graph_offset{0};  // graphs + 1: first operator
  std::vector<float> globals;               // graphs x globals_width

  // Nodes.
  std::vector<float> x;       // nodes x features
  std::vector<int32_t> kind;  // nodes: row of the embedding table
  Csr producers;
  Csr consumers;
  // nodes x columns: natural logarithm of a closed-form estimate of the node's cost, in the unit of
  // the quantity; minus infinity where the node costs nothing whatever the network says.
  std::vector<float> log_prior;
  std::vector<int32_t> node_op;  // nodes: operator that is charged, of the same graph

  // Labels, each empty if there are none.
  std::vector<float> log_total;  // graphs x quantities: logarithm of the label; NaN = no label
  std::vector<float> weight;     // graphs: importance in the loss; empty = 1
  // operators x quantities, in the unit of the quantity (not logarithms), 0 allowed; NaN = no
  // label. Read only for quantities with node_labels.
  std::vector<float> op_label;

  [[nodiscard]] int32_t graphs() const { return static_cast<int32_t>(graph_offset.size()) - 1; }
  [[nodiscard]] int32_t nodes() const { return graph_offset.back(); }
  [[nodiscard]] int32_t operators() const { return op_graph_offset.back(); }

  // No graphs; widths and memory are kept.
  void clear();
};

// Appends graph number `graph` of `from` to `to`. Where `to` has no graphs yet it takes the widths
// and the presence of labels of `from`; otherwise both must agree. Allocates only to grow.
void append_graph(const Batch& from, int32_t graph, Batch& to);

// Whether the batch is consistent and fits the model: sizes, indexes in range, edges inside graphs,
// priors not NaN or plus infinity, inputs finite. kInvalidArgument with the field. Linear in size.
[[nodiscard]] Status validate(const Batch& batch, const ModelConfig& config);

}  // namespace edgesage::nn
