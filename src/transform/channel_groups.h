// Which channels of a graph belong together, so that a width can change without breaking it.
//
// A channel is an index of the last dimension of a tensor (images are NHWC, vectors [batch,
// units]). A convolution makes new channels; most operators hand each on to the same place, some to
// several (depthwise with a multiplier, flatten, depth to space), and an addition says that the
// channels of its inputs are one. What is one that way is a *unit*: it can only be removed or
// repeated as a whole. Units that are made side by side, the output channels of a convolution for
// one, are a *group* and stand for each other: a group of 32 units is a width of 32.
//
//   ChannelGroups groups = channel_groups(graph);
//   for (const ChannelGroup& group : groups.groups)
//     if (!group.fixed()) ...  // may have any width above 0: see select_channels.h
//
// Found from the graph's dependencies alone: additions and other elementwise operators with
// broadcasting (squeeze and excite), concatenations at any offset, equal splits, depthwise and
// grouped convolutions (whose groups keep equal shares), flattening before dense layers, depth to
// space. Everything else - channels that enter or leave the graph, operators whose rule is not
// known, weights that are computed or shared - makes its groups fixed, with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace edgesage {

struct ChannelGroup {
  int32_t width = 0;             // units
  std::string reason;            // why the width cannot change; empty: it can
  std::vector<int32_t> tensors;  // that hold channels of it, ascending

  [[nodiscard]] bool fixed() const { return !reason.empty(); }
};

// A run of a tensor's channels: all units of a group in their order, each `repeat` times
// before the next.
struct ChannelRun {
  int32_t group = 0;
  int32_t repeat = 1;
  bool operator==(const ChannelRun&) const = default;
};

struct ChannelGroups {
  std::vector<ChannelGroup> groups;
  // For each tensor of the main subgraph the runs, each of all units of its group in their order,
  // that its channels are made of. Empty for constants, scalars and tensors of unknown shape.
  std::vector<std::vector<ChannelRun>> runs;

  // Channels that the runs come to.
  [[nodiscard]] int64_t channels(const std::vector<ChannelRun>& of) const;
};

struct ChannelGroupOptions {
  // A depthwise convolution of a single channel with a multiplier is a convolution in all but name:
  // its channels are free. Otherwise they are that one channel several times.
  bool free_multiplier = false;
};

// Of the main subgraph of a valid graph. Time: linear in the channels of all tensors, nearly.
[[nodiscard]] ChannelGroups channel_groups(const Graph& graph,
                                           const ChannelGroupOptions& options = {});

// The runs of an activation that is read as rows of `depth` values (what a dense layer reads): its
// own, repeated for every place that is flattened into a row. Empty where that does not fit.
[[nodiscard]] std::vector<ChannelRun> flattened_runs(const ChannelGroups& groups,
                                                     const Subgraph& subgraph, int32_t tensor,
                                                     int64_t depth);

}  // namespace edgesage
