// What is the same wherever a layer occurs, remembered from network to network: for searches, whose
// candidates share most of their layers.
//
//   FeatureMemo memo;  // one a thread
//   for (const Candidate& one : candidates)
//     use(extract_features(one.lowering, one.facts, quantities, &memo));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/features/row_facts.h"

namespace edgesage {

// A function's values by its arguments, so that no answer depends on what was kept, to the bit.
// Bounded: some 10 MB at most. Networks of any targets may share one. Not synchronised.
class FeatureMemo {
 public:
  // The features that are of the layer alone (NodeFeature::of_layer), in the order of the table.
  // Valid until the next call.
  [[nodiscard]] std::span<const float> layer_features(const Row& row, const RowFacts& facts);

 private:
  using Key = std::array<uint64_t, 26>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  static Key key_of(const Row& row, const RowFacts& facts);

  std::unordered_map<Key, std::vector<float>, KeyHash> layers_;
};

}  // namespace edgesage
