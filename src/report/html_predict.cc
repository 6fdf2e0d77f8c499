// The page of a prediction.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/report/html.h"
#include "src/report/html_arena.h"
#include "src/report/html_graph.h"
#include "src/report/predict.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string percent(double level) { return fmt::format("{:.0f} %", 100 * level); }

std::string interval_label(std::string_view what, const Interval& interval, std::string_view lo,
                           std::string_view hi) {
  return fmt::format("{}: {} to {} with {}", what, lo, hi, percent(interval.level));
}

// The interval on a line from nothing to somewhat beyond its end.
std::string interval_picture(const Interval& interval) {
  const double end = interval.hi * 1.15;
  if (!(end > 0)) return "";
  const auto x = [&](double value) { return 10 + 580 * value / end; };
  return fmt::format(
      "<svg class=\"interval\" viewBox=\"0 0 600 46\" role=\"img\" aria-label=\"interval of the "
      "latency\"><path class=\"axis\" d=\"M10 22H590\"/><rect class=\"band\" x=\"{:.1f}\" y=\"10\" "
      "width=\"{:.1f}\" height=\"24\"/><path class=\"at\" d=\"M{:.1f} 8V36\"/><text x=\"10\" "
      "y=\"44\">0</text><text x=\"{:.1f}\" y=\"44\" text-anchor=\"middle\">{} ms</text></svg>",
      x(interval.lo), x(interval.hi) - x(interval.lo), x(interval.value), x(interval.value),
      decimal(interval.value));
}

std::string cards(const Prediction& prediction) {
  std::string text = "<div class=\"cards\">";
  if (const auto& latency = prediction.latency_ms)
    card(text, decimal(latency->value) + " ms",
         interval_label("latency, " + prediction.latency_statistic, *latency, decimal(latency->lo),
                        decimal(latency->hi)));
  if (const auto& energy = prediction.energy_mj)
    card(text, decimal(energy->value) + " mJ",
         interval_label(
             prediction.energy_table.empty()
                 ? "energy"
                 : fmt::format("energy, modelled, costs '{}'", shown(prediction.energy_table, 60)),
             *energy, decimal(energy->lo), decimal(energy->hi)));
  const auto bytes = [](double value) { return human_bytes(static_cast<int64_t>(value)); };
  if (const auto& peak = prediction.peak_ram_bytes)
    card(text, bytes(peak->value),
         interval_label("peak memory", *peak, bytes(peak->lo), bytes(peak->hi)));
  card(text, human_bytes(prediction.weights_bytes), "weights");
  if (prediction.flash_bytes) card(text, human_bytes(*prediction.flash_bytes), "flash");
  card(text, human_count(static_cast<double>(prediction.macs)), "multiply-accumulates");
  card(text, prediction.in_range ? "yes" : "no", "in the predictor's range");
  return text + "</div>";
}

std::string notes(const Prediction& prediction) {
  std::string text;
  const auto note = [&](std::string_view words) {
    text += fmt::format("<p class=\"note\">{}</p>", escaped(shown(words, 300)));
  };
  for (const std::string& reason : prediction.reasons) note("Not in range: " + reason);
  for (const std::string& warning : prediction.warnings) note("Warning: " + warning);
  for (const auto& [name, reason] : prediction.missing) note(name + " is not known: " + reason);
  return text;
}

std::string operators_table(const Prediction& prediction) {
  std::string text =
      "<h2>Operators</h2><div class=\"wide\"><table class=\"priced\"><tr><th "
      "class=\"n\">#</th><th>operator</th><th class=\"n\">ms</th><th class=\"n\">share</th>"
      "<th></th><th class=\"n\">MACs</th><th>runs on</th><th>name</th></tr>";
  const double total = prediction.latency_ms ? prediction.latency_ms->value : 0;
  const auto row = [&](std::string_view index, std::string_view kind, std::optional<double> ms,
                       std::string_view macs, std::string_view place, std::string_view name) {
    const double share = ms && total > 0 ? 100 * *ms / total : 0;
    text += fmt::format(
        "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td><span class=\"bar\" style=\"width:{:.2f}rem;background:var(--peak)\"></span></td>"
        "<td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
        index, escaped(kind), ms ? fmt::format("{:.4f}", *ms) : "-",
        ms ? fmt::format("{:.1f} %", share) : "", share * 0.1, macs, escaped(place), escaped(name));
  };
  for (const OperatorPrediction& op : prediction.operators) {
    std::string place = op.placement;
    if (!op.placement_reason.empty()) place += ": " + shown(op.placement_reason, 80);
    if (!op.known) place += place.empty() ? "not seen in training" : "; not seen in training";
    row(std::to_string(op.index), op.kind, op.latency_ms, op.macs == 0 ? "" : grouped(op.macs),
        place, shown(op.name, 60));
  }
  if (prediction.latency_ms) {
    row("", "overhead", prediction.overhead_ms, "", "", "");
    row("", "total", total, grouped(prediction.macs), "", "");
  }
  return text + "</table></div>";
}

std::string memory_section(const Prediction& prediction, size_t number) {
  if (!prediction.inspection) return "";
  const InspectedMemory& memory = prediction.inspection->memory;
  std::string text;
  // The device's own runtime where its planner is known; else LiteRT's, as in `inspect`.
  if (prediction.runtime != "tflm" && !memory.litert_arena.runtime.empty())
    text += arena_section(memory.litert_arena, *prediction.inspection,
                          fmt::format("litert-{}", number));
  if (memory.tflm_arena.size.total_bytes && !memory.tflm_arena.entries.empty())
    text +=
        arena_section(memory.tflm_arena, *prediction.inspection, fmt::format("tflm-{}", number));
  return text.empty() ? "" : "<h2>Memory over time</h2>" + text;
}

std::string section(const Prediction& prediction, size_t number) {
  std::string text = fmt::format("<h1>{}</h1><p class=\"sub\">on {}: {} {}, {}; predictor {}</p>",
                                 escaped(shown(prediction.model, 120)), escaped(prediction.device),
                                 escaped(prediction.runtime), escaped(prediction.runtime_version),
                                 escaped(prediction.dtype), escaped(prediction.predictor_id));
  text += cards(prediction);
  if (prediction.latency_ms) text += interval_picture(*prediction.latency_ms);
  text += notes(prediction);
  text +=
      "<h2>Graph</h2><p class=\"note\">The darker, the larger the share of the latency; dashed: "
      "no time is known.</p>";
  text += graph_section(prediction) + operators_table(prediction);
  return text + memory_section(prediction, number);
}

}  // namespace

std::string predict_html(const Answers<Prediction>& answers) {
  std::string body;
  size_t number = 0;
  for (const Answer<Prediction>& answer : answers)
    body += answer.result ? section(*answer.result, number++)
                          : fmt::format("<h1>{}</h1><p>{}</p>", escaped(shown(answer.subject, 120)),
                                        escaped(shown(answer.result.error().message, 300)));
  return page(answers.size() == 1 ? shown(answers.front().subject, 80) : "edgesage predict", body,
              std::string(arena_style()) + std::string(graph_style()), arena_script());
}

}  // namespace edgesage::report
