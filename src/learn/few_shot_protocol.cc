#include "src/learn/few_shot_protocol.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "src/devices/statistics.h"
#include "src/learn/brp_nas.h"
#include "src/learn/controls.h"
#include "src/learn/published_codes.h"
#include "src/predict/predictor.h"

namespace edgesage {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

FewShotRow row_of(const MeasuredSet& set, size_t board, const FewShotTask& task,
                  const FewShotDraw& draw, std::string model) {
  FewShotRow row;
  row.draw = task.chosen ? "chosen" : "random";
  row.left_out = task.left_out;
  row.own = task.left_out.empty() ? 0 : std::min(task.own, kMostOwn);
  row.set = set.id;
  row.device = set.boards[board].device;
  row.quantity = quantity_name(set.pool.dataset.quantities[set.boards[board].quantity]);
  row.model = std::move(model);
  row.n = draw.train.size();
  row.seed = task.seed;
  return row;
}

// What a model says of every network of the pool.
struct Answers {
  std::vector<double> log_cost;
  // Half widths in log, by kLevels and network; empty: the model gives no intervals.
  std::vector<std::vector<double>> half;
  // Of the range verdict; empty: the model gives none.
  std::vector<double> score;
  std::vector<bool> flagged;
};

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? std::nan("") : quantile(values, 0.5);
}

// Errors of the networks of some rows.
std::vector<double> apes(const MeasuredSet& set, size_t board, std::span<const size_t> rows,
                         const Answers& answers) {
  std::vector<double> errors;
  for (const size_t r : rows)
    errors.push_back(std::abs(
        std::exp(answers.log_cost[set.rows[r].network]) / set.boards[board].labels[r] - 1));
  return errors;
}

struct Covered {
  double share = 0, half_width = 0;  // half width: the median
};

Covered covered(const MeasuredSet& set, size_t board, std::span<const size_t> rows,
                const Answers& answers, size_t level) {
  double inside = 0;
  std::vector<double> widths;
  for (const size_t r : rows) {
    const size_t network = set.rows[r].network;
    const double half = answers.half[level][network];
    widths.push_back(half);
    inside += std::abs(answers.log_cost[network] - std::log(set.boards[board].labels[r])) <= half;
  }
  return {inside / static_cast<double>(std::max<size_t>(1, rows.size())),
          std::expm1(middle(std::move(widths)))};
}

// How far the verdict's score tells large errors from small ones, in known spaces and the other.
RangeFigures range_figures(const MeasuredSet& set, size_t board, const FewShotDraw& draw,
                           const Answers& answers) {
  constexpr double kLarge = 3;
  RangeFigures figures;
  figures.count = std::min(draw.in_space.size(), draw.test.size());
  const std::vector<double> known = apes(set, board, draw.in_space, answers);
  figures.median_ape_known = middle(known);
  figures.coverage_90_known = covered(set, board, draw.in_space, answers, 2).share;
  figures.half_width_90_known = covered(set, board, draw.in_space, answers, 2).half_width;
  std::vector<double> scores;
  std::vector<bool> large;
  for (const auto* rows : {&draw.in_space, &draw.test}) {
    const std::span<const size_t> half(rows->data(), figures.count);
    const std::vector<double> errors = apes(set, board, half, answers);
    double flagged = 0;
    for (size_t i = 0; i < half.size(); ++i) {
      scores.push_back(answers.score[set.rows[half[i]].network]);
      large.push_back(errors[i] > kLarge * figures.median_ape_known);
      flagged += answers.flagged[set.rows[half[i]].network] ? 1 : 0;
    }
    (rows == &draw.test ? figures.flagged_left_out : figures.flagged_known) =
        flagged / static_cast<double>(std::max<size_t>(1, half.size()));
  }
  figures.auroc = auroc(scores, large);
  return figures;
}

