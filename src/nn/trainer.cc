#include "src/nn/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "src/base/rng.h"
#include "src/nn/batch_plan.h"
#include "src/nn/stepper.h"

namespace edgesage::nn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status check_options(const TrainOptions& options, const ModelConfig& config) {
  const auto bad = [](const char* field, auto value, const char* allowed) {
    return make_error(ErrorCode::kInvalidArgument, field,
                      fmt::format("{} given, {} allowed", value, allowed));
  };
  if (options.epochs < 1) return bad("epochs", options.epochs, "1 or more");
  if (options.batch_graphs < 1) return bad("batch_graphs", options.batch_graphs, "1 or more");
  if (options.batch_nodes < 0) return bad("batch_nodes", options.batch_nodes, "0 or more");
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

Status check_graphs(const GraphSource& source, std::span<const int32_t> graphs) {
  if (graphs.empty())
    return make_error(ErrorCode::kInvalidArgument, "graphs", "there are none to train on");
  for (const int32_t graph : graphs)
    if (graph < 0 || graph >= source.graphs())
      return make_error(ErrorCode::kInvalidArgument, "graphs",
                        fmt::format("{} given, 0 to {} allowed", graph, source.graphs() - 1));
  return {};
}

// Each graph by itself, so that memory holds one at a time.
Status check_source(const GraphSource& source, std::span<const int32_t> graphs,
                    const ModelConfig& config) {
  Batch one;
  for (const int32_t graph : graphs) {
    one.clear();
    source.append(graph, one);
    if (const Status valid = validate(one, config); !valid)
      return make_error(valid.error().code, fmt::format("graph {}", graph),
                        valid.error().to_string());
  }
  return {};
}

Status check_state(const TrainState& state, const Model& model, const TrainOptions& options,
                   size_t graphs) {
  const size_t parameters = model.parameters().size();
  const auto quantities = static_cast<size_t>(model.config().quantity_count());
  const auto fits = [&](const kernels::AlignedFloats& values) {
    return values.size() == parameters &&
           std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  };
  if (fits(state.parameters) && fits(state.average) && fits(state.first_moment) &&
      fits(state.second_moment) && state.sums.log_error.size() == quantities &&
      state.sums.weight.size() == quantities && state.epochs >= 0 &&
      state.epochs <= options.epochs && state.graphs_done >= 0 &&
      state.graphs_done <= static_cast<int64_t>(graphs) && state.updates >= 0 &&
      state.updates <= state.steps)
    return {};
  return make_error(ErrorCode::kInvalidArgument, "resume",
                    "the state is of another model, other options or other data");
}

void add(const Stepper& stepper, EpochSums& sums) {
  ++sums.steps;
  sums.loss += stepper.sums().loss;
  for (size_t q = 0; q < sums.weight.size(); ++q) {
    sums.log_error[q] += stepper.sums().log_error[q];
    sums.weight[q] += stepper.weights().totals[q];
  }
}

double mean_loss(const EpochSums& sums) {
  return sums.steps > 0 ? sums.loss / static_cast<double>(sums.steps) : 0;
}

std::vector<double> mean_log_error(const EpochSums& sums) {
  std::vector<double> mean(sums.weight.size(), std::numeric_limits<double>::quiet_NaN());
  for (size_t q = 0; q < mean.size(); ++q)
    if (sums.weight[q] > 0) mean[q] = sums.log_error[q] / sums.weight[q];
  return mean;
}

// The label weights that a step of batch_nodes nodes has in the mean.
LabelWeights mean_weights(const ModelConfig& config, const GraphSource& source,
                          std::span<const int32_t> graphs, int64_t batch_nodes) {
  LabelWeights weights;
  weights.reset(config.quantity_count());
  Batch one;
  int64_t nodes = 0;
  for (const int32_t graph : graphs) {
    one.clear();
    source.append(graph, one);
    weights.add(config, one, 0);
    nodes += one.nodes();
  }
  weights.multiply(std::min(
      1.0, static_cast<double>(batch_nodes) / static_cast<double>(std::max<int64_t>(nodes, 1))));
  return weights;
}

// One run, from its first or a later step to its end. Arguments have been checked.
class Run {
 public:
  Run(Model& model, const GraphSource& source, std::span<const int32_t> graphs,
      const TrainOptions& options, const TrainHooks& hooks)
      : model_(model),
        source_(source),
        options_(options),
        hooks_(hooks),
        order_(graphs.begin(), graphs.end()),
        rng_(options.seed, "shuffle"),
        stepper_(model, source, options, hooks.ranks) {
    if (options.batch_nodes > 0)
      stepper_.set_divisor(mean_weights(model.config(), source, graphs, options.batch_nodes));
    reset_sums();
    if (hooks.resume == nullptr) return;
    state_ = *hooks.resume;
    stepper_.restore(state_);
    for (int32_t epoch = 0; epoch < state_.epochs; ++epoch) rng_.shuffle(order_);
  }

