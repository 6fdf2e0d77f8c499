#include "src/analysis/xnnpack_memory.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "src/analysis/arena_placement.h"

namespace edgesage {
namespace {

// The partition of each operator, -1 outside; folded operators have kGone.
constexpr int32_t kGone = -2;

std::vector<int32_t> partition_of_operators(const Graph& graph, const Lowering& lowering) {
  std::vector<int32_t> partitions(graph.main().operators.size(), -1);
  for (size_t i = 0; i < partitions.size(); ++i)
    if (lowering.operators[i].placement == Placement::kFolded) partitions[i] = kGone;
  for (const Row& row : lowering.rows) {
    if (row.op >= 0) partitions[static_cast<size_t>(row.op)] = row.partition;
    for (const int32_t op : row.fused) partitions[static_cast<size_t>(op)] = row.partition;
  }
  return partitions;
}

// Gathers the operators of one partition into one.
Operator gather(const Subgraph& subgraph, const std::vector<int32_t>& members,
                const std::vector<bool>& leaves) {
  Operator delegate;
  delegate.kind = OpKind::kDelegate;
  std::unordered_set<int32_t> made, read;
  for (const int32_t index : members) {
    const Operator& op = subgraph.operators[static_cast<size_t>(index)];
    for (const int32_t tensor : op.inputs)
      if (tensor != kNoTensor && !made.contains(tensor) && read.insert(tensor).second)
        delegate.inputs.push_back(tensor);
    for (const int32_t tensor : op.outputs) {
      if (tensor == kNoTensor) continue;
      made.insert(tensor);
      if (leaves[static_cast<size_t>(tensor)]) delegate.outputs.push_back(tensor);
    }
  }
  return delegate;
}

// Tensors that someone outside the partition of their producer needs.
std::vector<bool> leaving_tensors(const Subgraph& subgraph,
                                  const std::vector<int32_t>& partitions) {
  const GraphIndex index(subgraph);
  std::vector<bool> leaves(subgraph.tensors.size(), false);
  for (const int32_t tensor : subgraph.outputs)
    if (tensor != kNoTensor) leaves[static_cast<size_t>(tensor)] = true;
  for (size_t tensor = 0; tensor < subgraph.tensors.size(); ++tensor) {
    const int32_t producer = index.producer[tensor];
    if (producer < 0) continue;
    for (const int32_t consumer : index.consumers[tensor])
      if (partitions[static_cast<size_t>(consumer)] != partitions[static_cast<size_t>(producer)])
        leaves[tensor] = true;
  }
  return leaves;
}

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

int64_t capped_product(std::initializer_list<int64_t> factors) {
  constexpr int64_t kLargest = int64_t{1} << 42;
  int64_t product = 1;
  for (const int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product) || product > kLargest) return kLargest;
  return product;
}

// Depthwise kernels exist for up to so many taps; larger windows run as grouped convolutions.
constexpr int64_t kMostDepthwiseTaps = 25;

int64_t window_of(const Row& row) {
  return std::max<int64_t>(int64_t{row.kernel_h} * row.kernel_w, 1);
}

int64_t packed_weights(const Subgraph& subgraph, const Row& row) {
  if (row.weights == kNoTensor) return 0;
  constexpr int64_t kChannelsAtOnce = 16;
  const Tensor& filter = subgraph.tensors[static_cast<size_t>(row.weights)];
  const bool int8 = row.weights_type == DataType::kInt8 || row.weights_type == DataType::kUInt8;
  const int64_t value = int8 ? 1 : 4;
  // A bias a channel, and a scale where weights are int8.
  const int64_t per_channel = int8 ? 8 : 4;
  const int64_t channels = std::max<int64_t>(row.ofm.c, 1);
  const int64_t window = window_of(row);
  const bool depthwise = row.kind == RowKind::kDepthwiseConv2D;
  if (depthwise && window <= kMostDepthwiseTaps) {
    const int64_t taps = window <= 9 ? 9 : kMostDepthwiseTaps;
    return capped_product({round_up(channels, kChannelsAtOnce), taps * value + per_channel});
  }
  const int64_t taps = std::max<int64_t>(filter.element_count() / channels, 1);
  const int64_t groups = depthwise ? channels : std::max<int64_t>(row.groups, 1);
  // int8 kernels read eight channels of a tap at a time.
  const int64_t depth = int8 ? window * round_up(std::max<int64_t>(taps / window, 1), 8) : taps;
  return capped_product({groups, round_up((channels + groups - 1) / groups, kChannelsAtOnce),
                         depth * value + per_channel});
}

int64_t indirection(const Row& row) {
  constexpr int64_t kPointer = 8, kRowsAtOnce = 4;
  const int64_t window = window_of(row);
  const bool grouped = row.kind == RowKind::kDepthwiseConv2D && window > kMostDepthwiseTaps;
  switch (grouped ? RowKind::kConv2D : row.kind) {
    case RowKind::kConv2D:
      if (window == 1 && row.stride_h == 1 && row.stride_w == 1) return 0;
      return capped_product({kPointer, round_up(row.ofm.h * row.ofm.w, kRowsAtOnce), window});
    case RowKind::kDepthwiseConv2D:
    case RowKind::kAveragePool:
    case RowKind::kMaxPool: {
      // Neighbouring windows share their pointers.
      const int64_t step = row.dilation_w > 1 ? row.kernel_w : std::min(row.stride_w, row.kernel_w);
      return capped_product(
          {kPointer, row.ofm.h, row.kernel_h, row.kernel_w + (row.ofm.w - 1) * step});
    }
    case RowKind::kTransposeConv:
      return capped_product({kPointer, round_up(row.ofm.h * row.ofm.w, kRowsAtOnce), window});
    case RowKind::kResize: {
      if (row.op_kind != OpKind::kResizeBilinear) return 0;
      // Four neighbours a pixel, and two weights.
      const int64_t weight = row.ifm_type == DataType::kFloat32 ? 4 : 2;
      return capped_product({4 * kPointer + 2 * weight, row.ofm.h * row.ofm.w});
    }
    default:
      return 0;
  }
}

// How far the values inside one partition reach.
int64_t workspace_of(const Subgraph& subgraph, const std::vector<int32_t>& members,
                     const std::vector<bool>& leaves) {
  constexpr int64_t kReadBeyond = 16;  // kernels may read past the end of a value
  std::vector<int32_t> first(subgraph.tensors.size(), -1), last = first;
  std::vector<int32_t> inside;
  for (size_t step = 0; step < members.size(); ++step) {
    const Operator& op = subgraph.operators[static_cast<size_t>(members[step])];
    for (const int32_t tensor : op.inputs)
      if (tensor != kNoTensor) last[static_cast<size_t>(tensor)] = static_cast<int32_t>(step);
    for (const int32_t tensor : op.outputs) {
      if (tensor == kNoTensor || leaves[static_cast<size_t>(tensor)]) continue;
      first[static_cast<size_t>(tensor)] = last[static_cast<size_t>(tensor)] =
          static_cast<int32_t>(step);
      inside.push_back(tensor);
    }
  }
  std::vector<ArenaBlock> blocks;
  for (const int32_t tensor : inside) {
    const auto t = static_cast<size_t>(tensor);
    blocks.push_back({planned_bytes(subgraph.tensors[t]) + kReadBeyond, first[t], last[t]});
  }
  std::ranges::stable_sort(blocks, std::greater{}, &ArenaBlock::bytes);
  return place_blocks(blocks, static_cast<int32_t>(members.size())).value_or(0);
}

struct Partitions {
  std::vector<int32_t> of_operator;
  std::vector<std::vector<int32_t>> members;
  std::vector<bool> leaves;
};

Partitions find_partitions(const Graph& graph, const Lowering& lowering) {
  Partitions found;
  found.of_operator = partition_of_operators(graph, lowering);
  found.members.resize(static_cast<size_t>(std::max(lowering.partitions, 0)));
  for (size_t i = 0; i < found.of_operator.size(); ++i) {
    const int32_t partition = found.of_operator[i];
    if (partition >= 0 && static_cast<size_t>(partition) < found.members.size())
      found.members[static_cast<size_t>(partition)].push_back(static_cast<int32_t>(i));
  }
  found.leaves = leaving_tensors(graph.main(), found.of_operator);
  return found;
}

}  // namespace

