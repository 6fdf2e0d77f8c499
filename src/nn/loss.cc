#include "src/nn/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace edgesage::nn {
namespace {

constexpr double kDefaultNodeWeight = 0.5;
constexpr double kSmallestTotal = 1e-30;

struct Huber {
  double value, slope;
};

// Divided by delta: |error| - delta / 2 outside, slope between -1 and 1.
Huber huber(double error, double delta) {
  const double size = std::abs(error);
  if (size <= delta) return {error * error / (2 * delta), error / delta};
  return {size - delta / 2, error > 0 ? 1.0 : -1.0};
}

double weight_of(const std::vector<double>& weights, int64_t q, double fallback) {
  return weights.empty() ? fallback : weights[static_cast<size_t>(q)];
}

double graph_weight(const Batch& batch, int64_t g) {
  return batch.weight.empty() ? 1.0 : double{batch.weight[static_cast<size_t>(g)]};
}

// NaN where there is none.
double total_label(const Batch& batch, int64_t g, int64_t q) {
  if (batch.log_total.empty()) return std::nan("");
  return batch.log_total[static_cast<size_t>(g * batch.quantities + q)];
}

double op_label(const Batch& batch, int64_t op, int64_t q) {
  return batch.op_label[static_cast<size_t>(op * batch.quantities + q)];
}

struct Range {
  int64_t first, last;
};

Range operators_of(const Batch& batch, int64_t g) {
  return {batch.op_graph_offset[static_cast<size_t>(g)],
          batch.op_graph_offset[static_cast<size_t>(g) + 1]};
}

Range nodes_of(const Batch& batch, int64_t g) {
  return {batch.graph_offset[static_cast<size_t>(g)],
          batch.graph_offset[static_cast<size_t>(g) + 1]};
}

// Sum of the labels of the graph's operators; 0 where none has a (positive) label.
double sum_of_op_labels(const ModelConfig& config, const Batch& batch, int64_t g, int64_t q) {
  if (batch.op_label.empty() || !config.quantities[static_cast<size_t>(q)].node_labels) return 0;
  double sum = 0;
  const Range ops = operators_of(batch, g);
  for (int64_t op = ops.first; op < ops.last; ++op) {
    const double label = op_label(batch, op, q);
    if (!std::isnan(label)) sum += label;
  }
  return sum;
}

// Loss of one graph and quantity, term by term.
class GraphLoss {
 public:
  GraphLoss(const ModelConfig& config, const LossOptions& options, const LabelWeights& weights,
            const Batch& batch, const Workspace& workspace, BackwardBuffers& buffers, int64_t g,
            int64_t q)
      : config_(config),
        options_(options),
        weights_(weights),
        batch_(batch),
        workspace_(workspace),
        buffers_(buffers),
        g_(g),
        q_(q),
        quantities_(config.quantity_count()),
        total_(workspace.outputs.totals[static_cast<size_t>(g * quantities_ + q)]) {}

  void run(LossSums& sums) {
    add_total(sums);
    spread_to_columns();
    add_nodes(sums);
    write_graph_head();
  }

 private:
  void add_total(LossSums& sums) {
    const double label = total_label(batch_, g_, q_);
    const double weight = weight_of(options_.total_weight, q_, 1.0);
    const double denominator = weights_.totals[static_cast<size_t>(q_)];
    if (std::isnan(label) || total_ < kSmallestTotal || denominator <= 0) return;
    const double error = std::log(total_) - label;
    const Huber h = huber(error, options_.delta);
    const double scale = weight * graph_weight(batch_, g_) / denominator;
    sums.loss += scale * h.value;
    sums.log_error[static_cast<size_t>(q_)] += graph_weight(batch_, g_) * std::abs(error);
    d_log_factor_ += scale * h.slope;
    d_total_ = scale * h.slope / total_;
  }

  // A node's share is its derivative of the total in the logarithm of its cost.
  void spread_to_columns() {
    const int32_t first = config_.first_column(static_cast<int32_t>(q_));
    const int32_t last = first + columns_of(config_.quantities[static_cast<size_t>(q_)].read_out);
    const Range nodes = nodes_of(batch_, g_);
    for (int64_t i = nodes.first; i < nodes.last; ++i)
      for (int32_t c = first; c < last; ++c) write_node(i, c, d_total_);
  }

  // Sets the gradient of one head output from d loss / d (corrected cost).
  void write_node(int64_t i, int32_t column, double d_cost) {
    const auto at = static_cast<size_t>(i * batch_.columns + column);
    const double squashed = std::tanh(double{workspace_.node_out[at]} / kNodeBound);
    buffers_.d_node_out[at] =
        static_cast<float>(d_cost * workspace_.column_shares[at] * (1 - squashed * squashed));
  }

