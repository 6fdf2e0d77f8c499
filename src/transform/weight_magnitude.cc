#include "src/transform/weight_magnitude.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "src/transform/constants.h"

namespace edgesage {
namespace {

int32_t filter_of(const Operator& op) { return op.inputs.size() > 1 ? op.inputs[1] : kNoTensor; }

// Runs of a filter's depth: of one group of a grouped convolution, which are alike.
std::vector<ChannelRun> first_runs(const ChannelGroups& groups, int32_t data, int64_t depth) {
  std::vector<ChannelRun> first;
  for (const ChannelRun& run : groups.runs[static_cast<size_t>(data)]) {
    if (groups.channels(first) >= depth) break;
    first.push_back(run);
  }
  return first;
}

// |weight| of every element, in units of its scale: filters are compared within themselves only.
std::vector<float> magnitudes(const Graph& graph, const Tensor& filter) {
  const std::span<const std::byte> bytes = graph.constant(filter);
  const auto count = static_cast<size_t>(filter.element_count());
  std::vector<float> values(count, 1.0F);
  if (bytes.empty()) return values;
  const auto& scales = filter.quantization.scale;
  const auto axis = static_cast<size_t>(filter.quantization.axis);
  size_t inner = 1;
  for (size_t d = axis + 1; d < filter.shape.size(); ++d)
    inner *= static_cast<size_t>(filter.shape[d]);
  const int64_t zero =
      filter.quantization.zero_point.empty() ? 0 : filter.quantization.zero_point.front();
  for (size_t i = 0; i < count; ++i) {
    double value = 0;
    if (filter.type == DataType::kInt8)
      value = static_cast<int8_t>(bytes[i]) - static_cast<double>(zero);
    else if (filter.type == DataType::kUInt8)
      value = std::to_integer<uint8_t>(bytes[i]) - static_cast<double>(zero);
    else if (filter.type == DataType::kFloat32) {
      float real = 0;
      std::memcpy(&real, bytes.data() + i * sizeof real, sizeof real);
      value = real;
    } else {
      return values;
    }
    const double scale = scales.size() > 1 ? double{scales[(i / inner) % scales.size()]} : 1.0;
    values[i] = static_cast<float>(std::abs(value) * scale);
  }
  return values;
}

// Sums of magnitudes by output and input channel.
struct ChannelSums {
  size_t outputs = 0, inputs = 1;
  std::vector<double> sum;  // outputs x inputs
};

ChannelSums channel_sums(const Graph& graph, const WeightedOperator& weighted) {
  const Tensor& filter = graph.main().tensors[static_cast<size_t>(weighted.filter)];
  const std::vector<float> values = magnitudes(graph, filter);
  ChannelSums sums;
  sums.outputs = static_cast<size_t>(filter.shape[weighted.out_dimension]);
  if (weighted.in_dimension >= 0)
    sums.inputs = static_cast<size_t>(filter.shape[static_cast<size_t>(weighted.in_dimension)]);
  sums.sum.assign(sums.outputs * sums.inputs, 0.0);
  // Outputs are the first or the last dimension, inputs the last or none.
  const bool out_last =
      weighted.out_dimension + 1 == filter.shape.size() && weighted.out_dimension > 0;
  const size_t block = values.size() / std::max<size_t>(sums.outputs, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t out = out_last ? i % sums.outputs : i / block;
    const size_t in = sums.inputs > 1 ? i % sums.inputs : 0;
    sums.sum[out * sums.inputs + in] += double{values[i]};
  }
  return sums;
}

// Where each channel of some runs comes from.
struct Place {
  int32_t run = 0, unit = 0;
};
std::vector<Place> places_of(const ChannelGroups& groups, const std::vector<ChannelRun>& runs) {
  std::vector<Place> places;
  for (size_t r = 0; r < runs.size(); ++r)
    for (int32_t u = 0; u < groups.groups[static_cast<size_t>(runs[r].group)].width; ++u)
      places.insert(places.end(), static_cast<size_t>(runs[r].repeat),
                    {static_cast<int32_t>(r), u});
  return places;
}

}  // namespace

std::vector<WeightedOperator> weighted_operators(const Graph& graph, const ChannelGroups& groups) {
  const Subgraph& main = graph.main();
  std::vector<WeightedOperator> all;
  for (size_t i = 0; i < main.operators.size(); ++i) {
    const Operator& op = main.operators[i];
    const int32_t filter = filter_of(op);
    if (!is_complete(op) || filter < 0 || !main.tensors[static_cast<size_t>(filter)].is_constant())
      continue;
    const Tensor& weights = main.tensors[static_cast<size_t>(filter)];
    WeightedOperator weighted{.op = static_cast<int32_t>(i), .filter = filter};
    weighted.out_runs = groups.runs[static_cast<size_t>(op.outputs[0])];
    switch (op.kind) {
      case OpKind::kConv2D:
      case OpKind::kTransposeConv:
        if (weights.shape.size() != 4) continue;
        weighted.in_dimension = 3;
        weighted.in_runs =
            first_runs(groups, op.inputs[op.kind == OpKind::kConv2D ? 0 : 2], weights.shape[3]);
        break;
      case OpKind::kDepthwiseConv2D:
        if (weights.shape.size() != 4) continue;
        weighted.out_dimension = 3;
        break;
      case OpKind::kFullyConnected:
        if (weights.shape.size() != 2) continue;
        weighted.in_dimension = 1;
        weighted.in_runs = flattened_runs(groups, main, op.inputs[0], weights.shape[1]);
        break;
      default:
        continue;
    }
    all.push_back(std::move(weighted));
  }
  return all;
}

std::vector<std::vector<int32_t>> rank_units(const Graph& graph, const ChannelGroups& groups) {
  std::vector<std::vector<double>> importance;
  for (const ChannelGroup& group : groups.groups)
    importance.emplace_back(static_cast<size_t>(group.width), 0.0);
  for (const WeightedOperator& weighted : weighted_operators(graph, groups)) {
    const std::vector<Place> places = places_of(groups, weighted.out_runs);
    const ChannelSums sums = channel_sums(graph, weighted);
    if (places.size() != sums.outputs) continue;
    const double total = std::accumulate(sums.sum.begin(), sums.sum.end(), 0.0);
    if (total <= 0) continue;
    for (size_t out = 0; out < sums.outputs; ++out) {
      const double* row = sums.sum.data() + out * sums.inputs;
      const auto group =
          static_cast<size_t>(weighted.out_runs[static_cast<size_t>(places[out].run)].group);
      importance[group][static_cast<size_t>(places[out].unit)] +=
          std::accumulate(row, row + sums.inputs, 0.0) * static_cast<double>(sums.outputs) / total;
    }
  }
  std::vector<std::vector<int32_t>> ranking;
  for (const std::vector<double>& of_group : importance) {
    std::vector<int32_t> order(of_group.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
      return of_group[static_cast<size_t>(a)] > of_group[static_cast<size_t>(b)];
    });
    ranking.push_back(std::move(order));
  }
  return ranking;
}

