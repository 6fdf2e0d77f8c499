// What a device said of one network. Plain data: the worker protocol, the store, training and the
// command line all speak of it. A quantity that is not known is absent, with a reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

// Per operator of the main subgraph, where the device gives it.
struct OperatorMeasurement {
  int32_t index = -1;
  double cycles = 0;  // or, for CPUs, nanoseconds; see Measurement::operator_unit
  int64_t macs = 0;   // as the device counts them
  // On-chip memory in use while it runs (Vela: "Staging Usage", the largest of its rows); 0: not
  // said.
  double working_bytes = 0;
  std::string placement;         // "npu", "cpu"
  std::string placement_reason;  // as the device's tool words it; may be empty
};

struct Measurement {
  std::string device;   // "ethos-u55-256", "host-litert"
  std::string runtime;  // "vela", "litert"
  std::string runtime_version;
  std::string host_fingerprint;  // empty where the label does not depend on the machine
  // By the names of interfaces.md: "latency_ms", "sram_bytes", "dram_bytes",
  // "off_chip_flash_bytes", "first_latency_ms", "load_ms", "cycles_total", "sram_traffic_bytes",
  // ...
  std::map<std::string, double> quantities;
  std::map<std::string, std::string> missing;  // quantity -> reason
  std::string statistic;                       // of latency_ms: "min", "p50", "estimate"
  std::vector<double> samples_ms;
  bool stationary = true;
  int32_t cpu_operators = 0;  // operators that fell back
  std::string operator_unit;  // "cycles", "ns"; empty: no per-operator figures
  std::vector<OperatorMeasurement> operators;
  std::map<std::string, std::string> protocol;     // how it was measured
  std::map<std::string, std::string> environment;  // on what
  std::string error;                               // not empty: the run failed, and why
};

}  // namespace edgesage
