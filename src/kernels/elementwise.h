// Element by element: sums, products, clips. Thread-safe.
#pragma once

#include <cstdint>

#include "src/kernels/matrix.h"

namespace edgesage::kernels {

// to += from, the same shape.
void add(ConstMatrix from, Matrix to);

// to *= from, the same shape.
void multiply(ConstMatrix from, Matrix to);

// dy = 0 wherever the output y of a ReLU is not positive.
void relu_backward(ConstMatrix y, Matrix dy);

// sums[j] += sum of column j, rows in order.
void add_column_sums(ConstMatrix values, float* sums);

// average += rate * (values - average), for `count` numbers.
void move_average(int64_t count, const float* values, float rate, float* average);

}  // namespace edgesage::kernels
