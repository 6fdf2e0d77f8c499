#include "src/devices/operator_match.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgesage {
namespace {

using OperatorByValue = std::unordered_map<std::string_view, int32_t>;

OperatorByValue operators_by_value(const Subgraph& subgraph) {
  OperatorByValue found;
  for (size_t i = 0; i < subgraph.operators.size(); ++i)
    for (const int32_t output : subgraph.operators[i].outputs)
      if (output >= 0 && static_cast<size_t>(output) < subgraph.tensors.size())
        found.try_emplace(subgraph.tensors[static_cast<size_t>(output)].name,
                          static_cast<int32_t>(i));
  return found;
}

int32_t operator_of(const Json& entry, const OperatorByValue& known) {
  const auto outputs = entry.find("outputs");
  if (outputs == entry.end() || !outputs->is_array()) return -1;
  for (const Json& name : *outputs) {
    if (!name.is_string()) continue;
    const auto found = known.find(name.get_ref<const std::string&>());
    if (found != known.end()) return found->second;
  }
  return -1;
}

}  // namespace

void match_operators(const Json& answer, const Graph& graph, Measurement& measurement) {
  const auto entries = answer.find("operators");
  if (graph.subgraphs.empty() || entries == answer.end() || !entries->is_array() ||
      entries->size() != measurement.operators.size() ||
      std::none_of(entries->begin(), entries->end(),
                   [](const Json& entry) { return entry.contains("outputs"); }))
    return;
  const Subgraph& main = graph.subgraphs.front();
  const OperatorByValue known = operators_by_value(main);
  std::map<int32_t, OperatorMeasurement> matched;
  std::map<int32_t, double> highest;  // of the parts of an operator, which says its placement
  std::vector<OperatorMeasurement> others;
  for (size_t i = 0; i < entries->size(); ++i) {
    OperatorMeasurement& measured = measurement.operators[i];
    const int32_t index = operator_of((*entries)[i], known);
    if (index < 0) {
      if (measured.cycles > 0) others.push_back(std::move(measured));
      continue;
    }
    measured.index = index;
    const double cycles = measured.cycles;
    const auto [place, first] = matched.try_emplace(index, measured);
    if (first) {
      highest[index] = cycles;
      continue;
    }
    OperatorMeasurement& whole = place->second;
    const double sum = whole.cycles + cycles;
    const int64_t macs = whole.macs + measured.macs;
    const double working_bytes = std::max(whole.working_bytes, measured.working_bytes);
    if (cycles > highest[index]) {
      highest[index] = cycles;
      whole = std::move(measured);
    }
    whole.cycles = sum;
    whole.macs = macs;
    whole.working_bytes = working_bytes;
  }
  measurement.operators.clear();
  for (auto& [index, whole] : matched) measurement.operators.push_back(std::move(whole));
  auto next = static_cast<int32_t>(main.operators.size());
  for (OperatorMeasurement& other : others) {
    other.index = next++;
    measurement.operators.push_back(std::move(other));
  }
}

}  // namespace edgesage
