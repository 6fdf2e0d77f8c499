// A device from a hundred labels: virtual devices as prior knowledge, a Gaussian process as answer.
//
// Thousands of closed-form machines (src/simulate, no measured number in them) price every network.
// How their prices vary together is the covariance of a Gaussian process on the logarithm of the
// cost; a second covariance comes from the machines that agree best with the labels, either as
// drawn or after their parameters were fitted by an ensemble smoother. What is known of a target in
// closed form (its lowering) is the mean, and shares of it by kind of row one more covariance.
//
// HiFi-SAGE (DATE 2025) learns a device from 100 measurements with a GraphSAGE alone; here the
// process teaches it (src/learn/teach.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgesage/result.h"
#include "src/features/priors.h"
#include "src/graph/graph.h"
#include "src/lower/rows.h"
#include "src/predict/ensemble_smoother.h"
#include "src/predict/gaussian_process.h"
#include "src/simulate/simulate.h"

namespace edgesage {

// What the process reads of one network. Plain data.
struct FewShotNetwork {
  simulate::SimNetwork sim;
  // Logarithms of counts, MACs and bytes, of all rows and by kind of row.
  std::vector<float> totals;
  // Shares of the closed form by kind of row and by what bounds it; sum 1, or all 0.
  std::vector<float> shares;
  // What bounds it in the closed form: logarithms of the whole over what the arithmetic units
  // alone, and they with on-chip memory, would take; size of the live bytes. Where a scheduler
  // keeps data on chip that the closed form sends off it, this is where it shows.
  std::vector<float> bounds;
  double log_closed_form = 0;  // minus infinity where nothing is priced
};

[[nodiscard]] FewShotNetwork make_few_shot_network(const Graph& graph, const Lowering& lowering,
                                                   Quantity quantity);

// The same of a set of networks, one entry each.
struct FewShotSet {
  Quantity quantity = Quantity::kLatencyMs;
  std::vector<simulate::SimNetwork> sim;
  std::vector<std::vector<float>> totals, shares, bounds;
  std::vector<double> log_closed_form;

  [[nodiscard]] size_t size() const { return sim.size(); }
  void add(FewShotNetwork network);
};

// The virtual devices' prices of a set of networks; labels play no part in it, so one library
// serves any number of fits on the same networks.
struct DeviceLibrary {
  uint64_t seed = 1;
  std::vector<float> z;  // devices x simulate::kParameters
  // Networks x devices: logarithms of costs, centred over the networks, times `scale`, which makes
  // the mean squared length of a row 1.
  Points points;
  double scale = 1;
  Points components;  // simulated_components of the points
};

// Cost: networks x rows x devices, about 5 ns each on a core. Memory: 4 bytes a network and device.
[[nodiscard]] DeviceLibrary make_device_library(const FewShotSet& networks, int32_t devices,
                                                uint64_t seed, int threads);

struct FewShotOptions {
  int best = 300;               // devices of the second covariance
  bool smoother = true;         // also fit devices, and mix both answers
  size_t smoother_labels = 40;  // fewer than these cannot tell what a fit is worth: no smoother
  int ensemble = 1000;          // devices that the smoother moves
  int folds = 5;  // of the cross-validation that mixes and gives held-out answers; 0: none
  double fixed_share = -1;  // of the fitted devices' answer in the mix; negative: by the folds
  // The target's closed form as mean function, its shares by kind of row as a covariance.
  bool closed_form = false;
  bool totals = true;  // Matern covariance over the totals
  // Warm start: logarithms of costs on devices that are known already, one entry a network each. A
  // further covariance; what it is worth is learnt. Empty: from scratch.
  std::vector<std::vector<double>> known_devices;
  SmootherOptions smoothing;
  GaussianProcessOptions process;
  int threads = 0;
};

struct FewShotFit {
  std::vector<double> log_cost;  // one a network
  std::vector<double> log_sd;    // standard deviation of it as the process sees it
  // Scale of its error, in which intervals are: see few_shot_errors.h; empty without folds.
  std::vector<double> error_scale;
  // For each label the answer of a fit that did not see it, and the scale of its error; empty
  // without folds.
  std::vector<double> held_out, held_out_scale;
  double smoother_share = 0;  // of the fitted devices' answer in the mix
};

// Learns from the labels of `labelled` (indexes of `networks`; natural logarithms) and answers for
// all networks. `networks` without labels serve to centre the virtual devices' prices; the library
// must be theirs, in the same order. The same input gives the same answer whatever the number of
// threads. kInvalidArgument for fewer than 8 labels, or one that is not finite.
// Cost with 100 labels: about a second.
[[nodiscard]] Result<FewShotFit> fit_few_shot(const FewShotSet& networks,
                                              const DeviceLibrary& library,
                                              std::span<const size_t> labelled,
                                              std::span<const double> log_labels,
                                              const FewShotOptions& options = {});

}  // namespace edgesage
