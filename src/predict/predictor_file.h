// The predictor file: everything a prediction needs, and nothing that runs.
//
// Layout (docs/predictor_file.md): 32 bytes of header - the text "EDGESAGE", the container version,
// the size and the checksum (XXH3) of the payload - then a FlatBuffer of schema/predictor.fbs.
// Files of a newer container version, damaged files, and files whose features or row kinds this
// build does not have are refused with kBadStore.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/predict/normaliser.h"
#include "src/predict/range.h"

namespace edgesage {

inline constexpr uint32_t kPredictorFileVersion = 1;

// What one quantity of a predictor needs beside the network's parameters.
struct PredictedQuantity {
  std::string name;          // "latency_ms"
  int readout = 0;           // nn::Readout
  bool node_labels = false;  // learnt with per-operator figures
  float log_offset = 0;      // added to the log prior
  float overhead_scale = 0;  // in the unit of the quantity
  // Intervals: half width in log = width(level) * (members' standard deviation + base_spread).
  std::vector<float> levels;
  std::vector<float> widths;
  float base_spread = 0;
};

// Plain data, as the file holds it.
struct PredictorData {
  std::string id;  // 12 hexadecimal digits of the payload's checksum; set by decoding
  std::string device, runtime, runtime_version, target, statistic;
  std::string host_fingerprint;  // empty: not bound to a machine
  std::string host_description;
  int32_t threads = 0;  // 0: does not apply
  Normaliser node_normaliser, global_normaliser;
  int32_t embedding = 0, hidden = 0, layers = 0;
  std::vector<PredictedQuantity> quantities;
  TrainingRange range;
  std::vector<std::vector<float>> members;  // parameters of each network of the ensemble
  std::string facts;                        // JSON
  // Name and hash of the table of costs that the labels' energy was modelled with
  // (src/devices/energy.h); empty where it was not, and in files of before it was kept.
  std::string energy_table, energy_table_hash;
};

[[nodiscard]] std::vector<std::byte> encode_predictor(const PredictorData& data);
[[nodiscard]] Result<PredictorData> decode_predictor(std::span<const std::byte> bytes,
                                                     std::string_view where);

[[nodiscard]] Status save_predictor(const PredictorData& data, const std::filesystem::path& path);
[[nodiscard]] Result<PredictorData> load_predictor(const std::filesystem::path& path);

}  // namespace edgesage