  void add_nodes(LossSums& sums) {
    const double weight = weight_of(options_.node_weight, q_, kDefaultNodeWeight);
    const double labelled = sum_of_op_labels(config_, batch_, g_, q_);
    const double denominator = weights_.nodes[static_cast<size_t>(q_)];
    if (weight <= 0 || labelled <= 0 || denominator <= 0) return;
    const double graph_label = total_label(batch_, g_, q_);
    const double floor =
        options_.node_floor * (std::isnan(graph_label) ? labelled : std::exp(graph_label));
    const Range ops = operators_of(batch_, g_);
    if (is_maximum()) find_peaks();
    double shares = 0;
    for (int64_t op = ops.first; op < ops.last; ++op) shares += share(op, floor, labelled);
    const double scale = weight * graph_weight(batch_, g_) / (denominator * shares);
    for (int64_t op = ops.first; op < ops.last; ++op)
      add_operator(op, floor, scale * share(op, floor, labelled), sums);
    if (is_maximum()) {
      charge_peaks();
    } else {
      charge_all_nodes();
    }
  }

  void charge_all_nodes() {
    const Range nodes = nodes_of(batch_, g_);
    for (int64_t i = nodes.first; i < nodes.last; ++i) {
      const auto op = static_cast<size_t>(batch_.node_op[static_cast<size_t>(i)]);
      write_node(i, column(), d_total_ + buffers_.d_op[op]);
    }
  }

  // An operator's level is that of one of its nodes.
  void charge_peaks() {
    const Range ops = operators_of(batch_, g_);
    for (int64_t op = ops.first; op < ops.last; ++op) {
      const int32_t node = buffers_.op_peak[static_cast<size_t>(op)];
      if (node < 0) continue;
      const auto at = static_cast<size_t>(int64_t{node} * batch_.columns + column());
      const double squashed = std::tanh(double{workspace_.node_out[at]} / kNodeBound);
      buffers_.d_node_out[at] += static_cast<float>(buffers_.d_op[static_cast<size_t>(op)] *
                                                    level(node) * (1 - squashed * squashed));
    }
  }

  void find_peaks() {
    const Range ops = operators_of(batch_, g_), nodes = nodes_of(batch_, g_);
    for (int64_t op = ops.first; op < ops.last; ++op)
      buffers_.op_peak[static_cast<size_t>(op)] = -1;
    for (int64_t i = nodes.first; i < nodes.last; ++i) {
      int32_t& peak = buffers_.op_peak[static_cast<size_t>(batch_.node_op[static_cast<size_t>(i)])];
      if (peak < 0 || level(i) > level(peak)) peak = static_cast<int32_t>(i);
    }
  }

  [[nodiscard]] bool is_maximum() const {
    return config_.quantities[static_cast<size_t>(q_)].read_out == ReadOut::kMax;
  }
  [[nodiscard]] int32_t column() const { return config_.first_column(static_cast<int32_t>(q_)); }
  [[nodiscard]] double level(int64_t node) const {
    return workspace_.outputs.node_levels[static_cast<size_t>(node * batch_.columns + column())];
  }
  [[nodiscard]] double operator_cost(int64_t op) const {
    if (!is_maximum())
      return workspace_.outputs.op_costs[static_cast<size_t>(op * quantities_ + q_)];
    const int32_t node = buffers_.op_peak[static_cast<size_t>(op)];
    return node < 0 ? 0.0 : level(node);
  }

  // Sets buffers_.d_op, d loss / d (cost of the operator); `part` is its weight, 0 = no label.
  void add_operator(int64_t op, double floor, double part, LossSums& sums) {
    double& d_op = buffers_.d_op[static_cast<size_t>(op)];
    d_op = 0;
    if (part <= 0) return;
    const double cost = operator_cost(op);
    const double error = std::log((cost + floor) / (op_label(batch_, op, q_) + floor));
    const Huber h = huber(error, options_.node_delta);
    sums.loss += part * h.value;
    d_op = part * h.slope / (cost + floor);
    d_log_factor_ += d_op * cost;
  }

  // 0 for an operator without label.
  [[nodiscard]] double share(int64_t op, double floor, double labelled) const {
    const double label = op_label(batch_, op, q_);
    if (std::isnan(label)) return 0;
    return std::pow((label + floor) / labelled,
                    is_maximum() ? options_.peak_share_power : options_.node_share_power);
  }

