// What a store keeps and answers, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/store/measurement.h"

namespace edgesage {

// A network by name and content. A sampled network is rebuilt from its name and has no file; a
// user's file is known by its file name, and may be kept as a whole (Store::add_file).
struct NetworkRecord {
  int64_t id = 0;            // given by the store; ignored when adding
  std::string name;          // "mobile-classifier/1/4711", or the name of a user's file
  std::string graph_hash;    // structure, types, shapes, options
  std::string weights_hash;  // values of the constants
  std::string file_name;     // empty: sampled from a space
  int64_t file_bytes = 0;    // size of the .tflite; 0 when not known
  std::optional<int64_t> macs;
  // Another network of this store with the same graph, which is measured in its place.
  std::optional<int64_t> duplicate_of;
  bool operator==(const NetworkRecord&) const = default;
};

struct StoredMeasurement {
  int64_t id = 0;  // ascending in the order of storing
  int64_t network_id = 0;
  std::string network_name;
  std::string graph_hash;
  std::string weights_hash;
  int32_t repeat = 0;
  int64_t time_unix_ms = 0;
  Measurement measurement;
};

// Which measurements to read; empty texts stand for any.
struct MeasurementFilter {
  enum class Outcome : uint8_t { kMeasured, kFailed, kAny };
  std::string device;
  std::string host_fingerprint;
  Outcome outcome = Outcome::kMeasured;
  // Reading them costs decompression; left out, the vectors are empty.
  bool samples = false;
  bool operators = false;
};

// What identifies a measurement: a network is measured once on a device, a host (where the label
// depends on it) and a repeat.
struct MeasurementKey {
  int64_t network_id = 0;
  std::string device;
  std::string host_fingerprint;
  int32_t repeat = 0;
};

// All measurements of one device with one version of its runtime on one host.
struct StoreGroup {
  std::string device, runtime, runtime_version, host_fingerprint;
  int64_t measured = 0;  // without failures
  int64_t failed = 0;
  int64_t networks = 0;  // distinct ones measured
  int32_t repeats = 0;   // largest number of a network
  int64_t unsteady = 0;  // measured, but the series was not stationary
  int64_t protocols = 0;
  int64_t first_unix_ms = 0, last_unix_ms = 0;
};

struct FailureCount {
  std::string device;
  std::string error;
  int64_t count = 0;
  std::string example;  // name of one network
};

struct StoreInfo {
  int32_t schema_version = 0;
  int64_t networks = 0;
  int64_t duplicates = 0;
  std::vector<StoreGroup> groups;      // by device, version, host
  std::vector<FailureCount> failures;  // most frequent first
};

// One key, measured in both stores with different results.
struct MergeConflict {
  std::string network, device, host_fingerprint;
  int32_t repeat = 0;
  std::string quantity;  // the first that differs
  std::optional<double> ours, theirs;
};

struct MergeReport {
  int64_t networks_added = 0;
  int64_t measurements_added = 0;
  int64_t already_there = 0;            // the same key was measured here too; ours is kept
  int64_t conflicts = 0;                // of them, those that say something else
  std::vector<MergeConflict> examples;  // of the conflicts, at most ten
};

}  // namespace edgesage
