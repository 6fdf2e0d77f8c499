#include "src/nn/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "src/base/parallel.h"
#include "src/base/rng.h"
#include "src/kernels/adam.h"
#include "src/kernels/elementwise.h"

namespace edgesage::nn {
namespace {

using kernels::AlignedFloats;
using kernels::Matrix;

// A mini-batch is cut into this many parts, however many threads there are, and gradients are added
// in their order: so threads do not change a bit of the result.
constexpr size_t kParts = 4;

// What one part of a mini-batch needs.
struct Part {
  Batch batch;
  Workspace workspace;
  BackwardBuffers buffers;
  AlignedFloats gradient;
  LossSums sums;
  Dropout dropout;
};

void run_part(const Network& network, const PackedWeights& transposed, const LossOptions& loss,
              const LabelWeights& weights, Part& part) {
  part.gradient.assign(static_cast<size_t>(network.layout.size), 0.0f);
  part.sums.reset(network.config.quantity_count());
  forward(network, part.batch, part.dropout, part.workspace);
  loss_and_head_gradient(network.config, loss, weights, part.batch, part.workspace, part.sums,
                         part.buffers);
  backward(network, transposed, part.batch, part.dropout, part.workspace, part.buffers,
           part.gradient.data());
}

Matrix as_row(AlignedFloats& values) {
  const auto count = static_cast<int64_t>(values.size());
  return {values.data(), 1, count, count};
}

double norm(const AlignedFloats& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

class Trainer {
 public:
  Trainer(const Model& model, const Batch& data, const TrainOptions& options)
      : config_(model.config()),
        layout_(model.layout()),
        data_(data),
        options_(options),
        parameters_(model.parameters().begin(), model.parameters().end()),
        average_(parameters_),
        first_moment_(parameters_.size()),
        second_moment_(parameters_.size()) {}

  // One step on the graphs of a mini-batch; false if its gradient was not finite.
  bool step(std::span<const int32_t> graphs, double rate) {
    pack(layout_, parameters_.data(), packed_);
    pack_transposed(config_, layout_, parameters_.data(), transposed_);
    weights_.reset(config_.quantity_count());
    for (const int32_t graph : graphs) weights_.add(config_, data_, graph);
    cut(graphs);
    parallel_for(static_cast<int64_t>(kParts), options_.threads,
                 [this](int64_t i) { run(static_cast<size_t>(i)); });
    sums_.reset(config_.quantity_count());
    for (const Part& part : parts_) sums_.add(part.sums);
    ++drawn_;
    return update(rate);
  }

  [[nodiscard]] const LossSums& sums() const { return sums_; }
  [[nodiscard]] const LabelWeights& weights() const { return weights_; }
  [[nodiscard]] std::span<const float> result() const {
    return options_.average_decay > 0 ? std::span<const float>(average_)
                                      : std::span<const float>(parameters_);
  }

 private:
  // Parts of about the same number of nodes, in the order given.
  void cut(std::span<const int32_t> graphs) {
    const auto nodes_of = [this](int32_t graph) {
      return int64_t{data_.graph_offset[static_cast<size_t>(graph) + 1]} -
             data_.graph_offset[static_cast<size_t>(graph)];
    };
    int64_t all = 0, before = 0;
    for (const int32_t graph : graphs) all += nodes_of(graph) + 1;
    graphs_of_part_.fill({});
    size_t first = 0;
    for (size_t p = 0; p < kParts; ++p) {
      size_t last = first;
      const int64_t goal = all * static_cast<int64_t>(p + 1) / static_cast<int64_t>(kParts);
      while (last < graphs.size() && before + (nodes_of(graphs[last]) + 1) / 2 < goal)
        before += nodes_of(graphs[last++]) + 1;
      if (p + 1 == kParts) last = graphs.size();
      graphs_of_part_[p] = graphs.subspan(first, last - first);
      first = last;
    }
  }

  void run(size_t index) {
    Part& part = parts_[index];
    part.batch.clear();
    for (const int32_t graph : graphs_of_part_[index]) append_graph(data_, graph, part.batch);
    // An empty part keeps the widths of the data.
    part.batch.features = data_.features;
    part.batch.globals_width = data_.globals_width;
    part.batch.columns = data_.columns;
    part.batch.quantities = data_.quantities;
    part.dropout = {config_.dropout,
                    Rng(options_.seed + drawn_ * kParts + index, "dropout").next()};
    run_part({config_, layout_, parameters_.data(), packed_}, transposed_, options_.loss, weights_,
             part);
  }

  bool update(double rate) {
    AlignedFloats& gradient = parts_[0].gradient;
    for (size_t p = 1; p < kParts; ++p) kernels::add(as_row(parts_[p].gradient), as_row(gradient));
    const double length = norm(gradient);
    if (!std::isfinite(length)) return false;
    ++updates_;
    kernels::AdamStep adam{.learning_rate = static_cast<float>(rate), .step = updates_};
    if (options_.clip_norm > 0 && length > options_.clip_norm)
      adam.gradient_scale = static_cast<float>(options_.clip_norm / length);
    for (const ParameterSlice& slice : layout_.slices) {
      adam.weight_decay = slice.decayed ? static_cast<float>(options_.weight_decay) : 0.0f;
      kernels::adam(adam, slice.size(), gradient.data() + slice.offset,
                    first_moment_.data() + slice.offset, second_moment_.data() + slice.offset,
                    parameters_.data() + slice.offset);
    }
    // Early on the average follows quickly, so that it forgets where training started.
    const auto count = static_cast<double>(updates_);
    const double keep = std::min(options_.average_decay, (1 + count) / (10 + count));
    kernels::move_average(static_cast<int64_t>(parameters_.size()), parameters_.data(),
                          static_cast<float>(1 - keep), average_.data());
    return true;
  }

  const ModelConfig& config_;
  const Layout& layout_;
  const Batch& data_;
  const TrainOptions& options_;
  AlignedFloats parameters_, average_, first_moment_, second_moment_;
  PackedWeights packed_, transposed_;
  LabelWeights weights_;
  LossSums sums_;
  std::array<Part, kParts> parts_;
  std::array<std::span<const int32_t>, kParts> graphs_of_part_;
  int64_t updates_ = 0;
  uint64_t drawn_ = 0;
};

// Sums over the steps of one epoch.
class EpochSums {
 public:
  explicit EpochSums(int32_t quantities)
      : log_error_(static_cast<size_t>(quantities)), weight_(log_error_.size()) {}

  void add(const Trainer& trainer) {
    ++steps_;
    loss_ += trainer.sums().loss;
    for (size_t q = 0; q < weight_.size(); ++q) {
      log_error_[q] += trainer.sums().log_error[q];
      weight_[q] += trainer.weights().totals[q];
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
  Trainer trainer(model, data, options);
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
      if (!trainer.step(std::span(order).subspan(first, count), rate)) ++report.skipped_steps;
      sums.add(trainer);
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
                .parameters = trainer.result()});
  }
  EDGESAGE_RETURN_IF_ERROR(model.set_parameters(trainer.result()));
  return report;
}

double loss_and_gradient(const Model& model, const Batch& batch, const LossOptions& options,
                         std::span<float> gradient) {
  PackedWeights packed, transposed;
  const float* parameters = model.parameters().data();
  pack(model.layout(), parameters, packed);
  pack_transposed(model.config(), model.layout(), parameters, transposed);
  LabelWeights weights;
  weights.reset(model.config().quantity_count());
  for (int32_t g = 0; g < batch.graphs(); ++g) weights.add(model.config(), batch, g);
  Part part;
  part.batch = batch;
  run_part({model.config(), model.layout(), parameters, packed}, transposed, options, weights,
           part);
  std::copy(part.gradient.begin(), part.gradient.end(), gradient.begin());
  return part.sums.loss;
}

}  // namespace edgesage::nn
