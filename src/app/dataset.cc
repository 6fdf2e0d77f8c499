#include "src/app/dataset.h"

#include <filesystem>

#include "src/base/file.h"
#include "src/learn/label_file.h"
#include "src/learn/label_folder.h"

namespace edgesage::app {
namespace {

LabelFile describe(const std::vector<LabelRow>& rows, const std::string& path) {
  LabelFile out;
  out.file = path;
  out.device = rows.front().device;
  out.runtime = rows.front().runtime;
  out.runtime_version = rows.front().runtime_version;
  out.host_fingerprint = rows.front().host_fingerprint;
  out.networks = static_cast<int64_t>(rows.size());
  return out;
}

// Whether the output is one file; a folder otherwise.
bool is_file_name(const std::string& path) {
  return path.ends_with(".zst") || path.ends_with(".csv");
}

Result<LabelFile> write_file_of(const std::vector<LabelRow>& rows, const std::string& path) {
  EDGESAGE_RETURN_IF_ERROR(write_labels(rows, path));
  LabelFile out = describe(rows, path);
  std::error_code ignored;
  out.file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
  return out;
}

}  // namespace

Result<LabelFile> export_dataset(const ExportRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.store, StoreMode::kRead));
  const LabelSelection selection{request.device, request.host_fingerprint, request.runtime_version};
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, labels_of(store, selection));
  if (is_file_name(request.output)) return write_file_of(rows, request.output);
  EDGESAGE_ASSIGN_OR_RETURN(
      const auto failures, failures_of(store, {request.device, rows.front().host_fingerprint, ""}));
  EDGESAGE_ASSIGN_OR_RETURN(const auto written,
                            write_label_folder(rows, failures, request.output, request.block));
  LabelFile out = describe(rows, request.output);
  out.failures = static_cast<int64_t>(failures.size());
  for (const WrittenLabels& part : written) {
    out.parts.push_back(part.file.string());
    out.file_bytes += part.bytes;
  }
  return out;
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
