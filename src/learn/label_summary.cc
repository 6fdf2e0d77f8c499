#include "src/learn/label_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace edgesage {
namespace {

constexpr int kBinsADecade = 4;

double bin_edge(int bin) { return std::pow(10.0, static_cast<double>(bin) / kBinsADecade); }

DatasetQuantity summarize(std::string name, std::vector<double>& values) {
  DatasetQuantity out;
  out.name = std::move(name);
  out.count = static_cast<int64_t>(values.size());
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  out.min = values.front();
  out.p10 = at(0.1);
  out.median = at(0.5);
  out.p90 = at(0.9);
  out.max = values.back();
  std::map<int, int64_t> bins;
  for (const double value : values) {
    if (value > 0)
      ++bins[static_cast<int>(std::floor(std::log10(value) * kBinsADecade))];
    else
      ++out.zeros;
  }
  if (bins.empty()) return out;
  for (int bin = bins.begin()->first; bin <= bins.rbegin()->first; ++bin)
    out.histogram.push_back({bin_edge(bin), bin_edge(bin + 1), bins[bin]});
  return out;
}

// "mobile-classifier/1" of "mobile-classifier/1/4711"; codes of published spaces may hold slashes.
std::string space_of(const std::string& name) {
  const size_t first = name.find('/');
  if (first == std::string::npos) return name;
  return name.substr(0, name.find('/', first + 1));
}

// Reasons that differ in sizes and file names alone are one.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.ends_with('#')) continue;
    out += digit ? '#' : c;
  }
  return out;
}

}  // namespace

std::vector<DatasetPart> summarize_labels(std::span<const LabelRow> rows) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  struct Part {
    DatasetPart summary;
    std::map<std::string, std::vector<double>> values;
  };
  std::map<Key, Part> parts;
  for (const LabelRow& row : rows) {
    const std::string space = space_of(row.name);
    Part& part =
        parts[Key{row.device, row.host_fingerprint, row.runtime, row.runtime_version, space}];
    DatasetPart& summary = part.summary;
    if (summary.networks == 0) {
      summary.device = row.device;
      summary.host_fingerprint = row.host_fingerprint;
      summary.runtime = row.runtime;
      summary.runtime_version = row.runtime_version;
      summary.statistic = row.statistic;
      summary.space = space;
      summary.repeats = row.repeats;
    }
    ++summary.networks;
    summary.with_fallback += row.cpu_operators > 0;
    summary.repeats = std::min(summary.repeats, row.repeats);
    for (const auto& [name, value] : row.quantities) part.values[name].push_back(value);
    if (!row.operators.empty())
      part.values["operators"].push_back(static_cast<double>(row.operators.size()));
  }
  std::vector<DatasetPart> out;
  for (auto& [key, part] : parts) {
    for (auto& [name, values] : part.values)
      part.summary.quantities.push_back(summarize(name, values));
    out.push_back(std::move(part.summary));
  }
  return out;
}

std::vector<DatasetFailure> summarize_failures(std::span<const FailureRow> rows) {
  std::map<std::pair<std::string, std::string>, DatasetFailure> found;
  for (const FailureRow& row : rows) {
    DatasetFailure& failure = found[{row.device, without_numbers(row.error)}];
    if (failure.count++ > 0) continue;
    failure.device = row.device;
    failure.error = row.error;
    failure.example = row.name;
  }
  std::vector<DatasetFailure> out;
  for (auto& [key, failure] : found) out.push_back(std::move(failure));
  std::ranges::stable_sort(out, std::greater<>(), &DatasetFailure::count);
  return out;
}

}  // namespace edgesage
