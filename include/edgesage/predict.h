// Predict what a network costs on a device, before anything is deployed.
// Plain data. Units are in the names; a quantity that is not known is empty, and `missing` says
// why.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/inspect.h"
#include "edgesage/memory.h"
#include "edgesage/result.h"

namespace edgesage {

// A value with the interval [lo, hi] that holds the truth with probability `level`.
struct Interval {
  double value = 0, lo = 0, hi = 0, level = 0.9;
};

// One operator of the main subgraph. The latencies that are known and `overhead_ms` sum to the
// prediction's latency.
struct OperatorPrediction {
  int32_t index = -1;
  std::string kind;  // "CONV_2D"
  std::string name;
  // Empty for operators that the device's own tool does not price (CPU fallbacks of an NPU
  // compiler).
  std::optional<double> latency_ms;
  std::optional<double> energy_mj;  // likewise; empty as well where energy was not learnt
  int64_t macs = 0;
  std::string placement;         // "npu", "delegate", "cpu", "folded"
  std::string placement_reason;  // the rule that kept it off the accelerator; may be empty
  bool known = true;             // false: nothing like it was in training, the price is a guess
};

struct Prediction {
  std::string model;
  std::string device;
  std::string predictor_id;
  std::string runtime;
  std::string runtime_version;
  std::optional<int32_t> threads;
  std::string dtype;  // of most weights: "int8", "float32", "mixed"
  int64_t batch = 1;

  std::optional<Interval> latency_ms;
  std::string latency_statistic;      // "estimate" (a compiler's figure), "min"
  std::optional<Interval> energy_mj;  // one inference, above idle
  // The table of costs that energy_mj was modelled with in the labels, by name and hash; empty: the
  // labels had it from elsewhere, or the predictor is older than this.
  std::string energy_table, energy_table_hash;
  std::optional<Interval> peak_ram_bytes;  // on-chip working memory where the device has its own
  std::optional<Interval> dram_bytes;      // in DRAM, constants included, where the device has one
  DelegatedMemory litert_xnnpack;          // where that is the runtime: the parts of peak_ram_bytes
  int64_t activations_bytes = 0;           // peak of live activations, by planning
  ArenaSize litert_arena;                  // with LiteRT's built-in kernels, whatever the device
  ArenaSize tflm_arena;                    // under TensorFlow Lite Micro, whatever the device
  int64_t weights_bytes = 0;
  std::optional<int64_t> flash_bytes;  // what the device stores: the file, where it runs as it is
  int64_t macs = 0;
  std::map<std::string, std::string> missing;  // quantity -> why it is not known

  bool in_range = true;
  std::vector<std::string> reasons;   // why not
  std::vector<std::string> warnings;  // fallbacks, unknown operators, another host
  std::vector<OperatorPrediction> operators;
  double overhead_ms = 0;
  double overhead_mj = 0;  // the operators' energies and this sum to energy_mj

  // The model that this is about, where it was asked for: shapes, edges, memory over time.
  std::optional<Inspection> inspection;
};

}  // namespace edgesage
