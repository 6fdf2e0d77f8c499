#include "src/app/real_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "src/app/measure.h"
#include "src/app/predict.h"
#include "src/app/predictors.h"
#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/json.h"
#include "src/devices/statistics.h"
#include "src/predict/predictor_file.h"

namespace edgesage::app {
namespace {

constexpr int64_t kWholeNetwork = 8;  // operators

const char* space_of(const RealFile& file) {
  if (file.operators >= kWholeNetwork) return kRealNetworks;
  return file.operators > 1 ? kRealParts : kSingleOperators;
}

const std::optional<Interval>& answer_of(const Prediction& prediction, Quantity quantity) {
  switch (quantity) {
    case Quantity::kLatencyMs:
      return prediction.latency_ms;
    case Quantity::kSramBytes:
      return prediction.peak_ram_bytes;
    case Quantity::kEnergyMj:
      return prediction.energy_mj;
    case Quantity::kDramBytes:
      break;
  }
  return prediction.dram_bytes;
}

// Files of one device, measured and predicted.
class RealFiles {
 public:
  static Result<RealFiles> open(const Context& context, const RealFilesRequest& request) {
    std::filesystem::path file = request.predictor;
    if (file.empty()) {
      EDGESAGE_ASSIGN_OR_RETURN(file, find_predictor(context, request.device));
    }
    EDGESAGE_ASSIGN_OR_RETURN(const PredictorData data, load_predictor(file));
    if (data.device != request.device)
      return make_error(ErrorCode::kInvalidArgument, file.string(),
                        fmt::format("is of {}, not of {}", data.device, request.device));
    PredictRequest predict;
    predict.predictors = {file.string()};
    EDGESAGE_ASSIGN_OR_RETURN(ModelPricer pricer, ModelPricer::load(context, predict));
    EDGESAGE_ASSIGN_OR_RETURN(const Json facts,
                              parse_json(data.facts, data.device, ErrorCode::kBadStore));
    RealFiles files(context, request, std::move(pricer));
    files.learnt_from_ = static_cast<size_t>(json_int(facts, "training_networks", 0) +
                                             json_int(facts, "calibration_networks", 0));
    for (const PredictedQuantity& quantity : data.quantities) {
      EDGESAGE_ASSIGN_OR_RETURN(const Quantity known, quantity_from_name(quantity.name));
      files.quantities_.push_back(known);
    }
    return files;
  }

  Result<std::vector<SpacesRow>> judge(const RealFile& file) {
    SpacesRow common;
    common.task = {.setting = kRealFiles, .variant = file.name};
    common.row.device = request_.device;
    common.row.space = space_of(file);
    common.row.quantity = quantity_name(Quantity::kLatencyMs);
    common.row.model = "edgesage";
    common.row.n_train = learnt_from_;
    const auto without = [&](std::string why) {
      common.note = std::move(why);
      const double none = std::nan("");
      common.row.accuracy = {.mape = none,
                             .median_ape = none,
                             .p95_ape = none,
                             .within_1 = none,
                             .within_5 = none,
                             .within_10 = none,
                             .worst_under = none,
                             .spearman = none,
                             .kendall = none,
                             .best_5_recall = none};
      return std::vector<SpacesRow>{common};
    };
    MeasureRequest measuring;
    measuring.models = {file.path.string()};
    measuring.device = request_.device;
    EDGESAGE_ASSIGN_OR_RETURN(const Answers<MeasuredModel> measured,
                              measure_models(context_, measuring));
    if (measured.empty()) return std::vector<SpacesRow>();  // stopped
    if (!measured.front().result) return without(measured.front().result.error().message);
    const MeasuredModel& truth = *measured.front().result;
    common.row.placement = truth.cpu_operators > 0 ? "fallback" : "placed";
    const Answers<Prediction> answers =
        pricer_.price(read_model(file.path, {}), file.path.string());
    if (!answers.front().result) return without(answers.front().result.error().message);
    const Prediction& prediction = *answers.front().result;
    std::vector<SpacesRow> rows;
    for (const Quantity quantity : quantities_) add(common, truth, prediction, quantity, rows);
    if (!rows.empty()) return rows;
    const auto why = prediction.missing.find("latency_ms");
    return without(why != prediction.missing.end() ? why->second : "the device gives no figures");
  }

 private:
  RealFiles(const Context& context, const RealFilesRequest& request, ModelPricer pricer)
      : context_(context), request_(request), pricer_(std::move(pricer)) {}

