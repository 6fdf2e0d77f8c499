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

// Puts the first reasons into words and counts the others.
class Reasons {
 public:
  template <class Describe>
  void add(const Describe& words) {
    if (count_++ < kMaxReasons) texts_.push_back(words());
  }
  void move_to(RangeVerdict& verdict) && {
    verdict.in_range = count_ == 0;
    verdict.reasons = std::move(texts_);
    if (count_ > kMaxReasons)
      verdict.reasons.push_back(fmt::format("and {} more reasons", count_ - kMaxReasons));
  }

 private:
  std::vector<std::string> texts_;
  size_t count_ = 0;
};

void check_operators(const TrainingRange& range, std::span<const std::string> signatures,
                     RangeVerdict& verdict, Reasons& reasons) {
  std::set<std::string_view> named;
  for (size_t i = 0; i < signatures.size(); ++i) {
    const std::string& signature = signatures[i];
    if (std::binary_search(range.operators.begin(), range.operators.end(), signature)) continue;
    verdict.unknown_operator[i] = true;
    if (named.insert(signature).second)
      reasons.add(
          [&] { return fmt::format("operator {} ({}) was not in training", i, signature); });
  }
}

// Bounds of each row kind, null for kinds that training never saw.
using BoundsTable =
    std::array<const TrainingRange::KindBounds*, static_cast<size_t>(RowKind::kCount)>;
BoundsTable bounds_by_kind(const TrainingRange& range) {
  BoundsTable table{};
  for (size_t kind = 0; kind < table.size(); ++kind) {
    const auto it = std::ranges::find(range.kinds, row_kind_name(static_cast<RowKind>(kind)),
                                      &TrainingRange::KindBounds::kind);
    if (it != range.kinds.end()) table[kind] = &*it;
  }
  return table;
}

void check_rows(const TrainingRange& range, std::span<const std::string> signatures,
                const GraphTensors& tensors, RangeVerdict& verdict, Reasons& reasons) {
  static const std::vector<size_t> columns = checked_columns();
  const BoundsTable table = bounds_by_kind(range);
  for (size_t i = 0; i < static_cast<size_t>(tensors.nodes); ++i) {
    const int32_t op = tensors.op[i];
    const auto place = [&] {
      return op >= 0 ? fmt::format("operator {} ({})", op, signatures[static_cast<size_t>(op)])
                     : fmt::format("row {}", i);
    };
    const TrainingRange::KindBounds* bounds = table[static_cast<size_t>(tensors.kind[i])];
    if (bounds == nullptr) {
      const bool named = op >= 0 && verdict.unknown_operator[static_cast<size_t>(op)];
      if (!named)
        reasons.add([&] {
          return fmt::format("{}: {} rows were not in training", place(),
                             row_kind_name(static_cast<RowKind>(tensors.kind[i])));
        });
      if (op >= 0) verdict.unknown_operator[static_cast<size_t>(op)] = true;
      continue;
    }
    const size_t bounded = std::min({bounds->low.size(), bounds->high.size(), columns.size()});
    for (size_t c = 0; c < bounded; ++c) {
      const float value = tensors.x[i * static_cast<size_t>(tensors.features) + columns[c]];
      const float low = bounds->low[c], high = bounds->high[c];
      const bool above = value > high + kMargin;
      if (!above && value >= low - kMargin) continue;
      reasons.add([&] {
        return fmt::format("{}: {}", place(),
                           describe(kChecked[c], value, above ? high : low, above));
      });
    }
  }
}

void check_globals(const TrainingRange& range, const GraphTensors& tensors, Reasons& reasons) {
  const auto table = global_features();
  // A file may bound fewer than there are.
  const size_t bounded =
      std::min({range.global_low.size(), range.global_high.size(), tensors.globals.size()});
  for (size_t i = 0; i < bounded; ++i) {
    const float value = tensors.globals[i];
    const bool above = value > range.global_high[i] + kMargin;
    if (!above && value >= range.global_low[i] - kMargin) continue;
    reasons.add([&] {
      return "whole network: " + describe(table[i].name, value,
                                          above ? range.global_high[i] : range.global_low[i],
                                          above);
    });
  }
}

void check_leverage(const TrainingRange& range, const GraphTensors& tensors, RangeVerdict& verdict,
                    Reasons& reasons) {
  if (range.leverage.empty()) return;
  const std::vector<float> features = range.leverage.features(tensors);
  for (const ErrorModel& model : range.errors) verdict.error_scale.push_back(model.scale(features));
  verdict.score =
      std::exp(static_cast<double>(features.back())) / static_cast<double>(range.leverage.limit);
  if (verdict.score <= 1) return;
  reasons.add([&] {
    return fmt::format(
        "whole network: what costs most in it is {:.1f} times as far from all measured networks "
        "as is normal",
        verdict.score);
  });
}

void check_spread(const TrainingRange& range, std::span<const float> spread, Reasons& reasons) {
  for (size_t q = 0; q < std::min(spread.size(), range.max_spread.size()); ++q) {
    if (spread[q] <= range.max_spread[q]) continue;
    reasons.add([&] {
      return fmt::format("the ensemble disagrees by {:.1f} %; up to {:.1f} % is normal",
                         std::expm1(spread[q]) * 100, std::expm1(range.max_spread[q]) * 100);
    });
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

void RangeBuilder::add(std::span<const std::string> signatures, const GraphTensors& tensors,
                       bool measured) {
  leverage_.add(tensors, measured);
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

TrainingRange RangeBuilder::finish() && {
  range_.leverage = leverage_.finish();
  return std::move(range_);
}

RangeVerdict judge_range(const TrainingRange& range, std::span<const std::string> signatures,
                         const GraphTensors& tensors, std::span<const float> spread) {
  RangeVerdict verdict;
  verdict.unknown_operator.assign(signatures.size(), false);
  Reasons reasons;
  check_operators(range, signatures, verdict, reasons);
  check_rows(range, signatures, tensors, verdict, reasons);
  check_globals(range, tensors, reasons);
  check_leverage(range, tensors, verdict, reasons);
  check_spread(range, spread, reasons);
  for (size_t q = 0; q < std::min(spread.size(), range.max_spread.size()); ++q)
    if (std::isfinite(range.max_spread[q]))
      verdict.score = std::max(verdict.score, static_cast<double>(spread[q] / range.max_spread[q]));
  if (!range.errors.empty() && !range.errors[0].empty()) verdict.score = verdict.error_scale[0];
  if (std::ranges::find(verdict.unknown_operator, true) != verdict.unknown_operator.end())
    verdict.score = std::numeric_limits<double>::infinity();
  std::move(reasons).move_to(verdict);
  return verdict;
}

}  // namespace edgesage
