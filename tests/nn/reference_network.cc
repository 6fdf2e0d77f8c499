#include "tests/nn/reference_network.h"

#include <algorithm>
#include <cmath>

namespace edgesage::nn {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

// Parameters by name.
class Weights {
 public:
  Weights(const std::vector<ParameterSlice>& table, const std::vector<double>& values)
      : table_(table), values_(values) {}

  [[nodiscard]] Row row(const std::string& name, int64_t i) const {
    const ParameterSlice& slice = find(name);
    const auto first = values_.begin() + slice.offset + i * slice.cols;
    return {first, first + slice.cols};
  }
  // input W + b
  [[nodiscard]] Row dense(const std::string& name, const Row& input) const {
    Row out = row(name + ".bias", 0);
    const double* weights = values_.data() + find(name + ".weight").offset;
    for (const double value : input)
      for (double& sum : out) sum += value * *weights++;
    return out;
  }
  [[nodiscard]] Row normed_dense(const std::string& name, const Row& input) const {
    const Row z = dense(name, input), gain = row(name + ".gain", 0),
              shift = row(name + ".shift", 0);
    const auto n = static_cast<double>(z.size());
    double mean = 0, variance = 0;
    for (const double v : z) mean += v / n;
    for (const double v : z) variance += (v - mean) * (v - mean) / n;
    Row out(z.size());
    for (size_t j = 0; j < z.size(); ++j)
      out[j] =
          std::max(0.0, (z[j] - mean) / std::sqrt(variance + double{1e-5f}) * gain[j] + shift[j]);
    return out;
  }
  [[nodiscard]] Row two_layers(const std::string& first, const std::string& second,
                               const Row& input) const {
    Row hidden = dense(first, input);
    for (double& v : hidden) v = std::max(0.0, v);
    return dense(second, hidden);
  }

 private:
  [[nodiscard]] const ParameterSlice& find(const std::string& name) const {
    return *std::find_if(table_.begin(), table_.end(),
                         [&](const ParameterSlice& slice) { return slice.name == name; });
  }

  const std::vector<ParameterSlice>& table_;
  const std::vector<double>& values_;
};

void append_mean(const Csr& csr, size_t node, const Rows& h, Row& to) {
  Row mean(h[node].size());
  const int32_t first = csr.offset[node], last = csr.offset[node + 1];
  for (int32_t e = first; e < last; ++e)
    for (size_t j = 0; j < mean.size(); ++j)
      mean[j] += h[static_cast<size_t>(csr.index[static_cast<size_t>(e)])][j] / (last - first);
  to.insert(to.end(), mean.begin(), mean.end());
}

Rows encode(const ModelConfig& config, const Batch& batch, const Weights& weights) {
  Rows h;
  for (int32_t i = 0; i < batch.nodes(); ++i) {
    Row input(batch.x.begin() + i * batch.features, batch.x.begin() + (i + 1) * batch.features);
    const Row kind = weights.row("embedding", batch.kind[static_cast<size_t>(i)]);
    input.insert(input.end(), kind.begin(), kind.end());
    h.push_back(weights.normed_dense("encoder", input));
  }
  for (int32_t l = 1; l <= config.layers; ++l) {
    Rows next = h;
    for (size_t i = 0; i < h.size(); ++i) {
      Row input = h[i];
      append_mean(batch.producers, i, h, input);
      append_mean(batch.consumers, i, h, input);
      const Row change = weights.normed_dense("layer" + std::to_string(l), input);
      for (size_t j = 0; j < change.size(); ++j) next[i][j] += change[j];
    }
    h = next;
  }
  return h;
}

Row pooled(const Batch& batch, const ModelConfig& config, size_t g, const Rows& h) {
  const auto hidden = static_cast<size_t>(config.hidden);
  const auto first = static_cast<size_t>(batch.graph_offset[g]);
  const auto last = static_cast<size_t>(batch.graph_offset[g + 1]);
  Row mean(hidden), largest(hidden);
  for (size_t i = first; i < last; ++i)
    for (size_t j = 0; j < hidden; ++j) {
      mean[j] += h[i][j] / static_cast<double>(last - first);
      largest[j] = i == first ? h[i][j] : std::max(largest[j], h[i][j]);
    }
  Row result = mean;
  result.insert(result.end(), largest.begin(), largest.end());
  result.push_back(std::log(1.0 + static_cast<double>(last - first)));
  const auto width = static_cast<size_t>(batch.globals_width);
  for (size_t j = 0; j < width; ++j) result.push_back(batch.globals[g * width + j]);
  return result;
}

// What each of the costs adds to the read-out: costs themselves, or parts of the smooth maximum.
Row shares(const Row& costs, bool maximum, double power) {
  if (!maximum) return costs;
  double sum = 0;
  for (const double cost : costs) sum += std::pow(cost, power);
  Row result;
  for (const double cost : costs)
    result.push_back(sum > 0 ? std::pow(sum, 1 / power) * std::pow(cost, power) / sum : 0.0);
  return result;
}

double huber(double error, double delta) {
  const double size = std::abs(error);
  return size < delta ? size * size / (2 * delta) : size - delta / 2;
}

double node_loss(const Batch& batch, const LossOptions& options, const ReferenceOutputs& out,
                 size_t g, size_t q, double label, bool maximum) {
  const auto quantities = static_cast<size_t>(batch.quantities);
  const auto first = static_cast<size_t>(batch.op_graph_offset[g]);
  const auto last = static_cast<size_t>(batch.op_graph_offset[g + 1]);
  double sum = 0, weights = 0, loss = 0;
  for (size_t op = first; op < last; ++op)
    if (!std::isnan(batch.op_label[op * quantities + q]))
      sum += batch.op_label[op * quantities + q];
  if (sum == 0) return std::nan("");
  const double floor = options.node_floor * (std::isnan(label) ? sum : std::exp(label));
  for (size_t op = first; op < last; ++op) {
    const double wanted = batch.op_label[op * quantities + q];
    if (std::isnan(wanted)) continue;
    const double weight = std::pow((wanted + floor) / sum,
                                   maximum ? options.peak_share_power : options.node_share_power);
    const double cost = maximum ? out.op_levels[op][q] : out.op_costs[op][q];
    weights += weight;
    loss += weight * huber(std::log((cost + floor) / (wanted + floor)), options.node_delta);
  }
  return loss / weights;
}

}  // namespace