Graph with_partitions(const Graph& graph, const Lowering& lowering) {
  Graph out = graph;
  if (graph.subgraphs.empty()) return out;
  const Subgraph& subgraph = graph.main();
  const Partitions found = find_partitions(graph, lowering);
  std::vector<Operator>& operators = out.main().operators;
  operators.clear();
  // The runtime alternates: all operators outside that can run, then the next partition.
  const GraphIndex index(subgraph);
  std::vector<bool> done(subgraph.operators.size(), false);
  std::vector<int32_t> outside;
  for (size_t i = 0; i < done.size(); ++i) {
    done[i] = found.of_operator[i] == kGone;
    if (found.of_operator[i] == -1) outside.push_back(static_cast<int32_t>(i));
  }
  const auto ready = [&](int32_t op) {
    return std::ranges::all_of(subgraph.operators[static_cast<size_t>(op)].inputs, [&](int32_t t) {
      if (t == kNoTensor) return true;
      const int32_t producer = index.producer[static_cast<size_t>(t)];
      return producer < 0 || done[static_cast<size_t>(producer)];
    });
  };
  const auto run_outside = [&](bool all) {
    std::erase_if(outside, [&](int32_t op) {
      if (!all && !ready(op)) return false;
      operators.push_back(subgraph.operators[static_cast<size_t>(op)]);
      done[static_cast<size_t>(op)] = true;
      return true;
    });
  };
  for (const std::vector<int32_t>& members : found.members) {
    if (members.empty()) continue;
    run_outside(false);
    operators.push_back(gather(subgraph, members, found.leaves));
    for (const int32_t op : members) done[static_cast<size_t>(op)] = true;
  }
  run_outside(true);
  return out;
}

XnnpackMemory xnnpack_memory(const Graph& graph, const Lowering& lowering) {
  XnnpackMemory memory;
  if (graph.subgraphs.empty()) return memory;
  const Partitions found = find_partitions(graph, lowering);
  for (const std::vector<int32_t>& members : found.members)
    memory.workspace_bytes =
        std::max(memory.workspace_bytes, workspace_of(graph.main(), members, found.leaves));
  for (const Row& row : lowering.rows) {
    if (row.placement != Placement::kDelegate) continue;
    memory.packed_weights_bytes += packed_weights(graph.main(), row);
    memory.indirection_bytes += indirection(row);
  }
  return memory;
}

}  // namespace edgesage
