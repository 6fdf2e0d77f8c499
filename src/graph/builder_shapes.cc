// Filters and biases without bytes: `GraphBuilder::Options::shapes_only`.
#include <algorithm>
#include <cmath>

#include "src/graph/builder.h"

namespace edgesage {
namespace {

constexpr double kTypicalMagnitude = 37;  // root mean square of trained int8 filters, in steps

}  // namespace

// As `weigh`, every channel being a typical one.
GraphBuilder::Values GraphBuilder::weigh_shapes(Id x, Id filter, const FilterLayout& layout,
                                                Activation activation, double overlap,
                                                Weights& weights) {
  const double in_variance = std::max(values(x).variance, 1e-4);
  const double width = activation == Activation::kRelu6 ? 1.8 : 1.0;
  const double energy =
      overlap * static_cast<double>(layout.taps) * kTypicalMagnitude * kTypicalMagnitude;
  const bool per_channel = layout.kind != OpKind::kFullyConnected;
  weights.input = x;
  weights.filter = filter;
  weights.scale.assign(per_channel ? static_cast<size_t>(layout.channels) : 1,
                       width / std::sqrt(energy * in_variance));
  Values out;
  out.mean = 0.1 * width;
  out.variance = 1.2 * width * width;
  activate(activation, 1.0, out);
  return out;
}

void GraphBuilder::write_shapes(const Weights& weights) {
  for (const Id id : {weights.filter, weights.bias}) {
    // A buffer each: one that is shared counts once.
    tensor(id).buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.push_back({});
  }
  Quantization& filter = tensor(weights.filter).quantization;
  if (!is_int8()) {
    filter = {};
    return;
  }
  Quantization& bias = tensor(weights.bias).quantization;
  const auto input_scale = static_cast<double>(tensor(weights.input).quantization.scale.front());
  const double scale = weights.scale.front();
  filter.scale.assign(weights.scale.size(), static_cast<float>(scale));
  bias.scale.assign(weights.scale.size(), static_cast<float>(input_scale * scale));
  filter.zero_point.assign(weights.scale.size(), 0);
  bias.zero_point.assign(weights.scale.size(), 0);
}

}  // namespace edgesage
