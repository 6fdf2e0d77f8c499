#include "src/report/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

// The rest is for programs: --format json.
constexpr std::array kForPeople = {"latency_ms",        "energy_mj", "sram_bytes", "dram_bytes",
                                   "arena_total_bytes", "nn_macs",   "operators"};

Json quantity_json(const DatasetQuantity& quantity) {
  Json bins = Json::array();
  for (const DatasetQuantity::Bin& bin : quantity.histogram)
    bins.push_back({{"from", bin.from}, {"to", bin.to}, {"count", bin.count}});
  return {{"quantity", quantity.name}, {"count", quantity.count},   {"min", quantity.min},
          {"p10", quantity.p10},       {"median", quantity.median}, {"p90", quantity.p90},
          {"max", quantity.max},       {"zeros", quantity.zeros},   {"histogram", std::move(bins)}};
}

Json part_json(const DatasetPart& part) {
  Json quantities = Json::array();
  for (const DatasetQuantity& quantity : part.quantities)
    quantities.push_back(quantity_json(quantity));
  return {{"device", part.device},       {"host_fingerprint", text_or_null(part.host_fingerprint)},
          {"runtime", part.runtime},     {"runtime_version", part.runtime_version},
          {"statistic", part.statistic}, {"space", part.space},
          {"networks", part.networks},   {"with_fallback", part.with_fallback},
          {"repeats", part.repeats},     {"quantities", std::move(quantities)}};
}

Json check_json(const DatasetCheck& check) {
  Json differences = Json::array();
  for (const DatasetDifference& difference : check.differences)
    differences.push_back({{"network", difference.network},
                           {"quantity", difference.quantity},
                           {"expected", difference.expected},
                           {"found", difference.found},
                           {"relative", difference.relative}});
  return {{"device", check.device},
          {"host_fingerprint", text_or_null(check.host_fingerprint)},
          {"skipped", text_or_null(check.skipped)},
          {"compared", check.compared},
          {"missing", check.missing},
          {"different", check.different},
          {"off_in_time", check.off_in_time},
          {"worst_exact", check.worst_exact},
          {"median_time", check.median_time},
          {"exact_tolerance", check.exact_tolerance},
          {"time_tolerance", check.time_tolerance},
          {"time_share", check.time_share},
          {"passed", check.passed},
          {"differences", std::move(differences)}};
}

std::string check_text(const DatasetCheck& check) {
  std::string name = check.device;
  if (!check.host_fingerprint.empty()) name += '@' + check.host_fingerprint.substr(0, 8);
  if (!check.skipped.empty()) return fmt::format("{}: skipped: {}\n", name, check.skipped);
  std::string text = fmt::format(
      "{}: {}; {} networks compared, {} differ by more than {:g}, {} are missing; largest "
      "difference {:.1g}\n",
      name, check.passed ? "holds" : "DOES NOT HOLD", grouped(check.compared),
      grouped(check.different), check.exact_tolerance, grouped(check.missing), check.worst_exact);
  if (check.median_time > 0 || check.off_in_time > 0)
    text += fmt::format(
        "  latencies: median difference {:.1f} %, {} networks by more than {:.0f} % ({:.0f} % of "
        "them may)\n",
        100 * check.median_time, grouped(check.off_in_time), 100 * check.time_tolerance,
        100 * check.time_share);
  for (const DatasetDifference& difference : check.differences)
    text += fmt::format("  {}: {} was {}, is {} ({:.2g} apart)\n", difference.network,
                        difference.quantity, difference.expected, difference.found,
                        difference.relative);
  return text;
}

}  // namespace

std::string dataset_text(const DatasetSummary& summary) {
  std::string text = fmt::format("{}: {} labels of {} networks in {} files, {}\n", summary.path,
                                 grouped(summary.labels), grouped(summary.networks),
                                 grouped(summary.files), human_bytes(summary.file_bytes));
  TextTable table({"device", "host", "runtime", "space", ">networks", ">fallback", "quantity",
                   ">min", ">10%", ">median", ">90%", ">max"});
  for (const DatasetPart& part : summary.parts) {
    std::vector<std::string> head = {part.device,
                                     part.host_fingerprint.substr(0, 8),
                                     part.runtime + ' ' + part.runtime_version,
                                     part.space,
                                     grouped(part.networks),
                                     grouped(part.with_fallback)};
    for (const char* name : kForPeople) {
      const auto quantity = std::ranges::find(part.quantities, name, &DatasetQuantity::name);
      if (quantity == part.quantities.end()) continue;
      std::vector<std::string> cells = std::move(head);
      cells.resize(6);
      head.assign(6, "");
      const auto text_of = [&](double value) {
        return quantity->name.ends_with("_ms") || quantity->name.ends_with("_mj")
                   ? decimal(value)
                   : human_count(value);
      };
      cells.push_back(quantity->name);
      for (const double value :
           {quantity->min, quantity->p10, quantity->median, quantity->p90, quantity->max})
        cells.push_back(text_of(value));
      table.add(std::move(cells));
    }
  }
  text += table.render("  ");
  if (!summary.energy_table.empty())
    text += fmt::format("  energy_mj is modelled, costs '{}'\n", summary.energy_table);
  for (const DatasetFailure& failure : summary.failures)
    text += fmt::format("  failed {} times on {}: {} (first: {})\n", grouped(failure.count),
                        failure.device, shown(failure.error, 200), failure.example);
  return text;
}

std::string dataset_json(const DatasetSummary& summary) {
  Json parts = Json::array(), failures = Json::array();
  for (const DatasetPart& part : summary.parts) parts.push_back(part_json(part));
  for (const DatasetFailure& failure : summary.failures)
    failures.push_back({{"device", failure.device},
                        {"error", failure.error},
                        {"count", failure.count},
                        {"example", failure.example}});
  return to_text({{"schema_version", kSchemaVersion},
                  {"path", summary.path},
                  {"files", summary.files},
                  {"file_bytes", summary.file_bytes},
                  {"labels", summary.labels},
                  {"networks", summary.networks},
                  {"energy_table", text_or_null(summary.energy_table)},
                  {"parts", std::move(parts)},
                  {"failures", std::move(failures)}},
                 2) +
         '\n';
}

std::string verification_text(const DatasetVerification& verification) {
  std::string text = fmt::format("{}, seed {}\n", verification.path, verification.seed);
  for (const DatasetCheck& check : verification.devices) text += check_text(check);
  if (verification.stopped) text += "stopped before the end\n";
  return text;
}

std::string verification_json(const DatasetVerification& verification) {
  Json devices = Json::array();
  for (const DatasetCheck& check : verification.devices) devices.push_back(check_json(check));
  return to_text({{"schema_version", kSchemaVersion},
                  {"path", verification.path},
                  {"seed", verification.seed},
                  {"passed", verification.passed()},
                  {"stopped", verification.stopped},
                  {"devices", std::move(devices)}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
