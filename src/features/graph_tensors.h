// GraphTensors: a lowered graph as numbers, the input of a predictor.
//
// A node is a row. Node features are raw (not normalised); `Normaliser` belongs to a predictor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgesage {

// Compressed sparse rows: neighbours of node i are index[offset[i]] ... index[offset[i+1]-1].
struct Csr {
  std::vector<int32_t> offset;  // nodes + 1
  std::vector<int32_t> index;
};

struct GraphTensors {
  int32_t nodes = 0;
  int32_t features = 0;        // columns of x
  int32_t quantities = 0;      // columns of log_prior
  std::vector<int32_t> kind;   // nodes: index of the kind embedding (RowKind)
  std::vector<float> x;        // nodes x features, row-major
  Csr producers;               // rows that a row reads from
  Csr consumers;               // rows that read a row's result
  std::vector<float> globals;  // graph-level features
  // nodes x columns: log of a closed-form estimate of the node's cost (or, for memory, of the
  // bytes alive at it), in the unit of the quantity. The network learns a correction to it.
  std::vector<float> log_prior;
  std::vector<int32_t> op;  // nodes: operator that is charged
  int32_t operators = 0;    // operators of the graph (some may have no node)
};

}  // namespace edgesage
