// GraphTensors to what a network reads: normalised features, priors at the device's speed.
#pragma once

#include <span>
#include <vector>

#include "src/features/graph_tensors.h"
#include "src/features/priors.h"
#include "src/nn/batch.h"
#include "src/predict/normaliser.h"
#include "src/predict/predictor_file.h"

namespace edgesage {

// How the costs of rows become a quantity's value.
[[nodiscard]] nn::ReadOut read_out_of(Quantity quantity);

// The network of a predictor (seed and dropout are training's).
[[nodiscard]] nn::ModelConfig model_config(const PredictorData& data);

// Appends one graph. An empty batch takes the widths. Labels are the caller's to append.
void append_tensors(const GraphTensors& tensors, const PredictorData& data, nn::Batch& batch);

// Nodes x columns of closed-form estimates, at the device's level.
void append_log_priors(std::span<const float> log_prior, const PredictorData& data,
                       std::vector<float>& to);

}  // namespace edgesage
