#include "src/report/learn.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/csv.h"
#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

Json row_json(const AccuracyRow& row) {
  Json out{{"device", row.device},
           {"space", row.space},
           {"quantity", row.quantity},
           {"model", row.model},
           {"n_train", row.n_train},
           {"n_test", row.n_test},
           {"mape", row.mape},
           {"median_ape", row.median_ape},
           {"p95_ape", row.p95_ape},
           {"within_1", row.within_1},
           {"within_5", row.within_5},
           {"within_10", row.within_10},
           {"worst_under", row.worst_under},
           {"spearman", or_null(row.spearman)},
           {"kendall", or_null(row.kendall)},
           {"best_5_recall", row.best_5_recall},
           {"coverage_90", or_null(row.coverage_90)},
           {"half_width_90", or_null(row.half_width_90)},
           {"flagged", or_null(row.flagged)},
           {"mape_unflagged", or_null(row.mape_unflagged)},
           {"seed", row.seed}};
  if (row.setting.empty()) return out;
  out["setting"] = row.setting;
  out["variant"] = row.variant;
  out["left_out"] = row.left_out;
  out["own"] = row.own;
  out["placement"] = row.placement;
  out["truth"] = or_null(row.truth);
  out["predicted"] = or_null(row.predicted);
  return out;
}

Json percents_json(const std::vector<std::optional<double>>& values) {
  Json out = Json::array();
  for (const std::optional<double>& value : values) out.push_back(or_null(value));
  return out;
}

Json groups_json(const std::vector<ErrorGroup>& groups) {
  Json out = Json::array();
  for (const ErrorGroup& group : groups)
    out.push_back({{"name", group.name},
                   {"networks", group.networks},
                   {"mape", group.mape},
                   {"median_ape", group.median_ape},
                   {"operators", group.operators},
                   {"cost_share", or_null(group.cost_share)},
                   {"operator_error", or_null(group.operator_error)}});
  return out;
}

constexpr size_t kWorstInJson = 12;

Json report_json(const TrainingReport& report) {
  Json epochs = Json::array(), spaces = Json::array(), quantities = Json::array(),
       settings = Json::object();
  for (const TrainingEpoch& epoch : report.epochs)
    epochs.push_back({{"member", epoch.member},
                      {"epoch", epoch.epoch},
                      {"loss", epoch.loss},
                      {"validation_loss", epoch.validation_loss},
                      {"train_error", percents_json(epoch.train_error)},
                      {"validation_error", percents_json(epoch.validation_error)}});
  for (const AccuracyRow& row : report.spaces) spaces.push_back(row_json(row));
  for (const auto& [name, value] : report.settings) settings[name] = value;
  for (const TrainedQuantity& quantity : report.quantities) {
    Json worst = Json::array();
    for (size_t i = 0; i < std::min(kWorstInJson, quantity.networks.size()); ++i)
      worst.push_back({{"name", quantity.networks[i].name},
                       {"truth", quantity.networks[i].truth},
                       {"predicted", quantity.networks[i].predicted}});
    quantities.push_back({{"name", quantity.name},
                          {"networks", quantity.networks.size()},
                          {"sizes", groups_json(quantity.sizes)},
                          {"kinds", groups_json(quantity.kinds)},
                          {"worst", worst}});
  }
  return {{"file", report.file},  {"command", text_or_null(report.command)},
          {"settings", settings}, {"epochs", epochs},
          {"spaces", spaces},     {"quantities", quantities}};
}

std::string setting_text(const AccuracyRow& row) {
  std::string text = row.setting;
  for (const std::string& part : {row.variant, row.left_out})
    if (!part.empty()) text += ' ' + part;
  return row.own > 0 ? text + fmt::format(" +{}", row.own) : text;
}

TextTable accuracy_rows(const AccuracyTable& table) {
  TextTable rows({"device", "setting", "quantity", "space", "placement", "model", ">train", ">test",
                  ">MAPE %", ">median", ">p95", ">in 5%", ">in 10%", ">under", ">Kendall",
                  ">in 90%", ">+-%", ">flagged %", ">MAPE unflagged"});
  for (const AccuracyRow& row : table.rows)
    rows.add({row.device, setting_text(row), row.quantity, row.space, row.placement, row.model,
              std::to_string(row.n_train), std::to_string(row.n_test), figure(row.mape, 2),
              figure(row.median_ape, 2), figure(row.p95_ape, 2), figure(row.within_5, 1),
              figure(row.within_10, 1), figure(row.worst_under, 1), figure(row.kendall, 3),
              figure(row.coverage_90, 1), figure(row.half_width_90, 1), figure(row.flagged, 1),
              figure(row.mape_unflagged, 2)});
  return rows;
}

}  // namespace

std::string labels_text(const LabelFile& labels) {
  std::string runtime = labels.runtime;
  if (!labels.runtime_version.empty()) runtime += " " + labels.runtime_version;
  std::string text = fmt::format(
      "{}: {} networks on {}{}, {}\n", labels.file, grouped(labels.networks), labels.device,
      runtime.empty() ? "" : " (" + runtime + ")", human_bytes(labels.file_bytes));
  if (labels.not_measured + labels.constants > 0)
    text += fmt::format("left out: {} without a label, {} that compute nothing\n",
                        grouped(labels.not_measured), grouped(labels.constants));
  if (!labels.parts.empty())
    text +=
        fmt::format("{} files, and {} failures\n", labels.parts.size(), grouped(labels.failures));
  if (labels.repeated > 0)
    text += fmt::format("{} rows repeat a network; the least value is kept\n",
                        grouped(labels.repeated));
  return text;
}

