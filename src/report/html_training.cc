// The page of a training: loss by epoch, predicted against true, errors by size and by kind of
// operator, spaces with the coverage of their intervals, worst networks, command and settings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/text.h"
#include "src/report/chart.h"
#include "src/report/html.h"
#include "src/report/learn.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

constexpr size_t kMostPoints = 3000;  // of a scatter plot: a page stays below a few hundred kB
constexpr size_t kWorst = 12;

constexpr std::string_view kStyle =
    "svg text{fill:var(--soft)}.grid{stroke:var(--line)}.dots{stroke-width:3;stroke-linecap:round;"
    "fill:none;stroke-opacity:.45}.known{stroke:#2867b2}.beyond{stroke:#c4392b}"
    ".validation{stroke:#c4392b;fill:none;stroke-width:2}code{overflow-wrap:anywhere}";

std::string number(double value, int digits = 2) { return fmt::format("{:.{}f}", value, digits); }

std::string number(const std::optional<double>& value, int digits = 2) {
  return value ? number(*value, digits) : "";
}

// Cells that begin with '>' are numbers.
std::string row(const std::vector<std::string>& cells, std::string_view tag = "td") {
  std::string text = "<tr>";
  for (const std::string& cell : cells)
    text += cell.starts_with('>')
                ? fmt::format("<{0} class=\"n\">{1}</{0}>", tag, escaped(cell.substr(1)))
                : fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
  return text + "</tr>";
}

std::string table(const std::vector<std::string>& head, const std::string& rows) {
  return "<div class=\"wide\"><table>" + row(head, "th") + rows + "</table></div>";
}

// Mean over the members that have the epoch.
template <class Value>
std::map<int32_t, double> by_epoch(const TrainingReport& report, const Value& value_of) {
  std::map<int32_t, std::pair<double, int>> sums;
  for (const TrainingEpoch& epoch : report.epochs) {
    const std::optional<double> value = value_of(epoch);
    if (!value || !std::isfinite(*value)) continue;
    sums[epoch.epoch].first += *value;
    ++sums[epoch.epoch].second;
  }
  std::map<int32_t, double> means;
  for (const auto& [epoch, sum] : sums) means[epoch] = sum.first / sum.second;
  return means;
}

std::string line(const std::map<int32_t, double>& points, const ChartScale& x, const ChartScale& y,
                 std::string_view name) {
  std::string path;
  for (const auto& [epoch, value] : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x.x(epoch),
                        y.y(std::log10(value)));
  return fmt::format("<path class=\"{}\" d=\"{}\"/>", name, path);
}

// Both curves, logarithmic upwards.
std::string epochs_chart(const std::string& title, std::map<int32_t, double> train,
                         std::map<int32_t, double> validation) {
  double low = 1e300, high = -1e300;
  int32_t last = 1;
  for (auto* points : {&train, &validation}) {
    std::erase_if(*points, [](const auto& point) { return !(point.second > 0); });
    for (const auto& [epoch, value] : *points) {
      low = std::min(low, std::log10(value));
      high = std::max(high, std::log10(value));
      last = std::max(last, epoch);
    }
  }
  if (low > high) return "";
  const ChartScale x{0, 1.05 * last}, y = scale_around(low, high);
  const std::string body = chart_ticks_x(x, linear_ticks(x.low, x.high, 6, 1)) +
                           chart_ticks_y(y, logarithmic_ticks(y.low, y.high));
  return chart(title, title + ", by epoch",
               body + line(train, x, y, "line") + line(validation, x, y, "validation"));
}

std::string epochs_section(const TrainingReport& report) {
  if (report.epochs.empty()) return "";
  std::string text =
      "<h2>Epochs</h2><p class=\"note\">Blue: the networks trained on, with the weights of each "
      "step; red: networks that were not, with the averaged weights. Means over the members of "
      "the ensemble.</p>";
  text += epochs_chart(
      "loss", by_epoch(report, [](const TrainingEpoch& e) { return std::optional(e.loss); }),
      by_epoch(report, [](const TrainingEpoch& e) { return std::optional(e.validation_loss); }));
  for (size_t q = 0; q < report.quantities.size(); ++q) {
    const auto of = [q](const std::vector<std::optional<double>>& errors) {
      return q < errors.size() ? errors[q] : std::nullopt;
    };
    text += epochs_chart(
        "error of " + report.quantities[q].name + " in %",
        by_epoch(report, [&](const TrainingEpoch& e) { return of(e.train_error); }),
        by_epoch(report, [&](const TrainingEpoch& e) { return of(e.validation_error); }));
  }
  const TrainingEpoch& last = report.epochs.back();
  return text + fmt::format("<p>Last epoch of the last member: loss {}, validation {}.</p>",
                            chart_figure(last.loss), chart_figure(last.validation_loss));
}

std::string dots(const TrainedQuantity& quantity, bool in_range, const ChartScale& scale) {
  const size_t step = quantity.networks.size() / kMostPoints + 1;
  std::string path;
  for (size_t i = 0; i < quantity.networks.size(); i += step) {
    const PredictedNetwork& network = quantity.networks[i];
    if (network.in_range == in_range)
      path += fmt::format("M{:.1f} {:.1f}h0", scale.x(std::log10(network.truth)),
                          scale.y(std::log10(network.predicted)));
  }
  return path.empty() ? ""
                      : fmt::format("<path class=\"dots {}\" d=\"{}\"/>",
                                    in_range ? "known" : "beyond", path);
}

