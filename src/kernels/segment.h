// Sums, means and maxima over the neighbours of a node, and the transpose of the mean.
//
// Neighbours of node i are index[offset[i]] ... index[offset[i + 1] - 1] (compressed sparse rows);
// without `index` they are the rows offset[i] ... offset[i + 1] - 1 themselves, as in the nodes of
// the graphs of a batch. Every neighbour is below the number of rows of the matrix it points into
// (the caller checks). Sums run in the order of the lists. Thread-safe.
#pragma once

#include <cstdint>

#include "src/kernels/matrix.h"

namespace edgesage::kernels {

struct Segments {
  const int32_t* offset = nullptr;  // nodes + 1
  const int32_t* index = nullptr;
};

// out[i] = sum, mean or maximum of h[j] over the neighbours j of i, column by column; a zero row
// where there are none. out.rows nodes; `out` may not overlap h.
void segment_sum(const Segments& segments, ConstMatrix h, Matrix out);
void segment_mean(const Segments& segments, ConstMatrix h, Matrix out);
// `first`, out.rows x out.cols without gaps: the first neighbour that has the maximum; -1 for none.
void segment_maximum(const Segments& segments, ConstMatrix h, Matrix out, int32_t* first);

// dh[j] += dout[i] / (number of neighbours of i), for every i and neighbour j of it.
void segment_mean_backward(const Segments& segments, ConstMatrix dout, Matrix dh);

}  // namespace edgesage::kernels