  void write_graph_head() {
    const auto row = static_cast<size_t>(g_ * 2 * quantities_);
    const auto factor_at = row + static_cast<size_t>(q_);
    const auto overhead_at = factor_at + static_cast<size_t>(quantities_);
    const double squashed = std::tanh(double{workspace_.graph_out[factor_at]} / kFactorBound);
    buffers_.d_graph_out[factor_at] = static_cast<float>(d_log_factor_ * (1 - squashed * squashed));
    const double sigmoid = 1 / (1 + std::exp(-double{workspace_.graph_out[overhead_at]}));
    const double factor =
        std::exp(workspace_.outputs.log_factor[static_cast<size_t>(g_ * quantities_ + q_)]);
    buffers_.d_graph_out[overhead_at] = static_cast<float>(
        d_total_ * factor * sigmoid * config_.quantities[static_cast<size_t>(q_)].overhead_scale);
  }

  const ModelConfig& config_;
  const LossOptions& options_;
  const LabelWeights& weights_;
  const Batch& batch_;
  const Workspace& workspace_;
  BackwardBuffers& buffers_;
  int64_t g_, q_, quantities_;
  double total_;
  double d_total_ = 0;       // d total loss / d total
  double d_log_factor_ = 0;  // d loss / d log factor
};

Status check_list(const char* field, const std::vector<double>& values, int32_t quantities) {
  if (!values.empty() && static_cast<int32_t>(values.size()) != quantities)
    return make_error(
        ErrorCode::kInvalidArgument, field,
        fmt::format("{} values given, none or {} allowed", values.size(), quantities));
  for (const double value : values)
    if (!(value >= 0 && std::isfinite(value)))
      return make_error(ErrorCode::kInvalidArgument, field,
                        fmt::format("{} given, 0 or more allowed", value));
  return {};
}

Status check_positive(const char* field, double value) {
  if (value > 0 && std::isfinite(value)) return {};
  return make_error(ErrorCode::kInvalidArgument, field,
                    fmt::format("{} given, more than 0 allowed", value));
}

}  // namespace

Status validate(const LossOptions& options, const ModelConfig& config) {
  EDGESAGE_RETURN_IF_ERROR(
      check_list("total_weight", options.total_weight, config.quantity_count()));
  EDGESAGE_RETURN_IF_ERROR(check_list("node_weight", options.node_weight, config.quantity_count()));
  EDGESAGE_RETURN_IF_ERROR(check_positive("delta", options.delta));
  EDGESAGE_RETURN_IF_ERROR(check_positive("node_delta", options.node_delta));
  EDGESAGE_RETURN_IF_ERROR(check_positive("node_floor", options.node_floor));
  EDGESAGE_RETURN_IF_ERROR(check_list("node_share_power", {options.node_share_power}, 1));
  return check_list("peak_share_power", {options.peak_share_power}, 1);
}

void LabelWeights::reset(int32_t quantities) {
  totals.assign(static_cast<size_t>(quantities), 0.0);
  nodes.assign(static_cast<size_t>(quantities), 0.0);
}

void LabelWeights::add(const ModelConfig& config, const Batch& batch, int32_t graph) {
  for (size_t q = 0; q < totals.size(); ++q) {
    const auto quantity = static_cast<int64_t>(q);
    if (!std::isnan(total_label(batch, graph, quantity))) totals[q] += graph_weight(batch, graph);
    if (sum_of_op_labels(config, batch, graph, quantity) > 0)
      nodes[q] += graph_weight(batch, graph);
  }
}

void LabelWeights::add(const LabelWeights& other) {
  for (size_t q = 0; q < totals.size(); ++q) {
    totals[q] += other.totals[q];
    nodes[q] += other.nodes[q];
  }
}

void LabelWeights::multiply(double factor) {
  for (double& weight : totals) weight *= factor;
  for (double& weight : nodes) weight *= factor;
}

void LossSums::reset(int32_t quantities) {
  loss = 0;
  log_error.assign(static_cast<size_t>(quantities), 0.0);
}

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  for (size_t q = 0; q < log_error.size(); ++q) log_error[q] += other.log_error[q];
}

void loss_and_head_gradient(const ModelConfig& config, const LossOptions& options,
                            const LabelWeights& weights, const Batch& batch,
                            const Workspace& workspace, LossSums& sums, BackwardBuffers& buffers) {
  kernels::scratch(buffers.d_node_out, batch.nodes(), batch.columns);
  kernels::scratch(buffers.d_graph_out, batch.graphs(), 2 * int64_t{batch.quantities});
  buffers.d_op.resize(static_cast<size_t>(batch.operators()));
  buffers.op_peak.resize(static_cast<size_t>(batch.operators()));
  for (int64_t g = 0; g < batch.graphs(); ++g)
    for (int64_t q = 0; q < batch.quantities; ++q)
      GraphLoss(config, options, weights, batch, workspace, buffers, g, q).run(sums);
}

}  // namespace edgesage::nn
