#include "src/learn/graph_baselines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "src/base/rng.h"
#include "src/devices/statistics.h"
#include "src/features/feature_table.h"
#include "src/kernels/adam.h"
#include "src/kernels/elementwise.h"
#include "src/kernels/gemm.h"
#include "src/kernels/segment.h"
#include "src/learn/brp_nas_network.h"

namespace edgesage {
namespace {

using kernels::AlignedFloats;
using kernels::Matrix;

constexpr auto kKinds = static_cast<int64_t>(RowKind::kCount);
const std::array<std::string, 2> kBaselines{"perfsage-1", "brp-nas"};

// What a layer of PerfSAGE's sees of a row beside its kind.
constexpr std::array<std::string_view, 9> kRaw{"log_ofm_h",    "log_ofm_w",    "log_ofm_c",
                                               "log_kernel_h", "log_kernel_w", "stride_h",
                                               "stride_w",     "log_groups",   "activation_any"};

std::vector<size_t> raw_columns() {
  const auto table = node_features();
  std::vector<size_t> columns;
  for (const std::string_view name : kRaw)
    columns.push_back(
        static_cast<size_t>(std::ranges::find(table, name, &NodeFeature::name) - table.begin()));
  return columns;
}

// Steps of a fit: mini-batches in a new order each epoch.
template <class Step>
void run_epochs(size_t count, const BaselineOptions& options, const Step& step) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng(options.seed, "baseline order");
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    rng.shuffle(order);
    for (size_t first = 0; first < count; first += options.batch)
      step(std::span<const size_t>(order).subspan(first, std::min(options.batch, count - first)),
           epoch);
  }
}

class PerfSage final : public Control {
 public:
  PerfSage(std::span<const Example* const> examples, std::span<const double> labels,
           const BaselineOptions& options)
      : width_(options.width > 0 ? options.width : 128), columns_(raw_columns()) {
    make_layers(options.seed);
    measure(examples, labels);
    const size_t count = parameters_.size();
    AlignedFloats gradient(count), first(count), second(count);
    kernels::AdamStep adam{.learning_rate = 0.01F, .step = 0};
    run_epochs(examples.size(), options, [&](std::span<const size_t> chosen, int64_t) {
      Graphs graphs;
      for (const size_t i : chosen) add(*examples[i], graphs);
      forward(graphs);
      std::fill(gradient.begin(), gradient.end(), 0.0F);
      std::vector<float> slopes;
      for (size_t g = 0; g < chosen.size(); ++g) {
        const auto truth = static_cast<float>(labels[chosen[g]] / scale_);
        const float sign = answers_[g] > truth ? 1.0F : answers_[g] < truth ? -1.0F : 0.0F;
        slopes.push_back(sign / truth / static_cast<float>(chosen.size()));
      }
      backward(graphs, slopes, gradient);
      ++adam.step;
      kernels::adam(adam, static_cast<int64_t>(count), gradient.data(), first.data(), second.data(),
                    parameters_.data());
    });
  }

  [[nodiscard]] double predict(const Example& example) const override {
    Graphs graphs;
    add(example, graphs);
    forward(graphs);
    return static_cast<double>(answers_[0]) * scale_;
  }

 private:
  static constexpr size_t kLayers = 2;
  static constexpr float kSlots = 200;

  struct Layer {
    int64_t inputs = 0, weight = 0, bias = 0;  // weight: (own, mean of successors) x width
  };
  struct Graphs {
    std::vector<float> x;
    std::vector<int32_t> offset{0}, successors, first_node{0};
    [[nodiscard]] int64_t nodes() const { return static_cast<int64_t>(offset.size()) - 1; }
  };
  struct State {
    AlignedFloats input, linear, length, output;  // length: of each row before it is made one
  };

