// Exponentials and bounded numbers in double, many at a time. A few units in the last place from
// the exact values; exp of minus infinity is exactly 0, NaN stays NaN.
// Thread-safe.
#pragma once

#include <cstdint>

namespace edgesage::kernels {

// y[i] = exp(x[i]); y may be x.
void exponentials(int64_t count, const double* x, double* y);

// y[i] = base[i] + bound * tanh(x[i] / bound).
void add_bounded(int64_t count, const float* x, double bound, const float* base, double* y);

}  // namespace edgesage::kernels
