// What a store of measurements holds. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

struct StoreDevice {
  std::string device, runtime, runtime_version, host_fingerprint;
  int64_t measured = 0;
  int64_t failed = 0;
  int64_t networks = 0;  // distinct ones measured
  int32_t repeats = 0;   // largest number of one network
  int64_t unsteady = 0;  // the series was not stationary
  int64_t protocols = 0;
  int64_t first_unix_ms = 0, last_unix_ms = 0;
};

struct StoreFailure {
  std::string device;
  std::string error;
  int64_t count = 0;
  std::string example;  // name of one network
};

struct StoreSummary {
  std::string file;
  int32_t schema_version = 0;
  int64_t networks = 0;
  int64_t duplicates = 0;
  std::vector<StoreDevice> devices;
  std::vector<StoreFailure> failures;  // most frequent first
};

// One key that two stores measured with different results; ours is kept.
struct StoreConflict {
  std::string network, device, host_fingerprint;
  int32_t repeat = 0;
  std::string quantity;  // the first that differs
  std::optional<double> ours, theirs;
};

// What a store took over from another.
struct StoreMergePart {
  std::string file;
  int64_t networks_added = 0;
  int64_t measurements_added = 0;
  int64_t already_there = 0;            // measured in both: kept once
  int64_t conflicts = 0;                // of them, with another result
  std::vector<StoreConflict> examples;  // of the conflicts
};

struct StoreMergeSummary {
  std::string file;
  std::vector<StoreMergePart> parts;
  [[nodiscard]] bool has_conflicts() const {
    for (const StoreMergePart& part : parts)
      if (part.conflicts > 0) return true;
    return false;
  }
};

}  // namespace edgesage
