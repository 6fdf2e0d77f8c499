#include "src/predict/incremental_prediction.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "src/predict/tensors_to_batch.h"

namespace edgesage {
namespace {

// Bit by bit, so that infinities and what is not a number compare as well.
template <class T>
bool same_row(const std::vector<T>& a, int32_t row_a, const std::vector<T>& b, int32_t row_b,
              int32_t width) {
  const auto count = static_cast<size_t>(width);
  return std::memcmp(a.data() + static_cast<size_t>(row_a) * count,
                     b.data() + static_cast<size_t>(row_b) * count, count * sizeof(T)) == 0;
}

std::span<const int32_t> neighbours(const Csr& csr, int32_t node) {
  const auto i = static_cast<size_t>(node);
  const auto first = static_cast<size_t>(csr.offset[i]);
  return std::span(csr.index).subspan(first, static_cast<size_t>(csr.offset[i + 1]) - first);
}

// Whether the new node's list names, in order, what became of the old one's.
bool same_neighbours(const Csr& now, int32_t node, const Csr& before, int32_t old,
                     std::span<const int32_t> old_node) {
  const auto a = neighbours(now, node), b = neighbours(before, old);
  return std::ranges::equal(a, b, [&](int32_t new_one, int32_t old_one) {
    return old_node[static_cast<size_t>(new_one)] == old_one;
  });
}

bool same_edges(const Csr& a, const Csr& b) { return a.offset == b.offset && a.index == b.index; }

bool is_identity(std::span<const int32_t> old_node, int32_t nodes) {
  if (static_cast<int32_t>(old_node.size()) != nodes) return false;
  for (size_t i = 0; i < old_node.size(); ++i)
    if (old_node[i] != static_cast<int32_t>(i)) return false;
  return true;
}

void append_list(const Csr& from, int32_t node, nn::Csr& to) {
  const auto list = neighbours(from, node);
  to.index.insert(to.index.end(), list.begin(), list.end());
  to.offset.push_back(static_cast<int32_t>(to.index.size()));
}

void clear(nn::PartialLayer& layer) {
  layer.nodes.clear();
  for (nn::Csr* csr : {&layer.producers, &layer.consumers}) {
    csr->offset.assign(1, 0);
    csr->index.clear();
  }
}

}  // namespace

std::vector<int32_t> match_nodes(const GraphTensors& from, const GraphTensors& to) {
  std::vector<int32_t> old_node(static_cast<size_t>(to.nodes), -1);
  if (from.nodes == to.nodes) {
    std::iota(old_node.begin(), old_node.end(), 0);
    return old_node;
  }
  const int32_t most = std::min(from.nodes, to.nodes);
  const auto same = [&](int32_t a, int32_t b) {
    return from.kind[static_cast<size_t>(a)] == to.kind[static_cast<size_t>(b)];
  };
  int32_t first = 0, last = 0;
  while (first < most && same(first, first)) {
    old_node[static_cast<size_t>(first)] = first;
    ++first;
  }
  while (last < most - first && same(from.nodes - 1 - last, to.nodes - 1 - last)) {
    old_node[static_cast<size_t>(to.nodes - 1 - last)] = from.nodes - 1 - last;
    ++last;
  }
  return old_node;
}

IncrementalPrediction::IncrementalPrediction(const Predictor& predictor,
                                             const GraphTensors& tensors)
    : predictor_(&predictor),
      members_(predictor.members().size()),
      layers_(static_cast<size_t>(predictor.data().layers) + 1) {
  before_.features = tensors.features;
  before_.quantities = tensors.quantities;
  before_.producers.offset = before_.consumers.offset = {0};
  update(tensors, std::vector<int32_t>(static_cast<size_t>(tensors.nodes), -1));
}

const Estimate& IncrementalPrediction::update(const GraphTensors& tensors) {
  return update(tensors, match_nodes(before_, tensors));
}

const Estimate& IncrementalPrediction::update(const GraphTensors& tensors,
                                              std::span<const int32_t> old_node) {
  const bool renumbered = !is_identity(old_node, before_.nodes);
  find_changes(tensors, old_node);
  spread(tensors);
  normalise(tensors);
  run_members(tensors, renumbered ? old_node : std::span<const int32_t>());
  keep(tensors, renumbered);
  return estimate_;
}

// Layer 0 computes nodes with other features, layer 1 also those with other neighbours.
void IncrementalPrediction::find_changes(const GraphTensors& tensors,
                                         std::span<const int32_t> old_node) {
  const auto layers = static_cast<int32_t>(layers_.size());
  const auto nodes = static_cast<size_t>(tensors.nodes);
  const bool edges_stay = is_identity(old_node, before_.nodes) &&
                          same_edges(tensors.producers, before_.producers) &&
                          same_edges(tensors.consumers, before_.consumers);
  first_layer_.assign(nodes, layers);
  has_new_prior_.assign(nodes, 0);
  changed_ = 0;
  for (int32_t node = 0; node < tensors.nodes; ++node) {
    const auto i = static_cast<size_t>(node);
    const int32_t old = old_node[i];
    const bool is_new = old < 0 || tensors.kind[i] != before_.kind[static_cast<size_t>(old)] ||
                        !same_row(tensors.x, node, before_.x, old, tensors.features);
    has_new_prior_[i] =
        old < 0 || !same_row(tensors.log_prior, node, before_.log_prior, old, tensors.quantities);
    if (is_new)
      first_layer_[i] = 0;
    else if (!edges_stay &&
             (!same_neighbours(tensors.producers, node, before_.producers, old, old_node) ||
              !same_neighbours(tensors.consumers, node, before_.consumers, old, old_node)))
      first_layer_[i] = 1;
    if (first_layer_[i] < layers) ++changed_;
  }
}

// What a layer computes, the next one and the neighbours' read.
void IncrementalPrediction::spread(const GraphTensors& tensors) {
  for (nn::PartialLayer& layer : layers_) clear(layer);
  priced_.clear();
  for (size_t l = 0; l < layers_.size(); ++l) {
    const auto now = static_cast<int32_t>(l);
    for (int32_t node = 0; node < tensors.nodes; ++node) {
      if (first_layer_[static_cast<size_t>(node)] > now) continue;
      layers_[l].nodes.push_back(node);
      if (l > 0) {
        append_list(tensors.producers, node, layers_[l].producers);
        append_list(tensors.consumers, node, layers_[l].consumers);
      }
    }
    // Nodes that this layer was the first to compute; the others' neighbours are reached already.
    for (const int32_t node : layers_[l].nodes) {
      if (first_layer_[static_cast<size_t>(node)] != now) continue;
      for (const Csr* csr : {&tensors.producers, &tensors.consumers})
        for (const int32_t other : neighbours(*csr, node)) {
          int32_t& first = first_layer_[static_cast<size_t>(other)];
          first = std::min(first, now + 1);
        }
    }
  }
  recomputed_ = static_cast<int32_t>(layers_.back().nodes.size());
  const auto layers = static_cast<int32_t>(layers_.size());
  for (int32_t node = 0; node < tensors.nodes; ++node) {
    const auto i = static_cast<size_t>(node);
    if (first_layer_[i] < layers || has_new_prior_[i] != 0) priced_.push_back(node);
  }
}

void IncrementalPrediction::normalise(const GraphTensors& tensors) {
  const PredictorData& data = predictor_->data();
  const auto features = static_cast<size_t>(tensors.features);
  const std::vector<int32_t>& nodes = layers_.front().nodes;
  x_.resize(nodes.size() * features);
  kind_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<size_t>(nodes[i]);
    data.node_normaliser.apply(std::span(tensors.x).subspan(node * features, features),
                               std::span(x_).subspan(i * features, features));
    kind_[i] = tensors.kind[node];
  }
  globals_.resize(tensors.globals.size());
  data.global_normaliser.apply(tensors.globals, globals_);
  log_prior_.clear();
  append_log_priors(tensors.log_prior, data, log_prior_);
}

