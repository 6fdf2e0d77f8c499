// The page of a search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/report/html.h"
#include "src/report/search.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:66rem;margin:2rem auto;padding:0 1rem;"
    "color:#1c2330;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
    "table{border-collapse:collapse;margin:.6rem 0}td,th{padding:.2rem .7rem;text-align:left;"
    "border-bottom:1px solid #dde2ea}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    "svg{margin:.3rem .6rem .3rem 0;max-width:100%}svg text{font:11px system-ui,sans-serif;"
    "fill:#4a5568}.axis{stroke:#8a94a6;fill:none}.grid{stroke:#e7ebf1}.p{fill:#2867b2;"
    "fill-opacity:.75}.m{fill:#c4392b}.o{fill:#1c2330}.line{stroke:#2867b2;fill:none;"
    "stroke-width:1.5}.step{fill:#c4392b}.link{stroke:#c4392b;stroke-opacity:.5}.stairs{display:"
    "flex;flex-wrap:wrap}";

struct Box {
  double width = 640, height = 380, left = 60, bottom = 40;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;

  [[nodiscard]] double x(double value) const {
    return left + (value - x_low) / (x_high - x_low) * (width - left - 12);
  }
  [[nodiscard]] double y(double value) const {
    return height - bottom - (value - y_low) / (y_high - y_low) * (height - bottom - 12);
  }
  void widen() {
    const double dx = std::max(1e-12, 0.04 * (x_high - x_low));
    const double dy = std::max(1e-12, 0.04 * (y_high - y_low));
    x_low -= dx;
    x_high += dx;
    y_low -= dy;
    y_high += dy;
  }
};

// A step of 1, 2 or 5 times a power of ten that divides the range into about `count`.
double tick_step(double range, int count) {
  const double raw = range / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw) return factor * power;
  return 10 * power;
}

std::string axes(const Box& box, std::string_view x_label, std::string_view y_label, int ticks) {
  const double floor = box.height - box.bottom;
  std::string out;
  const double dx = tick_step(box.x_high - box.x_low, ticks);
  for (double at = std::ceil(box.x_low / dx) * dx; at <= box.x_high; at += dx)
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} 8V{1}\"/><text x=\"{0:.1f}\" y=\"{2}\" "
        "text-anchor=\"middle\">{3:.4g}</text>",
        box.x(at), floor, floor + 14, std::abs(at) < dx * 1e-9 ? 0 : at);
  const double dy = tick_step(box.y_high - box.y_low, ticks);
  for (double at = std::ceil(box.y_low / dy) * dy; at <= box.y_high; at += dy)
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.4g}</text>",
        box.left, box.y(at), box.width - 8, box.left - 4, box.y(at) + 4,
        std::abs(at) < dy * 1e-9 ? 0 : at);
  out += fmt::format(
      "<path class=\"axis\" d=\"M{0} 8V{1}H{2}\"/><text x=\"{3}\" y=\"{4}\" "
      "text-anchor=\"middle\">{5}</text><text x=\"{6}\" y=\"20\">{7}</text>",
      box.left, floor, box.width - 8, (box.left + box.width) / 2, box.height - 6, escaped(x_label),
      box.left + 6, escaped(y_label));
  return out;
}

std::string svg(const Box& box, std::string_view title, std::string_view body) {
  return fmt::format(
      "<svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}</svg>",
      box.width, box.height, escaped(title), body);
}

std::string figures(const SearchCosts& costs) {
  std::string out;
  if (costs.latency_ms) out += fmt::format("latency {} ms", decimal(*costs.latency_ms));
  if (costs.latency_lo_ms)
    out += fmt::format(" ({} to {})", decimal(*costs.latency_lo_ms), decimal(*costs.latency_hi_ms));
  if (costs.energy_mj) out += fmt::format(", energy {} mJ", decimal(*costs.energy_mj));
  if (costs.peak_ram_bytes)
    out += fmt::format(", RAM {}", grouped(static_cast<int64_t>(*costs.peak_ram_bytes)));
  return out + fmt::format(", weights {} bytes, {} MACs", grouped(costs.weights_bytes),
                           grouped(costs.macs));
}

// What hovering shows: quality, costs, and what each gene and layer is.
std::string hover(const SearchReport& report, size_t number, const SearchPoint& point) {
  std::string out = fmt::format("point {}: {}\nquality {}\npredicted: {}", number, point.summary,
                                decimal(point.quality), figures(point.predicted));
  if (point.measured) out += "\nmeasured: " + figures(*point.measured);
  if (!point.file.empty()) out += "\nfile: " + point.file;
  out += "\ngenes:";
  for (size_t g = 0; g < point.values.size() && g < report.genes.size(); ++g)
    if (point.values[g] != report.genes[g].values.back())
      out += fmt::format("\n  {}: {} of {}", report.genes[g].name, point.values[g],
                         report.genes[g].values.back());
  out += "\nlayers:";
  for (const SearchLayer& layer : point.layers)
    out += fmt::format(" {}:{}/{}", layer.op, layer.channels, layer.original_channels);
  return escaped(out);
}

