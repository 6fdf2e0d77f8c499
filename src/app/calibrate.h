// `edgesage calibrate` and `edgesage sample`: a device learnt from few measurements.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/calibrate.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

// Which networks there are to choose from.
struct PoolRequest {
  std::vector<std::string> spaces;            // sampled ones; empty: all of them
  std::vector<std::filesystem::path> models;  // files and directories of files, in place of spaces
  int64_t mutations = 0;                      // of each file, beside it (src/transform/mutate.h)
  int64_t size = 1200;                        // networks of spaces, all together
  uint64_t seed = 1;                          // another one gives other networks
  int64_t virtual_devices = 8000;
  int threads = 0;
};

struct CalibrateRequest {
  std::string device;
  PoolRequest pool;
  int64_t budget = 100;              // measurements
  std::filesystem::path store;       // of measurements; what is in it is not measured again
  std::filesystem::path from;        // a label file in place of measuring
  std::filesystem::path warm_start;  // a store with labels of other devices; see FewShotOptions
  std::filesystem::path output;      // predictor
  bool measure_unfit = false;        // although the computer is not fit to be measured
  int epochs = 60, members = 2, hidden = 64;  // of the taught network; members 0: do not teach
  int repeats = 1;                            // passes of which a label is the least
  std::vector<std::pair<std::string, std::string>> options;  // of the worker
  std::chrono::milliseconds deadline{300'000};
  int64_t verify = 0;  // measure so many labelled networks again, and do nothing else
};

// Interrupted, everything measured is in the store, `stopped` is set, and the same request goes on
// where it was. Errors: as measuring, and kDeviceFailed where the computer is not fit.
[[nodiscard]] Result<Calibration> calibrate(const Context& context,
                                            const CalibrateRequest& request);

struct SampleRequest {
  PoolRequest pool;
  std::string device;           // or a target's name: what networks are lowered for
  std::filesystem::path store;  // labels that are there: then networks are chosen beside them
  int64_t count = 12;
};

[[nodiscard]] Result<SampledNetworks> sample(const Context& context, const SampleRequest& request);

}  // namespace edgesage::app
