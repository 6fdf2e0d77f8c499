// Which measurements of a store are labels.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "src/base/text.h"
#include "src/devices/measure.h"
#include "src/learn/label_file.h"

namespace edgesage {
namespace {

// "space/version" and the seed as a number, so that 9 comes before 10.
std::tuple<std::string, uint64_t, std::string> sort_key(const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {name, 0, name};
  uint64_t seed = 0;
  std::from_chars(name.data() + slash + 1, name.data() + name.size(), seed);
  return {name.substr(0, slash), seed, name};
}

bool is_time(std::string_view quantity) { return quantity.ends_with("_ms"); }

// What noise on the clock says nothing of: an arena is as large in a noisy run as in a quiet one.
Measurement without_times(Measurement m) {
  std::erase_if(m.quantities, [](const auto& quantity) {
    return is_time(quantity.first) || quantity.first.ends_with("_mj");
  });
  if (m.operator_unit != "cycles") {
    m.operators.clear();
    m.operator_unit.clear();
  }
  return m;
}

double latency(const Measurement& measurement) {
  const auto it = measurement.quantities.find("latency_ms");
  return it == measurement.quantities.end() ? HUGE_VAL : it->second;
}

LabelRow first_label(const StoredMeasurement& stored) {
  const Measurement& m = stored.measurement;
  LabelRow row;
  row.name = stored.network_name;
  row.graph_hash = stored.graph_hash;
  row.device = m.device;
  row.runtime = m.runtime;
  row.runtime_version = m.runtime_version;
  row.host_fingerprint = m.host_fingerprint;
  row.statistic = m.statistic;
  row.repeats = 0;
  return row;
}

// Times of `other` where they are less, or where there are none.
void keep_least_times(std::map<std::string, double>& quantities,
                      const std::map<std::string, double>& other) {
  for (const auto& [name, value] : other) {
    if (!is_time(name)) continue;
    const auto [it, added] = quantities.emplace(name, value);
    it->second = std::min(it->second, value);
  }
}

// Adds one pass: times become the minimum, the rest is of the fastest pass.
void add_pass(LabelRow& row, double& fastest, const Measurement& m) {
  const std::map<std::string, double> before = row.quantities;
  if (row.repeats == 0 || latency(m) < fastest) {
    fastest = latency(m);
    row.quantities = m.quantities;
    row.cpu_operators = m.cpu_operators;
    row.operator_unit = m.operator_unit;
    row.operators = m.operators;
    for (OperatorMeasurement& op : row.operators) op.placement_reason.clear();
  }
  keep_least_times(row.quantities, before);
  keep_least_times(row.quantities, m.quantities);
  ++row.repeats;
}

Status check_one_source(const LabelSelection& selection, const std::set<std::string>& hosts,
                        const std::set<std::string>& versions) {
  const auto refuse = [&](const char* what, const std::set<std::string>& found) {
    const std::vector<std::string> names(found.begin(), found.end());
    return make_error(ErrorCode::kInvalidArgument, selection.device,
                      fmt::format("the store has labels of several {} ({}), which are never mixed; "
                                  "choose one",
                                  what, join(names, ", ")));
  };
  if (hosts.size() > 1) return refuse("hosts", hosts);
  if (versions.size() > 1) return refuse("versions of the runtime", versions);
  return {};
}

}  // namespace

Result<std::vector<LabelRow>> labels_of(const Store& store, const LabelSelection& selection) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto networks, store.networks());
  std::set<int64_t> sampled;
  for (const NetworkRecord& network : networks)
    if (network.file_name.empty()) sampled.insert(network.id);

  struct Label {
    LabelRow row, noisy;  // of passes that are labels; of those whose times are none
    double fastest = 0, noisy_fastest = 0;
  };
  std::map<int64_t, Label> labels;  // by network
  std::set<std::string> hosts, versions;
  MeasurementFilter filter;
  filter.device = selection.device;
  filter.host_fingerprint = selection.host_fingerprint;
  filter.operators = true;
  EDGESAGE_RETURN_IF_ERROR(store.for_each(filter, [&](const StoredMeasurement& stored) -> Status {
    if (!sampled.contains(stored.network_id)) return {};
    const bool noisy = !rejection_of(stored.measurement).empty();
    const Measurement m = noisy ? without_times(stored.measurement) : stored.measurement;
    if (m.quantities.empty()) return {};
    if (!selection.runtime_version.empty() && m.runtime_version != selection.runtime_version)
      return {};
    hosts.insert(m.host_fingerprint);
    versions.insert(m.runtime + " " + m.runtime_version);
    const auto [it, added] = labels.try_emplace(stored.network_id);
    Label& label = it->second;
    if (added) label.row = label.noisy = first_label(stored);
    if (noisy)
      add_pass(label.noisy, label.noisy_fastest, m);
    else
      add_pass(label.row, label.fastest, m);
    return {};
  }));
  EDGESAGE_RETURN_IF_ERROR(check_one_source(selection, hosts, versions));
  if (labels.empty())
    return make_error(ErrorCode::kInvalidArgument, store.path().string(),
                      fmt::format("no labels of sampled networks on '{}' in this store; make some "
                                  "with 'edgesage annotate'",
                                  selection.device));
  std::vector<LabelRow> rows;
  std::set<std::string> graphs;
  for (const bool noisy : {false, true})  // of equal graphs, the one whose times are labels
    for (auto& [network, label] : labels)
      if ((label.row.repeats == 0) == noisy && graphs.insert(label.row.graph_hash).second)
        rows.push_back(std::move(noisy ? label.noisy : label.row));
  std::sort(rows.begin(), rows.end(), [](const LabelRow& a, const LabelRow& b) {
    return sort_key(a.name) < sort_key(b.name);
  });
  return rows;
}

Status export_labels(const Store& store, const LabelSelection& selection,
                     const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto rows, labels_of(store, selection));
  return write_labels(rows, path);
}

}  // namespace edgesage
