// The few-shot protocols: learn a device from N of its labels, be judged on all others.
//
// P2 `latbench`, P3 `few-shot` and P4 `intervals` are this, on different measured sets. Training
// networks are drawn at random from one board's rows; rows that are equal to a training network up
// to isomorphism are not tested. No label of another board is read.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/few_shot.h"
#include "src/learn/few_shot_draws.h"
#include "src/learn/measured_set.h"
#include "src/learn/metrics.h"
#include "src/learn/teach.h"

namespace edgesage {

inline constexpr double kLevels[] = {0.5, 0.8, 0.9, 0.95};

// How the range verdict did on as many networks of known spaces as of the one that was left out.
struct RangeFigures {
  size_t count = 0;  // networks of either kind
  // Area under the curve of the verdict's score as a sign of an error above three times the median
  // of known spaces; NaN where no network, or each, has one.
  double auroc = std::numeric_limits<double>::quiet_NaN();
  double flagged_known = std::numeric_limits<double>::quiet_NaN();  // shares
  double flagged_left_out = std::numeric_limits<double>::quiet_NaN();
  // Of the networks of known spaces; those of the left out space are the row's own figures.
  double median_ape_known = std::numeric_limits<double>::quiet_NaN();
  double coverage_90_known = std::numeric_limits<double>::quiet_NaN();
  double half_width_90_known = std::numeric_limits<double>::quiet_NaN();  // median
};

// One model on one board, trained with one draw of N labels.
struct FewShotRow {
  std::string set, device, quantity;
  std::string model;  // "process", "taught", "brp-nas", "constant", "linear", "additive", ...
  std::string draw;   // "random", or "chosen" as `edgesage sample` would
  size_t n = 0;       // labels, validation included
  uint64_t seed = 0;
  // The space that was left out and is judged alone, and how many of the labels are of it.
  std::string left_out;
  size_t own = 0;
  Accuracy accuracy;
  // Of "process" and "taught"; by kLevels. Empty for controls.
  std::vector<double> coverage;
  std::vector<double> half_width;  // median; relative, of the upper end: exp(w) - 1
  RangeFigures range;
  double smoother_share = 0;
  double seconds = 0;  // of fitting
};

// Half widths in log by kLevels, from residuals of labels that were held out: split conformal
// quantiles (Papadopoulos et al. 2002), infinite where there are too few labels for a level. With
// `scales`, one a label, they are in units of a network's scale of error.
[[nodiscard]] std::vector<double> conformal_widths(std::span<const double> held_out,
                                                   std::span<const double> log_labels,
                                                   std::span<const double> scales = {});

struct FewShotRun {
  FewShotOptions options;
  bool without_twins = true;
  bool process = true;                // false: the others alone, without `taught`
  std::vector<std::string> controls;  // by name, of src/learn/controls.h
  bool taught = false;
  bool brp_nas = false;  // only where brp_nas_learns(set)
  size_t pool = 3000;    // networks that the teacher answers for, spread evenly over the set
  TeachOptions teach;
};

// The set is of cells of NAS-Bench-201, the only ones that "brp-nas" (src/learn/brp_nas.h) knows.
[[nodiscard]] bool brp_nas_learns(const MeasuredSet& set);

// Each group of rows predicted from all other rows of the board; n is the most labels there may be.
// Without intervals.
[[nodiscard]] Result<std::vector<FewShotRow>> run_leave_group_out(const MeasuredSet& set,
                                                                  size_t board,
                                                                  const DeviceLibrary& library,
                                                                  const FewShotRun& run);

// All models of one draw. The library is of the pool's networks for the board's quantity.
[[nodiscard]] Result<std::vector<FewShotRow>> run_few_shot(const MeasuredSet& set, size_t board,
                                                           const DeviceLibrary& library,
                                                           const FewShotTask& task,
                                                           const FewShotRun& run);

}  // namespace edgesage
