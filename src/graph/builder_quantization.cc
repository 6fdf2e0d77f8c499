// How GraphBuilder chooses scales, zero points and biases.
#include <algorithm>
#include <cmath>

#include "src/graph/builder.h"

namespace edgesage {
namespace {

constexpr double kMaxBias = 1 << 30;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

// Puts an activation behind roughly normal values: their moments, and the range worth storing.
void GraphBuilder::activate(Activation activation, double jitter, Values& output) {
  const double deviation = std::sqrt(output.variance);
  const double reach = 4.0 * jitter * deviation;
  output.fixed = false;
  output.low = std::min(0.0, output.mean - reach);
  output.high = std::max({0.0, output.mean + reach, output.low + 1e-6});
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kReluN1To1:
      output.low = -1;
      output.high = 1;
      output.variance = std::min(output.variance, 0.5);
      return;
    case Activation::kRelu:
    case Activation::kRelu6:
      output.mean = std::max(0.05 * deviation, 0.4 * deviation + 0.5 * output.mean);
      output.variance *= 0.35;
      output.low = 0;
      output.high = activation == Activation::kRelu6 ? 6.0 : std::max(output.high, deviation);
      return;
  }
}

// Chooses scales such that each channel's sums have a deviation of about 1, and biases that centre
// them.
GraphBuilder::Values GraphBuilder::weigh(Id x, Id filter, const FilterLayout& layout,
                                         std::span<const int8_t> stored, Activation activation,
                                         double overlap, Weights& weights) {
  const auto channels = static_cast<size_t>(layout.channels);
  const auto taps = static_cast<size_t>(layout.taps);
  // Sums of integers, so that they are the same in any order.
  std::vector<double> sum(channels), squares(channels);
  const size_t step = layout.channel_last ? channels : 1;
  for (size_t channel = 0; channel < channels; ++channel) {
    int64_t total = 0, total_squares = 0;
    const int8_t* value = stored.data() + (layout.channel_last ? channel : channel * taps);
    for (size_t i = 0; i < taps; ++i, value += step) {
      total += *value;
      total_squares += int64_t{*value} * *value;
    }
    sum[channel] = overlap * static_cast<double>(total);
    squares[channel] = overlap * static_cast<double>(total_squares);
  }
  const Values& in = values(x);
  const double in_variance = std::max(in.variance, 1e-4);
  // relu6 keeps values up to 6, so its inputs may be wider.
  const double width = activation == Activation::kRelu6 ? 1.8 : 1.0;
  double total = 0;
  for (const double square : squares) total += square;
  const bool per_channel = layout.kind != OpKind::kFullyConnected;
  weights.input = x;
  weights.filter = filter;
  for (size_t channel = 0; channel < channels; ++channel) {
    const double deviation = per_channel ? width * rng_.uniform(0.6, 1.4) : width;
    const double energy =
        std::max(per_channel ? squares[channel] : total / static_cast<double>(channels), 1.0);
    if (per_channel || channel == 0)
      weights.scale.push_back(deviation / std::sqrt(energy * in_variance));
    const double scale = weights.scale.back();
    weights.bias_values.push_back(width * rng_.uniform(-0.2, 0.4) - scale * sum[channel] * in.mean);
  }
  Values out;
  out.mean = 0.1 * width;
  out.variance = 1.2 * width * width;
  activate(activation, rng_.uniform(0.8, 1.2), out);
  return out;
}

GraphBuilder::Id GraphBuilder::root(Id x) {
  while (values(x).group != x) x = values(x).group;
  return x;
}

// The union of both ranges becomes the range of both.
void GraphBuilder::share(Id a, Id b) {
  const Id left = root(a);
  const Id right = root(b);
  if (left == right) return;
  Values& kept = values(left);
  const Values& joined = values(right);
  if (kept.fixed != joined.fixed || (kept.fixed && kept.centred != joined.centred)) {
    fail({ErrorCode::kInvalidArgument, tensor(b).name,
          "shares quantisation with a tensor whose scale is prescribed (logistic, softmax, tanh)"});
    return;
  }
  kept.low = std::min(kept.low, joined.low);
  kept.high = std::max(kept.high, joined.high);
  values(right).group = left;
}

void GraphBuilder::quantise_activations() {
  auto& tensors = graph_.main().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].type != DataType::kInt8) continue;
    if (tensors[i].is_constant() && !values_[i].follows) continue;
    const Values& range = values(root(static_cast<Id>(i)));
    Quantization& quantization = tensors[i].quantization;
    // Values that are all the same span nothing, and estimates of very deep networks leave what a
    // float holds; any scale will do for them.
    const double width = range.high - range.low;
    const bool spans = width > 1e-30 && width < 1e30;
    const double low = spans ? range.low : 0.0;
    const double prescribed = range.centred ? 1.0 / 128 : 1.0 / 256;
    const double scale = range.fixed ? prescribed : (spans ? width : 255.0) / 255;
    const double zero =
        range.fixed ? (range.centred ? 0 : -128) : std::floor(-128 - low / scale + 0.5);
    quantization.scale = {static_cast<float>(scale)};
    quantization.zero_point = {static_cast<int64_t>(std::clamp(zero, -128.0, 127.0))};
  }
}

void GraphBuilder::write_weights(const Weights& weights) {
  const size_t channels = weights.bias_values.size();
  Tensor& filter = tensor(weights.filter);
  const auto scale_of = [&](size_t channel) {
    return weights.scale[weights.scale.size() == 1 ? 0 : channel];
  };
  if (is_int8()) {
    Quantization& bias_quantization = tensor(weights.bias).quantization;
    const double input_scale = tensor(weights.input).quantization.scale.front();
    std::vector<int32_t> bias(channels);
    for (const double scale : weights.scale) {
      filter.quantization.scale.push_back(static_cast<float>(scale));
      bias_quantization.scale.push_back(
          static_cast<float>(input_scale * static_cast<double>(filter.quantization.scale.back())));
    }
    filter.quantization.zero_point.assign(weights.scale.size(), 0);
    bias_quantization.zero_point.assign(weights.scale.size(), 0);
    for (size_t i = 0; i < channels; ++i) {
      const double step = bias_quantization.scale[weights.scale.size() == 1 ? 0 : i];
      bias[i] = static_cast<int32_t>(
          std::clamp(std::floor(weights.bias_values[i] / step + 0.5), -kMaxBias, kMaxBias));
    }
    tensor(weights.bias).buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.push_back(make_buffer(bytes_of(bias)));
    return;
  }
  Buffer& stored = graph_.buffers[static_cast<size_t>(filter.buffer)];
  std::vector<float> real(stored.data.size());
  const bool channel_last = filter.quantization.axis == 3;
  for (size_t i = 0; i < real.size(); ++i)
    real[i] =
        static_cast<float>(std::to_integer<int8_t>(stored.data[i]) *
                           scale_of(channel_last ? i % channels : i / (real.size() / channels)));
  stored = make_buffer(bytes_of(real));
  filter.quantization = {};
  const std::vector<float> bias(weights.bias_values.begin(), weights.bias_values.end());
  tensor(weights.bias).buffer = static_cast<int32_t>(graph_.buffers.size());
  graph_.buffers.push_back(make_buffer(bytes_of(bias)));
}

}  // namespace edgesage
