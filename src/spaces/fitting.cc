#include "src/spaces/fitting.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "src/spaces/trained_weights.h"

namespace edgesage {
namespace {

constexpr double kLeastWidth = 1.0 / 32;
constexpr double kMostWidth = 16;
constexpr int kBisections = 12;

GraphBuilder::Options options_for(std::string_view space, uint64_t seed,
                                  TrainedWeights::Drawing drawing) {
  const auto weights = std::make_shared<TrainedWeights>(seed, drawing);
  return {.name = std::string(space),
          .fill = [weights](const FilterLayout& layout,
                            std::span<int8_t> stored) { weights->fill(layout, stored); },
          .seed = seed};
}

}  // namespace

std::optional<double> fit_width(const EmitNetwork& emit, double macs, double tolerance,
                                const NetworkLimits& limits) {
  double low = kLeastWidth;
  double high = kMostWidth;
  for (int i = 0; i < kBisections; ++i) {
    const double width = std::sqrt(low * high);
    GraphBuilder net({.name = {}, .fill = {}, .count_only = true});
    emit(net, width);
    if (!net.ok()) return std::nullopt;
    const auto count = static_cast<double>(net.macs());
    const bool fits = count <= macs * tolerance && count * tolerance >= macs;
    if (fits && count >= limits.macs_low && count <= limits.macs_high &&
        net.weights_bytes() >= limits.weights_low && net.weights_bytes() <= limits.weights_high &&
        net.largest_activation() <= limits.elements_high)
      return width;
    (count < macs ? low : high) = width;
  }
  return std::nullopt;
}

Result<Graph> make_network(const EmitNetwork& emit, double width, std::string_view space,
                           uint64_t seed) {
  GraphBuilder net(options_for(space, seed, TrainedWeights::Drawing::kEach));
  const GraphBuilder::Id output = emit(net, width);
  return net.finish({output});
}

Result<Graph> sample_network(Rng& rng, std::string_view space, double macs,
                             const NetworkLimits& limits,
                             const std::function<EmitOutputs(Rng&)>& draw_plan) {
  double tolerance = 1.15;
  while (true) {
    const EmitOutputs emit = draw_plan(rng);
    const auto count = [&emit](GraphBuilder& net, double width) {
      return emit(net, width).front();
    };
    const std::optional<double> width = fit_width(count, macs, tolerance, limits);
    if (width) {
      GraphBuilder net(options_for(space, rng.next(), TrainedWeights::Drawing::kTabled));
      const std::vector<GraphBuilder::Id> outputs = emit(net, *width);
      return net.finish(outputs);
    }
    tolerance *= 1.02;
  }
}

int64_t scale_channels(double channels, double width, int64_t multiple, int64_t most) {
  const auto units =
      static_cast<int64_t>(std::floor(channels * width / static_cast<double>(multiple) + 0.5));
  return std::clamp<int64_t>(units, 1, std::max<int64_t>(1, most / multiple)) * multiple;
}

}  // namespace edgesage