std::string scatter(const TrainedQuantity& quantity) {
  double low = 1e300, high = -1e300;
  for (const PredictedNetwork& network : quantity.networks) {
    for (const double value : {network.truth, network.predicted}) {
      low = std::min(low, std::log10(value));
      high = std::max(high, std::log10(value));
    }
  }
  const ChartScale scale = scale_around(low, high);
  return chart(
      quantity.name + ", predicted against true", "true (predicted upwards)",
      chart_logarithmic_square(scale) + dots(quantity, true, scale) + dots(quantity, false, scale));
}

std::string bars(const std::vector<ErrorGroup>& groups, const std::string& title) {
  double high = 0;
  for (const ErrorGroup& group : groups) high = std::max(high, group.mape);
  if (!(high > 0)) return "";
  const auto count = static_cast<double>(groups.size());
  const ChartScale x{0, count}, y{0, 1.1 * high};
  std::string body = chart_ticks_y(y, linear_ticks(y.low, y.high));
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto at = static_cast<double>(i);
    body += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{}: {:.2f} %</title></rect>",
        x.x(at) + 2, y.y(groups[i].mape), x.x(at + 1) - x.x(at) - 4, y.y(0) - y.y(groups[i].mape),
        escaped(groups[i].name), groups[i].mape);
  }
  return chart(title, title, body);
}

std::string groups_table(const std::vector<ErrorGroup>& groups, const std::string& what) {
  const bool operators = std::ranges::any_of(
      groups, [](const ErrorGroup& group) { return group.operator_error.has_value(); });
  std::vector<std::string> head{what, ">networks", ">MAPE %", ">median %"};
  if (operators) head.insert(head.end(), {">operators", ">share of all cost %", ">their error %"});
  std::string rows;
  for (const ErrorGroup& group : groups) {
    std::vector<std::string> cells{group.name, '>' + grouped(group.networks),
                                   '>' + number(group.mape), '>' + number(group.median_ape)};
    if (operators)
      cells.insert(cells.end(), {'>' + grouped(group.operators), '>' + number(group.cost_share),
                                 '>' + number(group.operator_error)});
    rows += row(cells);
  }
  return table(head, rows);
}

std::string spaces_table(const TrainingReport& report, const std::string& quantity) {
  std::string rows;
  for (const AccuracyRow& space : report.spaces)
    if (space.quantity == quantity)
      rows += row({space.space, '>' + grouped(space.n_test), '>' + number(space.mape),
                   '>' + number(space.median_ape), '>' + number(space.p95_ape),
                   '>' + number(space.within_10, 1), '>' + number(space.coverage_90, 1),
                   '>' + number(space.half_width_90, 1), '>' + number(space.flagged, 1)});
  return table({"space", ">networks", ">MAPE %", ">median %", ">p95 %", ">within 10 %",
                ">in the 90 % interval", ">its half width %", ">flagged %"},
               rows);
}

std::string worst_table(const TrainedQuantity& quantity) {
  std::string rows;
  for (size_t i = 0; i < std::min(kWorst, quantity.networks.size()); ++i) {
    const PredictedNetwork& network = quantity.networks[i];
    rows +=
        row({network.name, '>' + chart_figure(network.truth), '>' + chart_figure(network.predicted),
             fmt::format(">{:+.1f} %", 100 * (network.predicted / network.truth - 1)),
             network.truth >= network.lo && network.truth <= network.hi ? "yes" : "no",
             network.in_range ? "no" : "yes"});
  }
  return table({"network", ">true", ">predicted", ">error", "in its interval", "flagged"}, rows);
}

std::string quantity_section(const TrainingReport& report, const TrainedQuantity& quantity) {
  std::string text = fmt::format("<h2>{}</h2>", escaped(quantity.name));
  if (quantity.networks.empty()) return text + "<p>No network was held out.</p>";
  if (quantity.networks.size() > kMostPoints)
    text += fmt::format("<p class=\"note\">Every {}th of {} networks is drawn.</p>",
                        quantity.networks.size() / kMostPoints + 1,
                        grouped(static_cast<int64_t>(quantity.networks.size())));
  text += scatter(quantity);
  text += bars(quantity.sizes, "MAPE in % by number of operators, ascending");
  text += bars(quantity.kinds, "MAPE in % of networks that hold a kind");
  text += "<h3>Spaces</h3>" + spaces_table(report, quantity.name);
  text += "<h3>Number of operators</h3>" + groups_table(quantity.sizes, "operators");
  text += "<h3>Kinds of operators</h3>" + groups_table(quantity.kinds, "networks with");
  return text + "<h3>Largest errors</h3>" + worst_table(quantity);
}

std::string settings_section(const TrainingReport& report) {
  std::string text = "<h2>How it was made</h2>";
  if (!report.command.empty())
    text += fmt::format("<p><code>{}</code></p>", escaped(report.command));
  std::string rows;
  for (const auto& [name, value] : report.settings) rows += row({name, value});
  return text + table({"setting", "value"}, rows);
}

}  // namespace

std::string training_html(const TrainedPredictor& trained) {
  if (!trained.report) return "";
  const TrainingReport& report = *trained.report;
  std::string body = fmt::format(
      "<h1>{}: learnt from labels</h1><p class=\"sub\">Predictor {}, held-out "
      "networks of the split; red points are outside its range.</p>",
      escaped(trained.device), escaped(trained.id));
  body += "<div class=\"cards\">";
  card(body, grouped(trained.networks), "networks with labels");
  for (const AccuracyRow& row : report.spaces)
    if (row.space == "all") card(body, number(row.mape) + " %", row.quantity + ", MAPE");
  card(body, human_bytes(trained.file_bytes), "predictor file");
  body += "</div>" + epochs_section(report);
  for (const TrainedQuantity& quantity : report.quantities)
    body += quantity_section(report, quantity);
  body += settings_section(report);
  return page(trained.device + ": training", body, std::string(kChartStyle) + std::string(kStyle),
              "");
}

}  // namespace edgesage::report
