// Distinct networks as numbers: what few-shot learning chooses from, answers for and teaches with.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/learn/dataset.h"
#include "src/learn/few_shot.h"

namespace edgesage {

struct NetworkPool {
  // One example a distinct network (by graph hash), without labels (NaN), and the same networks for
  // the process of each quantity of the data set, in one order.
  Dataset dataset;
  std::vector<FewShotSet> few_shot;
  // For each name that the pool was made of its network; empty: nothing of it depends on its input.
  std::vector<std::optional<size_t>> place;

  [[nodiscard]] size_t size() const { return dataset.examples.size(); }
};

// The network of a name; no graph for one whose output is a constant.
struct NamedGraph {
  std::optional<Graph> graph;
  std::string space;
};
using NetworkBuilder = std::function<Result<NamedGraph>(const std::string& name)>;
using PoolProgress = std::function<void(int64_t done, int64_t total)>;

// Builds every name on `threads` threads (0: all), which does not change the result. The first
// error of the builder ends it.
[[nodiscard]] Result<NetworkPool> make_pool(std::span<const std::string> names,
                                            const Target& target,
                                            std::span<const Quantity> quantities,
                                            const NetworkBuilder& builder, int threads,
                                            const PoolProgress& progress = {});

// Names of sampled and published spaces; else the path of a model file (labels of files that others
// measured).
[[nodiscard]] Result<NamedGraph> build_named(const std::string& name);

// The same for costs alone: published networks have no weights unless the target's compiler codes
// them.
[[nodiscard]] Result<NamedGraph> build_named_for(const Target& target, const std::string& name);

}  // namespace edgesage
