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

  // For passes over parts of a graph (incremental.h); refers to this model.
  [[nodiscard]] Network network() const { return {config_, layout_, parameters_.data(), packed_}; }

 private:
  explicit Model(ModelConfig config);

  ModelConfig config_;
  Layout layout_;
  kernels::AlignedFloats parameters_;
  PackedWeights packed_;
};

}  // namespace edgesage::nn
