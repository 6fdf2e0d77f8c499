#include "tests/predict/random_tensors.h"

#include <algorithm>
#include <limits>

#include "src/features/feature_table.h"
#include "src/lower/rows.h"

namespace edgesage::test {
namespace {

float draw(Rng& rng, double low, double high) { return static_cast<float>(rng.uniform(low, high)); }

}  // namespace

void set_edges(GraphTensors& tensors, const std::vector<std::vector<int32_t>>& producers) {
  const auto fill = [](const std::vector<std::vector<int32_t>>& lists, Csr& csr) {
    csr.offset.assign(1, 0);
    csr.index.clear();
    for (const std::vector<int32_t>& list : lists) {
      csr.index.insert(csr.index.end(), list.begin(), list.end());
      csr.offset.push_back(static_cast<int32_t>(csr.index.size()));
    }
  };
  std::vector<std::vector<int32_t>> consumers(producers.size());
  for (size_t i = 0; i < producers.size(); ++i)
    for (const int32_t producer : producers[i])
      consumers[static_cast<size_t>(producer)].push_back(static_cast<int32_t>(i));
  fill(producers, tensors.producers);
  fill(consumers, tensors.consumers);
}

std::vector<std::vector<int32_t>> producer_lists(const GraphTensors& tensors) {
  std::vector<std::vector<int32_t>> lists(static_cast<size_t>(tensors.nodes));
  for (size_t i = 0; i < lists.size(); ++i)
    lists[i].assign(tensors.producers.index.begin() + tensors.producers.offset[i],
                    tensors.producers.index.begin() + tensors.producers.offset[i + 1]);
  return lists;
}

void redraw_node(GraphTensors& tensors, int32_t node, Rng& rng) {
  const auto i = static_cast<size_t>(node);
  const auto features = static_cast<size_t>(tensors.features);
  const auto quantities = static_cast<size_t>(tensors.quantities);
  tensors.kind[i] = static_cast<int32_t>(rng.integer(0, static_cast<int64_t>(RowKind::kCount) - 1));
  for (size_t f = 0; f < features; ++f) tensors.x[i * features + f] = draw(rng, 0, 8);
  for (size_t q = 0; q < quantities; ++q)
    tensors.log_prior[i * quantities + q] = rng.chance(0.125)
                                                ? -std::numeric_limits<float>::infinity()
                                                : draw(rng, -6, q == 0 ? 2 : 12);
}

GraphTensors random_tensors(int32_t nodes, Rng& rng) {
  GraphTensors tensors;
  tensors.nodes = nodes;
  tensors.features = static_cast<int32_t>(node_features().size());
  tensors.quantities = 2;
  tensors.operators = nodes + static_cast<int32_t>(rng.integer(0, 2));
  const auto count = static_cast<size_t>(nodes);
  tensors.kind.resize(count);
  tensors.x.resize(count * static_cast<size_t>(tensors.features));
  tensors.log_prior.resize(count * 2);
  std::vector<std::vector<int32_t>> producers(count);
  for (int32_t i = 0; i < nodes; ++i) {
    redraw_node(tensors, i, rng);
    tensors.op.push_back(i > 0 && rng.chance(0.25) ? tensors.op.back() : i);
    std::vector<int32_t>& reads = producers[static_cast<size_t>(i)];
    for (int64_t n = i > 0 ? rng.integer(1, 3) : 0; n > 0; --n) {
      const int32_t reach = rng.chance(0.1) ? i : std::min(i, 4);
      reads.push_back(i - static_cast<int32_t>(rng.integer(1, reach)));
    }
    std::ranges::sort(reads);
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  }
  set_edges(tensors, producers);
  for (size_t g = 0; g < global_features().size(); ++g) tensors.globals.push_back(draw(rng, 0, 12));
  return tensors;
}

}  // namespace edgesage::test
