#include "src/app/budget.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/base/toml.h"

namespace edgesage::app {
namespace {

constexpr ErrorCode kBadFile = ErrorCode::kInvalidArgument;

BudgetFigure of_interval(const std::optional<Interval>& interval) {
  if (!interval) return {};
  return {interval->value, interval->hi, true, ""};
}

BudgetFigure exact(const std::optional<int64_t>& value, const std::string& reason = {}) {
  if (!value) return {{}, {}, false, reason};
  const auto number = static_cast<double>(*value);
  return {number, number, false, ""};
}

struct Row {
  const char* name;
  BudgetFigure (*of)(const Prediction& prediction);
};

constexpr Row kRows[] = {
    {"latency_ms", [](const Prediction& p) { return of_interval(p.latency_ms); }},
    {"energy_mj", [](const Prediction& p) { return of_interval(p.energy_mj); }},
    {"peak_ram_bytes", [](const Prediction& p) { return of_interval(p.peak_ram_bytes); }},
    {"activations_bytes", [](const Prediction& p) { return exact(p.activations_bytes); }},
    {"litert_arena_bytes",
     [](const Prediction& p) { return exact(p.litert_arena.total_bytes, p.litert_arena.reason); }},
    {"tflm_arena_bytes",
     [](const Prediction& p) { return exact(p.tflm_arena.total_bytes, p.tflm_arena.reason); }},
    {"weights_bytes", [](const Prediction& p) { return exact(p.weights_bytes); }},
    {"flash_bytes", [](const Prediction& p) { return exact(p.flash_bytes); }},
    {"macs", [](const Prediction& p) { return exact(p.macs); }},
};

// "256 KiB", "1.5 MB", "800": a number of bytes.
std::optional<double> bytes_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) return std::nullopt;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},     {"B", 1},         {"kB", 1e3},      {"KB", 1e3},     {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  const std::string_view unit = trim(end);
  for (const auto& [name, factor] : kUnits)
    if (unit == name) return number * factor;
  return std::nullopt;
}

std::string unknown_key(const std::string& key, const std::vector<std::string>& allowed) {
  const std::string_view close = closest(key, allowed);
  return close.empty() ? fmt::format("no such key; there are {}", join(allowed, ", "))
                       : fmt::format("no such key, did you mean {}?", close);
}

std::vector<std::string> with(std::vector<std::string> names,
                              const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

Status known_keys(const Json& table, const std::string& where,
                  const std::vector<std::string>& allowed) {
  for (const auto& [key, value] : table.items())
    if (std::ranges::find(allowed, key) == allowed.end())
      return make_error(kBadFile, fmt::format("{}: {}", where, key), unknown_key(key, allowed));
  return {};
}

// A limit or a growth: a positive number, or for bytes a text with a unit.
Result<double> amount(const Json& value, const std::string& where, bool is_bytes) {
  std::optional<double> number;
  if (value.is_number()) number = value.get<double>();
  if (value.is_string() && is_bytes) number = bytes_of(value.get<std::string>());
  if (number && std::isfinite(*number) && *number >= 0) return *number;
  return make_error(kBadFile, where,
                    fmt::format("{} is not a number of at least 0{}", to_text(value),
                                is_bytes ? ", nor one with a unit (\"256 KiB\", \"1.5 MB\")" : ""));
}

Result<BudgetLimits> read_limits(const Json& table, const std::string& where) {
  if (!table.is_object()) return make_error(kBadFile, where, "write it as [[limits]]");
  EDGESAGE_RETURN_IF_ERROR(
      known_keys(table, where, with({"device", "model", "require_in_range"}, budget_quantities())));
  BudgetLimits limits;
  limits.device = json_string(table, "device");
  if (limits.device.empty())
    return make_error(kBadFile, where, "names no device; add device = \"ethos-u55-256\"");
  limits.model = json_string(table, "model");
  limits.require_in_range = json_bool(table, "require_in_range", false);
  for (const std::string& name : budget_quantities()) {
    if (!table.contains(name)) continue;
    EDGESAGE_ASSIGN_OR_RETURN(
        limits.at_most[name],
        amount(table[name], fmt::format("{}: {}", where, name), name.ends_with("_bytes")));
  }
  return limits;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

const std::vector<std::string>& budget_quantities() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Row& row : kRows) out.emplace_back(row.name);
    return out;
  }();
  return names;
}

BudgetFigure budget_figure(const Prediction& prediction, std::string_view quantity) {
  const auto row =
      std::ranges::find_if(kRows, [&](const Row& one) { return quantity == one.name; });
  BudgetFigure figure = row->of(prediction);
  if (figure.value || !figure.reason.empty()) return figure;
  const auto missing = prediction.missing.find(std::string(quantity));
  figure.reason =
      missing == prediction.missing.end() ? "the predictor does not know it" : missing->second;
  return figure;
}

