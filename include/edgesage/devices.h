// What can be predicted or measured on this computer, and why not. Plain data.
#pragma once

#include <string>
#include <vector>

namespace edgesage {

struct DeviceStatus {
  std::string name;  // "ethos-u55-256", "host-litert"
  std::string description;
  std::string runtime;                  // "vela", "litert"
  std::string target;                   // what a model is lowered for: "litert-xnnpack"
  std::string statistic;                // of its latency: "estimate", "min"
  std::vector<std::string> quantities;  // what it can report
  bool host_bound = false;              // figures belong to the machine that they were measured on
  bool can_measure = false;
  std::string measure_reason;  // why not, and the remedy
  bool can_predict = false;
  std::string predict_reason;  // why not, and the remedy
  std::string predictor;       // the predictor file
};

}  // namespace edgesage
