#include "src/app/labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgesage::app {
namespace {

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
    EDGESAGE_ASSIGN_OR_RETURN(rows, read_labels(request.labels));
  }
  const std::string& where = request.store.empty() ? request.labels : request.store;
  if (rows.empty()) return make_error(ErrorCode::kInvalidArgument, where, "there are no labels");
  if (!request.device.empty() && rows.front().device != request.device)
    return make_error(
        ErrorCode::kInvalidArgument, where,
        fmt::format("the labels are of {}, not of {}", rows.front().device, request.device));
  return rows;
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
  for (const Quantity quantity : {Quantity::kLatencyMs, Quantity::kSramBytes}) {
    const std::string name(quantity_name(quantity));
    if (std::ranges::any_of(rows,
                            [&](const LabelRow& row) { return row.quantities.contains(name); }))
      quantities.push_back(quantity);
  }
  return quantities;
}

}  // namespace

Result<std::string> device_of_labels(const LabelRequest& request) {
  if (!request.device.empty()) return request.device;
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, read_rows(request));
  return rows.front().device;
}

Result<LabelledNetworks> load_labels(const Context& context, const LabelRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, read_rows(request));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<Quantity> quantities,
                            wanted_quantities(request, rows));
  const LabelRow& first = rows.front();
  EDGESAGE_ASSIGN_OR_RETURN(const Target target, target_of(context, first.device));
  LabelledNetworks out;
  EDGESAGE_ASSIGN_OR_RETURN(out.dataset, build_dataset(rows, target, quantities, request.threads,
                                                       [&](int64_t done, int64_t total) {
                                                         context.report(done, total, "networks");
                                                       }));
  out.source.device = first.device;
  out.source.runtime = first.runtime;
  out.source.runtime_version = first.runtime_version;
  out.source.statistic = first.statistic;
  out.source.host_fingerprint = first.host_fingerprint;
  out.source.host_description = describe_host(request, first.host_fingerprint);
  return out;
}

}  // namespace edgesage::app
