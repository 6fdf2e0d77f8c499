#include "src/app/dataset.h"

#include <filesystem>

#include "src/base/file.h"
#include "src/learn/label_file.h"

namespace edgesage::app {
namespace {

Result<LabelFile> write_file_of(const std::vector<LabelRow>& rows, const std::string& path) {
  EDGESAGE_RETURN_IF_ERROR(write_labels(rows, path));
  LabelFile out;
  out.file = path;
  out.device = rows.front().device;
  out.runtime = rows.front().runtime;
  out.runtime_version = rows.front().runtime_version;
  out.host_fingerprint = rows.front().host_fingerprint;
  out.networks = static_cast<int64_t>(rows.size());
  std::error_code ignored;
  out.file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
  return out;
}

}  // namespace

Result<LabelFile> export_dataset(const ExportRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.store, StoreMode::kRead));
  const LabelSelection selection{request.device, request.host_fingerprint, request.runtime_version};
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, labels_of(store, selection));
  return write_file_of(rows, request.output);
}

Result<LabelFile> import_dataset(const ImportRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::string csv,
                            read_text(request.file, ErrorCode::kInvalidArgument));
  EDGESAGE_ASSIGN_OR_RETURN(const ImportedLabels labels,
                            import_labels(csv, request.file, request.labels));
  EDGESAGE_ASSIGN_OR_RETURN(LabelFile out, write_file_of(labels.rows, request.output));
  out.not_measured = labels.not_measured;
  out.constants = labels.constants;
  out.repeated = labels.repeated;
  return out;
}

}  // namespace edgesage::app
