#include "src/predict/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "src/features/feature_table.h"
#include "src/graph/op_registry.h"
#include "src/lower/rows.h"

namespace edgesage {
namespace {

// Features that are compared with the bounds of training. Others are consequences of these.
constexpr std::array<std::string_view, 14> kChecked{
    "log_ifm_h",  "log_ifm_w",    "log_ifm_c",         "log_ofm_h", "log_ofm_w",
    "log_ofm_c",  "log_kernel_h", "log_kernel_w",      "stride_h",  "stride_w",
    "log_groups", "log_macs",     "log_weights_bytes", "log_batch"};

// How far outside the bounds is still "like training": a factor of 1.5 in sizes.
constexpr float kMargin = 0.405F;
constexpr size_t kMaxReasons = 8;

std::vector<size_t> checked_columns() {
  std::vector<size_t> columns;
  const auto table = node_features();
  for (const std::string_view name : kChecked) {
    const auto it = std::find_if(table.begin(), table.end(),
                                 [&](const NodeFeature& f) { return f.name == name; });
    columns.push_back(static_cast<size_t>(it - table.begin()));
  }
  return columns;
}

// A size for people: features named log_... are log(1 + x).
double original(std::string_view name, float value) {
  return name.starts_with("log_") ? std::expm1(static_cast<double>(value))
                                  : static_cast<double>(value);
}

void widen(std::vector<float>& low, std::vector<float>& high, size_t i, float value) {
  low[i] = std::min(low[i], value);
  high[i] = std::max(high[i], value);
}

std::string describe(std::string_view feature, float value, float bound, bool above) {
  std::string_view plain = feature;
  if (plain.starts_with("log_")) plain.remove_prefix(4);
  return fmt::format("{} {:.4g} is {} training's {:.4g}", plain, original(feature, value),
                     above ? "above" : "below", original(feature, bound));
}

void check_operators(const TrainingRange& range, std::span<const std::string> signatures,
                     RangeVerdict& verdict) {
  std::set<std::string> named;
  for (size_t i = 0; i < signatures.size(); ++i) {
    const std::string& signature = signatures[i];
    if (std::binary_search(range.operators.begin(), range.operators.end(), signature)) continue;
    verdict.unknown_operator[i] = true;
    if (named.insert(signature).second)
      verdict.reasons.push_back(fmt::format("operator {} ({}) was not in training", i, signature));
  }
}

void check_rows(const TrainingRange& range, std::span<const std::string> signatures,
                const GraphTensors& tensors, RangeVerdict& verdict) {
  static const std::vector<size_t> columns = checked_columns();
  for (size_t i = 0; i < static_cast<size_t>(tensors.nodes); ++i) {
    const std::string_view kind = row_kind_name(static_cast<RowKind>(tensors.kind[i]));
    const int32_t op = tensors.op[i];
    const auto it = std::find_if(range.kinds.begin(), range.kinds.end(),
                                 [&](const auto& bounds) { return bounds.kind == kind; });
    const std::string place =
        op >= 0 ? fmt::format("operator {} ({})", op, signatures[static_cast<size_t>(op)])
                : fmt::format("row {}", i);
    if (it == range.kinds.end()) {
      const bool named = op >= 0 && verdict.unknown_operator[static_cast<size_t>(op)];
      if (!named)
        verdict.reasons.push_back(fmt::format("{}: {} rows were not in training", place, kind));
      if (op >= 0) verdict.unknown_operator[static_cast<size_t>(op)] = true;
      continue;
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      const float value = tensors.x[i * static_cast<size_t>(tensors.features) + columns[c]];
      const bool above = value > it->high[c] + kMargin;
      if (!above && value >= it->low[c] - kMargin) continue;
      verdict.reasons.push_back(fmt::format(
          "{}: {}", place, describe(kChecked[c], value, above ? it->high[c] : it->low[c], above)));
    }
  }
}

void check_globals(const TrainingRange& range, const GraphTensors& tensors, RangeVerdict& verdict) {
  const auto table = global_features();
  for (size_t i = 0; i < std::min(range.global_low.size(), tensors.globals.size()); ++i) {
    const float value = tensors.globals[i];
    const bool above = value > range.global_high[i] + kMargin;
    if (!above && value >= range.global_low[i] - kMargin) continue;
    verdict.reasons.push_back(
        "whole network: " +
        describe(table[i].name, value, above ? range.global_high[i] : range.global_low[i], above));
  }
}

void check_spread(const TrainingRange& range, std::span<const float> spread,
                  RangeVerdict& verdict) {
  for (size_t q = 0; q < std::min(spread.size(), range.max_spread.size()); ++q) {
    if (spread[q] <= range.max_spread[q]) continue;
    verdict.reasons.push_back(
        fmt::format("the ensemble disagrees by {:.1f} %; up to {:.1f} % is normal",
                    std::expm1(spread[q]) * 100, std::expm1(range.max_spread[q]) * 100));
  }
}

}  // namespace

std::vector<std::string> operator_signatures(const Graph& graph) {
  std::vector<std::string> signatures;
  if (graph.subgraphs.empty()) return signatures;
  for (const Operator& op : graph.main().operators) {
    std::string signature(op_name(op.kind));
    if (op.kind == OpKind::kCustom) signature += ":" + op.custom_code;
    const auto output = std::find_if(op.outputs.begin(), op.outputs.end(),
                                     [](int32_t tensor) { return tensor >= 0; });
    if (output != op.outputs.end()) {
      signature += ' ';
      signature += type_name(graph.main().tensors[static_cast<size_t>(*output)].type);
    }
    signatures.push_back(std::move(signature));
  }
  return signatures;
}

void RangeBuilder::add(std::span<const std::string> signatures, const GraphTensors& tensors) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static const std::vector<size_t> columns = checked_columns();
  for (const std::string& signature : signatures) {
    const auto at = std::lower_bound(range_.operators.begin(), range_.operators.end(), signature);
    if (at == range_.operators.end() || *at != signature) range_.operators.insert(at, signature);
  }
  for (size_t i = 0; i < static_cast<size_t>(tensors.nodes); ++i) {
    const std::string_view kind = row_kind_name(static_cast<RowKind>(tensors.kind[i]));
    auto it = std::find_if(range_.kinds.begin(), range_.kinds.end(),
                           [&](const auto& bounds) { return bounds.kind == kind; });
    if (it == range_.kinds.end()) {
      range_.kinds.push_back({std::string(kind), 0, std::vector<float>(columns.size(), kInfinity),
                              std::vector<float>(columns.size(), -kInfinity)});
      it = std::prev(range_.kinds.end());
    }
    ++it->count;
    for (size_t c = 0; c < columns.size(); ++c)
      widen(it->low, it->high, c,
            tensors.x[i * static_cast<size_t>(tensors.features) + columns[c]]);
  }
  if (range_.global_low.empty()) {
    range_.global_low = tensors.globals;
    range_.global_high = tensors.globals;
  }
  for (size_t g = 0; g < tensors.globals.size(); ++g)
    widen(range_.global_low, range_.global_high, g, tensors.globals[g]);
}

TrainingRange RangeBuilder::finish() && { return std::move(range_); }

RangeVerdict judge_range(const TrainingRange& range, std::span<const std::string> signatures,
                         const GraphTensors& tensors, std::span<const float> spread) {
  RangeVerdict verdict;
  verdict.unknown_operator.assign(signatures.size(), false);
  check_operators(range, signatures, verdict);
  check_rows(range, signatures, tensors, verdict);
  check_globals(range, tensors, verdict);
  check_spread(range, spread, verdict);
  verdict.in_range = verdict.reasons.empty();
  if (verdict.reasons.size() > kMaxReasons) {
    const size_t more = verdict.reasons.size() - kMaxReasons;
    verdict.reasons.resize(kMaxReasons);
    verdict.reasons.push_back(fmt::format("and {} more reasons", more));
  }
  return verdict;
}

}  // namespace edgesage
