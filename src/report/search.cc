#include "src/report/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

Json costs_json(const SearchCosts& costs) {
  Json json;
  json["latency_ms"] = or_null(costs.latency_ms);
  if (costs.latency_lo_ms)
    json["latency_interval_ms"] = {{"value", *costs.latency_ms},
                                   {"lo", *costs.latency_lo_ms},
                                   {"hi", *costs.latency_hi_ms},
                                   {"level", 0.9}};
  json["energy_mj"] = or_null(costs.energy_mj);
  json["peak_ram_bytes"] = or_null(costs.peak_ram_bytes);
  json["weights_bytes"] = costs.weights_bytes;
  json["macs"] = costs.macs;
  return json;
}

Json point_json(const SearchPoint& point) {
  Json layers = Json::array();
  for (const SearchLayer& layer : point.layers)
    layers.push_back({{"operator", layer.op},
                      {"kind", layer.kind},
                      {"channels", layer.channels},
                      {"original_channels", layer.original_channels}});
  Json json;
  json["summary"] = point.summary;
  json["quality"] = point.quality;
  json["feasible"] = point.feasible;
  json["predicted"] = costs_json(point.predicted);
  json["measured"] = point.measured ? costs_json(*point.measured) : Json(nullptr);
  json["file"] = text_or_null(point.file);
  json["values"] = point.values;
  json["layers"] = std::move(layers);
  return json;
}

std::string megabytes(double bytes) { return decimal(bytes / 1e6); }

std::string row_ms(const std::optional<double>& value) { return value ? decimal(*value) : ""; }

}  // namespace

std::string search_json(const SearchReport& report) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["model"] = report.model;
  json["device"] = report.device;
  json["predictor_id"] = text_or_null(report.predictor_id);
  json["method"] = report.method;
  json["objectives"] = report.objectives;
  json["quality_by"] = report.quality_by;
  json["max_latency_ms"] = or_null(report.max_latency_ms);
  json["max_ram_bytes"] = or_null(report.max_ram_bytes);
  json["seed"] = report.seed;
  json["population"] = report.population;
  json["evaluations"] = report.evaluations;
  json["device_runs"] = report.device_runs;
  json["seconds"] = report.seconds;
  json["stopped"] = report.stopped;
  json["target_reached"] = report.target_reached;
  json["original"] = point_json(report.original);
  json["genes"] = Json::array();
  for (const SearchGene& gene : report.genes)
    json["genes"].push_back({{"name", gene.name}, {"kind", gene.kind}, {"values", gene.values}});
  json["front"] = Json::array();
  for (const SearchPoint& point : report.front) json["front"].push_back(point_json(point));
  json["staircases"] = Json::array();
  for (const SearchStaircase& stairs : report.staircases)
    json["staircases"].push_back({{"gene", stairs.gene},
                                  {"widths", stairs.widths},
                                  {"latency_ms", stairs.latency_ms},
                                  {"steps", stairs.steps}});
  json["history"] = Json::array();
  for (const SearchGeneration& record : report.history)
    json["history"].push_back({{"generation", record.generation},
                               {"evaluations", record.evaluations},
                               {"front_size", record.front_size},
                               {"hypervolume", record.hypervolume}});
  json["reference"] = report.reference;
  json["warnings"] = report.warnings;
  return to_text(json, 2) + "\n";
}

std::string search_text(const SearchReport& report) {
  std::string out = fmt::format(
      "{} on {}: {}, {} evaluations, seed {}, {:.1f} s, {} device run{}\n", shown(report.model),
      report.device, report.method, grouped(report.evaluations), report.seed, report.seconds,
      grouped(report.device_runs), report.device_runs == 1 ? "" : "s");
  if (report.stopped) out += "stopped; the same command goes on where it was\n";
  if (!report.target_reached) out += "the target was not reached\n";
  if (!report.history.empty())
    out += fmt::format("front of {} points, hypervolume {:.4g}\n", report.history.back().front_size,
                       report.history.back().hypervolume);
  TextTable table({">#", ">latency ms", ">90 % from", ">to", ">measured ms", ">energy mJ",
                   ">RAM MB", ">weights MB", ">MMACs", ">quality", "what", "file"},
                  40);
  const auto add = [&](const std::string& number, const SearchPoint& point) {
    const SearchCosts& costs = point.predicted;
    table.add({number, row_ms(costs.latency_ms), row_ms(costs.latency_lo_ms),
               row_ms(costs.latency_hi_ms),
               point.measured ? row_ms(point.measured->latency_ms) : "", row_ms(costs.energy_mj),
               costs.peak_ram_bytes ? megabytes(*costs.peak_ram_bytes) : "",
               megabytes(static_cast<double>(costs.weights_bytes)),
               decimal(static_cast<double>(costs.macs) / 1e6), decimal(point.quality),
               point.summary + (point.feasible ? "" : " (beyond the limits)"), point.file});
  };
  add("", report.original);
  for (size_t i = 0; i < report.front.size(); ++i) add(fmt::format("{}", i), report.front[i]);
  out += table.render();
  for (const std::string& warning : report.warnings)
    out += fmt::format("warning: {}\n", shown(warning, 200));
  return out;
}

}  // namespace edgesage::report
