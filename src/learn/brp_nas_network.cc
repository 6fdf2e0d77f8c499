#include "src/learn/brp_nas_network.h"

#include <algorithm>
#include <cmath>

#include "src/kernels/elementwise.h"

namespace edgesage {
namespace {

using kernels::ConstMatrix;
using kernels::Matrix;

// Keeps a number as 1 / (1 - dropout), drops it as 0. Draws the distance to the next dropped one,
// because few are.
void draw_factors(double dropout, Rng& rng, Matrix factor) {
  const int64_t count = factor.rows * factor.cols;
  std::fill_n(factor.data, count, static_cast<float>(1 / (1 - dropout)));
  const double log_keep = std::log1p(-dropout);
  for (int64_t i = 0;; ++i) {
    const double skipped = std::floor(std::log1p(-rng.uniform()) / log_keep);
    if (skipped >= static_cast<double>(count - i)) return;
    i += static_cast<int64_t>(skipped);
    factor.data[i] = 0;
  }
}

}  // namespace

BrpNasNetwork::BrpNasNetwork(int64_t width, Rng& rng, int64_t kinds)
    : width_(width), kinds_(kinds) {
  int64_t next = 0;
  for (size_t l = 0; l < kLayers; ++l) {
    Layer& layer = layers_[l];
    layer.inputs = l == 0 ? kinds : width;
    layer.weight = next;
    layer.bias = layer.weight + layer.inputs * width;
    layer.gain = layer.bias + width;
    layer.shift = layer.gain + width;
    next = layer.shift + width;
  }
  linear_ = next;
  parameters_.resize(static_cast<size_t>(linear_ + width + 1));
  const double bound = 1 / std::sqrt(static_cast<double>(width));
  for (float& value : parameters_) value = static_cast<float>(rng.uniform(-bound, bound));
  for (const Layer& layer : layers_) {
    std::fill_n(parameters_.data() + layer.gain, width, 1.0f);
    std::fill_n(parameters_.data() + layer.shift, width, 0.0f);
  }
}

ConstMatrix BrpNasNetwork::weights(const Layer& layer) const {
  return {parameters_.data() + layer.weight, layer.inputs, width_, width_};
}

void BrpNasNetwork::forward(const BrpNasBatch& batch, double dropout, Rng& rng,
                            std::span<float> answers) {
  dropped_ = dropout > 0;
  const Matrix features = kernels::scratch(input_, batch.rows(), kinds_);
  std::fill_n(features.data, features.rows * features.cols, 0.0f);
  for (int64_t row = 0; row < features.rows; ++row)
    if (const int32_t one = batch.feature[static_cast<size_t>(row)]; one >= 0)
      features.row(row)[one] = 1;

  ConstMatrix x = features;
  for (size_t l = 0; l < kLayers; ++l) {
    const Layer& layer = layers_[l];
    State& state = states_[l];
    const bool last = l + 1 == kLayers;
    state.rows = last ? batch.graphs() : batch.rows();
    const Matrix summed = kernels::scratch(state.summed, state.rows, layer.inputs);
    kernels::segment_sum((last ? batch.global_sums : batch.sums).segments(), x, summed);
    packed_.pack(weights(layer));
    const Matrix normal = kernels::scratch(state.normal, state.rows, width_);
    kernels::gemm(summed, packed_, {.bias = parameters_.data() + layer.bias}, normal);
    kernels::LayerNormAfter after;
    if (dropped_) {
      const Matrix factor = kernels::scratch(state.factor, state.rows, width_);
      draw_factors(dropout, rng, factor);
      after.factor = factor;
    }
    const Matrix output = kernels::scratch(state.output, state.rows, width_);
    float* deviation = kernels::scratch(state.inverse_deviation, state.rows, 1).data;
    kernels::layer_norm_relu(normal, parameters_.data() + layer.gain,
                             parameters_.data() + layer.shift, {normal, deviation}, after, output);
    x = output;
  }
  const float* linear = parameters_.data() + linear_;
  for (int64_t graph = 0; graph < x.rows; ++graph) {
    float sum = linear[width_];
    for (int64_t j = 0; j < width_; ++j) sum += x.row(graph)[j] * linear[j];
    answers[static_cast<size_t>(graph)] = sum;
  }
}

void BrpNasNetwork::backward(const BrpNasBatch& batch, std::span<const float> answer_gradient,
                             std::span<float> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  Matrix d_output = kernels::scratch(d_output_, states_.back().rows, width_);
  const float* linear = parameters_.data() + linear_;
  float* d_linear = gradient.data() + linear_;
  for (int64_t graph = 0; graph < d_output.rows; ++graph) {
    const float slope = answer_gradient[static_cast<size_t>(graph)];
    const float* output = states_.back().output.data() + graph * width_;
    for (int64_t j = 0; j < width_; ++j) {
      d_output.row(graph)[j] = slope * linear[j];
      d_linear[j] += slope * output[j];
    }
    d_linear[width_] += slope;
  }
  for (size_t l = kLayers; l-- > 0;) {
    const Layer& layer = layers_[l];
    State& state = states_[l];
    if (dropped_) kernels::multiply(kernels::scratch(state.factor, state.rows, width_), d_output);
    const Matrix normal = kernels::scratch(state.normal, state.rows, width_);
    kernels::layer_norm_relu_backward(d_output, {normal, state.inverse_deviation.data()},
                                      parameters_.data() + layer.gain,
                                      parameters_.data() + layer.shift, d_output,
                                      gradient.data() + layer.gain, gradient.data() + layer.shift);
    kernels::add_column_sums(d_output, gradient.data() + layer.bias);
    packed_.pack(d_output);
    kernels::gemm_transposed_accumulate(
        kernels::scratch(state.summed, state.rows, layer.inputs), packed_,
        {gradient.data() + layer.weight, layer.inputs, width_, width_});
    if (l == 0) return;
    packed_.pack_transposed(weights(layer));
    const Matrix d_summed = kernels::scratch(d_summed_, state.rows, width_);
    kernels::gemm(d_output, packed_, {}, d_summed);
    const bool last = l + 1 == kLayers;
    d_output = kernels::scratch(d_output_, batch.rows(), width_);
    kernels::segment_sum((last ? batch.in_global_sums : batch.in_sums).segments(), d_summed,
                         d_output);
  }
}

}  // namespace edgesage
