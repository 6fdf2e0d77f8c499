#include "src/nn/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "src/base/rng.h"
#include "src/nn/stepper.h"

namespace edgesage::nn {
namespace {

// Sums over the steps of one epoch.
class EpochSums {
 public:
  explicit EpochSums(int32_t quantities)
      : log_error_(static_cast<size_t>(quantities)), weight_(log_error_.size()) {}

  void add(const Stepper& stepper) {
    ++steps_;
    loss_ += stepper.sums().loss;
    for (size_t q = 0; q < weight_.size(); ++q) {
      log_error_[q] += stepper.sums().log_error[q];
      weight_[q] += stepper.weights().totals[q];
    }
  }
  [[nodiscard]] double loss() const { return loss_ / static_cast<double>(steps_); }
  [[nodiscard]] std::vector<double> log_error() const {
    std::vector<double> mean(weight_.size(), std::numeric_limits<double>::quiet_NaN());
    for (size_t q = 0; q < mean.size(); ++q)
      if (weight_[q] > 0) mean[q] = log_error_[q] / weight_[q];
    return mean;
  }

 private:
  int64_t steps_ = 0;
  double loss_ = 0;
  std::vector<double> log_error_, weight_;
};

Status check_options(const TrainOptions& options, const ModelConfig& config) {
  const auto bad = [](const char* field, double value, const char* allowed) {
    return make_error(ErrorCode::kInvalidArgument, field,
                      fmt::format("{} given, {} allowed", value, allowed));
  };
  if (options.epochs < 1) return bad("epochs", options.epochs, "1 or more");
  if (options.batch_graphs < 1) return bad("batch_graphs", options.batch_graphs, "1 or more");
  if (!(options.learning_rate > 0 && std::isfinite(options.learning_rate)))
    return bad("learning_rate", options.learning_rate, "more than 0");
  if (!(options.warm_up >= 0 && options.warm_up <= 1))
    return bad("warm_up", options.warm_up, "0 to 1");
  if (!(options.weight_decay >= 0)) return bad("weight_decay", options.weight_decay, "0 or more");
  if (!(options.clip_norm >= 0)) return bad("clip_norm", options.clip_norm, "0 or more");
  if (!(options.average_decay >= 0 && options.average_decay < 1))
    return bad("average_decay", options.average_decay, "at least 0 and below 1");
  return validate(options.loss, config);
}

Status check_graphs(const Batch& data, std::span<const int32_t> graphs) {
  if (graphs.empty())
    return make_error(ErrorCode::kInvalidArgument, "graphs", "there are none to train on");
  for (const int32_t graph : graphs)
    if (graph < 0 || graph >= data.graphs())
      return make_error(ErrorCode::kInvalidArgument, "graphs",
                        fmt::format("{} given, 0 to {} allowed", graph, data.graphs() - 1));
  return {};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double one_cycle_rate(const TrainOptions& options, int64_t step, int64_t steps) {
  constexpr double kStart = 0.04, kEnd = 1e-3;  // shares of the peak
  const double position = (static_cast<double>(step) + 1) / static_cast<double>(steps);
  double share = 1;
  if (position < options.warm_up) {
    share = kStart + (1 - kStart) * position / options.warm_up;
  } else if (options.warm_up < 1) {
    const double fall = (position - options.warm_up) / (1 - options.warm_up);
    share = kEnd + (1 - kEnd) * 0.5 * (1 + std::cos(std::numbers::pi * fall));
  }
  return options.learning_rate * share;
}

Result<TrainReport> train(Model& model, const Batch& data, std::span<const int32_t> graphs,
                          const TrainOptions& options,
                          const std::function<void(const EpochReport&)>& on_epoch,
                          const std::atomic<bool>* stop) {
  EDGESAGE_RETURN_IF_ERROR(check_options(options, model.config()));
  EDGESAGE_RETURN_IF_ERROR(validate(data, model.config()));
  EDGESAGE_RETURN_IF_ERROR(check_graphs(data, graphs));
  Stepper stepper(model, data, options);
  TrainReport report;
  std::vector<int32_t> order(graphs.begin(), graphs.end());
  const auto batch = static_cast<size_t>(options.batch_graphs);
  const auto steps_an_epoch = static_cast<int64_t>((order.size() + batch - 1) / batch);
  int64_t nodes = 0;
  for (const int32_t graph : order)
    nodes += data.graph_offset[static_cast<size_t>(graph) + 1] -
             data.graph_offset[static_cast<size_t>(graph)];
  Rng rng(options.seed, "shuffle");
  while (report.epochs < options.epochs && !report.stopped) {
    const auto start = std::chrono::steady_clock::now();
    rng.shuffle(order);
    EpochSums sums(model.config().quantity_count());
    double rate = 0;
    for (size_t first = 0; first < order.size() && !report.stopped; first += batch) {
      rate = one_cycle_rate(options, report.steps, steps_an_epoch * options.epochs);
      const size_t count = std::min(batch, order.size() - first);
      if (!stepper.step(std::span(order).subspan(first, count), rate)) ++report.skipped_steps;
      sums.add(stepper);
      ++report.steps;
      report.stopped = stop != nullptr && stop->load();
    }
    if (report.stopped) break;
    ++report.epochs;
    report.loss = sums.loss();
    if (on_epoch)
      on_epoch({.epoch = report.epochs,
                .epochs = options.epochs,
                .loss = report.loss,
                .log_error = sums.log_error(),
                .learning_rate = rate,
                .seconds = seconds_since(start),
                .nodes = nodes,
                .parameters = stepper.result()});
  }
  EDGESAGE_RETURN_IF_ERROR(model.set_parameters(stepper.result()));
  return report;
}

}  // namespace edgesage::nn
