// One step of Adam with decoupled weight decay (Loshchilov and Hutter 2019).
#pragma once

#include <cstdint>

namespace edgesage::kernels {

struct AdamStep {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0.0f;    // weights shrink by learning_rate * weight_decay
  float gradient_scale = 1.0f;  // the gradient is multiplied by this first (clipping)
  int64_t step = 1;             // counts from 1; for the bias correction
};

// `count` numbers each; first and second are the running moments, zero before step 1. Thread-safe.
void adam(const AdamStep& options, int64_t count, const float* gradient, float* first,
          float* second, float* weights);

}  // namespace edgesage::kernels