void judge(const MeasuredSet& set, size_t board, const FewShotDraw& draw, const Answers& answers,
           FewShotRow& row) {
  std::vector<double> truth, predicted;
  for (const size_t r : draw.test) {
    truth.push_back(set.boards[board].labels[r]);
    predicted.push_back(std::exp(answers.log_cost[set.rows[r].network]));
  }
  row.accuracy = accuracy(truth, predicted);
  for (size_t level = 0; level < answers.half.size(); ++level) {
    const Covered of_level = covered(set, board, draw.test, answers, level);
    row.coverage.push_back(of_level.share);
    row.half_width.push_back(of_level.half_width);
  }
  if (!draw.in_space.empty() && !answers.score.empty())
    row.range = range_figures(set, board, draw, answers);
}

// Logarithms of a control's answers, one a network of the pool. Controls read labels from a data
// set: one with the labels of this draw.
std::vector<double> control_answers(const MeasuredSet& set, size_t board, const FewShotDraw& draw,
                                    const std::string& name) {
  Dataset labelled;
  const size_t quantity = set.boards[board].quantity;
  labelled.target = set.pool.dataset.target;
  labelled.quantities = set.pool.dataset.quantities;
  std::vector<size_t> train;
  for (const size_t r : draw.train) {
    train.push_back(labelled.examples.size());
    labelled.examples.push_back(set.pool.dataset.examples[set.rows[r].network]);
    labelled.examples.back().labels[quantity] = set.boards[board].labels[r];
  }
  const auto control = fit_control(name, labelled, train, quantity);
  std::vector<double> answers;
  for (const Example& example : set.pool.dataset.examples)
    answers.push_back(std::log(std::max(1e-12, control->predict(example))));
  return answers;
}

// Networks and logarithms of the labels of a draw's training rows.
struct DrawLabels {
  std::vector<size_t> network;
  std::vector<double> y;
};

DrawLabels labels_of_draw(const MeasuredSet& set, size_t board, const FewShotDraw& draw) {
  DrawLabels labels;
  for (const size_t r : draw.train) {
    labels.network.push_back(set.rows[r].network);
    labels.y.push_back(std::log(set.boards[board].labels[r]));
  }
  return labels;
}

// Intervals are in units of the error's scale. A network is flagged where its own 90 % interval is
// wider than those of nearly all labels were: its scale is above their 97 % quantile, with a
// margin.
Answers process_answers(const FewShotFit& fit, std::span<const double> y) {
  constexpr double kOrdinary = 0.97, kMargin = 1.2;
  Answers answers;
  answers.log_cost = fit.log_cost;
  std::vector<double> scales = fit.held_out_scale;
  std::sort(scales.begin(), scales.end());
  const double limit = kMargin * quantile(scales, kOrdinary);
  for (const double scale : fit.error_scale) {
    answers.score.push_back(scale / limit);
    answers.flagged.push_back(scale > limit);
  }
  for (const double width : conformal_widths(fit.held_out, y, fit.held_out_scale)) {
    answers.half.emplace_back();
    for (const double scale : fit.error_scale) answers.half.back().push_back(width * scale);
  }
  return answers;
}

// Networks that the teacher answers for: those of the draw that are not judged, or, where none is
// kept back, some of all.
std::vector<size_t> lesson_networks(const MeasuredSet& set, const FewShotDraw& draw, size_t most) {
  std::vector<size_t> networks;
  if (!draw.in_space.empty()) {
    for (const size_t r : draw.unlabelled) networks.push_back(set.rows[r].network);
    return networks;
  }
  const size_t step = std::max<size_t>(1, set.pool.size() / most);
  for (size_t i = 0; i < set.pool.size(); i += step) networks.push_back(i);
  return networks;
}

