// Fits the parameters of virtual devices to labels: an ensemble Kalman smoother with multiple data
// assimilation (ES-MDA; Emerick and Reynolds, Computers & Geosciences 55, 2013).
//
// Devices are vectors of standard normal numbers, so their prior is N(0, I) and each step is a
// linear-Gaussian update of the whole ensemble with inflated noise. No derivative is needed, only
// the devices' prices of the labelled networks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace edgesage {

struct SmootherOptions {
  int steps = 8;
  double sigma = 0.05;  // of a label's logarithm: noise, and what no virtual device can say
  double bound = 4.0;   // parameters stay inside +- this
  uint64_t seed = 1;
};

// Logarithms of the labelled networks' costs on the devices `z` (row-major, devices x parameters):
// networks x devices, row-major.
using DevicePrices = std::function<std::vector<float>(std::span<const float> z)>;

// Moves the ensemble `z` (devices x parameters) towards `log_labels`, whose unit is not known: only
// differences between networks count. Labels that most devices cannot explain lose weight
// (Student's t, 4 degrees of freedom). Deterministic. Cost: steps x (prices + devices x labels x
// (labels + parameters)).
void smooth_devices(std::vector<float>& z, int32_t parameters, std::span<const double> log_labels,
                    const DevicePrices& prices, const SmootherOptions& options = {});

// Mean absolute difference of each device's log costs (networks x devices) to the labels, after its
// median difference is taken off.
[[nodiscard]] std::vector<double> misfit(std::span<const float> log_costs, size_t devices,
                                         std::span<const double> log_labels);

}  // namespace edgesage
