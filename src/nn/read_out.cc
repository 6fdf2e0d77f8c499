#include <algorithm>
#include <cmath>
#include <limits>

#include "src/kernels/exponential.h"
#include "src/nn/network.h"

namespace edgesage::nn {
namespace {

double bounded(double value, double bound) { return bound * std::tanh(value / bound); }

double softplus(double value) {
  return std::max(value, 0.0) + std::log1p(std::exp(-std::abs(value)));
}

// The nodes of one graph, seen from one prior column.
struct Column {
  int64_t first, last;  // nodes
  int64_t stride;       // columns of a node
  double* costs;        // at node 0; in: logarithms, out: costs
  double* shares;       // at node 0; in: costs, out: what the node adds to the value
};

double sum_of(const Column& column) {
  double sum = 0;
  for (int64_t i = column.first; i < column.last; ++i) {
    const double cost = column.shares[i * column.stride];
    column.costs[i * column.stride] = cost;
    sum += cost;
  }
  return sum;
}

// (sum of cost^p)^(1/p), around the largest logarithm so that nothing overflows. A node's share is
// its part of the sum of powers.
double smooth_maximum_of(const Column& column, double power, double* powers) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = column.first; i < column.last; ++i)
    largest = std::max(largest, column.costs[i * column.stride]);
  const int64_t count = column.last - column.first;
  const bool nothing = std::isinf(largest);
  for (int64_t i = 0; i < count; ++i) {
    double& cost = column.costs[(column.first + i) * column.stride];
    powers[i] = power * (cost - largest);
    cost = column.shares[(column.first + i) * column.stride];
  }
  if (nothing) return 0;
  kernels::exponentials(count, powers, powers);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += powers[i];
  const double value = std::exp(largest + std::log(sum) / power);
  for (int64_t i = 0; i < count; ++i)
    column.shares[(column.first + i) * column.stride] = powers[i] * (value / sum);
  return value;
}

void scale(const Column& column, double factor) {
  for (int64_t i = column.first; i < column.last; ++i) {
    column.costs[i * column.stride] *= factor;
    column.shares[i * column.stride] *= factor;
  }
}

template <class T>
void resize(std::vector<T>& values, int64_t rows, int64_t cols) {
  values.resize(static_cast<size_t>(rows * cols));
}

void charge_operators(const Batch& batch, Outputs& out) {
  const int64_t quantities = batch.quantities;
  std::fill(out.op_costs.begin(), out.op_costs.end(), 0.0);
  for (int64_t i = 0; i < batch.nodes(); ++i) {
    const double* from = out.node_costs.data() + i * quantities;
    double* to = out.op_costs.data() + batch.node_op[static_cast<size_t>(i)] * quantities;
    for (int64_t q = 0; q < quantities; ++q) to[q] += from[q];
  }
}

// One quantity of one graph: its value before the correction, then everything corrected.
void read_graph(const ModelConfig& config, const Batch& batch, int64_t g, int64_t q,
                Workspace& workspace) {
  const Quantity& quantity = config.quantities[static_cast<size_t>(q)];
  const int64_t quantities = config.quantity_count(), columns = batch.columns;
  Outputs& out = workspace.outputs;
  const float* head = workspace.graph_out.data() + g * 2 * quantities;
  const double log_factor = bounded(head[q], kFactorBound);
  const double factor = std::exp(log_factor);
  const int32_t first_column = config.first_column(static_cast<int32_t>(q));
  const int32_t last_column = first_column + columns_of(quantity.read_out);
  const auto slot = static_cast<size_t>(g * quantities + q);
  out.log_factor[slot] = log_factor;
  out.overhead[slot] = factor * quantity.overhead_scale * softplus(head[quantities + q]);
  out.totals[slot] = out.overhead[slot];
  const int64_t first = batch.graph_offset[static_cast<size_t>(g)];
  const int64_t last = batch.graph_offset[static_cast<size_t>(g) + 1];
  for (int64_t i = first; i < last; ++i)
    out.node_costs[static_cast<size_t>(i * quantities + q)] = 0;
  for (int32_t c = first_column; c < last_column; ++c) {
    const Column column{first, last, columns, out.node_levels.data() + c,
                        workspace.column_shares.data() + c};
    const double value = config.is_max_column(c)
                             ? smooth_maximum_of(column, config.max_power, workspace.powers.data())
                             : sum_of(column);
    scale(column, factor);
    out.totals[slot] += factor * value;
    for (int64_t i = first; i < last; ++i)
      out.node_costs[static_cast<size_t>(i * quantities + q)] += column.shares[i * columns];
  }
}

}  // namespace

void read_out(const ModelConfig& config, const Batch& batch, Workspace& workspace) {
  const int64_t nodes = batch.nodes(), graphs = batch.graphs(), hidden = config.hidden;
  const int64_t quantities = config.quantity_count();
  Outputs& out = workspace.outputs;
  for (std::vector<double>* values : {&out.totals, &out.overhead, &out.log_factor})
    resize(*values, graphs, quantities);
  resize(out.node_costs, nodes, quantities);
  resize(out.op_costs, batch.operators(), quantities);
  resize(out.node_levels, nodes, batch.columns);
  resize(workspace.column_shares, nodes, batch.columns);
  resize(workspace.powers, nodes, 1);
  const int64_t levels = nodes * batch.columns;
  kernels::add_bounded(levels, workspace.node_out.data(), kNodeBound, batch.log_prior.data(),
                       out.node_levels.data());
  kernels::exponentials(levels, out.node_levels.data(), workspace.column_shares.data());
  for (int64_t g = 0; g < graphs; ++g)
    for (int64_t q = 0; q < quantities; ++q) read_graph(config, batch, g, q, workspace);
  charge_operators(batch, out);
  out.embedding_width = 2 * config.hidden;
  resize(out.embedding, graphs, 2 * hidden);
  for (int64_t g = 0; g < graphs; ++g)
    std::copy_n(workspace.pooled.data() + g * config.pooled(), 2 * hidden,
                out.embedding.data() + g * 2 * hidden);
}

}  // namespace edgesage::nn