Result<Answers> taught_answers(const MeasuredSet& set, size_t quantity, const FewShotFit& fit,
                               const FewShotDraw& draw, const DrawLabels& labels,
                               const FewShotRun& run) {
  const std::vector<double> nothing(set.pool.size(), std::nan(""));
  std::vector<Lesson> lessons(set.pool.dataset.quantities.size(), {nothing, nothing, {}, {}});
  lessons[quantity].widths = conformal_widths(fit.held_out, labels.y, fit.held_out_scale);
  lessons[quantity].error_scale = fit.error_scale;
  for (const size_t i : lesson_networks(set, draw, run.pool))
    lessons[quantity].log_teacher[i] = fit.log_cost[i];
  for (size_t i = 0; i < labels.network.size(); ++i)
    lessons[quantity].log_label[labels.network[i]] = labels.y[i];
  EDGESAGE_ASSIGN_OR_RETURN(PredictorData data, teach_predictor(set.pool.dataset, lessons,
                                                                {.device = set.id}, run.teach));
  EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::from(std::move(data)));
  Answers answers;
  answers.half.resize(std::size(kLevels));
  PredictWorkspace workspace;
  for (const Example& example : set.pool.dataset.examples) {
    const Estimate& estimate = predictor.estimate(example.tensors, workspace);
    const RangeVerdict verdict = judge_range(predictor.data().range, example.operator_signatures,
                                             example.tensors, estimate.spread);
    answers.log_cost.push_back(std::log(estimate.value[quantity]));
    answers.score.push_back(verdict.score);
    answers.flagged.push_back(!verdict.in_range);
    for (size_t level = 0; level < std::size(kLevels); ++level)
      answers.half[level].push_back(
          predictor.half_width(quantity, kLevels[level], estimate.spread[quantity], verdict));
  }
  return answers;
}

// Judged by rows: other than the network of a file, the cell keeps its names.
Result<FewShotRow> run_brp_nas(const MeasuredSet& set, size_t board, const FewShotDraw& draw,
                               const FewShotTask& task) {
  FewShotRow row = row_of(set, board, task, draw, "brp-nas");
  const auto cells_of = [&](std::span<const size_t> rows,
                            std::vector<double>& labels) -> Result<std::vector<NasBench201Cell>> {
    std::vector<NasBench201Cell> cells;
    for (const size_t r : rows) {
      EDGESAGE_ASSIGN_OR_RETURN(cells.emplace_back(), NasBench201Cell::parse(set.rows[r].name));
      labels.push_back(set.boards[board].labels[r]);
    }
    return cells;
  };
  std::vector<double> labels, truth;
  EDGESAGE_ASSIGN_OR_RETURN(const auto train, cells_of(draw.train, labels));
  EDGESAGE_ASSIGN_OR_RETURN(const auto test, cells_of(draw.test, truth));
  const Clock::time_point start = Clock::now();
  EDGESAGE_ASSIGN_OR_RETURN(BrpNas model, BrpNas::train(train, labels, {.seed = task.seed}));
  row.seconds = seconds_since(start);
  row.accuracy = accuracy(truth, model.predict(test));
  return row;
}

// The process, and the network that it teaches where one is wanted.
Result<std::vector<FewShotRow>> run_process(const MeasuredSet& set, size_t board,
                                            const DeviceLibrary& library, const FewShotTask& task,
                                            const FewShotRun& run, const FewShotDraw& draw,
                                            const DrawLabels& labels) {
  const size_t quantity = set.boards[board].quantity;
  FewShotRow row = row_of(set, board, task, draw, "process");
  const Clock::time_point start = Clock::now();
  EDGESAGE_ASSIGN_OR_RETURN(
      const FewShotFit fit,
      fit_few_shot(set.pool.few_shot[quantity], library, labels.network, labels.y, run.options));
  row.seconds = seconds_since(start);
  row.smoother_share = fit.smoother_share;
  judge(set, board, draw, process_answers(fit, labels.y), row);
  std::vector<FewShotRow> rows{std::move(row)};
  if (!run.taught) return rows;
  FewShotRow taught = row_of(set, board, task, draw, "taught");
  const Clock::time_point begin = Clock::now();
  EDGESAGE_ASSIGN_OR_RETURN(const Answers answers,
                            taught_answers(set, quantity, fit, draw, labels, run));
  taught.seconds = seconds_since(begin);
  judge(set, board, draw, answers, taught);
  rows.push_back(std::move(taught));
  return rows;
}

}  // namespace

bool brp_nas_learns(const MeasuredSet& set) {
  const auto published = published_codes();
  return std::any_of(published.begin(), published.end(), [&](const PublishedCodes& codes) {
    return codes.id == set.id && codes.space == "nas-bench-201";
  });
}

