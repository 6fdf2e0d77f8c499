// A device learnt from few measurements: what came of it. Plain data; errors and shares are in
// percent unless they are called logarithms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/fitness.h"

namespace edgesage {

// A measured network, and what a fit that had not seen it said.
struct CalibratedNetwork {
  std::string name, space;
  double measured = 0, held_out = 0;  // in the unit of the quantity
  bool inside_90 = true;              // of an interval made from the other networks
};

struct CalibrationCurvePoint {
  int64_t labels = 0;
  double median_ape = 0, within_10 = 0;
};

struct CalibratedQuantity {
  std::string name;  // "latency_ms"
  int64_t labels = 0;
  // Of networks that were held out, by cross-validation.
  double mape = 0, median_ape = 0, p95_ape = 0, within_10 = 0;
  std::optional<double> spearman;
  std::vector<double> levels;                     // 50, 80, 90, 95
  std::vector<double> coverage;                   // of each level, the network itself left out
  std::vector<std::optional<double>> half_width;  // of each level; empty: too few labels
  double smoother_share = 0;                      // of fitted virtual devices in the answer
  // With a warm start: the median error that the same labels give from scratch.
  std::optional<double> from_scratch_median_ape;
  // Median difference of the shipped network to the process that taught it.
  std::optional<double> taught_difference;
  std::vector<CalibratedNetwork> networks;  // largest error first
  std::vector<CalibrationCurvePoint> curve;
  // What twelve more labels would bring.
  int64_t more = 12;
  double median_ape_after = 0;
  bool enough = false;  // they would take off less than a twentieth of the error
};

struct RefusedNetwork {
  std::string name, reason;
};

// Networks measured again, and how they compare with their labels.
struct CalibrationDrift {
  int64_t networks = 0;
  double median_ratio = 1, spread = 0;  // new over stored
  bool drifted = false;
  std::string verdict;
  std::optional<double> within_interval;  // share inside the predictor's 90 % interval
};

struct Calibration {
  std::string device, runtime, runtime_version, host_fingerprint, statistic, target;
  std::string predictor_file, predictor_id;  // empty where it was stopped early
  int64_t predictor_bytes = 0;
  int64_t budget = 0, pool = 0;
  std::vector<std::string> spaces;
  std::vector<std::string> warm_start;  // devices whose labels were used too; empty: from scratch
  std::vector<CalibratedQuantity> quantities;
  std::vector<RefusedNetwork> refused;  // failed on the device, or too noisy to be a label
  std::vector<std::string> next;        // networks to measure next, in order
  std::optional<Fitness> fitness;
  std::map<std::string, std::string> protocol;
  std::optional<CalibrationDrift> drift;
  // Seconds of building the pool, measuring, the process and teaching.
  double build_seconds = 0, measure_seconds = 0, fit_seconds = 0, teach_seconds = 0;
  bool stopped = false;  // interrupted: the same command goes on
};

// What to measure, from virtual devices alone or with the labels of a store.
struct SampledNetworks {
  std::vector<std::string> names;  // in the order of their use
  int64_t pool = 0, labelled = 0;
  std::string why;  // one line: by what they were chosen
  // With labels: median error of held-out networks now, and after as many more as were asked for.
  std::optional<double> median_ape, median_ape_after;
  bool enough = false;
};

}  // namespace edgesage