ReferenceOutputs ReferenceNetwork::run(const std::vector<double>& parameters,
                                       const Batch& batch) const {
  const Weights weights(table_, parameters);
  const Rows h = encode(config_, batch, weights);
  const size_t quantities = config_.quantities.size();
  ReferenceOutputs out;
  out.node_costs.assign(h.size(), Row(quantities));
  out.op_costs.assign(static_cast<size_t>(batch.operators()), Row(quantities));
  out.op_levels = out.op_costs;
  Rows costs;  // [node][column]
  for (size_t i = 0; i < h.size(); ++i) {
    Row row = weights.two_layers("node_hidden", "node_out", h[i]);
    for (size_t c = 0; c < row.size(); ++c)
      row[c] = std::exp(double{batch.log_prior[i * row.size() + c]} + 6 * std::tanh(row[c] / 6));
    costs.push_back(row);
  }
  for (size_t g = 0; g < static_cast<size_t>(batch.graphs()); ++g) {
    const Row head = weights.two_layers("graph_hidden", "graph_out", pooled(batch, config_, g, h));
    out.totals.emplace_back(quantities);
    out.overhead.emplace_back(quantities);
    out.log_factor.emplace_back(quantities);
    size_t column = 0;
    for (size_t q = 0; q < quantities; ++q) {
      const Quantity& quantity = config_.quantities[q];
      const double log_factor = 1.5 * std::tanh(head[q] / 1.5);
      out.log_factor[g][q] = log_factor;
      out.overhead[g][q] = std::exp(log_factor) * quantity.overhead_scale *
                           std::log1p(std::exp(head[quantities + q]));
      out.totals[g][q] = out.overhead[g][q];
      const auto first = static_cast<size_t>(batch.graph_offset[g]);
      const auto last = static_cast<size_t>(batch.graph_offset[g + 1]);
      for (int part = 0; part < (quantity.read_out == ReadOut::kMaxPlusSum ? 2 : 1);
           ++part, ++column) {
        Row level;
        for (size_t i = first; i < last; ++i) level.push_back(costs[i][column]);
        const bool maximum = quantity.read_out != ReadOut::kSum && part == 0;
        const Row share = shares(level, maximum, config_.max_power);
        for (size_t i = first; i < last; ++i) {
          const double cost = std::exp(log_factor) * share[i - first];
          out.node_costs[i][q] += cost;
          const auto op = static_cast<size_t>(batch.node_op[i]);
          out.op_costs[op][q] += cost;
          out.op_levels[op][q] =
              std::max(out.op_levels[op][q], std::exp(log_factor) * level[i - first]);
          out.totals[g][q] += cost;
        }
      }
    }
  }
  return out;
}

double ReferenceNetwork::loss(const std::vector<double>& parameters, const Batch& batch,
                              const LossOptions& options) const {
  const ReferenceOutputs out = run(parameters, batch);
  const size_t quantities = config_.quantities.size();
  double result = 0;
  for (size_t q = 0; q < quantities; ++q) {
    double total = 0, totals = 0, node = 0, nodes = 0;
    for (size_t g = 0; g < out.totals.size(); ++g) {
      const double weight = batch.weight.empty() ? 1.0 : double{batch.weight[g]};
      const double label =
          batch.log_total.empty() ? std::nan("") : double{batch.log_total[g * quantities + q]};
      if (!std::isnan(label)) {
        totals += weight;
        if (out.totals[g][q] > 0)
          total += weight * huber(std::log(out.totals[g][q]) - label, options.delta);
      }
      if (!config_.quantities[q].node_labels || batch.op_label.empty()) continue;
      const bool maximum = config_.quantities[q].read_out == ReadOut::kMax;
      const double of_nodes = node_loss(batch, options, out, g, q, label, maximum);
      if (std::isnan(of_nodes)) continue;
      nodes += weight;
      node += weight * of_nodes;
    }
    const double total_weight = options.total_weight.empty() ? 1.0 : options.total_weight[q];
    const double node_weight = options.node_weight.empty() ? 0.5 : options.node_weight[q];
    if (totals > 0) result += total_weight * total / totals;
    if (nodes > 0) result += node_weight * node / nodes;
  }
  return result;
}

}  // namespace edgesage::nn
