#include "src/features/feature_memo.h"

#include <bit>

#include "src/base/hash.h"
#include "src/features/feature_table.h"

namespace edgesage {
namespace {

constexpr size_t kMostLayers = 16'384;

uint64_t pair_of(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
}

}  // namespace

size_t FeatureMemo::KeyHash::operator()(const Key& key) const {
  return checksum64(std::as_bytes(std::span(key)));
}

// Everything that a feature of the layer may look at.
FeatureMemo::Key FeatureMemo::key_of(const Row& row, const RowFacts& facts) {
  const auto word = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  uint64_t kinds = 0;
  for (const int part : {static_cast<int>(row.ifm_type), static_cast<int>(row.ofm_type),
                         static_cast<int>(row.placement), row.has_ifm2 ? 1 : 0,
                         row.ifm2_constant ? 1 : 0, row.invented_weights ? 1 : 0})
    kinds = kinds << 8 | static_cast<uint64_t>(part);
  const bool is_broadcast = row.has_ifm2 && row.ifm2.elements() != row.ofm.elements();
  return {word(row.ifm.h),
          word(row.ifm.w),
          word(row.ifm.c),
          word(row.ofm.n),
          word(row.ofm.h),
          word(row.ofm.w),
          word(row.ofm.c),
          is_broadcast ? uint64_t{1} : uint64_t{0},
          pair_of(row.kernel_h, row.kernel_w),
          pair_of(row.stride_h, row.stride_w),
          pair_of(row.dilation_h, row.dilation_w),
          pair_of(row.pad_top, row.pad_left),
          pair_of(row.pad_bottom, row.pad_right),
          word(row.groups),
          kinds,
          static_cast<uint64_t>(row.activation),
          row.fused.size(),
          word(facts.cost.macs),
          word(facts.cost.ifm_bytes),
          word(facts.cost.ofm_bytes),
          word(facts.cost.weights_bytes),
          bits(facts.weights.zero_fraction),
          bits(facts.weights.distinct),
          bits(facts.weights.entropy_bits),
          bits(facts.weights.encoded_bits_estimate),
          bits(facts.encoded_weights_bytes)};
}

std::span<const float> FeatureMemo::layer_features(const Row& row, const RowFacts& facts) {
  const Key key = key_of(row, facts);
  if (const auto known = layers_.find(key); known != layers_.end()) return known->second;
  if (layers_.size() >= kMostLayers) layers_.clear();
  std::vector<float>& values = layers_[key];
  const LoweringFacts nothing;  // a feature of the layer does not look at the network
  for (const NodeFeature& feature : node_features())
    if (feature.of_layer) values.push_back(static_cast<float>(feature.value(row, facts, nothing)));
  return values;
}

}  // namespace edgesage