std::vector<double> conformal_widths(std::span<const double> held_out,
                                     std::span<const double> log_labels,
                                     std::span<const double> scales) {
  std::vector<double> residuals;
  for (size_t i = 0; i < held_out.size(); ++i)
    residuals.push_back(std::abs(held_out[i] - log_labels[i]) / (scales.empty() ? 1 : scales[i]));
  std::sort(residuals.begin(), residuals.end());
  const auto count = static_cast<double>(residuals.size());
  std::vector<double> widths;
  for (const double level : kLevels) {
    const double rank = std::ceil((count + 1) * level);
    widths.push_back(rank <= count ? residuals[static_cast<size_t>(rank) - 1]
                                   : std::numeric_limits<double>::infinity());
  }
  return widths;
}

Result<std::vector<FewShotRow>> run_few_shot(const MeasuredSet& set, size_t board,
                                             const DeviceLibrary& library, const FewShotTask& task,
                                             const FewShotRun& run) {
  const FewShotDraw draw = draw_rows(set, board, library, task, run.without_twins);
  const DrawLabels labels = labels_of_draw(set, board, draw);
  std::vector<FewShotRow> rows;
  if (run.process || run.taught) {
    EDGESAGE_ASSIGN_OR_RETURN(rows, run_process(set, board, library, task, run, draw, labels));
  }
  if (run.brp_nas && brp_nas_learns(set)) {
    EDGESAGE_ASSIGN_OR_RETURN(rows.emplace_back(), run_brp_nas(set, board, draw, task));
  }
  for (const std::string& name : run.controls) {
    FewShotRow control = row_of(set, board, task, draw, name);
    const Clock::time_point begin = Clock::now();
    const Answers answers{control_answers(set, board, draw, name), {}, {}, {}};
    control.seconds = seconds_since(begin);
    judge(set, board, draw, answers, control);
    rows.push_back(std::move(control));
  }
  return rows;
}

Result<std::vector<FewShotRow>> run_leave_group_out(const MeasuredSet& set, size_t board,
                                                    const DeviceLibrary& library,
                                                    const FewShotRun& run) {
  std::map<size_t, FewShotDraw> draws;
  std::vector<size_t> measured;
  for (size_t r = 0; r < set.rows.size(); ++r) {
    if (std::isnan(set.boards[board].labels[r])) continue;
    measured.push_back(r);
    draws[set.rows[r].group].test.push_back(r);
  }
  std::vector<std::string> models;
  if (run.process) models.emplace_back("process");
  models.insert(models.end(), run.controls.begin(), run.controls.end());
  std::vector<std::vector<double>> predicted(models.size());
  std::vector<double> truth;
  FewShotOptions options = run.options;
  options.folds = 0;
  const size_t quantity = set.boards[board].quantity;
  for (auto& [group, draw] : draws) {
    for (const size_t r : measured)
      if (set.rows[r].group != group) draw.train.push_back(r);
    const DrawLabels labels = labels_of_draw(set, board, draw);
    for (size_t m = 0; m < models.size(); ++m) {
      std::vector<double> answers;
      if (models[m] == "process") {
        EDGESAGE_ASSIGN_OR_RETURN(FewShotFit fit, fit_few_shot(set.pool.few_shot[quantity], library,
                                                               labels.network, labels.y, options));
        answers = std::move(fit.log_cost);
      } else {
        answers = control_answers(set, board, draw, models[m]);
      }
      for (const size_t r : draw.test)
        predicted[m].push_back(std::exp(answers[set.rows[r].network]));
    }
    for (const size_t r : draw.test) truth.push_back(set.boards[board].labels[r]);
  }
  std::vector<FewShotRow> rows;
  for (size_t m = 0; m < models.size(); ++m) {
    rows.push_back(row_of(set, board, {}, {}, models[m]));
    rows.back().n = set.rows.size() - 1;
    rows.back().accuracy = accuracy(truth, predicted[m]);
  }
  return rows;
}

}  // namespace edgesage
