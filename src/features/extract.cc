#include "src/features/extract.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "src/features/feature_table.h"

namespace edgesage {
namespace {

// Edges follow the rows' inputs; both directions are kept, sorted by node.
void add_edges(const Lowering& lowering, GraphTensors& out) {
  const auto nodes = static_cast<size_t>(out.nodes);
  out.producers.offset.assign(1, 0);
  std::vector<int32_t>& offset = out.consumers.offset;
  offset.assign(nodes + 1, 0);
  for (size_t i = 0; i < nodes; ++i) {
    const std::vector<int32_t>& inputs = lowering.rows[i].inputs;
    out.producers.index.insert(out.producers.index.end(), inputs.begin(), inputs.end());
    out.producers.offset.push_back(static_cast<int32_t>(out.producers.index.size()));
    for (const int32_t producer : inputs) ++offset[static_cast<size_t>(producer) + 1];
  }
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  std::vector<int32_t> next(offset.begin(), offset.end() - 1);
  out.consumers.index.resize(out.producers.index.size());
  for (size_t i = 0; i < nodes; ++i)
    for (const int32_t producer : lowering.rows[i].inputs)
      out.consumers.index[static_cast<size_t>(next[static_cast<size_t>(producer)]++)] =
          static_cast<int32_t>(i);
}

float log_or_minus_infinity(double value) {
  return value > 0 ? static_cast<float>(std::log(value)) : -std::numeric_limits<float>::infinity();
}

}  // namespace

GraphTensors extract_features(const Graph& graph, const Lowering& lowering,
                              std::span<const Quantity> quantities) {
  return extract_features(graph, lowering, liveness(graph, lowering), quantities);
}

GraphTensors extract_features(const Graph& graph, const Lowering& lowering, const Liveness& live,
                              std::span<const Quantity> quantities) {
  EthosBlockMemo memo;  // layers of one network are alike, too
  return extract_features(graph, lowering, live, quantities, memo);
}

GraphTensors extract_features(const Graph& graph, const Lowering& lowering, const Liveness& live,
                              std::span<const Quantity> quantities, EthosBlockMemo& memo) {
  const LoweringFacts facts =
      gather_facts(graph, lowering, live, row_weight_stats(graph, lowering), memo);
  return extract_features(lowering, facts, quantities);
}

GraphTensors extract_features(const Lowering& lowering, const LoweringFacts& facts,
                              std::span<const Quantity> quantities, FeatureMemo* memo) {
  const auto table = node_features();
  GraphTensors out;
  out.nodes = static_cast<int32_t>(lowering.rows.size());
  out.features = static_cast<int32_t>(table.size());
  out.quantities = prior_columns(quantities);
  out.operators = static_cast<int32_t>(lowering.operators.size());
  out.x.resize(lowering.rows.size() * table.size());
  float* x = out.x.data();
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    const Row& row = lowering.rows[i];
    out.kind.push_back(static_cast<int32_t>(row.kind));
    out.op.push_back(row.op);
    const RowFacts& row_facts = facts.rows[i];
    const float* known = memo != nullptr ? memo->layer_features(row, row_facts).data() : nullptr;
    for (const NodeFeature& feature : table)
      *x++ = known != nullptr && feature.of_layer
                 ? *known++
                 : static_cast<float>(feature.value(row, row_facts, facts));
  }
  for (const GlobalFeature& feature : global_features())
    out.globals.push_back(static_cast<float>(feature.value(lowering, facts)));

  const auto columns = static_cast<size_t>(out.quantities);
  const std::vector<int32_t> first = first_prior_columns(quantities);
  out.log_prior.resize(lowering.rows.size() * columns);
  for (size_t q = 0; q < quantities.size(); ++q) {
    const std::vector<double> priors = row_priors(lowering, facts, quantities[q]);
    const auto width = static_cast<size_t>(prior_columns(quantities[q]));
    for (size_t i = 0; i < priors.size(); ++i)
      out.log_prior[i / width * columns + static_cast<size_t>(first[q]) + i % width] =
          log_or_minus_infinity(priors[i]);
  }
  add_edges(lowering, out);
  return out;
}

}  // namespace edgesage
