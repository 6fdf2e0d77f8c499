#include "src/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/csv.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string_view match_name(Match match) {
  constexpr std::array<std::string_view, 4> kNames = {"same", "changed", "only in A", "only in B"};
  return kNames[static_cast<size_t>(match)];
}

std::string change(double difference) {
  if (difference == 0) return "0";
  return fmt::format("{}{}", difference > 0 ? "+" : "-", decimal(std::abs(difference)));
}

std::string relative(double a, double b) {
  return a > 0 ? fmt::format("{:+.1f} %", 100 * (b - a) / a) : "";
}

// A figure of both sides.
struct Figure {
  std::string name;
  std::optional<double> a, b;
  bool is_count = false;
  std::string note;
};

Figure of_intervals(std::string name, const std::optional<Interval>& a,
                    const std::optional<Interval>& b, bool is_count) {
  Figure figure{.name = std::move(name), .a = {}, .b = {}, .is_count = is_count, .note = ""};
  if (a) figure.a = a->value;
  if (b) figure.b = b->value;
  if (a && b && a->value != b->value && a->lo <= b->hi && b->lo <= a->hi)
    figure.note = fmt::format("within their {:.0f} % intervals", 100 * a->level);
  return figure;
}

// What energies were modelled with; empty where neither was.
std::string energy_tables(const Prediction& a, const Prediction& b) {
  const auto named = [](const Prediction& side) {
    return side.energy_table.empty() ? "not modelled"
                                     : "costs '" + shown(side.energy_table, 60) + "'";
  };
  if (a.energy_table.empty() && b.energy_table.empty()) return "";
  if (a.energy_table == b.energy_table && a.energy_table_hash == b.energy_table_hash)
    return "modelled, " + named(a);
  if (a.energy_table == b.energy_table) return "modelled with two tables named " + named(a);
  return fmt::format("A: {}; B: {}", named(a), named(b));
}

Figure energy_figure(const Prediction& a, const Prediction& b) {
  Figure figure = of_intervals("energy_mj", a.energy_mj, b.energy_mj, false);
  const std::string tables = energy_tables(a, b);
  if (!figure.note.empty() && !tables.empty()) figure.note += "; ";
  figure.note += tables;
  return figure;
}

std::vector<Figure> figures(const Comparison& comparison) {
  const Prediction &a = comparison.a, &b = comparison.b;
  std::vector<Figure> out = {
      of_intervals("latency_ms", a.latency_ms, b.latency_ms, false), energy_figure(a, b),
      of_intervals("peak_ram_bytes", a.peak_ram_bytes, b.peak_ram_bytes, true)};
  const auto count = [&](const char* name, int64_t one, int64_t other) {
    out.push_back({name, static_cast<double>(one), static_cast<double>(other), true, ""});
  };
  count("activations_bytes", a.activations_bytes, b.activations_bytes);
  count("weights_bytes", a.weights_bytes, b.weights_bytes);
  count("macs", a.macs, b.macs);
  count("operators", std::ssize(a.operators), std::ssize(b.operators));
  return out;
}

std::string amount(const Figure& figure, std::optional<double> value) {
  if (!value) return "-";
  return figure.is_count ? grouped(std::llround(*value)) : decimal(*value);
}

TextTable figures_table(const Comparison& comparison) {
  TextTable table({"", ">A", ">B", ">B - A", ">", ""});
  for (const Figure& figure : figures(comparison)) {
    if (!figure.a && !figure.b) continue;
    const bool both = figure.a && figure.b;
    const double difference = both ? *figure.b - *figure.a : 0;
    const std::string shown_difference =
        figure.is_count
            ? fmt::format("{}{}", difference > 0 ? "+" : "", grouped(std::llround(difference)))
            : change(difference);
    table.add({figure.name, amount(figure, figure.a), amount(figure, figure.b),
               both ? shown_difference : "", both ? relative(*figure.a, *figure.b) : "",
               figure.note});
  }
  return table;
}

std::string what_changed(const OperatorPair& pair) {
  if (pair.match == Match::kOnlyA || pair.match == Match::kOnlyB)
    return fmt::format("{}: {}", match_name(pair.match), pair.a < 0 ? pair.b_shape : pair.a_shape);
  std::string text;
  if (pair.a_placement != pair.b_placement)
    text = fmt::format("{} -> {}", pair.a_placement, pair.b_placement);
  if (pair.match != Match::kChanged) return text;
  return fmt::format("{}{}{}", text, text.empty() ? "" : "; ",
                     pair.a_shape == pair.b_shape
                         ? fmt::format("{}, other weights or types", pair.a_shape)
                         : fmt::format("{} | {}", pair.a_shape, pair.b_shape));
}

std::string cost(const std::optional<double>& ms) { return ms ? fmt::format("{:.4f}", *ms) : "-"; }

std::string signed_cost(double ms) { return fmt::format("{:+.4f}", ms); }