  static void add(const SpacesRow& common, const MeasuredModel& truth, const Prediction& prediction,
                  Quantity quantity, std::vector<SpacesRow>& rows) {
    const std::optional<Interval>& answer = answer_of(prediction, quantity);
    const auto label = truth.quantities.find(std::string(quantity_name(quantity)));
    if (!answer || label == truth.quantities.end() || !(label->second > 0)) return;
    SpacesRow row = common;
    row.truth = label->second;
    row.predicted = answer->value;
    row.row.quantity = quantity_name(quantity);
    row.row.accuracy = accuracy(std::span(&row.truth, 1), std::span(&row.predicted, 1));
    row.row.coverage_90 = row.truth >= answer->lo && row.truth <= answer->hi ? 1 : 0;
    row.row.half_width_90 = answer->hi / answer->value - 1;
    row.row.flagged = prediction.in_range ? 0 : 1;
    row.row.mape_unflagged = prediction.in_range ? row.row.accuracy.mape : -1;
    rows.push_back(std::move(row));
  }

  const Context& context_;
  const RealFilesRequest& request_;
  ModelPricer pricer_;
  size_t learnt_from_ = 0;
  std::vector<Quantity> quantities_;
};

SpacesRow total_of(const std::vector<const SpacesRow*>& members, const std::string& placement) {
  SpacesRow total = *members.front();
  total.task.variant.clear();
  total.row.placement = placement;
  total.truth = total.predicted = std::nan("");
  std::vector<double> truth, predicted, known, predicted_known, widths;
  double covered = 0, flagged = 0;
  for (const SpacesRow* row : members) {
    truth.push_back(row->truth);
    predicted.push_back(row->predicted);
    widths.push_back(row->row.half_width_90);
    covered += row->row.coverage_90;
    flagged += row->row.flagged;
    if (row->row.flagged > 0) continue;
    known.push_back(row->truth);
    predicted_known.push_back(row->predicted);
  }
  std::sort(widths.begin(), widths.end());
  const auto n = static_cast<double>(members.size());
  total.row.accuracy = accuracy(truth, predicted);
  total.row.coverage_90 = covered / n;
  total.row.flagged = flagged / n;
  total.row.half_width_90 = quantile(widths, 0.5);
  total.row.mape_unflagged = known.empty() ? -1 : accuracy(known, predicted_known).mape;
  return total;
}

}  // namespace

Result<std::vector<RealFile>> files_for_testing(const std::filesystem::path& models) {
  const std::filesystem::path index = models / "index.csv";
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(index, ErrorCode::kBadStore));
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, index.string(), ErrorCode::kBadStore));
  const auto file = table.column("file"), kind = table.column("kind"), ops = table.column("ops");
  if (!file || !kind || !ops)
    return make_error(ErrorCode::kBadStore, index.string(),
                      "needs the columns file, kind and ops, as the index of the models has them");
  std::vector<RealFile> files;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const std::string& name = table.rows[r][*file];
    if (table.rows[r][*kind] != "tflite") continue;
    if (r % 2 != 0 && !name.starts_with("tflite/tiny/")) continue;
    RealFile& entry = files.emplace_back();
    entry.path = models / name;
    entry.name = entry.path.filename().string();
    const std::string& count = table.rows[r][*ops];
    const auto [end, error] =
        std::from_chars(count.data(), count.data() + count.size(), entry.operators);
    if (error != std::errc() || end != count.data() + count.size())
      return make_error(
          ErrorCode::kBadStore, index.string(),
          fmt::format("line {}, column ops: \"{}\" is not a number", table.lines[r], count));
  }
  return files;
}

Status add_real_files(const Context& context, const RealFilesRequest& request,
                      std::vector<SpacesRow>& rows) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<RealFile> files, files_for_testing(request.models));
  EDGESAGE_ASSIGN_OR_RETURN(RealFiles judge, RealFiles::open(context, request));
  for (size_t f = 0; f < files.size() && !context.stop_wanted(); ++f) {
    const SpacesTask task{.setting = kRealFiles, .variant = files[f].name};
    context.report(static_cast<int64_t>(f), static_cast<int64_t>(files.size()),
                   fmt::format("{}: {}", request.device, files[f].name));
    if (has_task(rows, request.device, task)) continue;
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<SpacesRow> fresh, judge.judge(files[f]));
    rows.insert(rows.end(), fresh.begin(), fresh.end());
    if (!request.results.empty())
      EDGESAGE_RETURN_IF_ERROR(write_spaces_rows(rows, request.results));
  }
  return {};
}

std::vector<SpacesRow> real_file_totals(std::span<const SpacesRow> rows) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, std::vector<const SpacesRow*>> groups;
  for (const SpacesRow& row : rows) {
    if (row.task.setting != kRealFiles || row.row.accuracy.count == 0) continue;
    for (const std::string& placement : {std::string("all"), row.row.placement})
      groups[{row.row.device, row.row.quantity, row.row.space, placement}].push_back(&row);
  }
  std::vector<SpacesRow> totals;
  for (const auto& [key, members] : groups) totals.push_back(total_of(members, std::get<3>(key)));
  return totals;
}

}  // namespace edgesage::app
