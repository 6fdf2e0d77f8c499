#include "src/report/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string quantity_text(const CalibratedQuantity& quantity) {
  std::string text = fmt::format(
      "{}: {} labels; held out: median error {:.1f} %, mean {:.1f} %, within 10 %: {:.0f} %\n",
      quantity.name, quantity.labels, quantity.median_ape, quantity.mape, quantity.within_10);
  for (size_t i = 0; i < quantity.levels.size(); ++i)
    text += quantity.half_width[i]
                ? fmt::format("  {:.0f} % interval  +-{:.1f} %, covers {:.0f} % of the held out\n",
                              quantity.levels[i], *quantity.half_width[i], quantity.coverage[i])
                : fmt::format("  {:.0f} % interval  too few labels\n", quantity.levels[i]);
  if (quantity.from_scratch_median_ape)
    text += fmt::format("  from scratch, without the other devices: {:.1f} %\n",
                        *quantity.from_scratch_median_ape);
  if (quantity.taught_difference)
    text += fmt::format("  the network that ships differs from its teacher by {:.1f} % (median)\n",
                        *quantity.taught_difference);
  if (!quantity.curve.empty()) {
    text += "  learning curve  ";
    for (const CalibrationCurvePoint& point : quantity.curve)
      text += fmt::format("{}{} labels: {:.1f} %", &point == quantity.curve.data() ? "" : ", ",
                          point.labels, point.median_ape);
    text += fmt::format("\n  {} more would make it {:.1f} %: {}\n", quantity.more,
                        quantity.median_ape_after, quantity.enough ? "enough" : "worth measuring");
  }
  return text;
}

std::string drift_text(const CalibrationDrift& drift) {
  std::string text =
      fmt::format("{} networks measured again: {:.3f} of their labels (median), spread {:.1f} %\n",
                  drift.networks, drift.median_ratio, 100 * drift.spread);
  if (drift.within_interval)
    text += fmt::format("  {:.0f} % lie inside the predictor's 90 % interval\n",
                        *drift.within_interval);
  return text + "  " + drift.verdict + '\n';
}

Json quantity_json(const CalibratedQuantity& quantity) {
  Json networks = Json::array(), curve = Json::array(), widths = Json::array();
  for (const CalibratedNetwork& network : quantity.networks)
    networks.push_back({{"name", network.name},
                        {"space", network.space},
                        {"measured", network.measured},
                        {"held_out", network.held_out},
                        {"inside_90", network.inside_90}});
  for (const CalibrationCurvePoint& point : quantity.curve)
    curve.push_back({{"labels", point.labels},
                     {"median_ape", point.median_ape},
                     {"within_10", point.within_10}});
  for (const auto& width : quantity.half_width) widths.push_back(or_null(width));
  return {{"quantity", quantity.name},
          {"labels", quantity.labels},
          {"mape", quantity.mape},
          {"median_ape", quantity.median_ape},
          {"p95_ape", quantity.p95_ape},
          {"within_10", quantity.within_10},
          {"spearman", or_null(quantity.spearman)},
          {"levels", quantity.levels},
          {"coverage", quantity.coverage},
          {"half_width", widths},
          {"smoother_share", quantity.smoother_share},
          {"from_scratch_median_ape", or_null(quantity.from_scratch_median_ape)},
          {"taught_difference", or_null(quantity.taught_difference)},
          {"curve", curve},
          {"more", quantity.more},
          {"median_ape_after", quantity.median_ape_after},
          {"enough", quantity.enough},
          {"networks", networks}};
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  std::string text;
  if (calibration.drift) return drift_text(*calibration.drift);
  if (calibration.stopped)
    return fmt::format("{}: interrupted; the same command goes on where it was\n",
                       calibration.device);
  text += fmt::format("{} ({} {}), {} networks to choose from, of {}\n", calibration.device,
                      calibration.runtime, calibration.runtime_version, calibration.pool,
                      join(calibration.spaces, ", "));
  for (const CalibratedQuantity& quantity : calibration.quantities) text += quantity_text(quantity);
  if (!calibration.refused.empty())
    text += fmt::format("{} networks were refused, e.g. {}: {}\n", calibration.refused.size(),
                        calibration.refused.front().name,
                        shown(calibration.refused.front().reason, 100));
  if (!calibration.next.empty())
    text += fmt::format("measure next: {}, {} ...\n", calibration.next.front(),
                        calibration.next.size() > 1 ? calibration.next[1] : "");
  text +=
      fmt::format("{:.0f} s building, {:.0f} s measuring, {:.1f} s learning, {:.0f} s teaching\n",
                  calibration.build_seconds, calibration.measure_seconds, calibration.fit_seconds,
                  calibration.teach_seconds);
  if (!calibration.predictor_file.empty())
    text += fmt::format("{}: predictor {} ({})\n", calibration.predictor_file,
                        calibration.predictor_id, human_bytes(calibration.predictor_bytes));
  return text;
}

