#include "src/report/import.h"

#include <fmt/format.h>

#include <set>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string amount(const std::string& quantity, double value) {
  return quantity.ends_with("_bytes") ? grouped(static_cast<int64_t>(value + 0.5)) : decimal(value);
}

std::string about(const ImportedReport& report) {
  std::string text = shown(report.file, 120);
  if (report.row > 0) text += fmt::format(", row {}", report.row);
  if (!report.network.empty()) text += fmt::format(" ({})", shown(report.network, 60));
  text += fmt::format(": {}", report.format);
  if (!report.device.empty()) text += " of " + report.device;
  if (!report.model.empty()) text += " for " + shown(report.model, 120);
  return text;
}

}  // namespace

std::string import_text(const Import& import) {
  std::string text;
  std::set<std::string> notes;
  for (const ImportedReport& report : import.reports) {
    text += about(report) + '\n';
    TextTable table({"", ">", ""});
    for (const auto& [name, value] : report.quantities)
      table.add({name, amount(name, value), name == "latency_ms" ? report.statistic : ""});
    if (!table.empty()) {
      std::string rows = table.render("  ");
      text += rows.substr(rows.find('\n') + 1);
    }
    for (const auto& [name, reason] : report.missing)
      text += fmt::format("  {} is not known: {}\n", name, reason);
    if (report.operators > 0)
      text += fmt::format("  {} operators with figures of their own, {} on the CPU\n",
                          report.operators, report.cpu_operators);
    notes.insert(report.notes.begin(), report.notes.end());
  }
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  if (!import.labels.empty())
    text += fmt::format("{}: {} networks on {}\n", import.labels, import.networks, import.device);
  return text;
}

std::string import_json(const Import& import) {
  Json reports = Json::array();
  for (const ImportedReport& report : import.reports) {
    Json quantities = Json::object();
    for (const auto& [name, value] : report.quantities) quantities[name] = value;
    reports.push_back({{"file", report.file},
                       {"format", report.format},
                       {"network", text_or_null(report.network)},
                       {"row", report.row > 0 ? Json(report.row) : Json(nullptr)},
                       {"model", text_or_null(report.model)},
                       {"graph_hash", text_or_null(report.graph_hash)},
                       {"device", text_or_null(report.device)},
                       {"runtime", text_or_null(report.runtime)},
                       {"runtime_version", text_or_null(report.runtime_version)},
                       {"statistic", text_or_null(report.statistic)},
                       {"quantities", std::move(quantities)},
                       {"missing", texts_json(report.missing)},
                       {"operators", report.operators},
                       {"cpu_operators", report.cpu_operators},
                       {"notes", report.notes}});
  }
  Json labels = nullptr;
  if (!import.labels.empty())
    labels = {{"file", import.labels}, {"networks", import.networks}, {"device", import.device}};
  return to_text({{"schema_version", kSchemaVersion}, {"reports", reports}, {"labels", labels}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
