#include "src/nn/stepper.h"

#include <algorithm>
#include <cmath>

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

Matrix as_row(AlignedFloats& values) {
  const auto count = static_cast<int64_t>(values.size());
  return {values.data(), 1, count, count};
}

double norm(const AlignedFloats& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

}  // namespace

Stepper::Stepper(const Model& model, const Batch& data, const TrainOptions& options)
    : config_(model.config()),
      layout_(model.layout()),
      data_(data),
      options_(options),
      parameters_(model.parameters().begin(), model.parameters().end()),
      average_(parameters_),
      first_moment_(parameters_.size()),
      second_moment_(parameters_.size()),
      dropout_seeds_(options.seed, "dropout") {}

bool Stepper::step(std::span<const int32_t> graphs, double learning_rate) {
  pack(layout_, parameters_.data(), packed_);
  pack_transposed(config_, layout_, parameters_.data(), transposed_);
  weights_.reset(config_.quantity_count());
  for (const int32_t graph : graphs) weights_.add(config_, data_, graph);
  cut(graphs);
  for (Part& part : parts_) part.dropout = {config_.dropout, dropout_seeds_.next()};
  parallel_for(static_cast<int64_t>(kParts), options_.threads,
               [this](int64_t i) { run(static_cast<size_t>(i)); });
  sums_.reset(config_.quantity_count());
  for (const Part& part : parts_) sums_.add(part.sums);
  return update(learning_rate);
}

std::span<const float> Stepper::result() const {
  return options_.average_decay > 0 ? std::span<const float>(average_)
                                    : std::span<const float>(parameters_);
}

// Parts of about the same number of nodes, in the order given.
void Stepper::cut(std::span<const int32_t> graphs) {
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

void Stepper::run(size_t index) {
  Part& part = parts_[index];
  part.batch.clear();
  for (const int32_t graph : graphs_of_part_[index]) append_graph(data_, graph, part.batch);
  // An empty part keeps the widths of the data.
  part.batch.features = data_.features;
  part.batch.globals_width = data_.globals_width;
  part.batch.columns = data_.columns;
  part.batch.quantities = data_.quantities;
  run_part({config_, layout_, parameters_.data(), packed_}, transposed_, options_.loss, weights_,
           part);
}

bool Stepper::update(double learning_rate) {
  AlignedFloats& gradient = parts_[0].gradient;
  for (size_t p = 1; p < kParts; ++p) kernels::add(as_row(parts_[p].gradient), as_row(gradient));
  const double length = norm(gradient);
  if (!std::isfinite(length)) return false;
  ++updates_;
  kernels::AdamStep adam{.learning_rate = static_cast<float>(learning_rate), .step = updates_};
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
