// What is in label files, and whether a device still says so.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "src/app/dataset.h"
#include "src/app/temporary_file.h"
#include "src/app/worker_options.h"
#include "src/learn/annotate.h"
#include "src/learn/label_energy.h"
#include "src/learn/label_folder.h"
#include "src/learn/label_summary.h"
#include "src/learn/label_verify.h"

namespace edgesage::app {
namespace {

constexpr size_t kDifferences = 20;

// Derives the energies, device by device; the name of the last table.
Result<std::string> derive_energy(const Context& context, std::vector<LabelRow>& rows,
                                  const std::string& file) {
  const auto catalog = load_devices(context);
  std::string name;
  const auto by_device = [](const LabelRow& a, const LabelRow& b) { return a.device < b.device; };
  std::stable_sort(rows.begin(), rows.end(), by_device);
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end = std::upper_bound(begin, rows.end(), *begin, by_device);
    const auto device = catalog ? catalog->find(begin->device) : tl::unexpected(catalog.error());
    EDGESAGE_ASSIGN_OR_RETURN(
        const auto table, energy_table_of(device ? *device : DeviceDescription(), context.places,
                                          device ? file : ""));
    if (table) {
      add_energy(std::span(begin, end), *table);
      name = table->name;
    }
    begin = end;
  }
  return name;
}

// The labels of one device and host.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<LabelRow>>;

class Verifier {
 public:
  Verifier(const Context& context, const VerifyRequest& request, const DeviceCatalog& catalog)
      : context_(context), request_(request), catalog_(catalog) {
    if (request.exact_tolerance > 0) tolerance_.exact = request.exact_tolerance;
    if (request.time_tolerance > 0) tolerance_.time = request.time_tolerance;
  }

  Result<DatasetCheck> check(const std::string& device, const std::string& host,
                             const std::vector<LabelRow>& rows) const {
    DatasetCheck out;
    out.device = device;
    out.host_fingerprint = host;
    out.exact_tolerance = tolerance_.exact;
    out.time_tolerance = tolerance_.time;
    out.time_share = tolerance_.time_share;
    const auto described = described_device(device);
    if (!described) {
      out.skipped = described.error().to_string();
      return out;
    }
    EDGESAGE_ASSIGN_OR_RETURN(AnnotateDevice annotated, open(*described));
    EDGESAGE_ASSIGN_OR_RETURN(const std::string here, fingerprint(annotated));
    if (here != host) {
      out.skipped = fmt::format("the labels are of another machine (host {}, this is {})", host,
                                here.empty() ? "any" : here);
      return out;
    }
    const std::vector<LabelRow> chosen = choose_labels(rows, request_.count, request_.seed);
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> again, measure(annotated, chosen));
    fill(out, compare_labels(chosen, again, tolerance_));
    return out;
  }

 private:
  [[nodiscard]] Result<DeviceDescription> described_device(const std::string& name) const {
    EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device, catalog_.find(name));
    return device_variant(device, worker_options(request_.options));
  }

  [[nodiscard]] Result<AnnotateDevice> open(const DeviceDescription& device) const {
    MeasureOptions measuring;
    measuring.deadline = request_.deadline;
    return annotate_device(device, context_.places, measuring, request_.workers, request_.repeats);
  }

  static Result<std::string> fingerprint(const AnnotateDevice& device) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto worker, device.open());
    return worker->host_fingerprint();
  }

  // The labels as they come out today. A network that cannot be measured any more is not among
  // them.
  Result<std::vector<LabelRow>> measure(const AnnotateDevice& device,
                                        const std::vector<LabelRow>& labels) const {
    EDGESAGE_ASSIGN_OR_RETURN(const TemporaryFile file, TemporaryFile::make(".sqlite"));
    EDGESAGE_ASSIGN_OR_RETURN(Store store, Store::open(file.path(), StoreMode::kWrite));
    std::vector<std::string> names;
    for (const LabelRow& label : labels) names.push_back(label.name);
    AnnotateOptions options;
    options.devices = {device};
    options.stop = context_.stop;
    EDGESAGE_RETURN_IF_ERROR(annotate(store, names, options, [&](const AnnotateProgress& progress) {
      context_.report(progress.done, progress.total, device.name);
    }));
    auto rows = labels_of(store, {device.name});
    // None at all: every one is missing.
    if (!rows && rows.error().code == ErrorCode::kInvalidArgument) return std::vector<LabelRow>();
    return rows;
  }

  void fill(DatasetCheck& out, const LabelVerification& result) const {
    out.compared = result.compared;
    out.missing = result.missing;
    out.different = result.different;
    out.off_in_time = result.off_in_time;
    out.worst_exact = result.worst_exact;
    out.median_time = result.median_time;
    out.passed = result.passed(tolerance_);
    for (const LabelDifference& difference : result.differences) {
      if (out.differences.size() == kDifferences) break;
      out.differences.push_back({difference.name, difference.quantity, difference.expected,
                                 difference.found, difference.relative});
    }
  }

  const Context& context_;
  const VerifyRequest& request_;
  const DeviceCatalog& catalog_;
  VerifyTolerance tolerance_;
};

}  // namespace

Result<DatasetSummary> dataset_info(const Context& context, const std::string& path,
                                    const std::string& device, const std::string& energy_table) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto files, label_files(path, device));
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<LabelRow> rows, read_label_files(files));
  EDGESAGE_ASSIGN_OR_RETURN(const auto failure_paths, failure_files(path, device));
  EDGESAGE_ASSIGN_OR_RETURN(const auto failures, read_failures(failure_paths));
  if (!device.empty())
    std::erase_if(rows, [&](const LabelRow& row) { return row.device != device; });
  DatasetSummary summary;
  summary.path = path;
  summary.files = static_cast<int64_t>(files.size() + failure_paths.size());
  std::error_code ignored;
  for (const auto* some : {&files, &failure_paths})
    for (const std::filesystem::path& file : *some)
      summary.file_bytes += static_cast<int64_t>(std::filesystem::file_size(file, ignored));
  summary.labels = static_cast<int64_t>(rows.size());
  std::set<std::string_view> graphs;
  for (const LabelRow& row : rows)
    graphs.insert(row.graph_hash.empty() ? row.name : row.graph_hash);
  summary.networks = static_cast<int64_t>(graphs.size());
  EDGESAGE_ASSIGN_OR_RETURN(summary.energy_table, derive_energy(context, rows, energy_table));
  summary.parts = summarize_labels(rows);
  summary.failures = summarize_failures(failures);
  return summary;
}

Result<DatasetVerification> verify_dataset(const Context& context, const VerifyRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  EDGESAGE_ASSIGN_OR_RETURN(const auto files, label_files(request.path, request.device));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, read_label_files(files));
  Groups groups;
  for (const LabelRow& row : rows)
    if (request.device.empty() || row.device == request.device)
      groups[{row.device, row.host_fingerprint}].push_back(row);
  if (groups.empty())
    return make_error(ErrorCode::kInvalidArgument, request.path,
                      fmt::format("there are no labels{}",
                                  request.device.empty() ? "" : " of " + request.device));
  DatasetVerification out;
  out.path = request.path;
  out.seed = request.seed;
  const Verifier verifier(context, request, catalog);
  for (const auto& [key, labels] : groups) {
    EDGESAGE_ASSIGN_OR_RETURN(DatasetCheck check, verifier.check(key.first, key.second, labels));
    if ((out.stopped = context.stop_wanted())) break;
    out.devices.push_back(std::move(check));
  }
  return out;
}

}  // namespace edgesage::app