  void make_layers(uint64_t seed) {
    int64_t next = 0;
    for (size_t l = 0; l < kLayers; ++l) {
      layers_[l] = {l == 0 ? kKinds + static_cast<int64_t>(columns_.size()) : width_, next, 0};
      layers_[l].bias = next + 2 * layers_[l].inputs * width_;
      next = layers_[l].bias + width_;
    }
    head_ = next;
    parameters_.assign(static_cast<size_t>(head_ + width_ + 1), 0.0F);
    Rng rng(seed, "perfsage weights");
    for (const Layer& layer : layers_) {
      const double bound = std::sqrt(3.0 / static_cast<double>(2 * layer.inputs));
      for (int64_t i = layer.weight; i < layer.bias; ++i)
        parameters_[static_cast<size_t>(i)] = static_cast<float>(rng.uniform(-bound, bound));
    }
    for (int64_t i = 0; i < width_; ++i)
      parameters_[static_cast<size_t>(head_ + i)] =
          static_cast<float>(rng.uniform(-1, 1) / std::sqrt(static_cast<double>(width_)));
  }

  // Scales of features and labels.
  void measure(std::span<const Example* const> examples, std::span<const double> labels) {
    std::vector<double> sorted(labels.begin(), labels.end());
    std::sort(sorted.begin(), sorted.end());
    scale_ = quantile(sorted, 0.5);
    largest_.assign(columns_.size(), 1.0F);
    for (const Example* example : examples)
      for (int32_t i = 0; i < example->tensors.nodes; ++i)
        for (size_t c = 0; c < columns_.size(); ++c)
          largest_[c] = std::max(largest_[c], raw(example->tensors, i, c));
  }

  // Sizes as they are, not their logarithms.
  [[nodiscard]] float raw(const GraphTensors& tensors, int32_t node, size_t c) const {
    const float value =
        tensors.x[static_cast<size_t>(node) * static_cast<size_t>(tensors.features) + columns_[c]];
    return kRaw[c].starts_with("log_") ? std::expm1(value) : value;
  }

  void add(const Example& example, Graphs& to) const {
    const GraphTensors& tensors = example.tensors;
    const auto before = static_cast<int32_t>(to.nodes());
    for (int32_t i = 0; i < tensors.nodes; ++i) {
      const size_t begin = to.x.size();
      to.x.resize(begin + static_cast<size_t>(layers_[0].inputs), 0.0F);
      to.x[begin + static_cast<size_t>(tensors.kind[static_cast<size_t>(i)])] = 1;
      for (size_t c = 0; c < columns_.size(); ++c)
        to.x[begin + static_cast<size_t>(kKinds) + c] = raw(tensors, i, c) / largest_[c];
      const auto node = static_cast<size_t>(i);
      for (int32_t e = tensors.consumers.offset[node]; e < tensors.consumers.offset[node + 1]; ++e)
        to.successors.push_back(before + tensors.consumers.index[static_cast<size_t>(e)]);
      to.offset.push_back(static_cast<int32_t>(to.successors.size()));
    }
    to.first_node.push_back(before + tensors.nodes);
  }

  void forward(const Graphs& graphs) const {
    const int64_t nodes = graphs.nodes();
    const kernels::Segments successors{graphs.offset.data(), graphs.successors.data()};
    kernels::ConstMatrix x{graphs.x.data(), nodes, layers_[0].inputs, layers_[0].inputs};
    for (size_t l = 0; l < kLayers; ++l) {
      const Layer& layer = layers_[l];
      State& state = states_[l];
      const Matrix input = kernels::scratch(state.input, nodes, 2 * layer.inputs);
      for (int64_t i = 0; i < nodes; ++i) std::copy_n(x.row(i), layer.inputs, input.row(i));
      kernels::segment_mean(successors, x, input.columns(layer.inputs, layer.inputs));
      packed_.pack({parameters_.data() + layer.weight, 2 * layer.inputs, width_, width_});
      const Matrix linear = kernels::scratch(state.linear, nodes, width_);
      kernels::gemm(input, packed_, {.bias = parameters_.data() + layer.bias}, linear);
      const Matrix output = kernels::scratch(state.output, nodes, width_);
      const Matrix length = kernels::scratch(state.length, nodes, 1);
      for (int64_t i = 0; i < nodes; ++i) {
        double squares = 1e-12;
        for (int64_t j = 0; j < width_; ++j) squares += double{linear.row(i)[j]} * linear.row(i)[j];
        length.row(i)[0] = static_cast<float>(std::sqrt(squares));
        for (int64_t j = 0; j < width_; ++j)
          output.row(i)[j] = std::max(0.0F, linear.row(i)[j] / length.row(i)[0]);
      }
      x = output;
    }
    answers_.assign(graphs.first_node.size() - 1, 0.0F);
    const float* head = parameters_.data() + head_;
    for (size_t g = 0; g < answers_.size(); ++g) {
      float sum = 0;
      for (int32_t i = graphs.first_node[g]; i < graphs.first_node[g + 1]; ++i)
        for (int64_t j = 0; j < width_; ++j) sum += x.row(i)[j] * head[j];
      answers_[g] = sum / kSlots + head[width_];
    }
  }

