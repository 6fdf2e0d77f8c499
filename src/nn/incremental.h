// One graph's activations in one network, brought up to date where the graph changed.
//
// A layer sees a node and its neighbours, so a change reaches one hop further with every layer; all
// other node vectors stay as they are. Graph features enter the graph head alone, so that a change
// of them recomputes no node. The read-out (pooling, sums, shares) is done again over all nodes,
// from stored logarithms and exponentials: some numbers a node against the layers' thousands.
//
// An update ends in what a pass over the new graph gives, to rounding (1e-6 is promised and tested;
// node vectors have the same bits).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/nn/batch.h"
#include "src/nn/network.h"

namespace edgesage::nn {

// Nodes that a layer computes anew, and the neighbours of each, by their numbers in the new graph.
struct PartialLayer {
  std::vector<int32_t> nodes;  // ascending
  Csr producers, consumers;    // one list for each of `nodes`
};

// What one graph became. Node numbers are those of the new graph, but for old_node.
struct PartialUpdate {
  int32_t nodes = 0;
  int32_t operators = 0;
  // Where each node was before, -1 for a new one; empty: all are where they were.
  std::span<const int32_t> old_node;
  // The encoder, then each layer: all nodes whose input differs from that of their old node. Each
  // contains the one before.
  std::span<const PartialLayer> layers;
  std::span<const float> x;          // rows of layers.front().nodes, normalised
  std::span<const int32_t> kind;     // of layers.front().nodes
  std::span<const int32_t> priced;   // ascending: nodes of layers.back(), or with another prior
  std::span<const float> log_prior;  // all nodes x columns
  std::span<const int32_t> node_op;  // all nodes
  std::span<const float> globals;    // normalised
};

// Memory that updates of any number of states share; one a thread.
struct PartialScratch {
  kernels::AlignedFloats input, means, normal, out, moved;
  kernels::AlignedFloats pooled, graph_hidden, graph_out;
  std::vector<int32_t> largest;
  std::vector<double> moved_costs;
};

// Begins without a graph; the first update names every node in every layer. A value: copies are
// independent. Allocates only to grow.
class IncrementalState {
 public:
  // All updates of a state must be of the same network.
  void update(const Network& network, const PartialUpdate& update, PartialScratch& scratch);

  // In the order of the quantities, and operator by operator with a number each.
  [[nodiscard]] const std::vector<double>& totals() const { return totals_; }
  [[nodiscard]] const std::vector<double>& overhead() const { return overhead_; }
  [[nodiscard]] const std::vector<double>& op_costs() const { return op_costs_; }

 private:
  // A prior column's cost of each node: its logarithm, and what the sum of the column adds up -
  // the cost itself or, for a maximum, (cost / reference)^power.
  struct Column {
    std::vector<double> log_cost, amount;
    double log_reference = 0;
    double scale = 1;  // of amounts to shares of the column's value
  };

  void renumber(const Network& network, const PartialUpdate& update, PartialScratch& scratch);
  void run_layer(const Network& network, const PartialUpdate& update, size_t layer,
                 PartialScratch& scratch);
  void price(const Network& network, const PartialUpdate& update, PartialScratch& scratch);
  void run_graph_head(const Network& network, const PartialUpdate& update, PartialScratch& scratch);
  void read_out(const Network& network, const PartialUpdate& update, const PartialScratch& scratch);
  double value_of(const Network& network, int32_t column);

  std::vector<kernels::AlignedFloats> vectors_;  // what the encoder, then each layer gives
  kernels::AlignedFloats node_out_;              // nodes x columns
  std::vector<Column> columns_;
  std::vector<double> totals_, overhead_, op_costs_;
};

}  // namespace edgesage::nn
