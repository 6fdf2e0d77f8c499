// Layer normalisation of rows, followed by ReLU (Ba, Kiros and Hinton 2016).
//
//   normal = (z - mean(z)) / sqrt(var(z) + epsilon)     per row, population variance
//   y      = max(0, normal * gain + bias)
//
// Thread-safe.
#pragma once

#include "src/kernels/matrix.h"

namespace edgesage::kernels {

inline constexpr float kLayerNormEpsilon = 1e-5f;

// What the backward pass needs of the forward one.
struct LayerNormState {
  Matrix normal;                       // as z; may be z itself
  float* inverse_deviation = nullptr;  // one a row
};

// What follows in the same pass over the row; each as y, or without data for none.
struct LayerNormAfter {
  ConstMatrix factor;    // y *= factor: dropout
  ConstMatrix residual;  // y += residual
};

// `y` may not overlap z, normal or residual. A state without data keeps nothing.
void layer_norm_relu(ConstMatrix z, const float* gain, const float* bias,
                     const LayerNormState& state, const LayerNormAfter& after, Matrix y);

// From dy = d loss / d y: dz, and adds to dgain and dbias. dz may be dy.
void layer_norm_relu_backward(ConstMatrix dy, const LayerNormState& state, const float* gain,
                              const float* bias, Matrix dz, float* dgain, float* dbias);

}  // namespace edgesage::kernels
