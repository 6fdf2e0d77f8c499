#include "src/learn/many_spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "src/base/text.h"
#include "src/features/feature_table.h"
#include "src/learn/controls.h"
#include "src/learn/graph_baselines.h"
#include "src/predict/predictor.h"

namespace edgesage {
namespace {

// Networks of a left-out space that are never judged, so that the test is the same however many of
// them are learnt from.
constexpr size_t kReserved = 100;

const std::array<std::string, 12> kAblations{"no-closed-form",     "mean-read-out",  "no-tiles",
                                             "producers-only",     "consumers-only", "no-edges",
                                             "no-operator-labels", "absolute-loss",  "squared-loss",
                                             "one-layer",          "two-layers",     "half-width"};

struct Sets {
  TrainingSets training;
  std::vector<uint32_t> test;
};

void keep_first(size_t most, std::vector<uint32_t>& networks) {
  if (networks.size() > most) networks.resize(most);
}

// Everything in the order of the graph hashes, which is as good as at random.
Sets sets_of(const FeatureFile& file, const SpacesTask& task, const SpacesRun& run) {
  SplitOptions split = run.training.split;
  split.seed = task.seed;
  std::vector<uint32_t> order(file.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(file.view(a).graph_hash, a) < std::pair(file.view(b).graph_hash, b);
  });
  Sets sets;
  std::vector<uint32_t> own;
  for (const uint32_t i : order) {
    const Part part = part_of(file.view(i).graph_hash, split);
    if (!task.left_out.empty() && file.space_of(i) == task.left_out)
      own.push_back(i);
    else if (part == Part::kCalibration)
      sets.training.calibration.push_back(i);
    else if (part == Part::kTrain || !task.left_out.empty())
      sets.training.train.push_back(i);
    else
      sets.test.push_back(i);
  }
  // What intervals are fitted on counts too, in the proportion of the split.
  if (task.most > 0) {
    const double learnt = 1 - split.test;
    const auto calibration = static_cast<size_t>(
        std::round(static_cast<double>(task.most) * split.calibration / learnt));
    keep_first(task.most - calibration, sets.training.train);
    keep_first(calibration, sets.training.calibration);
  }
  const size_t reserved = std::min(kReserved, own.size() / 2);
  sets.training.train.insert(
      sets.training.train.end(), own.begin(),
      own.begin() + static_cast<std::ptrdiff_t>(std::min(task.own, reserved)));
  sets.test.insert(sets.test.end(), own.begin() + static_cast<std::ptrdiff_t>(reserved), own.end());
  if (!task.left_out.empty()) keep_first(run.most_tested, sets.test);
  for (std::vector<uint32_t>* list : {&sets.training.train, &sets.training.calibration, &sets.test})
    std::sort(list->begin(), list->end());
  return sets;
}

void clear_edges(Csr& edges) {
  edges.index.clear();
  std::fill(edges.offset.begin(), edges.offset.end(), 0);
}

// What is taken away from the networks themselves.
void ablate(const std::string& variant, Example& example) {
  GraphTensors& tensors = example.tensors;
  if (variant == "producers-only" || variant == "no-edges") clear_edges(tensors.consumers);
  if (variant == "consumers-only" || variant == "no-edges") clear_edges(tensors.producers);
  if (variant == "no-closed-form" || variant == "mean-read-out") {
    const float level = variant == "mean-read-out"
                            ? -std::log(static_cast<float>(std::max(tensors.nodes, 1)))
                            : 0.0F;
    for (float& prior : tensors.log_prior)
      if (std::isfinite(prior)) prior = level;
  }
  if (variant != "no-tiles") return;
  const auto table = node_features();
  for (size_t f = 0; f < table.size(); ++f) {
    if (!table[f].name.starts_with("waste_")) continue;
    for (size_t i = f; i < tensors.x.size(); i += table.size()) tensors.x[i] = 0;
  }
}

TrainingOptions options_of(const SpacesTask& task, const SpacesRun& run) {
  TrainingOptions options = run.training;
  options.seed = task.seed;
  if (task.variant == "no-operator-labels") options.node_weight = 0;
  if (task.variant == "absolute-loss") options.delta = 1e-3;
  if (task.variant == "squared-loss") options.delta = 10;
  if (task.variant == "one-layer") options.layers = 1;
  if (task.variant == "two-layers") options.layers = 2;
  if (task.variant == "half-width") options.hidden /= 2;
  return options;
}

// The networks of a task in a file of their own, changed as the variant says; sets become positions
// in it.
FeatureFile changed_file(const FeatureFile& file, const std::string& variant, Sets& sets) {
  Dataset dataset;
  dataset.quantities = file.quantities();
  for (std::vector<uint32_t>* list :
       {&sets.training.train, &sets.training.calibration, &sets.test}) {
    for (uint32_t& network : *list) {
      dataset.examples.push_back(file.example(network));
      ablate(variant, dataset.examples.back());
      network = static_cast<uint32_t>(dataset.examples.size() - 1);
    }
  }
  if (const auto target = target_from_name(file.origin().target)) dataset.target = *target;
  return FeatureFile::of(dataset);
}

ModelAnswers ask(const Predictor& predictor, const FeatureFile& file,
                 std::span<const uint32_t> test) {
  ModelAnswers answers{.model = "edgesage"};
  ask_each(predictor, file, test,
           [&](const Example&, const Estimate& estimate, const RangeVerdict& verdict) {
             add_answer(predictor, estimate, verdict, answers);
           });
  return answers;
}

// Controls and baselines: one fit a quantity, on some of the training networks.
class Others {
 public:
  Others(const FeatureFile& file, const Sets& sets, const SpacesRun& run)
      : file_(file), sets_(sets), run_(run) {
    std::vector<uint32_t> seen = sets.training.train;
    seen.insert(seen.end(), sets.training.calibration.begin(), sets.training.calibration.end());
    const size_t step = std::max<size_t>(
        1, (seen.size() + run.most_for_controls - 1) / std::max<size_t>(1, run.most_for_controls));
    dataset_.quantities = file.quantities();
    for (size_t i = 0; i < seen.size(); i += step) {
      chosen_.push_back(dataset_.examples.size());
      dataset_.examples.push_back(file.example(seen[i]));
    }
  }

