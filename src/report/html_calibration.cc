// The page of a calibration: held-out answers against measurements, residuals, learning curve,
// intervals, protocol, worst cases, what to measure next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/report/calibration.h"
#include "src/report/chart.h"
#include "src/report/html.h"

namespace edgesage::report {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1c2330;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.2rem .7rem;text-align:left;"
    "border-bottom:1px solid #dde2ea}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".note{color:#5b6577}";

// Held-out answer against measurement, both logarithmic, with the diagonal.
std::string scatter(const CalibratedQuantity& quantity) {
  double low = 1e300, high = -1e300;
  for (const CalibratedNetwork& network : quantity.networks) {
    for (const double value : {network.measured, network.held_out}) {
      low = std::min(low, std::log10(value));
      high = std::max(high, std::log10(value));
    }
  }
  const ChartScale scale = scale_around(low, high);
  std::string body = chart_logarithmic_square(scale);
  for (const CalibratedNetwork& network : quantity.networks)
    body += fmt::format(
        "<circle class=\"{}\" r=\"4\" cx=\"{:.1f}\" cy=\"{:.1f}\"><title>{}: "
        "measured {}, held out {}</title></circle>",
        network.inside_90 ? "in" : "out", scale.x(std::log10(network.measured)),
        scale.y(std::log10(network.held_out)), escaped(network.name),
        chart_figure(network.measured), chart_figure(network.held_out));
  return chart("held-out answer against measurement", "measured (held-out answer upwards)", body);
}

// Histogram of relative errors of held-out networks.
std::string residuals(const CalibratedQuantity& quantity) {
  constexpr int kBins = 20;
  constexpr double kMost = 50;  // per cent; what is beyond goes into the outer bins
  std::vector<int> counts(kBins, 0);
  for (const CalibratedNetwork& network : quantity.networks) {
    const double error =
        std::clamp(100 * (network.held_out / network.measured - 1), -kMost, kMost - 1e-9);
    ++counts[static_cast<size_t>((error + kMost) / (2 * kMost) * kBins)];
  }
  const ChartScale x{-kMost, kMost};
  const ChartScale y{0, 1.05 * std::max(1, *std::max_element(counts.begin(), counts.end()))};
  std::vector<ChartTick> ticks;
  for (const double at : {-50, -25, 0, 25, 50}) ticks.push_back({at, fmt::format("{:+.0f} %", at)});
  std::string body = chart_ticks_x(x, ticks) + chart_ticks_y(y, linear_ticks(y.low, y.high, 6, 1));
  for (int i = 0; i < kBins; ++i) {
    const double left = -kMost + 2 * kMost * i / kBins;
    const int count = counts[static_cast<size_t>(i)];
    body += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}</title></rect>",
        x.x(left), y.y(count), x.x(left + 2 * kMost / kBins) - x.x(left) - 1, y.y(0) - y.y(count),
        count);
  }
  return chart("errors of held-out networks", "error of the held-out answer", body);
}

std::string curve(const CalibratedQuantity& quantity) {
  double high = 0;
  for (const CalibrationCurvePoint& point : quantity.curve) high = std::max(high, point.median_ape);
  const double last = static_cast<double>(quantity.curve.back().labels + quantity.more);
  const ChartScale x{0, last * 1.05}, y{0, std::max(1.0, high * 1.1)};
  std::string body = chart_ticks_x(x, linear_ticks(x.low, x.high, 6, 1)) +
                     chart_ticks_y(y, linear_ticks(y.low, y.high));
  std::string path;
  for (const CalibrationCurvePoint& point : quantity.curve) {
    const auto labels = static_cast<double>(point.labels);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.x(labels),
                        y.y(point.median_ape));
    body += fmt::format("<circle class=\"in\" r=\"4\" cx=\"{:.1f}\" cy=\"{:.1f}\"/>", x.x(labels),
                        y.y(point.median_ape));
  }
  body += fmt::format("<path class=\"line\" d=\"{}\"/>", path);
  body += fmt::format(
      "<circle class=\"out\" r=\"4\" cx=\"{:.1f}\" cy=\"{:.1f}\"><title>{} more: "
      "{:.1f} % expected</title></circle>",
      x.x(last), y.y(quantity.median_ape_after), quantity.more, quantity.median_ape_after);
  return chart("learning curve", "labels (median error in % upwards)", body);
}

