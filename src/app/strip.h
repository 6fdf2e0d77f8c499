// `edgesage strip`: a copy of a model without its weights, for bug reports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "edgesage/strip.h"
#include "src/app/context.h"
#include "src/graph/graph.h"

namespace edgesage::app {

struct StripRequest {
  std::string model;
  std::filesystem::path output;  // a .tflite; of an .onnx an .onnx as well
  bool keep_names = false;       // of tensors in a .tflite; its metadata and description go
  uint64_t seed = 1;
};

// Removes the values of weights: float and bias values become 0; of 8-bit weights those that their
// statistics are drawn from (weight_stats.h) are shuffled among each other, and all others become
// the zero point, so that encoded sizes are estimated as before. What defines shapes, slopes of
// PRELU and constants of up to four elements stay. Returns how many constants lost their values.
int64_t strip_weights(Graph& graph, uint64_t seed);

// Writes the copy and predicts both with every installed predictor. kUnsupported for what cannot be
// written as .tflite, kInvalidArgument for ncnn's .param, which has no weights, and for an .onnx of
// what is none.
[[nodiscard]] Result<Stripped> strip(const Context& context, const StripRequest& request);

}  // namespace edgesage::app
