#include "src/learn/brp_nas_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace edgesage {
namespace {

constexpr std::array<int, 6> kFrom{0, 0, 1, 0, 1, 2};
constexpr std::array<int, 6> kTo{1, 2, 2, 3, 3, 3};
constexpr int kFirstEdge = 2;

uint16_t bit(int node) { return static_cast<uint16_t>(1u << node); }

int32_t feature_of(CellOperation operation) {
  switch (operation) {
    case CellOperation::kConv1x1:
      return 0;
    case CellOperation::kConv3x3:
      return 1;
    case CellOperation::kAveragePool3x3:
      return 2;
    default:
      return -1;
  }
}

// Gives rows to nodes; equal ones get the same.
class Rows {
 public:
  explicit Rows(BrpNasBatch& batch) : batch_(batch) {}

  // `others` are the rows of the nodes that it leads to.
  int32_t row(int32_t feature, std::vector<int32_t> others) {
    std::sort(others.begin(), others.end());
    std::vector<int32_t> key = others;
    key.push_back(feature);
    const auto next = static_cast<int32_t>(batch_.feature.size());
    const auto [found, fresh] = known_.try_emplace(std::move(key), next);
    if (fresh) {
      batch_.feature.push_back(feature);
      others.push_back(next);
      batch_.sums.append(others);
    }
    return found->second;
  }

 private:
  BrpNasBatch& batch_;
  std::map<std::vector<int32_t>, int32_t> known_;
};

void append_graph(const BrpNasGraph& graph, Rows& rows, BrpNasBatch& batch) {
  std::array<int32_t, BrpNasGraph::kNodes> row{};
  // Edges lead to higher nodes, so their rows are known; the global node leads to all.
  for (int node = BrpNasGraph::kNodes - 1; node >= 0; --node) {
    std::vector<int32_t> others;
    for (int other = node + 1; other < BrpNasGraph::kNodes; ++other)
      if (graph.leads_to[static_cast<size_t>(node)] & bit(other))
        others.push_back(row[static_cast<size_t>(other)]);
    row[static_cast<size_t>(node)] =
        rows.row(graph.feature[static_cast<size_t>(node)], std::move(others));
  }
  const auto global = static_cast<size_t>(row[BrpNasGraph::kGlobal]);
  const auto begin = batch.sums.index.begin();
  batch.global_sums.append(std::vector<int32_t>(begin + batch.sums.offset[global],
                                                begin + batch.sums.offset[global + 1]));
}

}  // namespace

BrpNasGraph brp_nas_graph(const NasBench201Cell& cell) {
  // Which nodes read what stands at each of the cell's four sums.
  std::array<uint16_t, 4> readers{};
  readers[3] = bit(BrpNasGraph::kOutput);
  for (size_t e = kFrom.size(); e-- > 0;) {
    uint16_t& from = readers[static_cast<size_t>(kFrom[e])];
    if (cell.operations[e] == CellOperation::kSkip)
      from |= readers[static_cast<size_t>(kTo[e])];
    else if (cell.operations[e] != CellOperation::kNone)
      from |= bit(kFirstEdge + static_cast<int>(e));
  }
  BrpNasGraph graph;
  graph.leads_to[BrpNasGraph::kInput] = readers[0];
  for (size_t e = 0; e < kFrom.size(); ++e)
    if (feature_of(cell.operations[e]) >= 0)
      graph.leads_to[kFirstEdge + e] = readers[static_cast<size_t>(kTo[e])];

  uint16_t reached = bit(BrpNasGraph::kInput);
  for (size_t node = BrpNasGraph::kInput; node < BrpNasGraph::kNodes; ++node)
    if (reached & bit(static_cast<int>(node))) reached |= graph.leads_to[node];
  uint16_t live = reached & bit(BrpNasGraph::kOutput);
  for (size_t node = BrpNasGraph::kNodes; node-- > BrpNasGraph::kInput;)
    if ((reached & bit(static_cast<int>(node))) && (graph.leads_to[node] & live))
      live |= bit(static_cast<int>(node));

  graph.feature.fill(-1);
  graph.feature[BrpNasGraph::kInput] = 3;
  graph.feature[BrpNasGraph::kOutput] = 4;
  graph.feature[BrpNasGraph::kGlobal] = 5;
  for (size_t node = BrpNasGraph::kInput; node < BrpNasGraph::kNodes; ++node)
    graph.leads_to[node] &= (live & bit(static_cast<int>(node))) ? live : uint16_t{0};
  for (size_t e = 0; e < kFrom.size(); ++e)
    if (live & bit(kFirstEdge + static_cast<int>(e)))
      graph.feature[kFirstEdge + e] = feature_of(cell.operations[e]);
  for (int node = BrpNasGraph::kInput; node < BrpNasGraph::kNodes; ++node)
    graph.leads_to[BrpNasGraph::kGlobal] |= bit(node);
  return graph;
}

void RowLists::append(std::span<const int32_t> rows) {
  index.insert(index.end(), rows.begin(), rows.end());
  offset.push_back(static_cast<int32_t>(index.size()));
}

RowLists RowLists::transposed(size_t rows) const {
  RowLists result;
  result.offset.assign(rows + 1, 0);
  for (const int32_t row : index) ++result.offset[static_cast<size_t>(row) + 1];
  std::partial_sum(result.offset.begin(), result.offset.end(), result.offset.begin());
  std::vector<int32_t> next(result.offset.begin(), result.offset.end() - 1);
  result.index.resize(index.size());
  for (size_t list = 0; list < size(); ++list)
    for (int32_t i = offset[list]; i < offset[list + 1]; ++i)
      result
          .index[static_cast<size_t>(next[static_cast<size_t>(index[static_cast<size_t>(i)])]++)] =
          static_cast<int32_t>(list);
  return result;
}

BrpNasBatch brp_nas_batch(std::span<const NasBench201Cell> cells) {
  BrpNasBatch batch;
  Rows rows(batch);
  for (const NasBench201Cell& cell : cells) append_graph(brp_nas_graph(cell), rows, batch);
  batch.in_sums = batch.sums.transposed(batch.feature.size());
  batch.in_global_sums = batch.global_sums.transposed(batch.feature.size());
  return batch;
}

}  // namespace edgesage