std::string intervals_table(const CalibratedQuantity& quantity) {
  std::string rows;
  for (size_t i = 0; i < quantity.levels.size(); ++i)
    rows += fmt::format(
        "<tr><td class=\"n\">{:.0f} %</td><td class=\"n\">{}</td><td class=\"n\">{:.0f} "
        "%</td></tr>",
        quantity.levels[i],
        quantity.half_width[i] ? fmt::format("+-{:.1f} %", *quantity.half_width[i])
                               : "too few labels",
        quantity.coverage[i]);
  return "<table><tr><th class=\"n\">interval</th><th class=\"n\">half width</th><th "
         "class=\"n\">covered, each network left out</th></tr>" +
         rows + "</table>";
}

std::string worst_table(const CalibratedQuantity& quantity) {
  std::string rows;
  for (size_t i = 0; i < std::min<size_t>(10, quantity.networks.size()); ++i) {
    const CalibratedNetwork& network = quantity.networks[i];
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{:+.0f} %</td></tr>",
        escaped(network.name), chart_figure(network.measured), chart_figure(network.held_out),
        100 * (network.held_out / network.measured - 1));
  }
  return "<table><tr><th>network</th><th class=\"n\">measured</th><th class=\"n\">held out</th><th "
         "class=\"n\">error</th></tr>" +
         rows + "</table>";
}

std::string quantity_section(const CalibratedQuantity& quantity) {
  std::string text = fmt::format(
      "<h2>{}</h2><p>{} labels. Held out by cross-validation: median error {:.1f} %, mean {:.1f} "
      "%, "
      "95th percentile {:.1f} %, within 10 %: {:.0f} %.</p>",
      escaped(quantity.name), quantity.labels, quantity.median_ape, quantity.mape, quantity.p95_ape,
      quantity.within_10);
  text += scatter(quantity) + residuals(quantity);
  if (!quantity.curve.empty()) {
    text += curve(quantity);
    text += fmt::format("<p>{} more labels would make the median error about {:.1f} %: {}.</p>",
                        quantity.more, quantity.median_ape_after,
                        quantity.enough ? "enough is measured" : "worth measuring");
  }
  text += intervals_table(quantity);
  if (quantity.taught_difference)
    text += fmt::format(
        "<p class=\"note\">The network that ships differs from the process that "
        "taught it by {:.1f} % in the median.</p>",
        *quantity.taught_difference);
  return text + "<h3>Largest errors</h3>" + worst_table(quantity);
}

std::string protocol_section(const Calibration& calibration) {
  std::string rows;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty())
      rows += fmt::format("<tr><td>{}</td><td>{}</td></tr>", escaped(name), escaped(value));
  };
  add("runtime", calibration.runtime + " " + calibration.runtime_version);
  add("lowered for", calibration.target);
  add("statistic", calibration.statistic);
  add("host", calibration.host_fingerprint);
  for (const auto& [name, value] : calibration.protocol) add(name, value);
  std::string text = "<h2>Protocol</h2><table>" + rows + "</table>";
  if (calibration.fitness) {
    text += "<h3>The computer when it was measured</h3><table>";
    for (const FitnessFinding& finding : calibration.fitness->findings)
      text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                          escaped(finding.check), to_string(finding.level), escaped(finding.found),
                          escaped(finding.reason));
    text += "</table>";
  }
  if (!calibration.refused.empty()) {
    text += fmt::format("<h3>{} networks refused</h3><table>", calibration.refused.size());
    for (const RefusedNetwork& network : calibration.refused)
      text += fmt::format("<tr><td>{}</td><td>{}</td></tr>", escaped(network.name),
                          escaped(network.reason));
    text += "</table>";
  }
  return text;
}

}  // namespace

std::string calibration_html(const Calibration& calibration) {
  std::string text = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}: "
      "calibration</title><style>{1}{6}</style></head><body><h1>{0}: learnt from "
      "measurements</h1><p>Predictor {2}; {3} networks to choose from, of {4}. The prior is a "
      "family of virtual devices, closed formulas without any measured number; {5}</p>",
      escaped(calibration.device), kStyle,
      calibration.predictor_id.empty() ? "not made" : calibration.predictor_id, calibration.pool,
      escaped(join(calibration.spaces, ", ")),
      calibration.warm_start.empty()
          ? "no other device's labels were used."
          : "warm start with labels of " + escaped(join(calibration.warm_start, ", ")) + ".",
      kChartStyle);
  for (const CalibratedQuantity& quantity : calibration.quantities)
    text += quantity_section(quantity);
  if (!calibration.next.empty()) {
    text += "<h2>Measure next</h2><ol>";
    for (const std::string& name : calibration.next)
      text += fmt::format("<li>{}</li>", escaped(name));
    text += "</ol>";
  }
  return text + protocol_section(calibration) + "</body></html>\n";
}

}  // namespace edgesage::report
