// What a store of measurements holds. Plain data.
#pragma once

#include <cstdint>
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

}  // namespace edgesage
