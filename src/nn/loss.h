// What training minimises, and its gradient at the heads.
//
// Total loss: Huber on log(total / label), divided by its delta, so that it is the absolute log
// error (about the relative error) away from zero.
// Node loss: the same on log((cost + e) / (label + e)) of every labelled operator of a quantity
// with node_labels, e being node_floor times the graph's label (the sum of its operators' labels
// where the graph has none): operators far below the floor are all the same. An operator weighs
// ((label + e) / sum of labels) ^ node_share_power, normalised over the graph.
// Where the read-out is a maximum, an operator's cost is the largest level of its nodes (what is in
// use while it runs), and the power is peak_share_power: what matters is near the peak.
#pragma once

#include <vector>

#include "src/nn/network.h"

namespace edgesage::nn {

struct LossOptions {
  double delta = 0.05;
  double node_delta = 0.1;
  std::vector<double> total_weight{};  // one a quantity; empty = 1 each; 0 = off
  std::vector<double> node_weight{};   // one a quantity; empty = 0.5 each; 0 = off
  double node_floor = 1e-3;
  double node_share_power = 0.5;
  double peak_share_power = 2.0;
};

// kInvalidArgument where a list has neither no entry nor one a quantity, or a number is out of
// range.
[[nodiscard]] Status validate(const LossOptions& options, const ModelConfig& config);

// Sums over graphs, with their weights; what losses are divided by.
struct LabelWeights {
  std::vector<double> totals;  // one a quantity: graphs with a label
  std::vector<double> nodes;   // one a quantity: graphs with a labelled operator

  void reset(int32_t quantities);
  void add(const ModelConfig& config, const Batch& batch, int32_t graph);
  void add(const LabelWeights& other);
  void multiply(double factor);
};

struct LossSums {
  double loss = 0;                // as minimised
  std::vector<double> log_error;  // one a quantity: weighted sum of |log(total / label)|

  void reset(int32_t quantities);
  void add(const LossSums& other);
};

// Adds the loss of the batch to `sums` and writes buffers.d_node_out and d_graph_out. `workspace`
// is as forward left it. Graphs whose total is zero, or that have no label, add nothing.
void loss_and_head_gradient(const ModelConfig& config, const LossOptions& options,
                            const LabelWeights& weights, const Batch& batch,
                            const Workspace& workspace, LossSums& sums, BackwardBuffers& buffers);

}  // namespace edgesage::nn
