// Means over the neighbours of a node, and their transpose.
//
// Neighbours of node i are index[offset[i]] ... index[offset[i + 1] - 1] (compressed sparse rows);
// every index is below the number of rows of the matrix it points into (the caller checks).
// Sums run in the order of the lists. Thread-safe.
#pragma once

#include <cstdint>

#include "src/kernels/matrix.h"

namespace edgesage::kernels {

struct Segments {
  const int32_t* offset = nullptr;  // nodes + 1
  const int32_t* index = nullptr;
};

// out[i] = mean of h[j] over the neighbours j of i; a zero row where there are none.
void segment_mean(const Segments& segments, ConstMatrix h, Matrix out);

// dh[j] += dout[i] / (number of neighbours of i), for every i and neighbour j of it.
void segment_mean_backward(const Segments& segments, ConstMatrix dout, Matrix dh);

}  // namespace edgesage::kernels
