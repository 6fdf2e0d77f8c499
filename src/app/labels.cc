#include "src/app/labels.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/devices/energy.h"
#include "src/learn/feature_build.h"
#include "src/learn/label_energy.h"
#include "src/learn/label_folder.h"

namespace edgesage::app {
namespace {

// nullopt where the device is not described here, or has none.
Result<std::optional<EnergyTable>> energy_table(const Context& context, const LabelRequest& request,
                                                const std::string& device) {
  DeviceDescription description;
  if (const auto catalog = load_devices(context))
    if (auto found = catalog->find(device)) description = std::move(*found);
  return energy_table_of(description, context.places, request.energy_table);
}

// A file, or the labels of one device and host in a folder.
Result<std::vector<LabelRow>> read_label_set(const LabelRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto files, label_files(request.labels, request.device));
  EDGESAGE_ASSIGN_OR_RETURN(std::vector<LabelRow> rows, read_label_files(files));
  if (!request.host_fingerprint.empty())
    std::erase_if(rows, [&](const LabelRow& row) {
      return row.host_fingerprint != request.host_fingerprint;
    });
  std::set<std::string> devices, hosts;
  for (const LabelRow& row : rows) {
    devices.insert(row.device);
    hosts.insert(row.host_fingerprint);
  }
  const auto refuse = [&](const char* what, const char* flag, const std::set<std::string>& found) {
    const std::vector<std::string> names(found.begin(), found.end());
    return make_error(
        ErrorCode::kInvalidArgument, request.labels,
        fmt::format("has labels of several {} ({}), which are never mixed; choose one "
                    "({})",
                    what, join(names, ", "), flag));
  };
  if (devices.size() > 1) return refuse("devices", "--device", devices);
  if (hosts.size() > 1) return refuse("hosts", "--host", hosts);
  return rows;
}

Result<std::vector<LabelRow>> read_rows(const LabelRequest& request) {
  if (request.store.empty() == request.labels.empty())
    return make_error(ErrorCode::kInvalidArgument, "",
                      "name either a store (--store) or a label file (--labels)");
  std::vector<LabelRow> rows;
  if (!request.store.empty()) {
    if (request.device.empty())
      return make_error(ErrorCode::kInvalidArgument, request.store,
                        "say which device's labels to take (--device)");
    EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(request.store, StoreMode::kRead));
    EDGESAGE_ASSIGN_OR_RETURN(rows, labels_of(store, {request.device, request.host_fingerprint,
                                                      request.runtime_version}));
  } else {
    EDGESAGE_ASSIGN_OR_RETURN(rows, read_label_set(request));
  }
  const std::string& where = request.store.empty() ? request.labels : request.store;
  if (rows.empty()) return make_error(ErrorCode::kInvalidArgument, where, "there are no labels");
  if (!request.device.empty() && rows.front().device != request.device)
    return make_error(
        ErrorCode::kInvalidArgument, where,
        fmt::format("the labels are of {}, not of {}", rows.front().device, request.device));
  return rows;
}

// Derives the energy of labels without one, and says of which table it is.
void model_energy(const std::optional<EnergyTable>& table, std::vector<LabelRow>& rows,
                  LabelSource& source) {
  if (!table) return;
  const int64_t measured = std::ranges::count_if(
      rows, [](const LabelRow& row) { return row.quantities.contains(kEnergyQuantity); });
  if (add_energy(rows, *table) == measured) return;
  source.energy_table = table->name;
  source.energy_table_hash = table->hash();
}

// The CPU's model, as the host's measurements say; empty where they do not.
std::string describe_host(const LabelRequest& request, const std::string& fingerprint) {
  if (request.store.empty() || fingerprint.empty()) return "";
  const auto store = Store::open(request.store, StoreMode::kRead);
  if (!store) return "";
  std::string description;
  MeasurementFilter filter;
  filter.device = request.device;
  filter.host_fingerprint = fingerprint;
  // The first one is enough; an error is how a visit ends early.
  static_cast<void>(store->for_each(filter, [&](const StoredMeasurement& stored) -> Status {
    const auto& environment = stored.measurement.environment;
    const auto found = environment.find("cpu_model");
    if (found != environment.end()) description = found->second;
    return make_error(ErrorCode::kInternal, "", "enough");
  }));
  return description;
}

Result<std::vector<Quantity>> wanted_quantities(const LabelRequest& request,
                                                const std::vector<LabelRow>& rows) {
  std::vector<Quantity> quantities;
  for (const std::string& name : request.quantities) {
    EDGESAGE_ASSIGN_OR_RETURN(const Quantity quantity, quantity_from_name(name));
    quantities.push_back(quantity);
  }
  if (!quantities.empty()) return quantities;
  for (const Quantity quantity :
       {Quantity::kLatencyMs, Quantity::kSramBytes, Quantity::kEnergyMj, Quantity::kDramBytes}) {
    const std::string name(quantity_name(quantity));
    if (std::ranges::any_of(rows,
                            [&](const LabelRow& row) { return row.quantities.contains(name); }))
      quantities.push_back(quantity);
  }
  return quantities;
}

// Label files are known by their bytes, without reading them; a store by the labels taken from it.
Result<std::string> hash_of_file(const LabelRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto paths, label_files(request.labels, request.device));
  Hasher hasher;
  for (const std::filesystem::path& path : paths) {
    EDGESAGE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path, ErrorCode::kBadStore));
    hasher.add_bytes(file->bytes());
  }
  return request.host_fingerprint.empty() ? hasher.hex()
                                          : hasher.hex() + '@' + request.host_fingerprint;
}