namespace {

// The lowest level of its gene at which each channel is there, and the run that it is of.
struct Levels {
  std::vector<int32_t> gene, count;  // a run
  std::vector<int32_t> run, level;   // a channel
};

Levels levels_of(const PruningSpace& space, const std::vector<ChannelRun>& runs, size_t channels) {
  Levels levels;
  if (space.groups().channels(runs) != static_cast<int64_t>(channels)) {
    // Channels that no group knows stay.
    levels.gene = {-1};
    levels.count = {1};
    levels.run.assign(channels, 0);
    levels.level.assign(channels, 0);
    return levels;
  }
  for (size_t r = 0; r < runs.size(); ++r) {
    const int32_t gene = space.gene_of_group(runs[r].group);
    levels.gene.push_back(gene);
    const auto& order = space.ranking(runs[r].group);
    std::vector<int32_t> level(order.size(), 0);
    levels.count.push_back(1);
    if (gene >= 0) {
      const auto& values = space.genes()[static_cast<size_t>(gene)].values;
      levels.count.back() = static_cast<int32_t>(values.size());
      for (size_t rank = 0; rank < order.size(); ++rank)
        level[static_cast<size_t>(order[rank])] = static_cast<int32_t>(
            std::upper_bound(values.begin(), values.end(), static_cast<int32_t>(rank)) -
            values.begin());
    }
    for (const int32_t of_unit : level)
      for (int32_t i = 0; i < runs[r].repeat; ++i) {
        levels.run.push_back(static_cast<int32_t>(r));
        levels.level.push_back(of_unit);
      }
  }
  return levels;
}

void accumulate_levels(std::vector<double>& sum, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 1; c < columns; ++c) sum[r * columns + c] += sum[r * columns + c - 1];
  for (size_t r = 1; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) sum[r * columns + c] += sum[(r - 1) * columns + c];
}

}  // namespace

