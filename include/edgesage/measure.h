// What a device said of one model. Plain data; units are in the names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

// Steady-state timings of a device that runs the model.
struct TimingSeries {
  double min_ms = 0, p10_ms = 0, p50_ms = 0, p90_ms = 0;
  int64_t runs = 0;
  double spread = 0;  // (p90 - p10) / p50
  bool stationary = true;
  std::string reason;                // what is unsteady about the series; empty when nothing is
  std::optional<double> half_width;  // of the label's 90 % interval, relative; absent: too few runs
};

struct MeasuredOperator {
  int32_t index = -1;
  std::string kind;
  double cost = 0;  // in MeasuredModel::operator_unit
  int64_t macs = 0;
  std::string placement;
  std::string placement_reason;
};

struct MeasuredModel {
  std::string model;
  std::string device;
  std::string variant;  // the name that its labels have, "host-litert+threads=4"; empty: device
  std::string runtime;
  std::string runtime_version;
  std::string host_fingerprint;  // empty: the same on every machine
  std::string statistic;         // of latency_ms: "min", "estimate"
  // By name: "latency_ms", "first_latency_ms", "load_ms", "sram_bytes", ...
  std::map<std::string, double> quantities;
  std::map<std::string, std::string> missing;  // quantity -> reason
  // The table of costs that quantities["energy_mj"] is modelled with; empty: the device gave
  // it.
  std::string energy_table;
  std::optional<TimingSeries> series;  // empty for a compiler's estimate
  bool stationary = true;              // false: the series is unsteady
  std::string rejected;  // why the series is too noisy to be a label, and what to do; or empty
  std::vector<double> samples_ms;
  int32_t cpu_operators = 0;  // fell back to the CPU; an NPU compiler does not price them
  std::string operator_unit;  // "cycles", "ns"
  std::vector<MeasuredOperator> operators;
  std::map<std::string, std::string> protocol;
  std::map<std::string, std::string> environment;
  std::optional<int64_t> stored_as;  // the measurement's id in the store
};

}  // namespace edgesage
