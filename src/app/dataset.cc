#include "src/app/dataset.h"

#include <filesystem>

#include "src/learn/label_file.h"

namespace edgesage::app {

Result<LabelFile> export_dataset(const ExportRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.store, StoreMode::kRead));
  const LabelSelection selection{request.device, request.host_fingerprint, request.runtime_version};
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, labels_of(store, selection));
  EDGESAGE_RETURN_IF_ERROR(write_labels(rows, request.output));
  LabelFile out;
  out.file = request.output;
  out.device = rows.front().device;
  out.runtime = rows.front().runtime;
  out.runtime_version = rows.front().runtime_version;
  out.host_fingerprint = rows.front().host_fingerprint;
  out.networks = static_cast<int64_t>(rows.size());
  std::error_code ignored;
  out.file_bytes = static_cast<int64_t>(std::filesystem::file_size(request.output, ignored));
  return out;
}

}  // namespace edgesage::app