std::string hash_of_rows(const std::vector<LabelRow>& rows) {
  Hasher hasher;
  hasher.add(labels_to_csv(rows));
  return hasher.hex();
}

class FeatureLoader {
 public:
  FeatureLoader(const Context& context, const LabelRequest& request)
      : context_(context), request_(request) {}

  Result<FeatureFile> load() {
    // A label file need not be parsed where its features are there.
    if (request_.store.empty() && !request_.labels.empty()) {
      EDGESAGE_ASSIGN_OR_RETURN(hash_, hash_of_file(request_));
    } else {
      EDGESAGE_ASSIGN_OR_RETURN(rows_, read_rows(request_));
      hash_ = hash_of_rows(rows_);
    }
    EDGESAGE_RETURN_IF_ERROR(find_energy_table());
    if (table_) hash_ += " modelled " + table_->hash();
    hash_ += ' ' + join(request_.quantities, ",");
    const std::filesystem::path path = place();
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) {
      auto found = open(path);
      if (found) return found;
      context_.tell(fmt::format("{}; it is made anew", found.error().to_string()));
    }
    return make(path);
  }

 private:
  [[nodiscard]] std::filesystem::path place() const {
    if (!request_.features.empty()) return request_.features;
    if (request_.store.empty()) {
      std::string labels = request_.labels;
      while (labels.size() > 1 && labels.ends_with('/')) labels.pop_back();
      std::error_code ignored;
      if (!request_.device.empty() && std::filesystem::is_directory(labels, ignored))
        labels += '.' + request_.device;
      return labels + ".features";
    }
    return fmt::format("{}.{}.features", request_.store, request_.device);
  }

  // Of the labels' device, where energy is wanted.
  Status find_energy_table() {
    const auto& wanted = request_.quantities;
    if (!wanted.empty() && std::ranges::find(wanted, kEnergyQuantity) == wanted.end()) return {};
    std::string device = request_.device;
    if (device.empty()) {
      EDGESAGE_ASSIGN_OR_RETURN(rows_, read_rows(request_));
      device = rows_.front().device;
    }
    EDGESAGE_ASSIGN_OR_RETURN(table_, energy_table(context_, request_, device));
    return {};
  }

  [[nodiscard]] Result<FeatureFile> open(const std::filesystem::path& path) const {
    EDGESAGE_ASSIGN_OR_RETURN(const FeatureFile file, FeatureFile::open(path));
    const std::string& device = file.origin().source.device;
    if (!request_.device.empty() && device != request_.device)
      return make_error(ErrorCode::kBadStore, path.string(), "was made from other labels");
    EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_of(context_, device));
    return open_features(path, hash_, target);
  }

  Result<FeatureFile> make(const std::filesystem::path& path) {
    if (rows_.empty()) {
      EDGESAGE_ASSIGN_OR_RETURN(rows_, read_rows(request_));
    }
    FeatureBuild build;
    EDGESAGE_RETURN_IF_ERROR(describe(build));
    if (const Status made = build_features(read_from(rows_), build, path); made)
      return open(path);
    else if (!request_.features.empty() || can_write(path) || context_.stop_wanted())
      return tl::unexpected(made.error());
    // The mapping outlives the name.
    const TemporaryName temporary;
    EDGESAGE_RETURN_IF_ERROR(build_features(read_from(rows_), build, temporary.path));
    return open(temporary.path);
  }

  Status describe(FeatureBuild& build) {
    model_energy(table_, rows_, build.origin.source);
    const LabelRow& first = rows_.front();
    EDGESAGE_ASSIGN_OR_RETURN(build.origin.quantities, wanted_quantities(request_, rows_));
    EDGESAGE_ASSIGN_OR_RETURN(build.target, target_of(context_, first.device));
    build.origin.source.device = first.device;
    build.origin.source.runtime = first.runtime;
    build.origin.source.runtime_version = first.runtime_version;
    build.origin.source.statistic = first.statistic;
    build.origin.source.host_fingerprint = first.host_fingerprint;
    build.origin.source.host_description = describe_host(request_, first.host_fingerprint);
    build.origin.labels_hash = hash_;
    build.origin.target = build.target.name;
    build.total = static_cast<int64_t>(rows_.size());
    build.threads = request_.threads;
    build.progress = [this](int64_t done, int64_t total) {
      context_.report(done, total, "networks");
    };
    build.stop = context_.stop;
    return {};
  }

  struct TemporaryName {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("edgesage-{}.features", ::getpid());
    ~TemporaryName() {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  };

  static bool can_write(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.parent_path();
    return ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
  }

  const Context& context_;
  const LabelRequest& request_;
  std::string hash_;
  std::optional<EnergyTable> table_;  // that energies are derived with
  std::vector<LabelRow> rows_;
};

}  // namespace

Result<std::string> device_of_labels(const LabelRequest& request) {
  if (!request.device.empty()) return request.device;
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, read_rows(request));
  return rows.front().device;
}

Result<FeatureFile> load_features(const Context& context, const LabelRequest& request) {
  return FeatureLoader(context, request).load();
}

Result<LabelledNetworks> load_labels(const Context& context, const LabelRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const FeatureFile features, load_features(context, request));
  LabelledNetworks out;
  EDGESAGE_ASSIGN_OR_RETURN(out.dataset.target, target_from_name(features.origin().target));
  out.dataset.quantities = features.quantities();
  for (size_t i = 0; i < features.size(); ++i) out.dataset.examples.push_back(features.example(i));
  out.dataset.left_out = features.left_out();
  out.source = features.origin().source;
  return out;
}

}  // namespace edgesage::app
