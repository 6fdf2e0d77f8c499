// `edgesage search`: smaller networks of one, by what a device needs for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/result.h"
#include "edgesage/search.h"
#include "src/app/context.h"
#include "src/learn/evaluation_log.h"

namespace edgesage::app {

struct SearchRequest {
  std::string model;  // a file, or the name of a network: "reference/resnet50@96"
  std::string device;
  std::string predictor;         // a file; empty: the device's installed one
  std::string method = "nsga2";  // or "netadapt", "random"
  // Minimised: "latency_ms", "energy_mj", "peak_ram_bytes", "weights_bytes", "macs".
  std::vector<std::string> objectives = {"latency_ms"};
  std::optional<double> max_latency_ms, max_ram_bytes;
  int64_t evaluations = 2000;
  int32_t population = 64;
  uint64_t seed = 1;
  int threads = 0;
  int workers = 0;  // of a device that is no single machine; 0: one a thread

  std::string quality = "magnitude";         // or "fidelity", "command"
  std::vector<std::string> quality_command;  // program and arguments, one with {model}
  std::chrono::milliseconds quality_timeout{600'000};
  std::filesystem::path calibration_inputs;  // of fidelity; empty: made up
  int64_t calibration_sets = 8;

  std::string cost_model = "predictor";  // or "additive", of the labels of `calibrate`
  bool hardware = false;                 // costs from the device itself, not from a predictor
  int32_t hybrid = 0;     // device runs a generation, where the predictor is least sure
  int64_t confirm = 0;    // points of the final front to measure
  int64_t calibrate = 0;  // measurements of pruned networks to learn a predictor from first

  double least_share = 0.25;
  int32_t levels = 16;
  std::vector<double> side_shares;  // of the image; empty: its side stays
  bool drop_blocks = true;
  bool snap = true;  // widths at the device's steps alone

  int64_t keep = 10;                                         // points to write as files
  std::filesystem::path directory;                           // of files, logs and the checkpoint
  std::vector<std::pair<std::string, std::string>> options;  // of the worker
  std::chrono::milliseconds deadline{300'000};
  // Of a device that is a compiler: answers that searches of one network share (DeviceEvaluator).
  EvaluationLog* shared_answers = nullptr;
};

// Interrupted, `stopped` is set and the same request goes on where it was, to the same result.
// Errors: kBadModel and kUnsupported of the model, kInvalidArgument of the request or a directory
// that holds another search, kDeviceFailed of the device, kBadStore of damaged files.
[[nodiscard]] Result<SearchReport> search(const Context& context, const SearchRequest& request);

}  // namespace edgesage::app
