#include "src/nn/incremental.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "src/kernels/layer_norm.h"
#include "src/kernels/segment.h"

namespace edgesage::nn {
namespace {

using kernels::ConstMatrix;
using kernels::Matrix;
using kernels::scratch;

constexpr int64_t kBlock = 48;  // nodes at a time, so that a block stays in the nearest cache

double bounded(double value, double bound) { return bound * std::tanh(value / bound); }

double softplus(double value) {
  return std::max(value, 0.0) + std::log1p(std::exp(-std::abs(value)));
}

void gather(ConstMatrix from, std::span<const int32_t> rows, Matrix to) {
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(from.row(rows[i]), from.cols, to.row(static_cast<int64_t>(i)));
}

void scatter(ConstMatrix from, std::span<const int32_t> rows, Matrix to) {
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(from.row(static_cast<int64_t>(i)), from.cols, to.row(rows[i]));
}

// Row i of the result is row old_node[i] of `values`; new rows hold anything.
void move_rows(std::span<const int32_t> old_node, int64_t width, kernels::AlignedFloats& values,
               kernels::AlignedFloats& spare) {
  const Matrix moved = scratch(spare, static_cast<int64_t>(old_node.size()), width);
  for (size_t i = 0; i < old_node.size(); ++i)
    if (old_node[i] >= 0)
      std::copy_n(values.data() + old_node[i] * width, width, moved.row(static_cast<int64_t>(i)));
  values.swap(spare);
}

void move_values(std::span<const int32_t> old_node, std::vector<double>& values,
                 std::vector<double>& spare) {
  spare.resize(old_node.size());
  for (size_t i = 0; i < old_node.size(); ++i)
    spare[i] = old_node[i] >= 0 ? values[static_cast<size_t>(old_node[i])] : 0.0;
  values.swap(spare);
}

// relu(layer norm([left right] W + b)) + residual.
void normed_dense(const Network& network, const NormedDense& dense,
                  const kernels::PackedMatrix& weight, ConstMatrix left, ConstMatrix right,
                  ConstMatrix residual, PartialScratch& memory, Matrix y) {
  const Matrix z = scratch(memory.normal, y.rows, y.cols);
  kernels::gemm(left, right, weight, {.bias = network.at(dense.bias)}, z);
  kernels::layer_norm_relu(z, network.at(dense.gain), network.at(dense.shift), {},
                           {.factor = {}, .residual = residual}, y);
}

}  // namespace

void IncrementalState::update(const Network& network, const PartialUpdate& update,
                              PartialScratch& scratch) {
  vectors_.resize(network.layout.layers.size() + 1);
  columns_.resize(static_cast<size_t>(network.config.columns()));
  if (!update.old_node.empty()) renumber(network, update, scratch);
  for (size_t l = 0; l < vectors_.size(); ++l) run_layer(network, update, l, scratch);
  price(network, update, scratch);
  run_graph_head(network, update, scratch);
  read_out(network, update, scratch);
}

void IncrementalState::renumber(const Network& network, const PartialUpdate& update,
                                PartialScratch& scratch) {
  for (kernels::AlignedFloats& vectors : vectors_)
    move_rows(update.old_node, network.config.hidden, vectors, scratch.moved);
  move_rows(update.old_node, network.config.columns(), node_out_, scratch.moved);
  for (Column& column : columns_) {
    move_values(update.old_node, column.log_cost, scratch.moved_costs);
    move_values(update.old_node, column.amount, scratch.moved_costs);
  }
}

void IncrementalState::run_layer(const Network& network, const PartialUpdate& update, size_t layer,
                                 PartialScratch& memory) {
  const PartialLayer& part = update.layers[layer];
  const int64_t hidden = network.config.hidden, features = network.config.features;
  const int64_t embedding = network.config.embedding, width = features + embedding;
  const Matrix result = scratch(vectors_[layer], update.nodes, hidden);
  const auto count = static_cast<int64_t>(part.nodes.size());
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t rows = std::min(kBlock, count - first);
    const auto nodes =
        std::span(part.nodes).subspan(static_cast<size_t>(first), static_cast<size_t>(rows));
    const Matrix y = scratch(memory.out, rows, hidden);
    if (layer == 0) {
      const Matrix input = scratch(memory.input, rows, width);
      const float* table = network.at(network.layout.embedding);
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(update.x.data() + (first + i) * features, features, input.row(i));
        std::copy_n(table + update.kind[static_cast<size_t>(first + i)] * embedding, embedding,
                    input.row(i) + features);
      }
      normed_dense(network, network.layout.encoder, network.packed.encoder, input, {}, {}, memory,
                   y);
    } else {
      const Matrix before = scratch(vectors_[layer - 1], update.nodes, hidden);
      const Matrix own = scratch(memory.input, rows, hidden);
      const Matrix means = scratch(memory.means, rows, 2 * hidden);
      gather(before, nodes, own);
      int64_t column = 0;
      for (const Csr* csr : {&part.producers, &part.consumers}) {
        kernels::segment_mean({csr->offset.data() + first, csr->index.data()}, before,
                              means.columns(column, hidden));
        column += hidden;
      }
      normed_dense(network, network.layout.layers[layer - 1], network.packed.layers[layer - 1], own,
                   means, own, memory, y);
    }
    scatter(y, nodes, result);
  }
}

