// The node and graph features by name, in the order of the columns. The names and their order are
// part of every predictor file: a predictor refuses to load where they differ. Append only, and
// raise kFeatureVersion when a meaning changes.
#pragma once

#include <span>
#include <string_view>

#include "src/features/row_facts.h"

namespace edgesage {

inline constexpr int kFeatureVersion = 1;

struct NodeFeature {
  std::string_view name;
  double (*value)(const Row& row, const RowFacts& facts, const LoweringFacts& graph);
  // It looks at nothing but the row's geometry, cost and weights, which FeatureMemo knows it by;
  // not at what is alive beside it, nor at the rows around it.
  bool of_layer = false;
};
[[nodiscard]] std::span<const NodeFeature> node_features();

struct GlobalFeature {
  std::string_view name;
  double (*value)(const Lowering& lowering, const LoweringFacts& graph);
};
[[nodiscard]] std::span<const GlobalFeature> global_features();

}  // namespace edgesage
