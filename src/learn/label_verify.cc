#include "src/learn/label_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/base/rng.h"

namespace edgesage {
namespace {

class Comparison {
 public:
  Comparison(const LabelRow& label, const LabelRow& again, const VerifyTolerance& tolerance)
      : label_(label),
        again_(again),
        tolerance_(tolerance),
        timed_(label.statistic != "estimate") {}

  void run() {
    if (label_.graph_hash != again_.graph_hash) add("graph", 0, 0, 1, false);
    check("cpu_operators", label_.cpu_operators, again_.cpu_operators);
    std::set<std::string> names;
    for (const LabelRow* row : {&label_, &again_})
      for (const auto& [name, value] : row->quantities) names.insert(name);
    for (const std::string& name : names) quantity(name);
    if (!timed_) operators();
  }

  double worst_exact = 0, time = -1;  // relative; time below 0: not compared
  std::vector<LabelDifference> differences;

 private:
  void quantity(const std::string& name) {
    const bool is_time = timed_ && name.ends_with("_ms");
    if (is_time && name != "latency_ms") return;
    const auto ours = label_.quantities.find(name), theirs = again_.quantities.find(name);
    if (ours == label_.quantities.end() || theirs == again_.quantities.end())
      return add(name, 0, 0, 1, is_time);
    if (!is_time) return check(name, ours->second, theirs->second);
    time = relative(ours->second, theirs->second);
    if (time > tolerance_.time) add(name, ours->second, theirs->second, time, true);
  }

  void operators() {
    if (label_.operators.size() != again_.operators.size())
      return add("number of operators", static_cast<double>(label_.operators.size()),
                 static_cast<double>(again_.operators.size()), 1, false);
    for (size_t i = 0; i < label_.operators.size(); ++i)
      check(fmt::format("cycles of operator {}", label_.operators[i].index),
            label_.operators[i].cycles, again_.operators[i].cycles);
  }

  void check(const std::string& name, double expected, double found) {
    const double apart = relative(expected, found);
    worst_exact = std::max(worst_exact, apart);
    if (apart > tolerance_.exact) add(name, expected, found, apart, false);
  }

  static double relative(double expected, double found) {
    if (expected == found) return 0;
    return std::abs(found - expected) / std::max(std::abs(expected), std::abs(found));
  }

  void add(std::string name, double expected, double found, double apart, bool timed) {
    differences.push_back(
        {label_.name, label_.device, std::move(name), expected, found, apart, timed});
  }

  const LabelRow& label_;
  const LabelRow& again_;
  const VerifyTolerance& tolerance_;
  const bool timed_;
};

}  // namespace

LabelVerification compare_labels(std::span<const LabelRow> labels, std::span<const LabelRow> again,
                                 const VerifyTolerance& tolerance) {
  std::map<std::string_view, const LabelRow*> by_name;
  for (const LabelRow& row : again) by_name[row.name] = &row;
  LabelVerification result;
  std::vector<double> times;
  for (const LabelRow& label : labels) {
    ++result.compared;
    const auto found = by_name.find(label.name);
    if (found == by_name.end()) {
      ++result.missing;
      result.differences.push_back({label.name, label.device, "measurement", 1, 0, 1, false});
      continue;
    }
    Comparison comparison(label, *found->second, tolerance);
    comparison.run();
    result.worst_exact = std::max(result.worst_exact, comparison.worst_exact);
    if (comparison.time >= 0) times.push_back(comparison.time);
    const auto count = [&](bool timed) {
      return std::ranges::count(comparison.differences, timed, &LabelDifference::timed);
    };
    result.different += count(false) > 0;
    result.off_in_time += count(true) > 0;
    std::ranges::move(comparison.differences, std::back_inserter(result.differences));
  }
  if (!times.empty()) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    result.median_time = *middle;
  }
  std::ranges::stable_sort(result.differences, std::greater<>(), &LabelDifference::relative);
  return result;
}

std::vector<LabelRow> choose_labels(std::span<const LabelRow> rows, int64_t count, uint64_t seed) {
  std::vector<const LabelRow*> all;
  for (const LabelRow& row : rows) all.push_back(&row);
  const auto key = [](const LabelRow* row) { return std::tie(row->name, row->host_fingerprint); };
  std::sort(all.begin(), all.end(),
            [&](const LabelRow* a, const LabelRow* b) { return key(a) < key(b); });
  Rng rng(seed, "labels to verify");
  rng.shuffle(all);
  std::vector<LabelRow> chosen;
  for (const LabelRow* row : all) {
    if (static_cast<int64_t>(chosen.size()) >= count) break;
    chosen.push_back(*row);
  }
  return chosen;
}

}  // namespace edgesage
