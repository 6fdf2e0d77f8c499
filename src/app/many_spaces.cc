#include "src/app/many_spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/app/accuracy_row.h"
#include "src/app/labels.h"
#include "src/app/real_files.h"
#include "src/learn/controls.h"
#include "src/learn/graph_baselines.h"
#include "src/learn/many_spaces.h"

namespace edgesage::app {
namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_settings(const ManySpacesRequest& request) {
  static const std::vector<std::string> kSettings{"random", "left-out", "curve", "ablation",
                                                  kRealFiles};
  for (const std::string& setting : request.settings)
    if (!contains(kSettings, setting))
      return make_error(ErrorCode::kInvalidArgument, setting,
                        fmt::format("not a setting; one of {}", fmt::join(kSettings, ", ")));
  for (const std::string& model : request.models)
    if (!contains(control_names(), model) && !contains(baseline_names(), model))
      return make_error(ErrorCode::kInvalidArgument, model,
                        fmt::format("not a model; one of {}, {}", fmt::join(control_names(), ", "),
                                    fmt::join(baseline_names(), ", ")));
  const bool learns = std::ranges::any_of(
      request.settings, [](const std::string& setting) { return setting != kRealFiles; });
  if (request.labels.empty() && (learns || request.settings.empty()))
    return make_error(ErrorCode::kInvalidArgument, kManySpaces,
                      "name label files (--set FILE), one a device");
  if (!contains(request.settings, kRealFiles)) return {};
  if (request.devices.empty() || request.real_models.empty())
    return make_error(ErrorCode::kInvalidArgument, kRealFiles,
                      "needs a device to measure on (--board) and the folder of the models with "
                      "its index.csv (--models)");
  return {};
}

std::vector<int64_t> counts_of(const ManySpacesRequest& request, size_t networks) {
  std::vector<int64_t> counts = request.counts;
  if (counts.empty()) counts = {1000, 3000, 10'000, 30'000, 100'000};
  // Beyond what there is would be the same training again.
  std::erase_if(counts, [&](int64_t n) { return static_cast<size_t>(n) > networks; });
  return counts;
}

void add_tasks(const ManySpacesRequest& request, const FeatureFile& file,
               const std::string& setting, uint64_t seed, std::vector<SpacesTask>& tasks) {
  const SpacesTask task{.setting = setting, .seed = seed};
  if (setting == "random") tasks.push_back(task);
  if (setting == "curve") {
    for (const int64_t count : counts_of(request, file.size())) {
      tasks.push_back(task);
      tasks.back().most = static_cast<size_t>(count);
    }
  }
  if (setting == "ablation") {
    std::vector<std::string> variants = request.variants;
    if (variants.empty()) {
      variants.assign(ablation_names().begin(), ablation_names().end());
      variants.insert(variants.begin(), "");
    }
    for (const std::string& variant : variants) {
      tasks.push_back(task);
      tasks.back().variant = variant;
      tasks.back().most = static_cast<size_t>(request.ablation_networks);
    }
  }
  if (setting != "left-out") return;
  const std::vector<int64_t> own =
      request.own.empty() ? std::vector<int64_t>{0, 10, 30, 100} : request.own;
  for (const int64_t count : own) {
    for (const std::string& space : spaces_of(file)) {
      tasks.push_back(task);
      tasks.back().left_out = space;
      tasks.back().own = static_cast<size_t>(count);
      tasks.back().most = static_cast<size_t>(request.left_out_networks);
    }
  }
}

std::vector<SpacesTask> tasks_of(const ManySpacesRequest& request, const FeatureFile& file) {
  const std::vector<std::string> settings =
      request.settings.empty() ? std::vector<std::string>{"random", "left-out"} : request.settings;
  std::vector<SpacesTask> tasks;
  for (int64_t seed = request.first_seed; seed < request.first_seed + request.seeds; ++seed)
    for (const std::string& setting : settings)
      add_tasks(request, file, setting, static_cast<uint64_t>(seed), tasks);
  return tasks;
}

SpacesRun run_of(const Context& context, const ManySpacesRequest& request) {
  SpacesRun run;
  run.training = request.training;
  run.baseline_epochs = request.baseline_epochs;
  for (const std::string& control : control_names())
    if (request.models.empty() || contains(request.models, control))
      run.controls.push_back(control);
  // Costly, so only by name.
  for (const std::string& baseline : baseline_names())
    if (contains(request.models, baseline)) run.baselines.push_back(baseline);
  run.run.stop = context.stop;
  return run;
}

std::string describe(const SpacesTask& task) {
  std::string text = task.setting;
  for (const std::string& part : {task.variant, task.left_out})
    if (!part.empty()) text += ' ' + part;
  if (task.own > 0) text += fmt::format(" + {}", task.own);
  if (task.most > 0) text += fmt::format(", {} networks", task.most);
  return text;
}

AccuracyRow to_public(const SpacesRow& from) {
  AccuracyRow row = app::to_public(from.row);
  row.setting = from.task.setting;
  row.variant = from.task.variant;
  row.left_out = from.task.left_out;
  row.own = static_cast<int64_t>(from.task.own);
  row.placement = from.row.placement;
  if (std::isfinite(from.truth)) row.truth = from.truth;
  if (std::isfinite(from.predicted)) row.predicted = from.predicted;
  return row;
}

// All tasks of one label file.
Status run_file(const Context& context, const std::filesystem::path& labels,
                const ManySpacesRequest& request, std::vector<SpacesRow>& rows) {
  EDGESAGE_ASSIGN_OR_RETURN(
      const FeatureFile file,
      load_features(context, {.labels = labels.string(), .threads = request.training.threads}));
  const LabelSource& source = file.origin().source;
  const std::vector<SpacesTask> tasks = tasks_of(request, file);
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (has_task(rows, source.device, tasks[t])) continue;
    SpacesRun run = run_of(context, request);
    run.run.progress = [&](const TrainingProgress& progress) {
      context.report(static_cast<int64_t>(t) * progress.total + progress.done,
                     static_cast<int64_t>(tasks.size()) * progress.total,
                     fmt::format("{}: {}", source.device, describe(tasks[t])));
    };
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<SpacesRow> fresh,
                              run_spaces_task(file, source, tasks[t], run));
    rows.insert(rows.end(), fresh.begin(), fresh.end());
    if (!request.results.empty())
      EDGESAGE_RETURN_IF_ERROR(write_spaces_rows(rows, request.results));
  }
  return {};
}

}  // namespace

Result<AccuracyTable> evaluate_many_spaces(const Context& context,
                                           const ManySpacesRequest& request) {
  EDGESAGE_RETURN_IF_ERROR(check_settings(request));
  std::vector<SpacesRow> rows;
  if (!request.results.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(rows, read_spaces_rows(request.results));
  }
  for (const std::filesystem::path& labels : request.labels)
    EDGESAGE_RETURN_IF_ERROR(run_file(context, labels, request, rows));
  if (contains(request.settings, kRealFiles))
    for (const std::string& device : request.devices)
      EDGESAGE_RETURN_IF_ERROR(add_real_files(
          context, {request.real_models, device, request.predictor, request.results}, rows));
  AccuracyTable table;
  for (const SpacesRow& row : rows) {
    if (row.row.accuracy.count > 0)
      table.rows.push_back(to_public(row));
    else
      table.unanswered.push_back({row.task.variant, row.row.device, row.row.space, row.note});
  }
  for (const SpacesRow& row : real_file_totals(rows)) table.rows.push_back(to_public(row));
  return table;
}

}  // namespace edgesage::app