std::string front_chart(const SearchReport& report) {
  Box box;
  box.x_low = 1e300;
  box.x_high = -1e300;
  box.y_low = 1e300;
  box.y_high = -1e300;
  const auto stretch = [&](const SearchPoint& point) {
    for (const auto* costs : {&point.predicted, point.measured ? &*point.measured : nullptr}) {
      if (costs == nullptr || !costs->latency_ms) continue;
      box.x_low = std::min(box.x_low, *costs->latency_ms);
      box.x_high = std::max(box.x_high, *costs->latency_ms);
      box.y_low = std::min(box.y_low, point.quality);
      box.y_high = std::max(box.y_high, point.quality);
    }
  };
  for (const SearchPoint& point : report.front) stretch(point);
  stretch(report.original);
  if (box.x_low > box.x_high) return "<p>No latency is known.</p>";
  box.widen();
  std::string body = axes(box, "latency, ms", "quality", 7);
  const auto dot = [&](const char* kind, double latency, double quality, const std::string& text) {
    body += fmt::format(
        "<circle class=\"{}\" r=\"5\" cx=\"{:.1f}\" cy=\"{:.1f}\"><title>{}</title></circle>", kind,
        box.x(latency), box.y(quality), text);
  };
  if (report.original.predicted.latency_ms)
    dot("o", *report.original.predicted.latency_ms, report.original.quality, "the original");
  for (size_t i = 0; i < report.front.size(); ++i) {
    const SearchPoint& point = report.front[i];
    if (!point.predicted.latency_ms) continue;
    const std::string text = hover(report, i, point);
    if (point.measured && point.measured->latency_ms)
      body += fmt::format("<path class=\"link\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>",
                          box.x(*point.predicted.latency_ms), box.y(point.quality),
                          box.x(*point.measured->latency_ms));
    dot("p", *point.predicted.latency_ms, point.quality, text);
    if (point.measured && point.measured->latency_ms)
      dot("m", *point.measured->latency_ms, point.quality, text);
  }
  return svg(box, "front", body);
}

std::string line_of(const Box& box, const auto& x, const auto& y) {
  std::string path;
  for (size_t i = 0; i < x.size(); ++i)
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", box.x(static_cast<double>(x[i])),
                        box.y(y[i]));
  return fmt::format("<path class=\"line\" d=\"{}\"/>", path);
}

std::string course(const SearchReport& report) {
  if (report.history.size() < 2) return "";
  std::vector<double> x, y;
  for (const SearchGeneration& record : report.history) {
    x.push_back(static_cast<double>(record.evaluations));
    y.push_back(record.hypervolume);
  }
  Box box{.height = 240, .x_low = 0, .x_high = x.back(), .y_low = y.front(), .y_high = y.back()};
  box.widen();
  return "<h2>Course</h2>" + svg(box, "hypervolume over evaluations",
                                 axes(box, "evaluations", "hypervolume", 5) + line_of(box, x, y));
}

std::string staircase(const SearchReport& report, const SearchStaircase& stairs) {
  Box box{.width = 310, .height = 190, .left = 56, .bottom = 34};
  const auto [low, high] = std::ranges::minmax(stairs.latency_ms);
  box.x_low = stairs.widths.front();
  box.x_high = stairs.widths.back();
  box.y_low = low;
  box.y_high = high;
  box.widen();
  std::string body = axes(box, "channels", report.genes[stairs.gene].name, 4);
  body += line_of(box, stairs.widths, stairs.latency_ms);
  for (size_t i = 0; i < stairs.widths.size(); ++i)
    if (std::ranges::find(stairs.steps, stairs.widths[i]) != stairs.steps.end())
      body += fmt::format(
          "<circle class=\"step\" r=\"2.5\" cx=\"{:.1f}\" cy=\"{:.1f}\"><title>{} channels: {} "
          "ms</title></circle>",
          box.x(stairs.widths[i]), box.y(stairs.latency_ms[i]), stairs.widths[i],
          decimal(stairs.latency_ms[i]));
  return svg(box, "staircase", body);
}

std::string table(const SearchReport& report) {
  std::string out =
      "<table><tr><th class=\"n\">#</th><th class=\"n\">predicted ms</th><th class=\"n\">measured "
      "ms</th><th class=\"n\">weights bytes</th><th class=\"n\">quality</th><th>what</th>"
      "<th>file</th></tr>";
  const auto row = [&](const std::string& number, const SearchPoint& point) {
    const auto ms = [](const std::optional<double>& value) {
      return value ? decimal(*value) : std::string("-");
    };
    out += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
        number, ms(point.predicted.latency_ms),
        ms(point.measured ? point.measured->latency_ms : std::nullopt),
        grouped(point.predicted.weights_bytes), decimal(point.quality), escaped(point.summary),
        escaped(point.file));
  };
  row("", report.original);
  for (size_t i = 0; i < report.front.size(); ++i) row(fmt::format("{}", i), report.front[i]);
  return out + "</table>";
}

}  // namespace

std::string search_html(const SearchReport& report) {
  std::string out = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0} on {1}</title>"
      "<style>{2}</style><h1>Compression of {0} for {1}</h1><p>{3}, {4} evaluations, seed {5}, "
      "{6:.1f} s, {7} device runs; quality by {8}.</p>",
      escaped(report.model), escaped(report.device), kStyle, escaped(report.method),
      grouped(report.evaluations), report.seed, report.seconds, grouped(report.device_runs),
      escaped(report.quality_by));
  out += "<h2>Front</h2><p>Blue: predicted, red: measured, black: the original. Hover a point.</p>";
  out += front_chart(report) + table(report) + course(report);
  if (!report.staircases.empty()) {
    out +=
        "<h2>Staircases</h2><p>Latency of the whole network, ms, over the channels of one group. "
        "Red: steps, widths that no wider one is as fast as.</p><div class=\"stairs\">";
    for (const SearchStaircase& stairs : report.staircases) out += staircase(report, stairs);
    out += "</div>";
  }
  return out + "</html>\n";
}

}  // namespace edgesage::report