  ModelAnswers ask(const std::string& name, bool baseline) const {
    ModelAnswers answers{.model = name};
    std::vector<std::unique_ptr<Control>> fits;  // one a quantity; null: no label of it
    for (size_t q = 0; q < dataset_.quantities.size(); ++q) fits.push_back(fit(name, baseline, q));
    for (const uint32_t network : sets_.test) {
      const Example example = file_.example(network);
      std::vector<double>& values = answers.values.emplace_back();
      for (const auto& control : fits)
        values.push_back(control ? std::max(control->predict(example), 1e-9) : 0.0);
    }
    return answers;
  }

 private:
  std::unique_ptr<Control> fit(const std::string& name, bool baseline, size_t q) const {
    std::vector<const Example*> examples;
    std::vector<double> labels;
    for (const Example& example : dataset_.examples) {
      if (std::isnan(example.labels[q])) continue;
      examples.push_back(&example);
      labels.push_back(example.labels[q]);
    }
    if (examples.empty()) return nullptr;
    if (!baseline) return fit_control(name, dataset_, chosen_, q);
    return fit_baseline(name, examples, labels, {.epochs = run_.baseline_epochs});
  }

  const FeatureFile& file_;
  const Sets& sets_;
  const SpacesRun& run_;
  Dataset dataset_;
  std::vector<size_t> chosen_;
};

Status check_names(const SpacesTask& task, const SpacesRun& run) {
  const auto known = [](std::span<const std::string> names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto unknown = [](const std::string& name, std::span<const std::string> names) {
    return make_error(ErrorCode::kInvalidArgument, name,
                      fmt::format("not known; one of {}", fmt::join(names, ", ")));
  };
  if (!task.variant.empty() && !known(kAblations, task.variant))
    return unknown(task.variant, kAblations);
  for (const std::string& name : run.controls)
    if (!known(control_names(), name)) return unknown(name, control_names());
  for (const std::string& name : run.baselines)
    if (!known(baseline_names(), name)) return unknown(name, baseline_names());
  return {};
}

}  // namespace

std::span<const std::string> ablation_names() { return kAblations; }

std::vector<std::string> spaces_of(const FeatureFile& file) {
  std::set<std::string> spaces;
  for (size_t i = 0; i < file.size(); ++i) spaces.emplace(file.space_of(i));
  return {spaces.begin(), spaces.end()};
}

Result<std::vector<SpacesRow>> run_spaces_task(const FeatureFile& whole, const LabelSource& source,
                                               const SpacesTask& task, const SpacesRun& run) {
  EDGESAGE_RETURN_IF_ERROR(check_names(task, run));
  const auto started = std::chrono::steady_clock::now();
  Sets sets = sets_of(whole, task, run);
  std::optional<FeatureFile> changed;
  if (!task.variant.empty()) changed = changed_file(whole, task.variant, sets);
  const FeatureFile& file = changed ? *changed : whole;
  EDGESAGE_ASSIGN_OR_RETURN(PredictorData data, train_predictor_on(file, sets.training, source,
                                                                   options_of(task, run), run.run));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::from(std::move(data)));

  const std::vector<Truth> truths = truths_of(file, sets.test);
  std::vector<ModelAnswers> answers{ask(predictor, file, sets.test)};
  const bool beside = task.setting == "random" || (task.setting == "left-out" && task.own == 0);
  if (beside && (!run.controls.empty() || !run.baselines.empty())) {
    const Others others(file, sets, run);
    for (const std::string& name : run.controls) answers.push_back(others.ask(name, false));
    for (const std::string& name : run.baselines) answers.push_back(others.ask(name, true));
  }
  std::vector<SpacesRow> rows;
  for (const ModelAnswers& model : answers) {
    for (EvaluationRow& row : accuracy_rows(truths, model, file.quantities())) {
      row.device = source.device;
      row.n_train = sets.training.train.size() + sets.training.calibration.size();
      row.seed = task.seed;
      rows.push_back({.task = task, .row = std::move(row), .seconds = seconds});
    }
  }
  return rows;
}

}  // namespace edgesage
