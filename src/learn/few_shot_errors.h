// How large errors of a few-shot fit are, network by network.
//
// The process says how unsure it is of a network, and held-out labels say how large errors really
// were. Both are put together: a ridge regression of log(error / uncertainty) on the leading
// components of the simulated costs, few enough for a hundred residuals, scales the process's own
// standard deviation. Intervals in units of this are narrow where errors are small.
#pragma once

#include <span>
#include <vector>

#include "src/predict/gaussian_process.h"

namespace edgesage {

struct ErrorScale {
  std::vector<double> network;  // one a network: in units that have no meaning by themselves
  std::vector<double> label;    // the same of the labels, as if each had not been seen
};

// `components`: one row a network, the first columns the largest (simulated_components). `log_sd`
// and `held_out_sd`: the process's, of networks and of labels that were held out. `residuals` are
// of held-out labels.
[[nodiscard]] ErrorScale error_scale(const Points& components, std::span<const size_t> labelled,
                                     std::span<const double> residuals,
                                     std::span<const double> held_out_sd,
                                     std::span<const double> log_sd);

}  // namespace edgesage