std::string labels_json(const LabelFile& labels) {
  return to_text({{"schema_version", kSchemaVersion},
                  {"file", labels.file},
                  {"device", labels.device},
                  {"runtime", labels.runtime},
                  {"runtime_version", labels.runtime_version},
                  {"host_fingerprint", text_or_null(labels.host_fingerprint)},
                  {"networks", labels.networks},
                  {"not_measured", labels.not_measured},
                  {"constants", labels.constants},
                  {"repeated", labels.repeated},
                  {"file_bytes", labels.file_bytes},
                  {"parts", labels.parts},
                  {"failures", labels.failures}},
                 2) +
         '\n';
}

std::string train_text(const TrainedPredictor& trained) {
  return fmt::format(
      "{}: predictor {} of {} for {}, from {} networks ({} left out), {}, {:.0f} s\n", trained.file,
      trained.id, trained.device, join(trained.quantities, ", "), grouped(trained.networks),
      grouped(trained.left_out), human_bytes(trained.file_bytes), trained.seconds);
}

std::string train_json(const TrainedPredictor& trained) {
  Json out{{"schema_version", kSchemaVersion}, {"file", trained.file},
           {"predictor_id", trained.id},       {"device", trained.device},
           {"quantities", trained.quantities}, {"networks", trained.networks},
           {"left_out", trained.left_out},     {"file_bytes", trained.file_bytes},
           {"seconds", trained.seconds}};
  if (trained.report) out["report"] = report_json(*trained.report);
  return to_text(out, 2) + '\n';
}

std::string evaluate_text(const AccuracyTable& table) {
  std::string text = accuracy_rows(table).render();
  TextTable attribution(
      {"attribution", "space", ">networks", ">misplaced %", ">median operator %"});
  for (const AttributionAccuracy& row : table.attribution)
    attribution.add({row.device, row.space, std::to_string(row.networks),
                     figure(row.misplaced_share, 2), figure(row.median_operator_ape, 2)});
  if (!attribution.empty()) text += '\n' + attribution.render();
  TextTable worst({"largest errors", "quantity", ">truth", ">predicted", ">error %"});
  for (const WorstNetwork& network : table.worst)
    worst.add({network.name, network.quantity, decimal(network.truth), decimal(network.predicted),
               figure(100 * (network.predicted / network.truth - 1), 1)});
  if (!worst.empty()) text += '\n' + worst.render();
  TextTable unanswered({"no answer", "device", "space", "why"}, 100);
  for (const UnansweredFile& file : table.unanswered)
    unanswered.add({shown(file.file, 60), file.device, file.space, shown(file.reason, 100)});
  if (!unanswered.empty()) text += '\n' + unanswered.render();
  text +=
      fmt::format("\n{} test networks; {} labels left out\n", table.test_networks, table.left_out);
  return text;
}

std::string evaluate_markdown(const AccuracyTable& table) {
  return accuracy_rows(table).markdown();
}

std::string evaluate_json(const AccuracyTable& table) {
  Json rows = Json::array(), attribution = Json::array(), worst = Json::array(),
       unanswered = Json::array();
  for (const AccuracyRow& row : table.rows) rows.push_back(row_json(row));
  for (const AttributionAccuracy& row : table.attribution)
    attribution.push_back({{"device", row.device},
                           {"space", row.space},
                           {"networks", row.networks},
                           {"misplaced_share", row.misplaced_share},
                           {"median_operator_ape", row.median_operator_ape}});
  for (const WorstNetwork& network : table.worst)
    worst.push_back({{"name", network.name},
                     {"quantity", network.quantity},
                     {"truth", network.truth},
                     {"predicted", network.predicted}});
  for (const UnansweredFile& file : table.unanswered)
    unanswered.push_back({{"file", file.file},
                          {"device", file.device},
                          {"space", file.space},
                          {"reason", file.reason}});
  return to_text({{"schema_version", kSchemaVersion},
                  {"rows", rows},
                  {"attribution", attribution},
                  {"worst", worst},
                  {"unanswered", unanswered},
                  {"test_networks", table.test_networks},
                  {"left_out", table.left_out}},
                 2) +
         '\n';
}

std::string predictions_csv(const AccuracyTable& table) {
  std::string text = "quantity,space,name,operators,kinds,truth,predicted,lo,hi,in_range\n";
  for (const PredictedNetwork& network : table.networks)
    text += fmt::format("{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{}\n", network.quantity,
                        csv_cell(network.space), csv_cell(network.name), network.operators,
                        network.kinds, network.truth, network.predicted, network.lo, network.hi,
                        network.in_range ? 1 : 0);
  return text;
}

std::string evaluate_csv(const AccuracyTable& table) {
  Json rows = Json::array();
  for (const AccuracyRow& row : table.rows) rows.push_back(row_json(row));
  return rows_csv(rows);
}

}  // namespace edgesage::report
