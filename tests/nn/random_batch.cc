#include "tests/nn/random_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace edgesage::nn {
namespace {

void append_lists(const std::vector<std::vector<int32_t>>& lists, Csr& csr) {
  for (const std::vector<int32_t>& list : lists) {
    csr.index.insert(csr.index.end(), list.begin(), list.end());
    csr.offset.push_back(static_cast<int32_t>(csr.index.size()));
  }
}

void append_edges(int32_t nodes, int32_t first, Rng& rng, Batch& batch) {
  std::vector<std::vector<int32_t>> producers(static_cast<size_t>(nodes)),
      consumers(producers.size());
  for (int32_t i = 1; i < nodes; ++i) {
    for (int64_t edges = rng.integer(0, 3); edges > 0; --edges) {
      const auto from = static_cast<int32_t>(rng.integer(0, i - 1));
      producers[static_cast<size_t>(i)].push_back(first + from);
      consumers[static_cast<size_t>(from)].push_back(first + i);
    }
  }
  append_lists(producers, batch.producers);
  append_lists(consumers, batch.consumers);
}

float number_or_nan(double share, double value, Rng& rng) {
  return rng.chance(share) ? static_cast<float>(value) : std::numeric_limits<float>::quiet_NaN();
}

void append_nodes(const ModelConfig& config, const RandomBatchOptions& options, int32_t nodes,
                  int32_t operators, Rng& rng, Batch& batch) {
  const int32_t first_op = batch.operators();
  for (int32_t i = 0; i < nodes; ++i) {
    for (int32_t j = 0; j < config.features; ++j)
      batch.x.push_back(static_cast<float>(rng.normal()));
    batch.kind.push_back(static_cast<int32_t>(rng.integer(0, config.kinds - 1)));
    const bool free = rng.chance(options.free_share);
    for (int32_t c = 0; c < config.columns(); ++c)
      batch.log_prior.push_back(free ? -std::numeric_limits<float>::infinity()
                                     : static_cast<float>(rng.uniform(-3, 3)));
    batch.node_op.push_back(first_op + static_cast<int32_t>(rng.integer(0, operators - 1)));
  }
}

void append_random_graph(const ModelConfig& config, const RandomBatchOptions& options, Rng& rng,
                         Batch& batch) {
  const auto nodes = static_cast<int32_t>(rng.integer(options.min_nodes, options.max_nodes));
  const int32_t operators = std::max(1, nodes);
  append_edges(nodes, batch.nodes(), rng, batch);
  append_nodes(config, options, nodes, operators, rng, batch);
  for (int32_t j = 0; j < config.globals; ++j)
    batch.globals.push_back(static_cast<float>(rng.normal()));
  for (int32_t q = 0; q < config.quantity_count(); ++q)
    batch.log_total.push_back(number_or_nan(options.label_share, rng.uniform(0, 3), rng));
  for (int32_t i = 0; i < operators * config.quantity_count(); ++i)
    batch.op_label.push_back(
        number_or_nan(options.label_share, rng.chance(0.2) ? 0.0 : rng.log_uniform(0.05, 20), rng));
  batch.weight.push_back(static_cast<float>(rng.uniform(0.5, 2)));
  batch.graph_offset.push_back(batch.nodes() + nodes);
  batch.op_graph_offset.push_back(batch.operators() + operators);
}

}  // namespace

ModelConfig small_config() {
  ModelConfig config;
  config.features = 5;
  config.kinds = 4;
  config.embedding = 3;
  config.globals = 2;
  config.hidden = 7;
  config.layers = 3;
  config.quantities = {{"latency_ms", ReadOut::kSum, true, 0.7},
                       {"sram_bytes", ReadOut::kMax, false, 0.1},
                       {"dram_bytes", ReadOut::kMaxPlusSum, false, 0.0}};
  return config;
}

Batch random_batch(const ModelConfig& config, const RandomBatchOptions& options, Rng& rng) {
  Batch batch;
  batch.features = config.features;
  batch.globals_width = config.globals;
  batch.columns = config.columns();
  batch.quantities = config.quantity_count();
  for (int32_t g = 0; g < options.graphs; ++g) append_random_graph(config, options, rng, batch);
  return batch;
}

}  // namespace edgesage::nn
