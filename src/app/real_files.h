// Setting "real-files" of protocol edgedlperf: files that others published, measured on the device
// now, against what a predictor says that never saw them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/app/context.h"
#include "src/learn/many_spaces.h"

namespace edgesage::app {

inline constexpr const char* kRealFiles = "real-files";

// The space that rows of a file have, by its operators: 8 or more, fewer, one.
inline constexpr const char* kRealNetworks = "real-networks";
inline constexpr const char* kRealParts = "real-parts";
inline constexpr const char* kSingleOperators = "single-operators";

struct RealFile {
  std::filesystem::path path;
  std::string name;       // without the folders: "f0b01141_vww_96_int8.tflite"
  int64_t operators = 0;  // of all subgraphs, as the index counts them
};

// The .tflite files of `models`/index.csv (columns "file", "kind", "ops") that nothing may be
// trained on: rows with an even number, counting from 0, and those below tflite/tiny. In the order
// of the index. kBadStore for an index that is not there or damaged.
[[nodiscard]] Result<std::vector<RealFile>> files_for_testing(const std::filesystem::path& models);

struct RealFilesRequest {
  std::filesystem::path models;  // the folder with index.csv
  std::string device;
  std::string predictor;          // empty: the one that is installed for the device
  std::filesystem::path results;  // rows are written there after each file; empty: nowhere
};

// Adds a row a file and quantity that both the device and the predictor have, as task
// {"real-files", variant: the file's name}; a file without an answer gets one row without networks
// whose `note` says why. Files that `rows` has are passed over. Cost: a measurement a file.
[[nodiscard]] Status add_real_files(const Context& context, const RealFilesRequest& request,
                                    std::vector<SpacesRow>& rows);

// The lines over all files of a device, by size and placement.
[[nodiscard]] std::vector<SpacesRow> real_file_totals(std::span<const SpacesRow> rows);

}  // namespace edgesage::app