  Result<TrainReport> run() {
    EDGESAGE_RETURN_IF_ERROR(save());
    while (state_.epochs < options_.epochs && !stopped_) EDGESAGE_RETURN_IF_ERROR(run_epoch());
    if (stopped_) EDGESAGE_RETURN_IF_ERROR(save());
    EDGESAGE_RETURN_IF_ERROR(model_.set_parameters(stepper_.result()));
    return TrainReport{.epochs = state_.epochs,
                       .steps = state_.steps,
                       .skipped_steps = skipped_,
                       .stopped = stopped_,
                       .loss = state_.loss};
  }

 private:
  Status run_epoch() {
    epoch_started_ = Clock::now();
    epoch_nodes_ = 0;
    rng_.shuffle(order_);
    plan_batches(source_, order_, options_.batch_graphs, options_.batch_nodes, plan_);
    for (const BatchRange& batch : plan_) {
      // Done before the run was interrupted.
      if (static_cast<int64_t>(batch.last) <= state_.graphs_done) continue;
      if (seconds_since(saved_) >= hooks_.save_seconds) EDGESAGE_RETURN_IF_ERROR(save());
      step(batch);
      stopped_ = stop_wanted();
      if (stopped_) return {};
    }
    end_epoch();
    return {};
  }

  void step(const BatchRange& batch) {
    rate_ = one_cycle_rate(options_, position_after(batch));
    const auto graphs = std::span(order_).subspan(batch.first, batch.last - batch.first);
    if (!stepper_.step(graphs, rate_)) ++skipped_;
    add(stepper_, state_.sums);
    ++state_.steps;
    state_.graphs_done = static_cast<int64_t>(batch.last);
    for (const int32_t graph : graphs) epoch_nodes_ += source_.nodes_of(graph);
    if (!hooks_.on_step) return;
    const auto count = static_cast<int64_t>(order_.size());
    hooks_.on_step({.epoch = state_.epochs + 1,
                    .done = state_.epochs * count + state_.graphs_done,
                    .total = options_.epochs * count,
                    .loss = mean_loss(state_.sums),
                    .log_error_sum = state_.sums.log_error,
                    .weight_sum = state_.sums.weight,
                    .seconds = seconds_since(started_),
                    .nodes = nodes_before_ + epoch_nodes_});
  }

  // As the first process says, so that all stop at the same step.
  [[nodiscard]] bool stop_wanted() const {
    double wanted = hooks_.stop != nullptr && hooks_.stop->load() ? 1 : 0;
    if (hooks_.ranks != nullptr) hooks_.ranks->broadcast(std::span(&wanted, 1), 0);
    return wanted != 0;
  }

  // In steps where every epoch has as many; else in graphs.
  [[nodiscard]] double position_after(const BatchRange& batch) const {
    if (options_.batch_nodes == 0) {
      const auto steps = static_cast<int64_t>(plan_.size()) * options_.epochs;
      return (static_cast<double>(state_.steps) + 1) / static_cast<double>(steps);
    }
    const auto count = static_cast<double>(order_.size());
    return (state_.epochs * count + static_cast<double>(batch.last)) / (options_.epochs * count);
  }

