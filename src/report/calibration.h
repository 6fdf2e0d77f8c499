// A calibration as text, JSON and a self-contained HTML page.
#pragma once

#include <string>

#include "edgesage/calibrate.h"

namespace edgesage::report {

[[nodiscard]] std::string calibration_text(const Calibration& calibration);
[[nodiscard]] std::string calibration_json(const Calibration& calibration);
// One file, no request leaves it: charts are inline SVG.
[[nodiscard]] std::string calibration_html(const Calibration& calibration);

[[nodiscard]] std::string sample_text(const SampledNetworks& sampled);
[[nodiscard]] std::string sample_json(const SampledNetworks& sampled);

}  // namespace edgesage::report
