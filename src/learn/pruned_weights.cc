#include "src/learn/pruned_weights.h"

#include <algorithm>

namespace edgesage {
namespace {

constexpr size_t kMostKnown = 20'000;  // of a filter

void add_genes(const PruningSpace& space, const std::vector<ChannelRun>& runs,
               std::vector<int32_t>& genes) {
  for (const ChannelRun& run : runs)
    if (const int32_t gene = space.gene_of_group(run.group); gene >= 0) genes.push_back(gene);
}

// FNV-1a over the values.
uint64_t key_of(const std::vector<int32_t>& genes, const Genome& genome) {
  uint64_t key = 0xcbf29ce484222325u;
  for (const int32_t gene : genes)
    key = (key ^ static_cast<uint64_t>(genome[static_cast<size_t>(gene)] + 1)) * 0x100000001b3u;
  return key;
}

}  // namespace

namespace {

// Places of a sample in a block of outer x middle x inner elements, one after the other and without
// divisions: steps differ by one at most.
class SampleWalk {
 public:
  SampleWalk(size_t size, size_t middle, size_t inner)
      : size_(size), middle_(middle), inner_(inner), step_(weight_sample_index(1, size)) {
    step_inner_ = step_ % inner;
    step_middle_ = step_ / inner % middle;
    step_outer_ = step_ / inner / middle;
  }
  void next() {
    const size_t to = weight_sample_index(++index_, size_);
    inner_at += step_inner_ + (to - at_ - step_);
    at_ = to;
    middle_at += step_middle_;
    outer_at += step_outer_;
    if (inner_at >= inner_) inner_at -= inner_, ++middle_at;
    if (middle_at >= middle_) middle_at -= middle_, ++outer_at;
  }

  size_t outer_at = 0, middle_at = 0, inner_at = 0;

