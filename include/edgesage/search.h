// A compression search and what came of it. Plain data; a quantity that is not known is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgesage {

struct SearchCosts {
  std::optional<double> latency_ms, energy_mj, peak_ram_bytes;
  std::optional<double> latency_lo_ms, latency_hi_ms;  // of an interval at 90 %
  int64_t weights_bytes = 0, macs = 0;
};

struct SearchGene {
  std::string name;             // "width of operator 3 (CONV_2D)"
  std::string kind;             // "width", "side", "block"
  std::vector<int32_t> values;  // that it can have; the last is the original's
};

// A layer whose width the search chose.
struct SearchLayer {
  int32_t op = -1;  // of the original
  std::string kind;
  int64_t channels = 0, original_channels = 0;  // 0 channels: it is gone
};

struct SearchPoint {
  std::vector<int32_t> values;  // a gene
  std::string summary;          // "12 of 53 widths, 2 blocks dropped"
  std::vector<SearchLayer> layers;
  SearchCosts predicted;                // of the evaluator that the search asked
  std::optional<SearchCosts> measured;  // by the device
  double quality = 0;
  bool feasible = true;
  std::string file;  // .tflite; empty: not written
};

// Costs of the whole network over the widths of one gene.
struct SearchStaircase {
  size_t gene = 0;
  std::vector<int32_t> widths;
  std::vector<double> latency_ms;
  std::vector<int32_t> steps;  // widths that no wider one is as cheap as
};

struct SearchGeneration {
  int64_t generation = 0, evaluations = 0, front_size = 0;
  double hypervolume = 0;
};

struct SearchReport {
  std::string model, device, predictor_id, method, quality_by;
  std::vector<std::string> objectives;  // "latency_ms", ..., and "quality" last
  std::optional<double> max_latency_ms, max_ram_bytes;
  uint64_t seed = 0;
  int64_t population = 0, evaluations = 0;
  int64_t device_runs = 0;
  double seconds = 0;         // of this run
  double device_seconds = 0;  // of these, waiting for the device
  bool stopped = false;
  bool target_reached = true;  // of greedy adaptation
  SearchPoint original;
  std::vector<SearchGene> genes;
  std::vector<SearchPoint> front;  // by the first objective
  std::vector<SearchStaircase> staircases;
  std::vector<SearchGeneration> history;
  std::vector<double> reference;  // of the hypervolume, as objectives are minimised
  std::vector<std::string> warnings;
};

}  // namespace edgesage
