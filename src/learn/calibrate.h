// The steps of a calibration: choose, learn, teach. Measuring between them is the caller's.
//
// HiFi-SAGE (DATE 2025) trains from scratch on 100 measurements; so does this, with virtual devices
// as prior knowledge and no other device's labels.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "edgesage/calibrate.h"
#include "edgesage/result.h"
#include "src/learn/few_shot.h"
#include "src/learn/label_file.h"
#include "src/learn/network_pool.h"
#include "src/learn/teach.h"

namespace edgesage {

// A pool with the virtual devices' prices for each quantity.
struct PricedPool {
  NetworkPool pool;
  std::vector<DeviceLibrary> libraries;  // one a quantity
  std::vector<size_t> space_of;          // number of each network's space

  // Of the first quantity, for choosing.
  [[nodiscard]] const Points& components() const { return libraries.front().components; }
};

[[nodiscard]] PricedPool price_pool(NetworkPool pool, int32_t devices, uint64_t seed, int threads);

// Labels of pool networks, found by graph hash.
struct PoolLabels {
  std::vector<size_t> network;                 // of the pool, ascending
  std::vector<std::vector<double>> log_value;  // quantity, then as `network`; NaN: not reported
};
[[nodiscard]] PoolLabels labels_in_pool(const PricedPool& priced, std::span<const LabelRow> labels);

struct CalibrateOptions {
  FewShotOptions few_shot;
  TeachOptions teach;
  bool closed_form = false;  // the target's closed form is of this device: see FewShotOptions
  int threads = 0;
};

// What is learnt of one quantity.
struct LearntQuantity {
  FewShotFit fit;
  std::vector<double> widths;         // half widths in log by kLevels
  std::vector<double> scaled_widths;  // the same in units of fit.error_scale
  CalibratedQuantity report;
};

// How unsure a process is of each network's logarithm, from the labels of a quantity that there
// are: enough to choose what to measure next, in a tenth of a second. Errors as learn_quantity.
[[nodiscard]] Result<std::vector<double>> unsure_of(const PricedPool& priced, size_t quantity,
                                                    const PoolLabels& labels,
                                                    const CalibrateOptions& options);

// kInvalidArgument for fewer labels than fit_few_shot needs. About a second with 100 labels, three
// with the learning curve.
[[nodiscard]] Result<LearntQuantity> learn_quantity(const PricedPool& priced, size_t quantity,
                                                    const PoolLabels& labels,
                                                    const CalibrateOptions& options,
                                                    bool with_curve);

// The predictor that ships. `learnt` has one entry a quantity of the pool. Fills the reports'
// taught_difference.
[[nodiscard]] Result<PredictorData> teach_from(
    const PricedPool& priced, std::span<LearntQuantity> learnt, const PoolLabels& labels,
    const LabelSource& source, const CalibrateOptions& options,
    const std::function<void(const TrainingProgress&)>& progress = {},
    const std::atomic<bool>* stop = nullptr);

}  // namespace edgesage
