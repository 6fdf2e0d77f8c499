// A graph with other widths: units of channel groups removed or repeated, constants to match.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/transform/channel_groups.h"

namespace edgesage {

// For each group the units that it has afterwards, by their present number: {0, 2} keeps two,
// {0, 1, 0} repeats one. Empty: the group stays as it is.
using ChannelSelection = std::vector<std::vector<int32_t>>;

// `groups` are channel_groups(graph). Filters, biases, slopes, constant operands, scales by channel
// and reshape targets are sliced or repeated; all else, values included, stays. kInvalidArgument
// for a selection of a fixed group, one that names a unit that is not there, or one that leaves
// none. Time: linear in what is copied.
[[nodiscard]] Result<Graph> select_channels(const Graph& graph, const ChannelGroups& groups,
                                            const ChannelSelection& selection);

// The same graph with all channels, of which those that are not selected count for nothing: in
// every filter the weights that read them are zero (the filter's zero point). What computes on
// integers then has the outputs of select_channels' graph exactly, on each channel that is in both.
// Selections must not repeat a unit. Errors and cost as above.
[[nodiscard]] Result<Graph> mask_channels(const Graph& graph, const ChannelGroups& groups,
                                          const ChannelSelection& selection);

}  // namespace edgesage
