// `edgesage dataset`: labels as files.
#pragma once

#include <string>

#include "edgesage/dataset.h"
#include "edgesage/result.h"
#include "src/learn/label_import.h"

namespace edgesage::app {

struct ExportRequest {
  std::string store;
  std::string device;
  std::string host_fingerprint;  // where the store has several
  std::string runtime_version;   // where the store has several
  std::string output;            // .csv.zst
};

// Writes the labels of a device (see src/learn/label_file.h). The same labels give the same bytes.
[[nodiscard]] Result<LabelFile> export_dataset(const ExportRequest& request);

struct ImportRequest {
  std::string file;  // a CSV; "-" is standard input
  LabelImport labels;
  std::string output;  // .csv.zst
};

// Writes the labels of a CSV of code strings as a label file (see src/learn/label_import.h).
[[nodiscard]] Result<LabelFile> import_dataset(const ImportRequest& request);

}  // namespace edgesage::app
