#include "src/nn/layout.h"

#include <algorithm>
#include <cmath>

#include "src/base/rng.h"

namespace edgesage::nn {
namespace {

constexpr double kEmbeddingDeviation = 0.5;
constexpr float kInitialOverhead = -4.0f;  // softplus: 2 % of the scale

class Builder {
 public:
  explicit Builder(Layout& layout) : layout_(layout) {}

  size_t add(const std::string& name, int64_t rows, int64_t cols, bool decayed) {
    layout_.slices.push_back({name, rows, cols, layout_.size, decayed});
    layout_.size += rows * cols;
    return layout_.slices.size() - 1;
  }
  Dense dense(const std::string& name, int64_t inputs, int64_t outputs) {
    const size_t weight = add(name + ".weight", inputs, outputs, true);
    return {weight, add(name + ".bias", 1, outputs, false)};
  }
  NormedDense normed(const std::string& name, int64_t inputs, int64_t outputs) {
    NormedDense result;
    static_cast<Dense&>(result) = dense(name, inputs, outputs);
    result.gain = add(name + ".gain", 1, outputs, false);
    result.shift = add(name + ".shift", 1, outputs, false);
    return result;
  }

 private:
  Layout& layout_;
};

void fill_normal(const ParameterSlice& slice, double deviation, uint64_t seed,
                 std::span<float> parameters) {
  Rng rng(seed, slice.name);
  for (float& value :
       parameters.subspan(static_cast<size_t>(slice.offset), static_cast<size_t>(slice.size())))
    value = static_cast<float>(deviation * rng.normal());
}

void fill_he(const ParameterSlice& slice, uint64_t seed, std::span<float> parameters) {
  fill_normal(slice, std::sqrt(2.0 / static_cast<double>(slice.rows)), seed, parameters);
}

}  // namespace

Layout::Layout(const ModelConfig& config) {
  Builder builder(*this);
  const int64_t hidden = config.hidden;
  embedding = builder.add("embedding", config.kinds, config.embedding, false);
  encoder = builder.normed("encoder", int64_t{config.features} + config.embedding, hidden);
  for (int32_t l = 0; l < config.layers; ++l)
    layers.push_back(builder.normed("layer" + std::to_string(l + 1), 3 * hidden, hidden));
  node_hidden = builder.dense("node_hidden", hidden, config.node_hidden());
  node_out = builder.dense("node_out", config.node_hidden(), config.columns());
  graph_hidden = builder.dense("graph_hidden", config.pooled(), hidden);
  graph_out = builder.dense("graph_out", hidden, 2 * int64_t{config.quantity_count()});
}

void initialise(const ModelConfig& config, const Layout& layout, std::span<float> parameters) {
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  fill_normal(layout[layout.embedding], kEmbeddingDeviation, config.seed, parameters);
  std::vector<NormedDense> normed = layout.layers;
  normed.push_back(layout.encoder);
  for (const NormedDense& dense : normed) {
    fill_he(layout[dense.weight], config.seed, parameters);
    const ParameterSlice& gain = layout[dense.gain];
    std::fill_n(parameters.begin() + gain.offset, gain.size(), 1.0f);
  }
  fill_he(layout[layout.node_hidden.weight], config.seed, parameters);
  fill_he(layout[layout.graph_hidden.weight], config.seed, parameters);
  const ParameterSlice& bias = layout[layout.graph_out.bias];
  std::fill_n(parameters.begin() + bias.offset + config.quantity_count(), config.quantity_count(),
              kInitialOverhead);
}

}  // namespace edgesage::nn
