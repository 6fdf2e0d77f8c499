#include "src/app/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/file.h"
#include "src/devices/foreign_report.h"
#include "src/devices/power_trace.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/learn/label_file.h"

namespace edgesage::app {
namespace {

struct Read {
  std::string file;
  ForeignReport report;
  std::string model;
  std::string graph_hash;
};

tl::unexpected<Error> wrong(const std::string& where, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, where, std::move(message));
}

Result<std::vector<Read>> read_files(const ImportRequest& request) {
  std::vector<Read> all;
  for (const std::string& file : request.files) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto mapped,
                              MappedFile::open(file, ErrorCode::kInvalidArgument));
    const auto bytes = mapped->bytes();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (request.inferences > 0) {
      EDGESAGE_ASSIGN_OR_RETURN(ForeignReport trace,
                                read_power_trace(text, file, request.inferences));
      all.push_back({file, std::move(trace), "", ""});
      continue;
    }
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<ForeignReport> reports,
                              read_foreign_report(text, file, request.format));
    for (ForeignReport& report : reports) all.push_back({file, std::move(report), "", ""});
  }
  return all;
}

// DIR/network, DIR/network.tflite, DIR/network.onnx, DIR/network.param: the first that is there.
std::string find_model(const std::vector<std::string>& places, const std::string& network) {
  std::error_code ignored;
  if (network.empty()) return "";
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place, ignored)) continue;
    for (const char* ending : {"", ".tflite", ".onnx", ".param"}) {
      const std::filesystem::path file = std::filesystem::path(place) / (network + ending);
      if (std::filesystem::is_regular_file(file, ignored)) return file.string();
    }
  }
  return "";
}

Status name_models(const ImportRequest& request, std::vector<Read>& all) {
  if (request.models.empty()) return {};
  std::error_code ignored;
  const bool by_name = std::ranges::all_of(request.models, [&](const std::string& place) {
    return std::filesystem::is_directory(place, ignored);
  });
  if (!by_name && request.models.size() != 1 && request.models.size() != all.size())
    return wrong("--model",
                 fmt::format("{} models for {} reports; name one a report, one for all, or "
                             "directories with files of the networks' names",
                             request.models.size(), all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    Read& read = all[i];
    read.model = by_name ? find_model(request.models, read.report.network)
                         : request.models[request.models.size() == 1 ? 0 : i];
    if (read.model.empty())
      return wrong(read.file, fmt::format("the network \"{}\" has no file of that name in {}",
                                          read.report.network, request.models.front()));
    EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, read_model(read.model));
    read.graph_hash = graph_hash(graph);
  }
  return {};
}

std::string device_of(const ImportRequest& request, const Read& read) {
  return request.device.empty() ? read.report.measurement.device : request.device;
}

std::string first_of(const std::string& wanted, const std::string& said) {
  return wanted.empty() ? said : wanted;
}

LabelRow to_row(const ImportRequest& request, const Read& read) {
  const Measurement& measurement = read.report.measurement;
  LabelRow row;
  row.name = read.model;
  row.graph_hash = read.graph_hash;
  row.device = device_of(request, read);
  row.runtime = first_of(request.runtime, measurement.runtime);
  row.runtime_version = first_of(request.runtime_version, measurement.runtime_version);
  row.host_fingerprint = request.host;
  row.statistic = first_of(request.statistic, measurement.statistic);
  row.cpu_operators = measurement.cpu_operators;
  row.quantities = measurement.quantities;
  return row;
}

// Two reports of one network: a summary and its layers, time and energy of two runs.
Status merge_into(LabelRow& row, const LabelRow& other, const std::string& file) {
  for (const auto& [name, value] : other.quantities) {
    const auto [entry, is_new] = row.quantities.emplace(name, value);
    if (!is_new && std::abs(entry->second - value) > 0.01 * entry->second)
      return wrong(file, fmt::format("{} of {} is {} here and {} in another report of the same "
                                     "model; a label can have one value",
                                     name, row.name, value, entry->second));
  }
  row.cpu_operators = std::max(row.cpu_operators, other.cpu_operators);
  if (row.statistic.empty() || !row.quantities.contains("latency_ms"))
    row.statistic = other.statistic;
  if (row.runtime.empty()) row.runtime = other.runtime;
  return {};
}

Status write_rows(const ImportRequest& request, const std::vector<Read>& all, Import& out) {
  std::vector<LabelRow> rows;
  std::error_code ignored;
  if (request.append && std::filesystem::exists(request.labels, ignored)) {
    EDGESAGE_ASSIGN_OR_RETURN(rows, read_labels(request.labels));
  }
  const size_t before = rows.size();
  for (const Read& read : all) {
    if (read.model.empty())
      return wrong(read.file, "labels are of model files: name its model with --model");
    LabelRow row = to_row(request, read);
    // The layers of a summary that does say it.
    if (row.device.empty() && !rows.empty() && rows.back().graph_hash == row.graph_hash)
      row.device = rows.back().device;
    if (row.device.empty())
      return wrong(read.file, "does not say what it was measured on: name it with --device");
    if (!rows.empty() && rows.front().device != row.device)
      return wrong(read.file, fmt::format("is of {}, and {} of {}: a label file is of one device",
                                          row.device, rows.front().name, rows.front().device));
    const auto same = std::ranges::find(rows, row.graph_hash, &LabelRow::graph_hash);
    if (same == rows.end())
      rows.push_back(std::move(row));
    else if (static_cast<size_t>(same - rows.begin()) < before)
      return wrong(read.file, fmt::format("{} has a label of this network already: {}",
                                          request.labels.string(), same->name));
    else
      EDGESAGE_RETURN_IF_ERROR(merge_into(*same, row, read.file));
  }
  for (const LabelRow& row : rows)
    if (row.quantities.empty())
      return wrong(row.name, "the reports have no figure that could be a label");
  // A name stands for one network in a label file.
  EDGESAGE_RETURN_IF_ERROR(write_labels(rows, request.labels));
  out.labels = request.labels.string();
  out.networks = std::ssize(rows);
  out.device = rows.front().device;
  return {};
}

ImportedReport to_public(const ImportRequest& request, const Read& read) {
  const Measurement& measurement = read.report.measurement;
  ImportedReport out;
  out.file = read.file;
  out.format = read.report.format;
  out.network = read.report.network;
  out.row = static_cast<int64_t>(read.report.row);
  out.model = read.model;
  out.graph_hash = read.graph_hash;
  out.device = device_of(request, read);
  out.runtime = first_of(request.runtime, measurement.runtime);
  out.runtime_version = first_of(request.runtime_version, measurement.runtime_version);
  out.statistic = first_of(request.statistic, measurement.statistic);
  out.quantities = measurement.quantities;
  out.missing = measurement.missing;
  out.operators = std::ssize(measurement.operators);
  out.cpu_operators = measurement.cpu_operators;
  out.notes = read.report.notes;
  return out;
}

}  // namespace

const std::vector<std::string>& import_formats() { return foreign_formats(); }

Result<Import> import_reports(const Context& context, const ImportRequest& request) {
  if (!request.device.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(const Target known, target_of(context, request.device));
  }
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<Read> all, read_files(request));
  EDGESAGE_RETURN_IF_ERROR(name_models(request, all));
  Import out;
  for (const Read& read : all) out.reports.push_back(to_public(request, read));
  if (!request.labels.empty()) EDGESAGE_RETURN_IF_ERROR(write_rows(request, all, out));
  return out;
}

}  // namespace edgesage::app
