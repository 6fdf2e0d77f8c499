// Changes of a graph that might pay on a device; whether they do is for the predictor to say.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "edgesage/predict.h"
#include "src/graph/graph.h"
#include "src/transform/channel_groups.h"

namespace edgesage::app {

// A change and how to make it; the graph is made only when it is wanted.
struct Rewrite {
  std::string topic;
  std::string what;
  std::vector<int32_t> operators;
  // Of a narrower group: how much of it goes, and what its operators cost now. A step is where the
  // saving is more than that share.
  double removed_share = 0;
  double touched_ms = 0;
  std::function<Result<Graph>()> make;
};

// `graph` must outlive the rewrites. `prediction` is of that graph, with its inspection.
[[nodiscard]] std::vector<Rewrite> channel_rewrites(const Graph& graph, const ChannelGroups& groups,
                                                    const Prediction& prediction);
[[nodiscard]] std::vector<Rewrite> operator_rewrites(const Graph& graph,
                                                     const Prediction& prediction);
[[nodiscard]] std::vector<Rewrite> memory_rewrites(const Graph& graph, const ChannelGroups& groups,
                                                   const Prediction& prediction);
[[nodiscard]] std::vector<Rewrite> first_layer_rewrites(const Graph& graph,
                                                        const ChannelGroups& groups,
                                                        const Prediction& prediction);

// "operators 3 to 5 and 9"; long lists are cut.
[[nodiscard]] std::string operators_in_words(const std::vector<int32_t>& operators);

}  // namespace edgesage::app
