// `edgesage evaluate --protocol`: few-shot learning on published measurements and on label files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "edgesage/few_shot_table.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

struct ProtocolRequest {
  std::string protocol;                       // a name of protocol_names()
  std::filesystem::path data;                 // directory of published measurements
  std::vector<std::filesystem::path> labels;  // label files, for protocols of label files
  std::vector<std::string> sets;              // empty: all of the protocol
  std::vector<std::string> boards;            // devices; empty: all
  std::vector<int64_t> counts;                // labels to learn from; empty: the protocol's
  int64_t first_seed = 0;
  int64_t seeds = 0;                // 0: the protocol's
  std::vector<std::string> models;  // beside the process; empty: the protocol's
  std::vector<std::string> draws;   // "random", "chosen"; empty: the protocol's
  int64_t devices = 8000;           // virtual ones
  uint64_t seed = 1;                // of the virtual devices
  std::filesystem::path results;    // rows that are there are not computed again; empty: none
  int64_t most_rows = 0;            // of a set; 0: all
  int threads = 0;
};

[[nodiscard]] std::vector<std::string> protocol_names();
// Whether the protocol's sets are label files rather than published ones.
[[nodiscard]] bool takes_label_files(const std::string& protocol);

// Rows go to `results` after each draw, so an interrupted run goes on where it was.
[[nodiscard]] Result<FewShotTable> evaluate_protocol(const Context& context,
                                                     const ProtocolRequest& request);

}  // namespace edgesage::app