  void end_epoch() {
    ++state_.epochs;
    state_.graphs_done = 0;
    state_.loss = mean_loss(state_.sums);
    nodes_before_ += epoch_nodes_;
    const std::vector<double> log_error = mean_log_error(state_.sums);
    reset_sums();
    if (hooks_.on_epoch)
      hooks_.on_epoch({.epoch = state_.epochs,
                       .epochs = options_.epochs,
                       .loss = state_.loss,
                       .log_error = log_error,
                       .learning_rate = rate_,
                       .seconds = seconds_since(epoch_started_),
                       .nodes = epoch_nodes_,
                       .parameters = stepper_.result()});
  }

  void reset_sums() {
    const auto quantities = static_cast<size_t>(model_.config().quantity_count());
    state_.sums = {.log_error = std::vector<double>(quantities),
                   .weight = std::vector<double>(quantities)};
  }

  Status save() {
    saved_ = Clock::now();
    const bool is_first = hooks_.ranks == nullptr || hooks_.ranks->rank() == 0;
    if (!hooks_.save || !is_first) return {};
    stepper_.save(state_);
    return hooks_.save(state_);
  }

  Model& model_;
  const GraphSource& source_;
  const TrainOptions& options_;
  const TrainHooks& hooks_;
  std::vector<int32_t> order_;
  std::vector<BatchRange> plan_;
  Rng rng_;
  Stepper stepper_;
  TrainState state_;
  int64_t skipped_ = 0;
  bool stopped_ = false;
  double rate_ = 0;
  int64_t nodes_before_ = 0, epoch_nodes_ = 0;
  Clock::time_point started_ = Clock::now(), epoch_started_ = started_, saved_ = started_;
};

}  // namespace

double one_cycle_rate(const TrainOptions& options, double position) {
  constexpr double kStart = 0.04, kEnd = 1e-3;  // shares of the peak
  double share = 1;
  if (position < options.warm_up) {
    share = kStart + (1 - kStart) * position / options.warm_up;
  } else if (options.warm_up < 1) {
    const double fall = (position - options.warm_up) / (1 - options.warm_up);
    share = kEnd + (1 - kEnd) * 0.5 * (1 + std::cos(std::numbers::pi * fall));
  }
  return options.learning_rate * share;
}

double one_cycle_rate(const TrainOptions& options, int64_t step, int64_t steps) {
  return one_cycle_rate(options, (static_cast<double>(step) + 1) / static_cast<double>(steps));
}

Result<TrainReport> train(Model& model, const Batch& data, std::span<const int32_t> graphs,
                          const TrainOptions& options,
                          const std::function<void(const EpochReport&)>& on_epoch,
                          const std::atomic<bool>* stop) {
  EDGESAGE_RETURN_IF_ERROR(check_options(options, model.config()));
  EDGESAGE_RETURN_IF_ERROR(validate(data, model.config()));
  const BatchSource source(data);
  EDGESAGE_RETURN_IF_ERROR(check_graphs(source, graphs));
  const TrainHooks hooks{.on_epoch = on_epoch, .stop = stop};
  return Run(model, source, graphs, options, hooks).run();
}

Result<TrainReport> train(Model& model, const GraphSource& source, std::span<const int32_t> graphs,
                          const TrainOptions& options, const TrainHooks& hooks) {
  EDGESAGE_RETURN_IF_ERROR(check_options(options, model.config()));
  EDGESAGE_RETURN_IF_ERROR(check_graphs(source, graphs));
  EDGESAGE_RETURN_IF_ERROR(check_source(source, graphs, model.config()));
  if (hooks.resume != nullptr)
    EDGESAGE_RETURN_IF_ERROR(check_state(*hooks.resume, model, options, graphs.size()));
  return Run(model, source, graphs, options, hooks).run();
}

}  // namespace edgesage::nn
