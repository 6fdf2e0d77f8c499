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
  return out;
}

}  // namespace edgesage::app
