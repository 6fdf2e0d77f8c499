#include "src/learn/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "src/base/hash.h"
#include "src/base/parallel.h"
#include "src/graph/graph_hash.h"
#include "src/learn/network_pool.h"
#include "src/lower/rows.h"

namespace edgesage {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double label_of(const LabelRow& row, Quantity quantity) {
  const auto it = row.quantities.find(std::string(quantity_name(quantity)));
  // A relative error of a label of zero has no meaning.
  return it != row.quantities.end() && it->second > 0 ? it->second : kNaN;
}

// Cycles, or whatever unit the device counts in, become the unit of the latency: they are shares of
// it. Operators that the device places on the CPU are not priced by it.
std::vector<double> operator_latencies(const LabelRow& row, double latency, size_t operators) {
  double total = 0;
  for (const OperatorMeasurement& op : row.operators) total += op.cycles;
  if (row.operators.empty() || total <= 0 || std::isnan(latency)) return {};
  std::vector<double> labels(operators, kNaN);
  for (const OperatorMeasurement& op : row.operators)
    if (op.index >= 0 && static_cast<size_t>(op.index) < operators && op.placement != "cpu")
      labels[static_cast<size_t>(op.index)] = op.cycles / total * latency;
  return labels;
}

std::vector<double> operator_memories(const LabelRow& row, size_t operators) {
  std::vector<double> labels(operators, kNaN);
  bool any = false;
  for (const OperatorMeasurement& op : row.operators) {
    if (op.index < 0 || static_cast<size_t>(op.index) >= operators || op.working_bytes <= 0)
      continue;
    labels[static_cast<size_t>(op.index)] = op.working_bytes;
    any = true;
  }
  return any ? labels : std::vector<double>();
}

}  // namespace

Result<Example> build_example(const LabelRow& row, const Target& target,
                              std::span<const Quantity> quantities) {
  EDGESAGE_ASSIGN_OR_RETURN(const NamedGraph named, build_named_for(target, row.name));
  const Graph& graph = *named.graph;
  const std::string hash = graph_hash(graph);
  if (hash != row.graph_hash)
    return make_error(ErrorCode::kBadStore, row.name,
                      fmt::format("its label is for graph {}, this build makes {}: the labels "
                                  "belong to another version of the space",
                                  row.graph_hash, hash));
  Example example;
  example.name = row.name;
  example.space = named.space;
  example.graph_hash = hash;
  example.operator_signatures = operator_signatures(graph);
  example.tensors = extract_features(graph, lower(graph, target), quantities);
  example.cpu_operators = row.cpu_operators;
  const auto operators = static_cast<size_t>(example.tensors.operators);
  for (const Quantity quantity : quantities) {
    const double label = label_of(row, quantity);
    example.labels.push_back(label);
    if (quantity == Quantity::kLatencyMs)
      example.operator_labels.push_back(operator_latencies(row, label, operators));
    else if (is_maximum(quantity))
      example.operator_labels.push_back(operator_memories(row, operators));
    else
      example.operator_labels.emplace_back();
  }
  return example;
}

bool is_usable(const Example& example) {
  return example.tensors.nodes > 0 && std::any_of(example.labels.begin(), example.labels.end(),
                                                  [](double label) { return !std::isnan(label); });
}

Result<Dataset> build_dataset(std::span<const LabelRow> labels, const Target& target,
                              std::span<const Quantity> quantities, int threads,
                              const DatasetProgress& progress) {
  Dataset dataset;
  dataset.target = target;
  dataset.quantities.assign(quantities.begin(), quantities.end());
  std::vector<std::optional<Result<Example>>> built(labels.size());
  std::atomic<int64_t> done{0};
  std::mutex progress_mutex;
  parallel_for(static_cast<int64_t>(labels.size()), threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    built[index] = build_example(labels[index], target, quantities);
    const int64_t count = ++done;
    if (progress) {
      const std::lock_guard lock(progress_mutex);
      progress(count, static_cast<int64_t>(labels.size()));
    }
  });
  for (std::optional<Result<Example>>& example : built) {
    if (!*example) return tl::unexpected(example->error());
    if (is_usable(**example)) {
      dataset.examples.push_back(std::move(**example));
    } else {
      ++dataset.left_out;
    }
  }
  return dataset;
}

Part part_of(const Example& example, const SplitOptions& options) {
  return part_of(example.graph_hash, options);
}

Part part_of(std::string_view graph_hash, const SplitOptions& options) {
  Hasher hasher;
  hasher.add(graph_hash);
  hasher.add(options.seed);
  const double position = static_cast<double>(hasher.low64() >> 11) * 0x1.0p-53;
  if (position < options.test) return Part::kTest;
  return position < options.test + options.calibration ? Part::kCalibration : Part::kTrain;
}

std::vector<size_t> examples_of(const Dataset& dataset, Part part, const SplitOptions& options) {
  std::vector<size_t> indexes;
  for (size_t i = 0; i < dataset.examples.size(); ++i)
    if (part_of(dataset.examples[i], options) == part) indexes.push_back(i);
  return indexes;
}

}  // namespace edgesage
