#include "src/nn/stepper.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/parallel.h"
#include "src/kernels/adam.h"
#include "src/kernels/elementwise.h"

namespace edgesage::nn {
namespace {

using kernels::AlignedFloats;
using kernels::Matrix;

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

// More than there are parts would spin for nothing.
int useful_threads(int threads, size_t parts) {
  return std::min(threads > 0 ? threads : hardware_threads(), static_cast<int>(parts));
}

Matrix as_row(AlignedFloats& values, int64_t first, int64_t count) {
  return {values.data() + first, 1, count, count};
}

}  // namespace

Stepper::Stepper(const Model& model, const GraphSource& source, const TrainOptions& options,
                 Ranks* ranks)
    : config_(model.config()),
      layout_(model.layout()),
      source_(source),
      options_(options),
      ranks_(ranks),
      pool_(useful_threads(options.threads, kParts)),
      parameters_(model.parameters().begin(), model.parameters().end()),
      average_(parameters_),
      first_moment_(parameters_.size()),
      second_moment_(parameters_.size()),
      dropout_seeds_(options.seed, "dropout") {
  for (const ParameterSlice& slice : layout_.slices)
    for (int64_t done = 0; done < slice.size(); done += kChunk)
      chunks_.push_back(
          {slice.offset + done, std::min(kChunk, slice.size() - done), slice.decayed});
  squares_.resize(chunks_.size());
}

// Four loops over all threads: read and pack, gradients of the parts, their sum, the new weights.
bool Stepper::step(std::span<const int32_t> graphs, double learning_rate) {
  cut(graphs);
  for (Part& part : parts_) part.dropout = {config_.dropout, dropout_seeds_.next()};
  pool_.run(static_cast<int64_t>(kParts) + 2, [this](int64_t i) {
    if (i == 0) {
      pack(layout_, parameters_.data(), packed_);
    } else if (i == 1) {
      pack_transposed(config_, layout_, parameters_.data(), transposed_);
    } else {
      draw(static_cast<size_t>(i) - 2);
    }
  });
  share_weights();
  add_weights();
  pool_.run(static_cast<int64_t>(kParts), [this](int64_t i) { run(static_cast<size_t>(i)); });
  share_gradients();
  sums_.reset(config_.quantity_count());
  for (const Part& part : parts_) sums_.add(part.sums);
  pool_.run(static_cast<int64_t>(chunks_.size()),
            [this](int64_t i) { reduce(static_cast<size_t>(i)); });
  return update(learning_rate);
}

int Stepper::owner(size_t part) const {
  return ranks_ == nullptr ? 0 : static_cast<int>(part) % ranks_->size();
}

bool Stepper::is_own(size_t part) const {
  return ranks_ == nullptr || owner(part) == ranks_->rank();
}

void Stepper::share_weights() {
  if (ranks_ == nullptr) return;
  for (size_t p = 0; p < kParts; ++p) {
    ranks_->broadcast(std::span(parts_[p].weights.totals), owner(p));
    ranks_->broadcast(std::span(parts_[p].weights.nodes), owner(p));
  }
}

void Stepper::share_gradients() {
  if (ranks_ == nullptr) return;
  for (size_t p = 0; p < kParts; ++p) {
    Part& part = parts_[p];
    ranks_->broadcast(std::span(part.gradient.data(), static_cast<size_t>(layout_.size)), owner(p));
    ranks_->broadcast(std::span(&part.sums.loss, 1), owner(p));
    ranks_->broadcast(std::span(part.sums.log_error), owner(p));
  }
}

std::span<const float> Stepper::result() const {
  return options_.average_decay > 0 ? std::span<const float>(average_)
                                    : std::span<const float>(parameters_);
}

void Stepper::save(TrainState& state) const {
  state.updates = updates_;
  state.parameters = parameters_;
  state.average = average_;
  state.first_moment = first_moment_;
  state.second_moment = second_moment_;
}

void Stepper::restore(const TrainState& state) {
  updates_ = state.updates;
  parameters_ = state.parameters;
  average_ = state.average;
  first_moment_ = state.first_moment;
  second_moment_ = state.second_moment;
  dropout_seeds_ = Rng(options_.seed, "dropout");
  for (int64_t i = 0; i < state.steps * static_cast<int64_t>(kParts); ++i) dropout_seeds_.next();
}

// Parts of about the same number of nodes, in the order given.
void Stepper::cut(std::span<const int32_t> graphs) {
  int64_t all = 0, before = 0;
  for (const int32_t graph : graphs) all += int64_t{source_.nodes_of(graph)} + 1;
  graphs_of_part_.fill({});
  size_t first = 0;
  for (size_t p = 0; p < kParts; ++p) {
    size_t last = first;
    const int64_t goal = all * static_cast<int64_t>(p + 1) / static_cast<int64_t>(kParts);
    while (last < graphs.size()) {
      const int64_t nodes = int64_t{source_.nodes_of(graphs[last])} + 1;
      if (before + nodes / 2 >= goal) break;
      before += nodes;
      ++last;
    }
    if (p + 1 == kParts) last = graphs.size();
    graphs_of_part_[p] = graphs.subspan(first, last - first);
    first = last;
  }
}

void Stepper::draw(size_t index) {
  Part& part = parts_[index];
  part.batch.clear();
  part.weights.reset(config_.quantity_count());
  if (!is_own(index)) return;
  for (const int32_t graph : graphs_of_part_[index]) source_.append(graph, part.batch);
  // An empty part has widths as well.
  part.batch.features = config_.features;
  part.batch.globals_width = config_.globals;
  part.batch.columns = config_.columns();
  part.batch.quantities = config_.quantity_count();
  for (int32_t g = 0; g < part.batch.graphs(); ++g) part.weights.add(config_, part.batch, g);
}

void Stepper::add_weights() {
  weights_.reset(config_.quantity_count());
  for (const Part& part : parts_) weights_.add(part.weights);
}

void Stepper::run(size_t index) {
  if (!is_own(index)) {
    // Room for what its owner sends.
    parts_[index].gradient.resize(static_cast<size_t>(layout_.size));
    parts_[index].sums.reset(config_.quantity_count());
    return;
  }
  run_part({config_, layout_, parameters_.data(), packed_}, transposed_, options_.loss,
           divisor_.totals.empty() ? weights_ : divisor_, parts_[index]);
}

// The parts' gradients, added in their order into that of the first.
void Stepper::reduce(size_t chunk) {
  const auto [first, count, decayed] = chunks_[chunk];
  AlignedFloats& gradient = parts_[0].gradient;
  for (size_t p = 1; p < kParts; ++p)
    kernels::add(as_row(parts_[p].gradient, first, count), as_row(gradient, first, count));
  double sum = 0;
  for (int64_t i = first; i < first + count; ++i) {
    const double value = gradient[static_cast<size_t>(i)];
    sum += value * value;
  }
  squares_[chunk] = sum;
}

bool Stepper::update(double learning_rate) {
  const double length = std::sqrt(std::accumulate(squares_.begin(), squares_.end(), 0.0));
  if (!std::isfinite(length)) return false;
  ++updates_;
  kernels::AdamStep adam{.learning_rate = static_cast<float>(learning_rate), .step = updates_};
  if (options_.clip_norm > 0 && length > options_.clip_norm)
    adam.gradient_scale = static_cast<float>(options_.clip_norm / length);
  // Early on the average follows quickly, so that it forgets where training started.
  const auto count = static_cast<double>(updates_);
  const double keep = std::min(options_.average_decay, (1 + count) / (10 + count));
  pool_.run(static_cast<int64_t>(chunks_.size()), [&](int64_t i) {
    const Chunk& chunk = chunks_[static_cast<size_t>(i)];
    kernels::AdamStep step = adam;
    step.weight_decay = chunk.decayed ? static_cast<float>(options_.weight_decay) : 0.0f;
    kernels::adam(step, chunk.count, parts_[0].gradient.data() + chunk.first,
                  first_moment_.data() + chunk.first, second_moment_.data() + chunk.first,
                  parameters_.data() + chunk.first);
    kernels::move_average(chunk.count, parameters_.data() + chunk.first,
                          static_cast<float>(1 - keep), average_.data() + chunk.first);
  });
  return true;
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
