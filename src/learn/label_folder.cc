#include "src/learn/label_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/base/zstd.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFailures = "failures.csv.zst";
constexpr size_t kFingerprintDigits = 8;
constexpr size_t kFailureLimit = size_t{1} << 30;
constexpr int kLevel = 19;

bool is_label_file(const std::string& name) {
  return (name.ends_with(".csv.zst") || name.ends_with(".csv")) && name != kFailures;
}

// "keyword-sound" and the first seed of the block; names of other kinds (published codes) are one.
std::pair<std::string, uint64_t> block_of(const std::string& name, uint64_t block) {
  std::string space = name.substr(0, name.find('/'));
  const size_t slash = name.rfind('/');
  uint64_t seed = 0;
  if (slash == std::string::npos) return {std::move(space), 0};
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + slash + 1, end, seed);
  if (error != std::errc() || rest != end) seed = 0;
  return {std::move(space), seed / block * block};
}

Result<std::vector<fs::path>> files_of(const fs::path& path, const std::string& device,
                                       bool (*wanted)(const std::string&)) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entry(path, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const fs::path& file = entry->path();
    if (entry->is_directory(error) || !wanted(file.filename().string())) continue;
    const fs::path folder = file.parent_path();
    const std::string name = folder.filename().string();
    if (device.empty() || folder == path || name.substr(0, name.find('@')) == device)
      files.push_back(file);
  }
  if (error)
    return make_error(ErrorCode::kBadStore, path.string(),
                      fmt::format("cannot be read: {}", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

std::string failures_csv(std::span<const FailureRow> failures) {
  std::string csv = "name,device,runtime,runtime_version,host_fingerprint,error\n";
  for (const FailureRow& row : failures)
    csv += fmt::format("{},{},{},{},{},{}\n", csv_cell(row.name), csv_cell(row.device),
                       csv_cell(row.runtime), csv_cell(row.runtime_version),
                       csv_cell(row.host_fingerprint), csv_cell(row.error));
  return csv;
}

Status read_failure_file(const fs::path& file, std::vector<FailureRow>& rows) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(file, ErrorCode::kBadStore));
  const std::string where = file.string();
  EDGESAGE_ASSIGN_OR_RETURN(const std::string csv, zstd_decompress(mapped->bytes(), kFailureLimit,
                                                                   where, ErrorCode::kBadStore));
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table, parse_csv(csv, where, ErrorCode::kBadStore));
  for (const auto& cells : table.rows) {
    const auto text = [&](std::string_view name) {
      const auto column = table.column(name);
      return column ? cells[*column] : std::string();
    };
    rows.push_back({text("name"), text("device"), text("runtime"), text("runtime_version"),
                    text("host_fingerprint"), text("error")});
  }
  return {};
}

}  // namespace

std::string label_folder_name(const std::string& device, const std::string& host_fingerprint) {
  if (host_fingerprint.empty()) return device;
  return device + '@' + host_fingerprint.substr(0, kFingerprintDigits);
}

Result<std::vector<FailureRow>> failures_of(const Store& store, const LabelSelection& selection) {
  std::set<int64_t> sampled;
  EDGESAGE_ASSIGN_OR_RETURN(const auto networks, store.networks());
  for (const NetworkRecord& network : networks)
    if (network.file_name.empty()) sampled.insert(network.id);
  MeasurementFilter filter;
  filter.device = selection.device;
  filter.host_fingerprint = selection.host_fingerprint;
  filter.outcome = MeasurementFilter::Outcome::kFailed;
  std::vector<std::tuple<std::string, int32_t, FailureRow>> found;
  EDGESAGE_RETURN_IF_ERROR(store.for_each(filter, [&](const StoredMeasurement& stored) -> Status {
    const Measurement& m = stored.measurement;
    if (sampled.contains(stored.network_id))
      found.emplace_back(stored.network_name, stored.repeat,
                         FailureRow{stored.network_name, m.device, m.runtime, m.runtime_version,
                                    m.host_fingerprint, m.error});
    return {};
  }));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  std::vector<FailureRow> rows;
  for (auto& entry : found) rows.push_back(std::move(std::get<2>(entry)));
  return rows;
}

Result<std::vector<WrittenLabels>> write_label_folder(std::span<const LabelRow> rows,
                                                      std::span<const FailureRow> failures,
                                                      const fs::path& folder, uint64_t block) {
  if (block == 0)
    return make_error(ErrorCode::kInvalidArgument, "block", "0 seeds a file; at least 1");
  if (rows.empty())
    return make_error(ErrorCode::kInvalidArgument, folder.string(), "there are no labels to write");
  const fs::path place =
      folder / label_folder_name(rows.front().device, rows.front().host_fingerprint);
  std::error_code error;
  fs::create_directories(place, error);
  if (error)
    return make_error(ErrorCode::kInvalidArgument, place.string(),
                      fmt::format("cannot be made: {}", error.message()));
  std::map<std::pair<std::string, uint64_t>, std::vector<LabelRow>> blocks;
  for (const LabelRow& row : rows) blocks[block_of(row.name, block)].push_back(row);
  std::vector<WrittenLabels> written;
  for (const auto& [key, part] : blocks) {
    const fs::path file = place / fmt::format("{}-{:05}.csv.zst", key.first, key.second);
    EDGESAGE_RETURN_IF_ERROR(write_labels(part, file));
    written.push_back({file, static_cast<int64_t>(part.size()),
                       static_cast<int64_t>(fs::file_size(file, error))});
  }
  if (!failures.empty()) {
    const std::string csv = failures_csv(failures);
    EDGESAGE_RETURN_IF_ERROR(
        write_file(place / kFailures, zstd_compress(std::as_bytes(std::span(csv)), kLevel)));
  } else {
    fs::remove(place / kFailures, error);
  }
  return written;
}

Result<std::vector<fs::path>> label_files(const fs::path& path, const std::string& device) {
  EDGESAGE_ASSIGN_OR_RETURN(auto files, files_of(path, device, is_label_file));
  if (!files.empty()) return files;
  return make_error(
      ErrorCode::kBadStore, path.string(),
      fmt::format("no label files (*.csv.zst){}; write some with 'edgesage dataset export'",
                  device.empty() ? "" : " of " + device));
}

Result<std::vector<fs::path>> failure_files(const fs::path& path, const std::string& device) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{};
  return files_of(path, device, [](const std::string& name) { return name == kFailures; });
}

Result<std::vector<LabelRow>> read_label_files(std::span<const fs::path> files) {
  std::vector<LabelRow> rows;
  for (const fs::path& file : files) {
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<LabelRow> some, read_labels(file));
    std::move(some.begin(), some.end(), std::back_inserter(rows));
  }
  if (files.size() < 2) return rows;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (const LabelRow& row : rows)
    if (!seen.emplace(row.name, row.device, row.host_fingerprint).second)
      return make_error(
          ErrorCode::kBadStore, files.front().parent_path().string(),
          fmt::format("'{}' has a label on {} in two files; keep one", row.name, row.device));
  return rows;
}

Result<std::vector<FailureRow>> read_failures(std::span<const fs::path> files) {
  std::vector<FailureRow> rows;
  for (const fs::path& file : files) EDGESAGE_RETURN_IF_ERROR(read_failure_file(file, rows));
  return rows;
}

}  // namespace edgesage
