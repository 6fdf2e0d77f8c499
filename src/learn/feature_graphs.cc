#include "src/learn/feature_graphs.h"

#include <cmath>

#include "src/predict/tensors_to_batch.h"

namespace edgesage {
namespace {

void append_normalised(const Normaliser& normaliser, std::span<const float> values,
                       std::vector<float>& to) {
  const size_t begin = to.size();
  to.resize(begin + values.size());
  normaliser.apply(values, std::span(to).subspan(begin));
}

void append_edges(std::span<const int32_t> offset, std::span<const int32_t> index, int32_t shift,
                  nn::Csr& to) {
  const auto edges = static_cast<int32_t>(to.index.size());
  for (const int32_t node : index) to.index.push_back(shift + node);
  for (size_t i = 1; i < offset.size(); ++i) to.offset.push_back(edges + offset[i]);
}

// Operators x quantities, from quantities x operators.
void append_operator_labels(const ExampleView& view, std::vector<float>& to) {
  const size_t quantities = view.labels.size();
  const auto operators = static_cast<size_t>(view.operators);
  for (size_t op = 0; op < operators; ++op)
    for (size_t q = 0; q < quantities; ++q)
      to.push_back(static_cast<float>(view.operator_labels[q * operators + op]));
}

}  // namespace

void FeatureGraphs::append(int32_t graph, nn::Batch& to) const {
  const ExampleView view = file_.view(indexes_[static_cast<size_t>(graph)]);
  const size_t quantities = view.labels.size();
  if (to.graphs() == 0) {
    to.features = file_.features();
    to.globals_width = file_.globals();
    to.columns = prior_columns(file_.quantities());
    to.quantities = static_cast<int32_t>(quantities);
  }
  const int32_t first_node = to.nodes(), first_op = to.operators();
  append_normalised(data_.node_normaliser, view.x, to.x);
  append_normalised(data_.global_normaliser, view.globals, to.globals);
  to.kind.insert(to.kind.end(), view.kind.begin(), view.kind.end());
  append_log_priors(view.log_prior, data_, to.log_prior);
  for (const int32_t op : view.op) to.node_op.push_back(first_op + op);
  append_edges(view.producer_offset, view.producers, first_node, to.producers);
  append_edges(view.consumer_offset, view.consumers, first_node, to.consumers);
  // NaN stays NaN.
  for (const double label : view.labels)
    to.log_total.push_back(static_cast<float>(std::log(label)));
  append_operator_labels(view, to.op_label);
  to.graph_offset.push_back(first_node + view.nodes);
  to.op_graph_offset.push_back(first_op + view.operators);
}

}  // namespace edgesage
