// Model: a network with its weights.
#pragma once

#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/kernels/matrix.h"
#include "src/nn/batch.h"
#include "src/nn/config.h"
#include "src/nn/layout.h"
#include "src/nn/network.h"
#include "src/nn/workspace.h"

namespace edgesage::nn {

// Of the weights, and of what they are multiplied with, in Model::predict; sums are in float32.
enum class Precision : uint8_t {
  kFloat32,
  // bfloat16 in the encoder, the layers and the node head's hidden layer: twice the speed of their
  // products where kernels::has_bf16_instructions(), slower elsewhere. Costs are then right to
  // about 1 %; across instruction sets, too, they agree only to that.
  kBfloat16,
};

// A value: copies are independent. Const members may be called from any number of threads.
class Model {
 public:
  // Fresh weights, the same for the same configuration. kInvalidArgument for a bad configuration.
  [[nodiscard]] static Result<Model> create(ModelConfig config);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }

  // All weights in one vector, and what lies where in it; for predictor files.
  [[nodiscard]] std::span<const float> parameters() const {
    return {parameters_.data(), static_cast<size_t>(layout_.size)};
  }
  [[nodiscard]] std::span<const ParameterSlice> parameter_table() const { return layout_.slices; }
  // kInvalidArgument if there are not as many as parameters(), or one is not finite.
  Status set_parameters(std::span<const float> parameters);

  // `batch` must pass validate(batch, config()). The answer lies in the workspace, until its next
  // use; nothing is allocated once the workspace has grown. One workspace a thread.
  const Outputs& predict(const Batch& batch, Workspace& workspace) const;

  // Of predict, and of nothing else. Not to be called while other threads predict.
  void set_precision(Precision precision);
  [[nodiscard]] Precision precision() const { return precision_; }

  // For passes over parts of a graph (incremental.h); refers to this model, in float32.
  [[nodiscard]] Network network() const { return {config_, layout_, parameters_.data(), packed_}; }

 private:
  explicit Model(ModelConfig config);
  void pack_all();

  ModelConfig config_;
  Layout layout_;
  kernels::AlignedFloats parameters_;
  PackedWeights packed_;
  RoundedWeights rounded_;  // empty in float32
  Precision precision_ = Precision::kFloat32;
};

}  // namespace edgesage::nn
