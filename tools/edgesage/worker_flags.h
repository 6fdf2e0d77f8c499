// Flags of the commands that start workers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/edgesage/session.h"

namespace edgesage::cli {

struct WorkerFlags {
  std::vector<std::string> pairs;  // NAME=VALUE
  int threads = 0;                 // 0: as the device says
  std::string cores;               // "0,1"; empty: as the device says
  double deadline_s = 300;

  void add(CLI::App& command);
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const;
  [[nodiscard]] std::chrono::milliseconds deadline() const;
};

}  // namespace edgesage::cli
