#include "src/learn/network_pool.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "src/base/parallel.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/lower/control_flow.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

struct Built {
  bool constant = false;
  Example example;
  std::vector<FewShotNetwork> few_shot;
};

Built read_network(const std::string& name, const NamedGraph& named, const Target& target,
                   std::span<const Quantity> quantities) {
  // Priced as the predictor prices: with the bodies of control flow in line.
  std::optional<Expansion> expansion;
  if (has_control_flow(*named.graph)) expansion = expand_control_flow(*named.graph);
  const Graph& graph = expansion ? expansion->graph : *named.graph;
  const Lowering lowering = expansion ? lower(*expansion, target) : lower(graph, target);
  Built built;
  built.example.name = name;
  built.example.space = named.space;
  built.example.graph_hash = graph_hash(*named.graph);
  built.example.operator_signatures = operator_signatures(graph);
  built.example.tensors = extract_features(graph, lowering, quantities);
  built.example.labels.assign(quantities.size(), std::numeric_limits<double>::quiet_NaN());
  built.example.operator_labels.resize(quantities.size());
  for (const Quantity quantity : quantities)
    built.few_shot.push_back(make_few_shot_network(graph, lowering, quantity));
  return built;
}

Result<NamedGraph> build_with(const BuildNetworkOptions& options, const std::string& name) {
  const Result<NetworkName> parsed = NetworkName::parse(name);
  std::error_code ignored;
  if (!parsed && std::filesystem::is_regular_file(name, ignored)) {
    EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_model(name));
    return NamedGraph{std::move(graph), "files"};
  }
  if (!parsed) return tl::unexpected(parsed.error());
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, build_network(*parsed, options));
  return NamedGraph{std::move(graph), parsed->space};
}

}  // namespace

Result<NetworkPool> make_pool(std::span<const std::string> names, const Target& target,
                              std::span<const Quantity> quantities, const NetworkBuilder& builder,
                              int threads, const PoolProgress& progress) {
  std::vector<Built> all(names.size());
  std::mutex mutex;
  std::optional<Error> error;
  std::atomic<bool> failed = false;
  int64_t done = 0;
  parallel_for(static_cast<int64_t>(names.size()), threads, [&](int64_t index) {
    if (failed) return;
    const auto i = static_cast<size_t>(index);
    const auto named = builder(names[i]);
    if (named && !named->graph)
      all[i].constant = true;
    else if (named)
      all[i] = read_network(names[i], *named, target, quantities);
    const std::lock_guard lock(mutex);
    if (!named && !error) error = named.error();
    if (!named) failed = true;
    ++done;
    if (progress) progress(done, static_cast<int64_t>(names.size()));
  });
  if (error) return tl::unexpected(*error);

  NetworkPool pool;
  pool.dataset.target = target;
  pool.dataset.quantities.assign(quantities.begin(), quantities.end());
  pool.few_shot.resize(quantities.size());
  for (size_t q = 0; q < quantities.size(); ++q) pool.few_shot[q].quantity = quantities[q];
  std::unordered_map<std::string, size_t> by_hash;
  for (Built& built : all) {
    if (built.constant) {
      pool.place.emplace_back();
      continue;
    }
    const auto [it, fresh] = by_hash.emplace(built.example.graph_hash, pool.size());
    pool.place.emplace_back(it->second);
    if (!fresh) continue;
    pool.dataset.examples.push_back(std::move(built.example));
    for (size_t q = 0; q < quantities.size(); ++q)
      pool.few_shot[q].add(std::move(built.few_shot[q]));
  }
  return pool;
}

Result<NamedGraph> build_named(const std::string& name) { return build_with({}, name); }

Result<NamedGraph> build_named_for(const Target& target, const std::string& name) {
  return build_with({.published_weights = target.is_ethos()}, name);
}

}  // namespace edgesage