void IncrementalPrediction::run_members(const GraphTensors& tensors,
                                        std::span<const int32_t> old_node) {
  nn::PartialUpdate update;
  update.nodes = tensors.nodes;
  update.operators = tensors.operators;
  update.old_node = old_node;
  update.layers = layers_;
  update.x = x_;
  update.kind = kind_;
  update.priced = priced_;
  update.log_prior = log_prior_;
  update.node_op = tensors.op;
  update.globals = globals_;
  EnsembleMean mean(members_.size(), predictor_->quantities().size(),
                    static_cast<size_t>(tensors.operators), estimate_, squares_);
  for (size_t m = 0; m < members_.size(); ++m) {
    nn::IncrementalState& member = members_[m];
    member.update(predictor_->members()[m].network(), update, scratch_);
    mean.add(member.totals().data(), member.overhead().data(), member.op_costs().data());
  }
  mean.finish();
}

void IncrementalPrediction::keep(const GraphTensors& tensors, bool renumbered) {
  if (renumbered) {
    before_ = tensors;
    return;
  }
  const auto features = static_cast<size_t>(tensors.features);
  for (const int32_t node : layers_.front().nodes) {
    const auto i = static_cast<size_t>(node);
    std::copy_n(tensors.x.data() + i * features, features, before_.x.data() + i * features);
    before_.kind[i] = tensors.kind[i];
  }
  before_.log_prior = tensors.log_prior;
  before_.producers = tensors.producers;
  before_.consumers = tensors.consumers;
}

}  // namespace edgesage
