// `edgesage import`: others' measurements as labels to learn from and to evaluate on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgesage/import.h"
#include "edgesage/result.h"
#include "src/app/context.h"

namespace edgesage::app {

struct ImportRequest {
  std::vector<std::string> files;  // reports; "-" is standard input
  std::string format;              // empty: found out, file by file
  // One a report, in order; or one for all reports, which are then of one model and become one
  // label; or directories, in which a table's networks are files of the same name.
  std::vector<std::string> models;
  std::string device;  // whose labels they are; empty: as the reports say
  std::string runtime, runtime_version, host, statistic;  // where the reports do not say
  std::filesystem::path labels;  // file to write (.csv.zst); needs models and a device
  // Above 0: the files are traces of a power monitor with so many inferences in a window.
  int64_t inferences = 0;
  bool append = false;  // to the labels that are in that file
};

// Names of the formats that are known.
[[nodiscard]] const std::vector<std::string>& import_formats();

// kInvalidArgument: reports that cannot be read or have figures that are no labels (with the row),
// networks without a model, a label without a device, reports of one model that contradict each
// other, labels that the file has already.
[[nodiscard]] Result<Import> import_reports(const Context& context, const ImportRequest& request);

}  // namespace edgesage::app