TextTable operators_table(const Comparison& comparison, size_t top) {
  std::vector<OperatorPair> pairs = comparison.operators;
  std::ranges::stable_sort(pairs, std::greater{},
                           [](const OperatorPair& pair) { return std::abs(pair.difference_ms()); });
  TextTable table({">#A", ">#B", "operator", ">A ms", ">B ms", ">B - A", "what"}, 90);
  double others = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const OperatorPair& pair = pairs[i];
    if (i >= top) {
      others += pair.difference_ms();
      continue;
    }
    table.add({pair.a < 0 ? "-" : std::to_string(pair.a), pair.b < 0 ? "-" : std::to_string(pair.b),
               pair.kind, cost(pair.a_ms), cost(pair.b_ms), signed_cost(pair.difference_ms()),
               what_changed(pair)});
  }
  if (pairs.size() > top)
    table.add({"", "", fmt::format("{} others", pairs.size() - top), "", "", signed_cost(others)});
  table.add({"", "", "overhead", cost(comparison.a.overhead_ms), cost(comparison.b.overhead_ms),
             signed_cost(comparison.overhead_difference_ms())});
  if (comparison.a.latency_ms && comparison.b.latency_ms)
    table.add({"", "", "total", cost(comparison.a.latency_ms->value),
               cost(comparison.b.latency_ms->value),
               signed_cost(comparison.b.latency_ms->value - comparison.a.latency_ms->value)});
  return table;
}

TextTable kinds_table(const Comparison& comparison) {
  TextTable table({"kind", ">in A", ">in B", ">A ms", ">B ms", ">B - A"});
  for (const KindDifference& kind : comparison.kinds)
    table.add({kind.kind, std::to_string(kind.a_count), std::to_string(kind.b_count),
               cost(kind.a_ms), cost(kind.b_ms), signed_cost(kind.b_ms - kind.a_ms)});
  return table;
}

std::string side(const Prediction& prediction) {
  return fmt::format("{} on {} (predictor {}{})", shown(prediction.model, 200), prediction.device,
                     prediction.predictor_id,
                     prediction.in_range ? "" : "; outside its range, less sure");
}

Json side_json(const Prediction& prediction) {
  const auto value = [](const std::optional<Interval>& interval) {
    return interval ? Json(interval->value) : Json(nullptr);
  };
  return {{"model", prediction.model},
          {"device", prediction.device},
          {"predictor_id", prediction.predictor_id},
          {"in_range", prediction.in_range},
          {"latency_ms", value(prediction.latency_ms)},
          {"energy_mj", value(prediction.energy_mj)},
          {"energy_table", text_or_null(prediction.energy_table)},
          {"peak_ram_bytes", value(prediction.peak_ram_bytes)},
          {"activations_bytes", prediction.activations_bytes},
          {"weights_bytes", prediction.weights_bytes},
          {"macs", prediction.macs},
          {"overhead_ms", prediction.overhead_ms},
          {"operators", prediction.operators.size()}};
}

Json operand(int32_t index, const std::optional<double>& ms, const std::string& shape,
             const std::string& placement, int64_t macs) {
  if (index < 0) return nullptr;
  return {{"index", index},
          {"latency_ms", or_null(ms)},
          {"shape", shape},
          {"placement", text_or_null(placement)},
          {"macs", macs}};
}

}  // namespace

std::string compare_text(const Comparison& comparison, size_t top) {
  return fmt::format("A: {}\nB: {}\n{}\n{}\n{}", side(comparison.a), side(comparison.b),
                     figures_table(comparison).render("  "),
                     operators_table(comparison, top).render("  "),
                     kinds_table(comparison).render("  "));
}

std::string compare_markdown(const Comparison& comparison, size_t top) {
  return fmt::format("- A: {}\n- B: {}\n\n{}\n{}\n{}", markdown_text(side(comparison.a), 300),
                     markdown_text(side(comparison.b), 300), figures_table(comparison).markdown(),
                     operators_table(comparison, top).markdown(),
                     kinds_table(comparison).markdown());
}

std::string compare_json(const Comparison& comparison) {
  Json operators = Json::array(), kinds = Json::array();
  for (const OperatorPair& pair : comparison.operators)
    operators.push_back(
        {{"match", match_name(pair.match)},
         {"kind", pair.kind},
         {"name", pair.name},
         {"a", operand(pair.a, pair.a_ms, pair.a_shape, pair.a_placement, pair.a_macs)},
         {"b", operand(pair.b, pair.b_ms, pair.b_shape, pair.b_placement, pair.b_macs)},
         {"difference_ms", pair.difference_ms()}});
  for (const KindDifference& kind : comparison.kinds)
    kinds.push_back({{"kind", kind.kind},
                     {"a_count", kind.a_count},
                     {"b_count", kind.b_count},
                     {"a_ms", kind.a_ms},
                     {"b_ms", kind.b_ms}});
  Json difference = nullptr;
  if (comparison.a.latency_ms && comparison.b.latency_ms)
    difference = comparison.b.latency_ms->value - comparison.a.latency_ms->value;
  return to_text({{"schema_version", kSchemaVersion},
                  {"a", side_json(comparison.a)},
                  {"b", side_json(comparison.b)},
                  {"difference_ms", difference},
                  {"overhead_difference_ms", comparison.overhead_difference_ms()},
                  {"operators", operators},
                  {"kinds", kinds}},
                 2) +
         '\n';
}

std::string compare_csv(const Comparison& comparison) {
  std::string text =
      "match,kind,name,a_index,b_index,a_shape,b_shape,a_ms,b_ms,difference_ms,a_macs,b_macs,"
      "a_placement,b_placement\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : "";
  };
  for (const OperatorPair& pair : comparison.operators)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", match_name(pair.match),
                        csv_cell(pair.kind), csv_cell(pair.name),
                        pair.a < 0 ? "" : std::to_string(pair.a),
                        pair.b < 0 ? "" : std::to_string(pair.b), pair.a_shape, pair.b_shape,
                        number(pair.a_ms), number(pair.b_ms), pair.difference_ms(), pair.a_macs,
                        pair.b_macs, pair.a_placement, pair.b_placement);
  return text;
}

}  // namespace edgesage::report
