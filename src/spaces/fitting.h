// Scales a sampled plan to a drawn amount of work and makes the network of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "edgesage/result.h"
#include "src/graph/builder.h"
#include "src/graph/graph.h"

namespace edgesage {

// Appends a network to the builder, its channels scaled by `width`; returns the output.
using EmitNetwork = std::function<GraphBuilder::Id(GraphBuilder& net, double width)>;

struct NetworkLimits {
  double macs_low = 0, macs_high = 0;
  int64_t weights_low = 0, weights_high = 0;  // bytes
};

// The width at which the network has `macs` multiply-accumulates within a factor `tolerance`;
// nullopt if there is none or the limits do not hold there.
[[nodiscard]] std::optional<double> fit_width(const EmitNetwork& emit, double macs,
                                              double tolerance, const NetworkLimits& limits);

// The network with trained-looking weights; `seed` decides them.
[[nodiscard]] Result<Graph> make_network(const EmitNetwork& emit, double width,
                                         std::string_view space, uint64_t seed);

// `channels` scaled by `width` and rounded to a multiple of `multiple`, at least one multiple, at
// most `most`.
[[nodiscard]] int64_t scale_channels(double channels, double width, int64_t multiple,
                                     int64_t most = 4096);

}  // namespace edgesage
