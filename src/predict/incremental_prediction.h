// Re-prediction after a local change: for searches that change some channels and ask again.
//
//   IncrementalPrediction search(predictor, base);        // one pass over everything
//   for (const GraphTensors& changed : candidates)
//     use(search.update(changed));                         // what differs from the last one
//
// An update finds by itself what differs from the tensors before, by comparing them row by row,
// and recomputes for each member the neighbourhood that the change can reach: nodes whose features
// or neighbours differ, and one hop more for each layer. The answer equals Predictor::estimate of
// the new tensors in float32 to 1e-6, relative.
//
// What is local: features, kinds and edges of a row; priors (they enter after the layers); graph
// features (they enter the graph head alone). What is not: a feature that says how a row stands to
// the whole network changes everywhere at once (`live_share_of_peak` when the peak moves); such an
// update is a full pass. recomputed_nodes() tells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/features/graph_tensors.h"
#include "src/nn/incremental.h"
#include "src/predict/estimate.h"
#include "src/predict/predictor.h"

namespace edgesage {

// For each node of `to` one of `from` that it may be, -1 for none: by position where there are
// equally many, else the longest common beginning and end of the rows' kinds.
[[nodiscard]] std::vector<int32_t> match_nodes(const GraphTensors& from, const GraphTensors& to);

// Holds a copy of the tensors and every member's activations: about (layers + 1) x hidden floats a
// node and member. Refers to the predictor, which must live longer. Not synchronised; a copy is
// independent and may be used by another thread.
//
// Cost of an update: a comparison of the tensors, the layers over the nodes recomputed, and a
// read-out over all nodes. Allocates nothing once grown, but for match_nodes.
class IncrementalPrediction {
 public:
  IncrementalPrediction(const Predictor& predictor, const GraphTensors& tensors);

  // Nodes by match_nodes. The answer is valid until the next update.
  const Estimate& update(const GraphTensors& tensors);
  // `old_node`: for each node of `tensors` the node of the last ones that it was, -1 for a new one.
  // Any mapping gives the right answer, a good one gives it sooner.
  const Estimate& update(const GraphTensors& tensors, std::span<const int32_t> old_node);

  [[nodiscard]] const Estimate& estimate() const { return estimate_; }
  // Of the last update: nodes whose features or neighbours differed; nodes that any layer computed.
  [[nodiscard]] int32_t changed_nodes() const { return changed_; }
  [[nodiscard]] int32_t recomputed_nodes() const { return recomputed_; }

 private:
  void find_changes(const GraphTensors& tensors, std::span<const int32_t> old_node);
  void spread(const GraphTensors& tensors);
  void normalise(const GraphTensors& tensors);
  void keep(const GraphTensors& tensors, bool renumbered);
  void run_members(const GraphTensors& tensors, std::span<const int32_t> old_node);

  const Predictor* predictor_;
  GraphTensors before_;
  std::vector<nn::IncrementalState> members_;
  Estimate estimate_;
  int32_t changed_ = 0, recomputed_ = 0;

  // Of the update in hand.
  std::vector<int32_t> first_layer_;  // a node: the first layer that computes it, or a later one
  std::vector<uint8_t> has_new_prior_;
  std::vector<nn::PartialLayer> layers_;
  std::vector<int32_t> priced_, kind_;
  std::vector<float> x_, globals_, log_prior_;
  nn::PartialScratch scratch_;
  std::vector<double> squares_;
};

}  // namespace edgesage