KeptMagnitude::KeptMagnitude(const PruningSpace& space) {
  for (const WeightedOperator& weighted : weighted_operators(space.graph(), space.groups())) {
    const ChannelSums sums = channel_sums(space.graph(), weighted);
    const Levels out = levels_of(space, weighted.out_runs, sums.outputs);
    const Levels in = levels_of(space, weighted.in_runs, sums.inputs);
    Filter filter;
    filter.total = std::accumulate(sums.sum.begin(), sums.sum.end(), 0.0);
    if (filter.total <= 0) continue;
    for (size_t r = 0; r < out.gene.size(); ++r)
      for (size_t c = 0; c < in.gene.size(); ++c)
        filter.pieces.push_back({out.gene[r], in.gene[c], in.count[c],
                                 std::vector<double>(static_cast<size_t>(out.count[r]) *
                                                     static_cast<size_t>(in.count[c]))});
    for (size_t o = 0; o < sums.outputs; ++o)
      for (size_t i = 0; i < sums.inputs; ++i) {
        Piece& piece = filter.pieces[static_cast<size_t>(out.run[o]) * in.gene.size() +
                                     static_cast<size_t>(in.run[i])];
        piece.sum[static_cast<size_t>(out.level[o] * piece.in_levels + in.level[i])] +=
            sums.sum[o * sums.inputs + i];
      }
    for (Piece& piece : filter.pieces)
      accumulate_levels(piece.sum, piece.sum.size() / static_cast<size_t>(piece.in_levels),
                        static_cast<size_t>(piece.in_levels));
    for (size_t g = 0; g < space.genes().size(); ++g) {
      const PruningGene& gene = space.genes()[g];
      if (gene.kind != PruningGene::Kind::kBlock) continue;
      const auto& inside = space.blocks()[static_cast<size_t>(gene.index)].operators;
      if (std::ranges::binary_search(inside, weighted.op))
        filter.block_genes.push_back(static_cast<int32_t>(g));
    }
    filters_.push_back(std::move(filter));
  }
}

double KeptMagnitude::operator()(const Genome& genome) const {
  if (filters_.empty()) return 1;
  double sum = 0;
  for (const Filter& filter : filters_) {
    if (std::ranges::any_of(filter.block_genes,
                            [&](int32_t gene) { return genome[static_cast<size_t>(gene)] == 0; }))
      continue;
    double kept = 0;
    for (const Piece& piece : filter.pieces) {
      const int32_t out = piece.out_gene < 0 ? 0 : genome[static_cast<size_t>(piece.out_gene)];
      const int32_t in = piece.in_gene < 0 ? 0 : genome[static_cast<size_t>(piece.in_gene)];
      kept += piece.sum[static_cast<size_t>(out * piece.in_levels + in)];
    }
    sum += kept / filter.total;
  }
  return sum / static_cast<double>(filters_.size());
}

}  // namespace edgesage
