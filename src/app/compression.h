// `edgesage evaluate --protocol compression`: does a search need the hardware?
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/compression.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

struct CompressionRequest {
  // Names of networks; empty: reference/{inception-v3,densenet169,resnet50}.
  std::vector<std::string> networks;
  std::vector<std::string> devices;  // empty: ethos-u55-256
  std::vector<std::string> arms;     // empty: all
  int64_t evaluations = 1000;
  int64_t budget = 100;  // measurements of the calibration
  int64_t front = 64;    // points of a front that are measured anew, at most
  int64_t stairs = 2;    // channel groups whose widths are measured one by one
  uint64_t seed = 1;
  int64_t seeds = 1;
  int threads = 0;
  std::filesystem::path directory;  // of everything; an interrupted study goes on where it was
  // Called after each arm with the rows so far.
  std::function<void(const CompressionTable&)> row_done;
};

// Arms of one network and device share the space of genes (no steps: they are the predictor's) and
// the seed, so their first populations are equal. A device that is a compiler answers a network's
// file once for all arms; each counts it as a run of its own, with the time that it took. Beside a
// search's files an arm has front.csv, the points as measured, and cost.json. Errors are those of
// the first arm that fails as a whole; a stop keeps what is finished.
[[nodiscard]] Result<CompressionTable> compression_study(const Context& context,
                                                         const CompressionRequest& request);

}  // namespace edgesage::app