void IncrementalState::price(const Network& network, const PartialUpdate& update,
                             PartialScratch& memory) {
  const ModelConfig& config = network.config;
  const Matrix last = scratch(vectors_.back(), update.nodes, config.hidden);
  const Matrix corrections = scratch(node_out_, update.nodes, config.columns());
  const std::vector<int32_t>& changed = update.layers.back().nodes;
  const auto count = static_cast<int64_t>(changed.size());
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t rows = std::min(kBlock, count - first);
    const auto nodes =
        std::span(changed).subspan(static_cast<size_t>(first), static_cast<size_t>(rows));
    const Matrix input = scratch(memory.input, rows, config.hidden);
    const Matrix hidden = scratch(memory.means, rows, config.node_hidden());
    const Matrix out = scratch(memory.out, rows, config.columns());
    gather(last, nodes, input);
    kernels::gemm(input, network.packed.node_hidden,
                  {.bias = network.at(network.layout.node_hidden.bias), .relu = true}, hidden);
    kernels::gemm(hidden, network.packed.node_out,
                  {.bias = network.at(network.layout.node_out.bias)}, out);
    scatter(out, nodes, corrections);
  }
  const auto stride = static_cast<size_t>(config.columns());
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    const bool is_max = config.is_max_column(static_cast<int32_t>(c));
    column.log_cost.resize(static_cast<size_t>(update.nodes));
    column.amount.resize(static_cast<size_t>(update.nodes));
    for (const int32_t node : update.priced) {
      const auto i = static_cast<size_t>(node);
      column.log_cost[i] =
          double{update.log_prior[i * stride + c]} + bounded(node_out_[i * stride + c], kNodeBound);
      column.amount[i] =
          is_max ? std::exp(config.max_power * (column.log_cost[i] - column.log_reference))
                 : std::exp(column.log_cost[i]);
    }
  }
}

void IncrementalState::run_graph_head(const Network& network, const PartialUpdate& update,
                                      PartialScratch& memory) {
  const ModelConfig& config = network.config;
  const int64_t hidden = config.hidden;
  const Matrix last = scratch(vectors_.back(), update.nodes, hidden);
  const Matrix pooled = scratch(memory.pooled, 1, config.pooled());
  const std::array<int32_t, 2> all{0, update.nodes};
  memory.largest.resize(static_cast<size_t>(hidden));
  kernels::segment_mean({all.data(), nullptr}, last, pooled.columns(0, hidden));
  kernels::segment_maximum({all.data(), nullptr}, last, pooled.columns(hidden, hidden),
                           memory.largest.data());
  pooled.data[2 * hidden] = static_cast<float>(std::log1p(static_cast<double>(update.nodes)));
  std::ranges::copy(update.globals, pooled.data + 2 * hidden + 1);
  const Matrix between = scratch(memory.graph_hidden, 1, hidden);
  const Matrix out = scratch(memory.graph_out, 1, 2 * int64_t{config.quantity_count()});
  kernels::gemm(pooled, network.packed.graph_hidden,
                {.bias = network.at(network.layout.graph_hidden.bias), .relu = true}, between);
  kernels::gemm(between, network.packed.graph_out,
                {.bias = network.at(network.layout.graph_out.bias)}, out);
}

// The sum or the smooth maximum of a column. Powers are kept around a reference, which moves when
// the largest cost is so far from it that they would lose digits.
double IncrementalState::value_of(const Network& network, int32_t index) {
  constexpr double kFar = 30;
  Column& column = columns_[static_cast<size_t>(index)];
  column.scale = 1;
  double sum = 0;
  if (!network.config.is_max_column(index)) {
    for (const double cost : column.amount) sum += cost;
    return sum;
  }
  double largest = -std::numeric_limits<double>::infinity();
  for (const double cost : column.log_cost) largest = std::max(largest, cost);
  if (std::isinf(largest)) return 0;
  const double power = network.config.max_power;
  if (!(power * std::abs(largest - column.log_reference) < kFar)) {
    column.log_reference = largest;
    for (size_t i = 0; i < column.amount.size(); ++i)
      column.amount[i] = std::exp(power * (column.log_cost[i] - largest));
  }
  for (const double part : column.amount) sum += part;
  const double value = std::exp(column.log_reference + std::log(sum) / power);
  column.scale = value / sum;
  return value;
}

void IncrementalState::read_out(const Network& network, const PartialUpdate& update,
                                const PartialScratch& memory) {
  const ModelConfig& config = network.config;
  const auto quantities = static_cast<size_t>(config.quantity_count());
  totals_.resize(quantities);
  overhead_.resize(quantities);
  op_costs_.assign(static_cast<size_t>(update.operators) * quantities, 0.0);
  for (size_t q = 0; q < quantities; ++q) {
    const Quantity& quantity = config.quantities[q];
    const double factor = std::exp(bounded(memory.graph_out[q], kFactorBound));
    overhead_[q] = factor * quantity.overhead_scale * softplus(memory.graph_out[quantities + q]);
    totals_[q] = overhead_[q];
    const int32_t first = config.first_column(static_cast<int32_t>(q));
    for (int32_t c = first; c < first + columns_of(quantity.read_out); ++c) {
      totals_[q] += factor * value_of(network, c);
      const Column& column = columns_[static_cast<size_t>(c)];
      const double scale = factor * column.scale;
      for (size_t i = 0; i < column.amount.size(); ++i)
        op_costs_[static_cast<size_t>(update.node_op[i]) * quantities + q] +=
            scale * column.amount[i];
    }
  }
}

}  // namespace edgesage::nn