  void backward(const Graphs& graphs, std::span<const float> slopes,
                AlignedFloats& gradient) const {
    const int64_t nodes = graphs.nodes();
    const float* head = parameters_.data() + head_;
    float* d_head = gradient.data() + head_;
    AlignedFloats d_storage;
    Matrix d = kernels::scratch(d_storage, nodes, width_);
    for (size_t g = 0; g < slopes.size(); ++g) {
      d_head[width_] += slopes[g];
      for (int32_t i = graphs.first_node[g]; i < graphs.first_node[g + 1]; ++i) {
        const float* output = states_.back().output.data() + i * width_;
        for (int64_t j = 0; j < width_; ++j) {
          d_head[j] += slopes[g] * output[j] / kSlots;
          d.row(i)[j] = slopes[g] * head[j] / kSlots;
        }
      }
    }
    for (size_t l = kLayers; l-- > 0;) d = layer_backward(graphs, l, d, d_storage, gradient);
  }

  // From the gradient at a layer's output to that at its input.
  Matrix layer_backward(const Graphs& graphs, size_t l, Matrix d, AlignedFloats& d_storage,
                        AlignedFloats& gradient) const {
    const Layer& layer = layers_[l];
    State& state = states_[l];
    const int64_t nodes = graphs.nodes();
    const Matrix output = kernels::scratch(state.output, nodes, width_);
    const Matrix linear = kernels::scratch(state.linear, nodes, width_);
    for (int64_t i = 0; i < nodes; ++i) {
      const float length = state.length[static_cast<size_t>(i)];
      float along = 0;  // what would only lengthen the row
      for (int64_t j = 0; j < width_; ++j) {
        if (output.row(i)[j] <= 0) d.row(i)[j] = 0;
        along += d.row(i)[j] * linear.row(i)[j];
      }
      for (int64_t j = 0; j < width_; ++j)
        d.row(i)[j] = (d.row(i)[j] - along * linear.row(i)[j] / (length * length)) / length;
    }
    kernels::add_column_sums(d, gradient.data() + layer.bias);
    packed_.pack(d);
    kernels::gemm_transposed_accumulate(
        kernels::scratch(state.input, nodes, 2 * layer.inputs), packed_,
        {gradient.data() + layer.weight, 2 * layer.inputs, width_, width_});
    if (l == 0) return d;
    packed_.pack_transposed({parameters_.data() + layer.weight, 2 * layer.inputs, width_, width_});
    AlignedFloats both_storage, next;
    const Matrix both = kernels::scratch(both_storage, nodes, 2 * layer.inputs);
    kernels::gemm(d, packed_, {}, both);
    const Matrix down = kernels::scratch(next, nodes, layer.inputs);
    for (int64_t i = 0; i < nodes; ++i) std::copy_n(both.row(i), layer.inputs, down.row(i));
    kernels::segment_mean_backward({graphs.offset.data(), graphs.successors.data()},
                                   both.columns(layer.inputs, layer.inputs), down);
    d_storage = std::move(next);
    return kernels::scratch(d_storage, nodes, layer.inputs);
  }

  int64_t width_;
  std::vector<size_t> columns_;
  std::vector<float> largest_;
  std::array<Layer, kLayers> layers_;
  int64_t head_ = 0;
  double scale_ = 1;
  AlignedFloats parameters_;
  // Of the last pass.
  mutable std::array<State, kLayers> states_;
  mutable std::vector<float> answers_;
  mutable kernels::PackedMatrix packed_;
};

