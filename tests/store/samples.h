// Networks and measurements for tests of the store and of what reads it.
#pragma once

#include <cmath>
#include <string>

#include "src/base/rng.h"
#include "src/store/records.h"
#include "tests/support/test_paths.h"

namespace edgesage::test {

inline NetworkRecord sample_network(int number) {
  NetworkRecord network;
  network.name = "mobile-classifier/1/" + std::to_string(number);
  network.graph_hash = "graph" + std::to_string(number);
  network.weights_hash = "weights" + std::to_string(number);
  network.macs = 1'000'000 + number;
  return network;
}

// Figures of the size and kind that devices give.
inline Measurement sample_measurement(Rng& rng, const std::string& device, int operators = -1) {
  Measurement m;
  m.device = device;
  m.runtime = "runtime";
  m.runtime_version = "1.2";
  if (device == "host-litert") m.host_fingerprint = "host-a";
  m.quantities = {{"latency_ms", rng.log_uniform(0.01, 100)},
                  {"sram_bytes", static_cast<double>(rng.integer(1, 1 << 20))},
                  {"cycles_total", std::floor(rng.log_uniform(1e3, 1e9))}};
  m.missing = {{"energy_mj", "no sensor"}};
  m.statistic = "min";
  for (int64_t i = rng.integer(0, 50); i > 0; --i)
    m.samples_ms.push_back(static_cast<double>(rng.integer(100'000, 900'000)) / 1e6);
  m.stationary = rng.chance(0.8);
  m.cpu_operators = static_cast<int32_t>(rng.integer(0, 3));
  m.operator_unit = "cycles";
  if (operators < 0) operators = static_cast<int>(rng.integer(0, 80));
  for (int i = 0; i < operators; ++i) {
    const bool npu = rng.chance(0.9);
    m.operators.push_back({i, std::floor(rng.log_uniform(100, 1e6)), rng.integer(0, 10'000'000),
                           static_cast<double>(rng.integer(0, 500)) * 16, npu ? "npu" : "cpu",
                           npu ? "" : "kernel too large"});
  }
  m.protocol = {{"warm_up", "3"}, {"runs", std::to_string(rng.integer(1, 3))}};
  m.environment = {{"governor", "performance"}};
  return m;
}

}  // namespace edgesage::test