 private:
  size_t size_, middle_, inner_, step_;
  size_t step_outer_ = 0, step_middle_ = 0, step_inner_ = 0;
  size_t index_ = 0, at_ = 0;
};

}  // namespace

PrunedWeights::PrunedWeights(const PruningSpace& space)
    : space_(&space), filter_of_(space.graph().main().tensors.size(), -1) {
  for (const PruningGene& gene : space.genes()) {
    units_.emplace_back();
    if (gene.kind != PruningGene::Kind::kWidth) continue;
    const std::vector<int32_t>& order = space.ranking(gene.index);
    for (const int32_t width : gene.values) {
      units_.back().emplace_back(order.begin(), order.begin() + width);
      std::ranges::sort(units_.back().back());
    }
  }
  for (WeightedOperator& weighted : weighted_operators(space.graph(), space.groups())) {
    Filter filter{.weighted = std::move(weighted), .genes = {}, .known = {}};
    add_genes(space, filter.weighted.out_runs, filter.genes);
    add_genes(space, filter.weighted.in_runs, filter.genes);
    if (filter.genes.empty()) continue;
    std::ranges::sort(filter.genes);
    filter.genes.erase(std::unique(filter.genes.begin(), filter.genes.end()), filter.genes.end());
    filter_of_[static_cast<size_t>(filter.weighted.filter)] = static_cast<int32_t>(filters_.size());
    filters_.push_back(std::move(filter));
  }
}

void PrunedWeights::kept_channels(const std::vector<ChannelRun>& runs, int64_t all,
                                  const Genome& genome, std::vector<int32_t>& kept) const {
  kept.clear();
  const bool known = space_->groups().channels(runs) == all;
  int32_t begin = 0;
  for (size_t r = 0; known && r < runs.size(); ++r) {
    const int32_t width = space_->groups().groups[static_cast<size_t>(runs[r].group)].width;
    const int32_t gene = space_->gene_of_group(runs[r].group), repeat = runs[r].repeat;
    const auto add = [&](int32_t unit) {
      for (int32_t i = 0; i < repeat; ++i) kept.push_back(begin + unit * repeat + i);
    };
    if (gene < 0) {
      for (int32_t unit = 0; unit < width; ++unit) add(unit);
    } else {
      const auto g = static_cast<size_t>(gene);
      for (const int32_t unit : units_[g][static_cast<size_t>(genome[g])]) add(unit);
    }
    begin += width * repeat;
  }
  for (int32_t c = 0; !known && c < all; ++c) kept.push_back(c);
}

WeightStats PrunedWeights::look_at(const Filter& filter, const Genome& genome) {
  const WeightedOperator& weighted = filter.weighted;
  const Tensor& tensor = space_->graph().main().tensors[static_cast<size_t>(weighted.filter)];
  const std::span<const std::byte> bytes = space_->graph().constant(tensor);
  const bool is_signed = tensor.type == DataType::kInt8;
  if (bytes.empty() || (!is_signed && tensor.type != DataType::kUInt8))
    return weight_stats(space_->graph(), tensor);
  const bool depthwise = weighted.in_dimension < 0;
  const auto outputs = static_cast<size_t>(tensor.shape[weighted.out_dimension]);
  const size_t inputs =
      depthwise ? 1 : static_cast<size_t>(tensor.shape[static_cast<size_t>(weighted.in_dimension)]);
  const size_t taps = bytes.size() / (outputs * inputs);
  kept_channels(weighted.out_runs, static_cast<int64_t>(outputs), genome, out_);
  if (!depthwise) kept_channels(weighted.in_runs, static_cast<int64_t>(inputs), genome, in_);
  const size_t ins = depthwise ? 1 : in_.size(), size = out_.size() * taps * ins;
  sample_.resize(std::min(size, kWeightSample));
  // Places first: the bytes, all over the filter, are then waited for together.
  SampleWalk walk(size, taps, depthwise ? out_.size() : ins);
  places_.resize(sample_.size());
  for (size_t& place : places_) {
    place = depthwise
                ? walk.middle_at * outputs + static_cast<size_t>(out_[walk.inner_at])
                : (static_cast<size_t>(out_[walk.outer_at]) * taps + walk.middle_at) * inputs +
                      static_cast<size_t>(in_[walk.inner_at]);
    walk.next();
  }
  for (size_t i = 0; i < sample_.size(); ++i) sample_[i] = bytes[places_[i]];
  const auto& zeros = tensor.quantization.zero_point;
  const bool by_channel = zeros.size() == outputs && zeros.size() > 1;
  const int64_t zero =
      zeros.empty() ? 0 : zeros[by_channel ? static_cast<size_t>(out_.front()) : size_t{0}];
  return weight_stats_of_sample(sample_, is_signed, zero);
}

const WeightStats& PrunedWeights::stats_of(int32_t tensor, const Genome& genome) {
  const int32_t number = filter_of_[static_cast<size_t>(tensor)];
  if (number < 0) {
    const auto [other, fresh] = others_.try_emplace(tensor);
    if (fresh)
      other->second = weight_stats(space_->graph(),
                                   space_->graph().main().tensors[static_cast<size_t>(tensor)]);
    return other->second;
  }
  Filter& filter = filters_[static_cast<size_t>(number)];
  const uint64_t key = key_of(filter.genes, genome);
  if (const auto known = filter.known.find(key); known != filter.known.end()) return known->second;
  if (filter.known.size() >= kMostKnown) filter.known.clear();
  return filter.known.emplace(key, look_at(filter, genome)).first->second;
}

std::vector<WeightStats> PrunedWeights::row_stats(const Lowering& lowering,
                                                  std::span<const int32_t> base_tensor,
                                                  const Genome& genome) {
  std::vector<WeightStats> stats(lowering.rows.size());
  for (size_t i = 0; i < stats.size(); ++i)
    if (const int32_t weights = lowering.rows[i].weights; weights >= 0)
      stats[i] = stats_of(base_tensor[static_cast<size_t>(weights)], genome);
  return stats;
}

}  // namespace edgesage
