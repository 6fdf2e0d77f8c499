// Where each weight lies in the one flat vector of parameters, and how it starts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/kernels/matrix.h"
#include "src/nn/config.h"

namespace edgesage::nn {

// A named matrix (row-major; a vector has one row) inside the parameters.
struct ParameterSlice {
  std::string name;  // "layer1.weight", stable: predictor files use it
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t offset = 0;    // first element
  bool decayed = false;  // weight decay applies

  [[nodiscard]] int64_t size() const { return rows * cols; }
  [[nodiscard]] kernels::ConstMatrix of(const float* parameters) const {
    return {parameters + offset, rows, cols, cols};
  }
  [[nodiscard]] kernels::Matrix of(float* parameters) const {
    return {parameters + offset, rows, cols, cols};
  }
};

// Indexes into Layout::slices.
struct Dense {
  size_t weight = 0;  // inputs x outputs
  size_t bias = 0;
};
struct NormedDense : Dense {
  size_t gain = 0;
  size_t shift = 0;
};

struct Layout {
  explicit Layout(const ModelConfig& config);

  [[nodiscard]] const ParameterSlice& operator[](size_t slice) const { return slices[slice]; }

  std::vector<ParameterSlice> slices;
  int64_t size = 0;
  size_t embedding = 0;             // kinds x embedding
  NormedDense encoder;              // [features; embedding] -> hidden
  std::vector<NormedDense> layers;  // [node; producers; consumers] -> hidden
  Dense node_hidden, node_out;      // hidden -> hidden / 2 -> columns
  Dense graph_hidden, graph_out;    // pooled -> hidden -> log factors, then overheads
};

// He-normal matrices; heads end in zeros, so that a fresh network answers with the prior and a
// negligible overhead. The same configuration gives the same weights.
void initialise(const ModelConfig& config, const Layout& layout, std::span<float> parameters);

}  // namespace edgesage::nn
