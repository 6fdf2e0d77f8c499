// `edgesage dataset`: labels as files.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "edgesage/dataset.h"
#include "edgesage/result.h"
#include "src/app/context.h"
#include "src/learn/label_import.h"

namespace edgesage::app {

struct ExportRequest {
  std::string store;
  std::string device;
  std::string host_fingerprint;  // where the store has several
  std::string runtime_version;   // where the store has several
  std::string output;            // .csv.zst: one file; another name: a folder
  uint64_t block = 10'000;       // seeds a file, in a folder
};

// Writes the labels of a device as a file (src/learn/label_file.h) or a folder, with its failures
// (src/learn/label_folder.h). The same labels give the same bytes.
[[nodiscard]] Result<LabelFile> export_dataset(const ExportRequest& request);

struct ImportRequest {
  std::string file;  // a CSV; "-" is standard input
  LabelImport labels;
  std::string output;  // .csv.zst
};

// Writes the labels of a CSV of code strings as a label file (see src/learn/label_import.h).
[[nodiscard]] Result<LabelFile> import_dataset(const ImportRequest& request);

// Counts, ranges and failures of a label file or folder; `device` empty: of all devices. The energy
// of devices with a table of costs is derived with it, or with `energy_table`.
[[nodiscard]] Result<DatasetSummary> dataset_info(const Context& context, const std::string& path,
                                                  const std::string& device,
                                                  const std::string& energy_table);

struct VerifyRequest {
  std::string path;    // label file or folder
  std::string device;  // empty: each device of the labels
  int64_t count = 200;
  uint64_t seed = 1;
  int workers = 1;
  int repeats = 1;
  double exact_tolerance = 0, time_tolerance = 0;  // 0: the devices' own (src/learn/label_verify.h)
  std::vector<std::pair<std::string, std::string>> options;  // of the workers
  std::chrono::milliseconds deadline{300'000};
};

// Rebuilds `count` networks of each device from their names, measures them again and compares.
// Labels of another machine, and devices that are not described here, are skipped with the reason.
[[nodiscard]] Result<DatasetVerification> verify_dataset(const Context& context,
                                                         const VerifyRequest& request);

}  // namespace edgesage::app