std::string calibration_json(const Calibration& calibration) {
  Json quantities = Json::array(), refused = Json::array(), findings = Json::array();
  for (const CalibratedQuantity& quantity : calibration.quantities)
    quantities.push_back(quantity_json(quantity));
  for (const RefusedNetwork& network : calibration.refused)
    refused.push_back({{"name", network.name}, {"reason", network.reason}});
  if (calibration.fitness)
    for (const FitnessFinding& finding : calibration.fitness->findings)
      findings.push_back({{"check", finding.check},
                          {"level", std::string(to_string(finding.level))},
                          {"found", text_or_null(finding.found)},
                          {"reason", text_or_null(finding.reason)},
                          {"remedy", text_or_null(finding.remedy)}});
  Json drift = nullptr;
  if (calibration.drift)
    drift = {{"networks", calibration.drift->networks},
             {"median_ratio", calibration.drift->median_ratio},
             {"spread", calibration.drift->spread},
             {"drifted", calibration.drift->drifted},
             {"within_interval", or_null(calibration.drift->within_interval)},
             {"verdict", calibration.drift->verdict}};
  return to_text({{"schema_version", kSchemaVersion},
                  {"device", calibration.device},
                  {"target", calibration.target},
                  {"runtime", text_or_null(calibration.runtime)},
                  {"runtime_version", text_or_null(calibration.runtime_version)},
                  {"host_fingerprint", text_or_null(calibration.host_fingerprint)},
                  {"statistic", text_or_null(calibration.statistic)},
                  {"predictor", text_or_null(calibration.predictor_file)},
                  {"predictor_id", text_or_null(calibration.predictor_id)},
                  {"budget", calibration.budget},
                  {"pool", calibration.pool},
                  {"spaces", calibration.spaces},
                  {"warm_start", calibration.warm_start},
                  {"quantities", quantities},
                  {"refused", refused},
                  {"measure_next", calibration.next},
                  {"fitness", findings},
                  {"protocol", texts_json(calibration.protocol)},
                  {"drift", drift},
                  {"seconds",
                   {{"build", calibration.build_seconds},
                    {"measure", calibration.measure_seconds},
                    {"fit", calibration.fit_seconds},
                    {"teach", calibration.teach_seconds}}},
                  {"stopped", calibration.stopped}},
                 2) +
         '\n';
}

std::string sample_text(const SampledNetworks& sampled) {
  std::string text;
  for (const std::string& name : sampled.names) text += name + '\n';
  return text;
}

std::string sample_json(const SampledNetworks& sampled) {
  return to_text({{"schema_version", kSchemaVersion},
                  {"names", sampled.names},
                  {"why", sampled.why},
                  {"pool", sampled.pool},
                  {"labelled", sampled.labelled},
                  {"median_ape", or_null(sampled.median_ape)},
                  {"median_ape_after", or_null(sampled.median_ape_after)},
                  {"enough", sampled.enough}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
