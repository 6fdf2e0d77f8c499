// The compression study: searches driven by an estimator beside searches with the device in the
// loop. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

// One way to search, on one network and device, judged by measuring its front anew.
struct CompressionArm {
  std::string network, device;
  std::string arm;  // "estimator", "hardware", "macs", "additive", "random"
  int64_t seed = 0, evaluations = 0;
  int64_t front = 0;        // points that were measured anew
  int64_t device_runs = 0;  // of the search, calibration included; measuring the front is not
  double seconds = 0;       // of the search
  // Volume between the front as measured anew and the original's latency at quality 0, both axes
  // from 0 to 1.
  double hypervolume = 0;
  double of_hardware = 0;  // per cent of the hardware's
  // Of the hardware's front: what a second measurement of it makes of the volume, per cent.
  std::optional<double> noise_percent;
  std::optional<double> mape;  // per cent, of the search's latencies along its front
  // Per cent of the distance from the MACs proxy's volume to the hardware's.
  std::optional<double> gap_closed;
};

// The device's steps over neighbouring widths of one channel group, the rest being the original.
struct CompressionStaircase {
  std::string network, device;
  std::string group;  // "width of operator 3 (CONV_2D)"
  std::vector<int32_t> widths;
  std::vector<double> predicted_ms, measured_ms;  // by width; the estimator's, and the device's
  std::vector<int32_t> predicted_steps, measured_steps;  // widths that no wider one is as fast as
};

struct CompressionTable {
  std::vector<CompressionArm> rows;
  std::vector<CompressionStaircase> staircases;
  std::vector<std::string> unfinished;  // what was not run, and why
};

}  // namespace edgesage
