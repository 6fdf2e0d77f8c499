#include "src/report/measure.h"

#include <fmt/format.h>

#include <cmath>

#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

constexpr std::string_view kMilliseconds = "_ms";
constexpr std::string_view kBytes = "_bytes";
constexpr const char* kEnergy = "energy_mj";

std::optional<double> quantity(const MeasuredModel& model, const std::string& name) {
  const auto found = model.quantities.find(name);
  return found == model.quantities.end() ? std::nullopt : std::optional(found->second);
}

std::string quantity_text(std::string_view name, double value) {
  if (name.ends_with(kMilliseconds)) return decimal(value) + " ms";
  if (name == kEnergy) return decimal(value) + " mJ";
  if (name.ends_with(kBytes))
    return fmt::format("{} ({} bytes)", human_bytes(static_cast<int64_t>(value)),
                       grouped(static_cast<int64_t>(value)));
  return grouped(static_cast<int64_t>(value));
}

std::string energy_source(const MeasuredModel& model) {
  // A compiler's or a simulator's own figure is a model too.
  return model.energy_table.empty() && model.statistic != "estimate" ? "measured" : "modelled";
}

// Traffic, cycles and the areas that a device does not have are for programs: --format json.
bool is_for_people(std::string_view name) {
  return name.ends_with(kMilliseconds) || name == kEnergy ||
         (name.ends_with(kBytes) && !name.ends_with("traffic_bytes"));
}

// Counts are whole numbers.
Json number_json(std::string_view name, double value) {
  if (name.ends_with(kMilliseconds) || value != std::floor(value)) return value;
  return static_cast<int64_t>(value);
}

std::string model_text(const MeasuredModel& model) {
  std::string text = fmt::format("{}: {}, {} {}\n", model.model,
                                 model.variant.empty() ? model.device : model.variant,
                                 model.runtime, model.runtime_version);
  for (const auto& [name, value] : model.quantities) {
    if (value == 0 || !is_for_people(name)) continue;
    text += fmt::format("  {:<25} {}", name, quantity_text(name, value));
    if (name == "latency_ms") text += fmt::format(" ({})", model.statistic);
    if (name == kEnergy)
      text += model.energy_table.empty()
                  ? fmt::format(" ({})", energy_source(model))
                  : fmt::format(" (modelled, costs '{}')", model.energy_table);
    text += '\n';
  }
  if (model.series) {
    const TimingSeries& series = *model.series;
    text += fmt::format("  {:<25} median {} ms, 10% {} ms, 90% {} ms in {} runs\n", "series",
                        decimal(series.p50_ms), decimal(series.p10_ms), decimal(series.p90_ms),
                        series.runs);
    if (!series.reason.empty()) text += fmt::format("  warning: {}\n", series.reason);
  }
  if (!model.rejected.empty())
    text += fmt::format("  warning: rejected as a label: {}\n", model.rejected);
  if (model.cpu_operators > 0)
    text += fmt::format(
        "  warning: {} operator{} fell back to the CPU; the figures do not contain their time\n",
        model.cpu_operators, model.cpu_operators == 1 ? "" : "s");
  for (const auto& [name, reason] : model.missing)
    if (name.ends_with(kMilliseconds) || name == "sram_bytes" || name == kEnergy)
      text += fmt::format("  {:<25} not known: {}\n", name, reason);
  if (model.stored_as) text += fmt::format("  stored as measurement {}\n", *model.stored_as);
  return text;
}

Json latency_json(const MeasuredModel& model) {
  const auto value = quantity(model, "latency_ms");
  if (!value) return nullptr;
  Json out = {{"value", *value}, {"statistic", model.statistic}};
  if (model.series) {
    const TimingSeries& series = *model.series;
    out["p50"] = series.p50_ms;
    out["min"] = series.min_ms;
    out["p10"] = series.p10_ms;
    out["p90"] = series.p90_ms;
    out["first"] = or_null(quantity(model, "first_latency_ms"));
    out["runs"] = series.runs;
    out["spread"] = series.spread;
    out["half_width"] = or_null(series.half_width);
    if (!series.reason.empty()) out["noise"] = series.reason;
  }
  if (model.series || !model.rejected.empty()) out["stationary"] = model.stationary;
  if (model.series || !model.rejected.empty()) out["rejected"] = text_or_null(model.rejected);
  return out;
}

Json operators_json(const MeasuredModel& model) {
  Json out = Json::array();
  // A runtime that measures time counts no MACs; a compiler's 0 is one.
  const bool counts = model.operator_unit != "ns";
  for (const MeasuredOperator& op : model.operators)
    out.push_back(
        {{"index", op.index},
         {"kind", op.kind},
         {model.operator_unit.empty() ? "cost" : model.operator_unit, number_json("", op.cost)},
         {"macs", counts || op.macs > 0 ? Json(op.macs) : Json()},
         {"placement", op.placement},
         {"placement_reason", text_or_null(op.placement_reason)}});
  return out;
}

Json model_json(const MeasuredModel& model) {
  Json out = {{"model", model.model},
              {"device", model.device},
              {"variant", text_or_null(model.variant)},
              {"runtime", model.runtime},
              {"runtime_version", model.runtime_version},
              {"host_fingerprint", text_or_null(model.host_fingerprint)},
              {"per", "inference"}};
  out["latency_ms"] = latency_json(model);
  for (const auto& [name, value] : model.quantities)
    if (name == kEnergy)
      out[name] = {{"value", value},
                   {"source", energy_source(model)},
                   {"table", text_or_null(model.energy_table)}};
    else if (name != "latency_ms")
      out[name] = number_json(name, value);
  Json missing = Json::object();
  for (const auto& [name, reason] : model.missing) {
    if (!out.contains(name)) out[name] = nullptr;
    missing[name] = reason;
  }
  out["missing"] = std::move(missing);
  out["cpu_operators"] = model.cpu_operators;
  out["samples_ms"] = model.samples_ms;
  out["operators"] = operators_json(model);
  out["protocol"] = texts_json(model.protocol);
  out["environment"] = texts_json(model.environment);
  out["stored_as"] = or_null(model.stored_as);
  out["error"] = nullptr;
  return out;
}

}  // namespace

std::string measure_text(const Answers<MeasuredModel>& answers) {
  std::string text;
  for (const auto& answer : answers)
    text += answer.result ? model_text(*answer.result)
                          : fmt::format("{}: {}\n", answer.subject, answer.result.error().message);
  return text;
}

std::string measure_json(const Answers<MeasuredModel>& answers) {
  Json rows = Json::array();
  for (const auto& answer : answers) {
    if (answer.result) {
      rows.push_back(model_json(*answer.result));
    } else {
      rows.push_back({{"model", answer.subject},
                      {"device", answer.device},
                      {"latency_ms", nullptr},
                      {"error", error_json(answer.result.error())}});
    }
  }
  return to_text({{"schema_version", kSchemaVersion}, {"measurements", rows}}, 2) + '\n';
}

}  // namespace edgesage::report
