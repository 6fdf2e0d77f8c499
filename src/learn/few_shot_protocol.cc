#include "src/learn/few_shot_protocol.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_set>

#include "src/base/rng.h"
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

FewShotRow row_of(const MeasuredSet& set, size_t board, size_t n, uint64_t seed,
                  std::string model) {
  FewShotRow row;
  row.set = set.id;
  row.device = set.boards[board].device;
  row.quantity = quantity_name(set.pool.dataset.quantities[set.boards[board].quantity]);
  row.model = std::move(model);
  row.n = n;
  row.seed = seed;
  return row;
}

// Predictions are logarithms, one a network of the set.
void judge(const MeasuredSet& set, size_t board, const FewShotDraw& draw,
           std::span<const double> log_predicted, std::span<const double> widths, FewShotRow& row) {
  std::vector<double> truth, predicted;
  for (const size_t r : draw.test) {
    truth.push_back(set.boards[board].labels[r]);
    predicted.push_back(std::exp(log_predicted[set.rows[r].network]));
  }
  row.accuracy = accuracy(truth, predicted);
  for (const double width : widths) {
    size_t inside = 0;
    for (size_t i = 0; i < truth.size(); ++i)
      inside += std::abs(std::log(predicted[i] / truth[i])) <= width ? 1 : 0;
    row.coverage.push_back(static_cast<double>(inside) / static_cast<double>(truth.size()));
    row.half_width.push_back(std::expm1(width));
  }
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

// Logarithms of the taught predictor's answers, one a network of the pool.
Result<std::vector<double>> taught_answers(const MeasuredSet& set, size_t quantity,
                                           const FewShotFit& fit, std::span<const size_t> labelled,
                                           std::span<const double> y,
                                           const std::vector<double>& widths,
                                           const FewShotRun& run) {
  const std::vector<double> nothing(set.pool.size(), std::nan(""));
  std::vector<Lesson> lessons(set.pool.dataset.quantities.size(), {nothing, nothing, {}});
  lessons[quantity].widths = widths;
  const size_t step = std::max<size_t>(1, set.pool.size() / run.pool);
  for (size_t i = 0; i < set.pool.size(); i += step)
    lessons[quantity].log_teacher[i] = fit.log_cost[i];
  for (size_t i = 0; i < labelled.size(); ++i) lessons[quantity].log_label[labelled[i]] = y[i];
  EDGESAGE_ASSIGN_OR_RETURN(PredictorData data, teach_predictor(set.pool.dataset, lessons,
                                                                {.device = set.id}, run.teach));
  EDGESAGE_ASSIGN_OR_RETURN(const Predictor predictor, Predictor::from(std::move(data)));
  std::vector<double> answers;
  PredictWorkspace workspace;
  for (const Example& example : set.pool.dataset.examples)
    answers.push_back(std::log(predictor.estimate(example.tensors, workspace).value[quantity]));
  return answers;
}

// Judged by rows: other than the network of a file, the cell keeps its names.
Result<FewShotRow> run_brp_nas(const MeasuredSet& set, size_t board, const FewShotDraw& draw,
                               uint64_t seed) {
  FewShotRow row = row_of(set, board, draw.train.size(), seed, "brp-nas");
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
  EDGESAGE_ASSIGN_OR_RETURN(BrpNas model, BrpNas::train(train, labels, {.seed = seed}));
  row.seconds = seconds_since(start);
  row.accuracy = accuracy(truth, model.predict(test));
  return row;
}

}  // namespace

bool brp_nas_learns(const MeasuredSet& set) {
  const auto published = published_codes();
  return std::any_of(published.begin(), published.end(), [&](const PublishedCodes& codes) {
    return codes.id == set.id && codes.space == "nas-bench-201";
  });
}

FewShotDraw draw_rows(const MeasuredSet& set, size_t board, size_t n, uint64_t seed,
                      bool without_twins) {
  std::vector<size_t> measured;
  for (size_t r = 0; r < set.rows.size(); ++r)
    if (!std::isnan(set.boards[board].labels[r])) measured.push_back(r);
  Rng(seed, "few-shot draw").shuffle(measured);
  FewShotDraw draw;
  n = std::min(n, measured.size());
  draw.train.assign(measured.begin(), measured.begin() + static_cast<ptrdiff_t>(n));
  std::unordered_set<size_t> seen;
  for (const size_t r : draw.train) seen.insert(set.rows[r].group);
  for (size_t i = n; i < measured.size(); ++i)
    if (!without_twins || !seen.contains(set.rows[measured[i]].group))
      draw.test.push_back(measured[i]);
  std::sort(draw.test.begin(), draw.test.end());
  return draw;
}

std::vector<double> conformal_widths(std::span<const double> held_out,
                                     std::span<const double> log_labels) {
  std::vector<double> residuals;
  for (size_t i = 0; i < held_out.size(); ++i)
    residuals.push_back(std::abs(held_out[i] - log_labels[i]));
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
                                             const DeviceLibrary& library, size_t n, uint64_t seed,
                                             const FewShotRun& run) {
  const FewShotDraw draw = draw_rows(set, board, n, seed, run.without_twins);
  const auto [labelled, y] = labels_of_draw(set, board, draw);
  const size_t quantity = set.boards[board].quantity;
  FewShotRow row = row_of(set, board, draw.train.size(), seed, "process");
  const Clock::time_point start = Clock::now();
  EDGESAGE_ASSIGN_OR_RETURN(const FewShotFit fit, fit_few_shot(set.pool.few_shot[quantity], library,
                                                               labelled, y, run.options));
  row.seconds = seconds_since(start);
  row.smoother_share = fit.smoother_share;
  const std::vector<double> widths = conformal_widths(fit.held_out, y);
  judge(set, board, draw, fit.log_cost, widths, row);
  std::vector<FewShotRow> rows{std::move(row)};
  if (run.taught) {
    FewShotRow taught = row_of(set, board, draw.train.size(), seed, "taught");
    const Clock::time_point begin = Clock::now();
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<double> answers,
                              taught_answers(set, quantity, fit, labelled, y, widths, run));
    taught.seconds = seconds_since(begin);
    judge(set, board, draw, answers, widths, taught);
    rows.push_back(std::move(taught));
  }
  if (run.brp_nas && brp_nas_learns(set)) {
    EDGESAGE_ASSIGN_OR_RETURN(rows.emplace_back(), run_brp_nas(set, board, draw, seed));
  }
  for (const std::string& name : run.controls) {
    FewShotRow control = row_of(set, board, draw.train.size(), seed, name);
    const Clock::time_point begin = Clock::now();
    const std::vector<double> answers = control_answers(set, board, draw, name);
    control.seconds = seconds_since(begin);
    judge(set, board, draw, answers, {}, control);
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
  std::vector<std::string> models{"process"};
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
      if (m == 0) {
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
    rows.push_back(row_of(set, board, set.rows.size() - 1, 0, models[m]));
    rows.back().accuracy = accuracy(truth, predicted[m]);
  }
  return rows;
}

}  // namespace edgesage
