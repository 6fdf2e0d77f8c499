// Scales a sampled plan to a drawn amount of work and makes the network of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/rng.h"
#include "src/graph/builder.h"
#include "src/graph/graph.h"

namespace edgesage {

// Appends a network to the builder, its channels scaled by `width`; returns the output.
using EmitNetwork = std::function<GraphBuilder::Id(GraphBuilder& net, double width)>;

struct NetworkLimits {
  double macs_low = 0, macs_high = 0;
  int64_t weights_low = 0, weights_high = 0;  // bytes
  int64_t elements_high = INT64_MAX;          // of the largest activation
};

// The width at which the network has `macs` multiply-accumulates within a factor `tolerance`;
// nullopt if there is none or the limits do not hold there.
[[nodiscard]] std::optional<double> fit_width(const EmitNetwork& emit, double macs,
                                              double tolerance, const NetworkLimits& limits);

// The network with trained-looking weights; `seed` decides them.
[[nodiscard]] Result<Graph> make_network(const EmitNetwork& emit, double width,
                                         std::string_view space, uint64_t seed);

// As EmitNetwork, for networks of one or more outputs.
using EmitOutputs = std::function<std::vector<GraphBuilder::Id>(GraphBuilder& net, double width)>;

// Draws plans until a width brings one to `macs` multiply-accumulates (within a factor that begins
// at 1.15 and grows by 2 % a plan) inside the limits, and makes its network with tabled weights.
// `draw_plan` must now and then draw plans that fit.
[[nodiscard]] Result<Graph> sample_network(Rng& rng, std::string_view space, double macs,
                                           const NetworkLimits& limits,
                                           const std::function<EmitOutputs(Rng&)>& draw_plan);

// `channels` scaled by `width` and rounded to a multiple of `multiple`, at least one multiple, at
// most `most`.
[[nodiscard]] int64_t scale_channels(double channels, double width, int64_t multiple,
                                     int64_t most = 4096);

}  // namespace edgesage