class BrpNasRows final : public Control {
 public:
  BrpNasRows(std::span<const Example* const> examples, std::span<const double> labels,
             const BaselineOptions& options) {
    const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
    low_ = *least;
    range_ = *most > low_ ? *most - low_ : 1;
    Rng weights(options.seed, "brp-nas weights"), dropout(options.seed, "brp-nas dropout");
    network_ = std::make_unique<BrpNasNetwork>(options.width > 0 ? options.width : 600, weights,
                                               kKinds + 1);
    const size_t count = network_->parameters().size();
    AlignedFloats gradient(count), first(count), second(count);
    kernels::AdamStep adam{.weight_decay = 5e-4F, .step = 0};
    run_epochs(examples.size(), options, [&](std::span<const size_t> chosen, int64_t epoch) {
      std::vector<const Example*> some;
      for (const size_t i : chosen) some.push_back(examples[i]);
      const BrpNasBatch batch = batch_of(some);
      std::vector<float> answers(chosen.size());
      network_->forward(batch, 2e-3, dropout, answers);
      for (size_t g = 0; g < chosen.size(); ++g) {
        const auto target = static_cast<float>((labels[chosen[g]] - low_) / range_);
        const float sign = answers[g] > target ? 1.0F : answers[g] < target ? -1.0F : 0.0F;
        answers[g] = sign / static_cast<float>(chosen.size());
      }
      network_->backward(batch, answers, gradient);
      const double progress = static_cast<double>(epoch) / static_cast<double>(options.epochs);
      adam.learning_rate =
          static_cast<float>(8e-4 * (1 + std::cos(std::numbers::pi * progress)) / 2);
      ++adam.step;
      kernels::adam(adam, static_cast<int64_t>(count), gradient.data(), first.data(), second.data(),
                    network_->parameters().data());
    });
  }

  [[nodiscard]] double predict(const Example& example) const override {
    const Example* one = &example;
    std::vector<float> answer(1);
    Rng unused(0);
    network_->forward(batch_of({&one, 1}), 0, unused, answer);
    return low_ + range_ * static_cast<double>(answer[0]);
  }

 private:
  // A row leads to its consumers; the global node to all rows.
  static BrpNasBatch batch_of(std::span<const Example* const> examples) {
    BrpNasBatch batch;
    std::vector<int32_t> list;
    for (const Example* example : examples) {
      const GraphTensors& tensors = example->tensors;
      const auto first = static_cast<int32_t>(batch.feature.size());
      for (size_t i = 0; i < static_cast<size_t>(tensors.nodes); ++i) {
        list.assign(1, first + static_cast<int32_t>(i));
        for (int32_t e = tensors.consumers.offset[i]; e < tensors.consumers.offset[i + 1]; ++e)
          list.push_back(first + tensors.consumers.index[static_cast<size_t>(e)]);
        batch.feature.push_back(tensors.kind[i]);
        batch.sums.append(list);
      }
      list.resize(static_cast<size_t>(tensors.nodes) + 1);
      std::iota(list.begin(), list.end(), first);
      batch.feature.push_back(static_cast<int32_t>(kKinds));
      batch.sums.append(list);
      batch.global_sums.append(list);
    }
    batch.in_sums = batch.sums.transposed(batch.feature.size());
    batch.in_global_sums = batch.global_sums.transposed(batch.feature.size());
    return batch;
  }

  std::unique_ptr<BrpNasNetwork> network_;
  double low_ = 0, range_ = 1;
};

}  // namespace

std::span<const std::string> baseline_names() { return kBaselines; }

std::unique_ptr<Control> fit_baseline(const std::string& name,
                                      std::span<const Example* const> examples,
                                      std::span<const double> labels,
                                      const BaselineOptions& options) {
  if (name == kBaselines[0]) return std::make_unique<PerfSage>(examples, labels, options);
  return std::make_unique<BrpNasRows>(examples, labels, options);
}

}  // namespace edgesage
