// The shape of a network.
//
// GraphSAGE (Hamilton, Ying and Leskovec 2017) over the rows of a graph, with both edge directions,
// and read-outs that keep magnitudes. Predicting costs of whole networks with GraphSAGE follows
// PerfSAGE (Chai et al., arXiv 2301.10999); its mean read-out is replaced by an additive one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgesage/result.h"

namespace edgesage::nn {

// How node costs become the graph's value.
enum class ReadOut : uint8_t {
  kSum,         // latency, energy: the sum. One prior column.
  kMax,         // memory at its peak: a smooth maximum. One prior column.
  kMaxPlusSum,  // weights and feature maps in one memory: both. Two prior columns, maximum first.
};

struct Quantity {
  std::string name;
  ReadOut read_out = ReadOut::kSum;
  bool node_labels = false;  // operators have labels of their own; not with kMaxPlusSum
  double overhead_scale =
      1.0;  // typical cost outside operators, in the unit of the quantity; 0 = none
};

struct ModelConfig {
  int32_t features = 0;    // columns of Batch::x
  int32_t kinds = 1;       // rows of the embedding table
  int32_t embedding = 16;  // its columns
  int32_t globals = 0;     // columns of Batch::globals
  int32_t hidden = 64;
  int32_t layers = 3;
  std::vector<Quantity> quantities;
  double dropout = 0.0;     // share of a layer's outputs dropped in training, [0, 1)
  double max_power = 16.0;  // p of the smooth maximum (sum of c^p)^(1/p)
  uint64_t seed = 1;        // of the initial weights

  [[nodiscard]] int32_t quantity_count() const { return static_cast<int32_t>(quantities.size()); }
  // Columns of Batch::log_prior: one a quantity, two for kMaxPlusSum, in the order of quantities.
  [[nodiscard]] int32_t columns() const;
  [[nodiscard]] int32_t first_column(int32_t quantity) const;
  [[nodiscard]] bool is_max_column(int32_t column) const;
  [[nodiscard]] int32_t node_hidden() const { return hidden / 2; }
  [[nodiscard]] int32_t pooled() const { return 2 * hidden + 1 + globals; }
};

[[nodiscard]] int32_t columns_of(ReadOut read_out);

// kInvalidArgument for a shape that no network can have, naming the field.
[[nodiscard]] Status validate(const ModelConfig& config);

}  // namespace edgesage::nn
