// What was read of others' measurements. Plain data; units are in the names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace edgesage {

struct ImportedReport {
  std::string file;
  std::string format;   // "benchmark_model", "vela-summary", ...
  std::string network;  // as the report calls it; may be empty
  int64_t row = 0;      // of a table, from 1; 0: the report is not a table
  std::string model;    // the model file that it is about; empty where none was named
  std::string graph_hash;
  std::string device, runtime, runtime_version;
  std::string statistic;                     // of latency_ms
  std::map<std::string, double> quantities;  // "latency_ms", "sram_bytes", ...
  std::map<std::string, std::string> missing;
  int64_t operators = 0;      // that have figures of their own
  int64_t cpu_operators = 0;  // that fell back
  std::vector<std::string> notes;
};

struct Import {
  std::vector<ImportedReport> reports;
  std::string labels;    // the file that was written; empty: none
  int64_t networks = 0;  // in that file, with those that were there before
  std::string device;    // of its labels
};

}  // namespace edgesage