std::vector<std::string> Budget::devices() const {
  std::vector<std::string> names;
  for (const BudgetLimits& one : limits)
    if (std::ranges::find(names, one.device) == names.end()) names.push_back(one.device);
  return names;
}

Result<Budget> read_budget(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const Json file, read_toml(path, kBadFile));
  const std::string where = path.string();
  EDGESAGE_RETURN_IF_ERROR(
      known_keys(file, where, {"level", "baseline", "limits", "growth_percent"}));
  Budget budget;
  if (file.contains("level")) {
    constexpr double kLevels[] = {0.5, 0.8, 0.9, 0.95};
    budget.level = json_number(file, "level", 0);
    if (std::ranges::find(kLevels, budget.level) == std::end(kLevels))
      return make_error(kBadFile, where + ": level", "is not one of 0.5, 0.8, 0.9, 0.95");
  }
  if (const std::string baseline = json_string(file, "baseline"); !baseline.empty())
    budget.baseline = (path.parent_path() / baseline).string();
  if (!file.contains("limits") || !file["limits"].is_array() || file["limits"].empty())
    return make_error(kBadFile, where,
                      "limits nothing; add a [[limits]] table with device and latency_ms, ...");
  for (size_t i = 0; i < file["limits"].size(); ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(
        BudgetLimits limits,
        read_limits(file["limits"][i], fmt::format("{}: limits[{}]", where, i)));
    budget.limits.push_back(std::move(limits));
  }
  if (!file.contains("growth_percent")) return budget;
  const Json& growth = file["growth_percent"];
  if (!growth.is_object())
    return make_error(kBadFile, where + ": growth_percent", "write it as [growth_percent]");
  EDGESAGE_RETURN_IF_ERROR(known_keys(growth, where + ": growth_percent", budget_quantities()));
  for (const auto& [name, value] : growth.items()) {
    EDGESAGE_ASSIGN_OR_RETURN(
        budget.growth_percent[name],
        amount(value, fmt::format("{}: growth_percent.{}", where, name), false));
  }
  return budget;
}

bool holds_for(const BudgetLimits& limits, const std::string& model) {
  return limits.model.empty() ||
         fnmatch(limits.model.c_str(), file_name(model).c_str(), FNM_PERIOD) == 0;
}

Result<std::vector<BaselineEntry>> read_baseline(const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(path, kBadFile));
  EDGESAGE_ASSIGN_OR_RETURN(const Json file, parse_json(text, path.string(), kBadFile));
  if (!file.is_object() || !file.contains("predictions") || !file["predictions"].is_array())
    return make_error(kBadFile, path.string(),
                      "is no baseline: it has no \"predictions\"; make one with edgesage check "
                      "--write-baseline");
  std::vector<BaselineEntry> entries;
  for (const Json& row : file["predictions"]) {
    BaselineEntry entry{json_string(row, "model"),
                        json_string(row, "device"),
                        json_string(row, "predictor_id"),
                        {}};
    for (const std::string& name : budget_quantities()) {
      // The answer of `predict` holds intervals, and the arenas' parts.
      std::string key = name;
      if (name == "litert_arena_bytes" || name == "tflm_arena_bytes")
        key = name.substr(0, name.size() - std::string_view("_bytes").size());
      if (!row.is_object() || !row.contains(key)) continue;
      const Json& value = row[key];
      const char* part = key == name ? "value" : "total_bytes";
      const double number = value.is_number() ? value.get<double>() : json_number(value, part, NAN);
      if (std::isfinite(number)) entry.values[name] = number;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Status write_baseline(const Answers<Prediction>& answers, const std::filesystem::path& path) {
  Json rows = Json::array();
  for (const Answer<Prediction>& answer : answers) {
    if (!answer.result) continue;
    Json row = {{"model", answer.subject},
                {"device", answer.device},
                {"predictor_id", answer.result->predictor_id}};
    for (const std::string& name : budget_quantities()) {
      const BudgetFigure figure = budget_figure(*answer.result, name);
      if (!figure.value) continue;
      if (name == "litert_arena_bytes" || name == "tflm_arena_bytes")
        row[name.substr(0, name.size() - 6)]["total_bytes"] = *figure.value;
      else
        row[name] = *figure.value;
    }
    rows.push_back(std::move(row));
  }
  return write_text(path, to_text({{"schema_version", 1}, {"predictions", rows}}, 2) + '\n');
}

const BaselineEntry* find_entry(const std::vector<BaselineEntry>& entries, const std::string& model,
                                std::string_view device) {
  const BaselineEntry* same_name = nullptr;
  for (const BaselineEntry& entry : entries) {
    if (entry.device != device) continue;
    if (entry.model == model) return &entry;
    if (same_name == nullptr && file_name(entry.model) == file_name(model)) same_name = &entry;
  }
  return same_name;
}

}  // namespace edgesage::app
