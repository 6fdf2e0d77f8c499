#include "src/app/store.h"

#include "src/store/store.h"

namespace edgesage::app {

Result<StoreSummary> store_info(const std::string& file) {
  EDGESAGE_ASSIGN_OR_RETURN(const Store store, Store::open(file, StoreMode::kRead));
  EDGESAGE_ASSIGN_OR_RETURN(const StoreInfo info, store.info());
  StoreSummary summary;
  summary.file = file;
  summary.schema_version = info.schema_version;
  summary.networks = info.networks;
  summary.duplicates = info.duplicates;
  for (const StoreGroup& group : info.groups)
    summary.devices.push_back({group.device, group.runtime, group.runtime_version,
                               group.host_fingerprint, group.measured, group.failed, group.networks,
                               group.repeats, group.unsteady, group.protocols, group.first_unix_ms,
                               group.last_unix_ms});
  for (const FailureCount& failure : info.failures)
    summary.failures.push_back({failure.device, failure.error, failure.count, failure.example});
  return summary;
}

Result<StoreMergeSummary> merge_stores(const Context& context, const std::string& output,
                                       const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs)
    EDGESAGE_RETURN_IF_ERROR(Store::open(input, StoreMode::kRead));
  EDGESAGE_ASSIGN_OR_RETURN(Store store, Store::open(output, StoreMode::kWrite));
  StoreMergeSummary summary;
  summary.file = output;
  for (const std::string& input : inputs) {
    if (context.stop_wanted()) break;
    context.report(static_cast<int64_t>(summary.parts.size()), static_cast<int64_t>(inputs.size()),
                   input);
    EDGESAGE_ASSIGN_OR_RETURN(const MergeReport report, store.merge(input));
    StoreMergePart part{input,
                        report.networks_added,
                        report.measurements_added,
                        report.already_there,
                        report.conflicts,
                        {}};
    for (const MergeConflict& from : report.examples)
      part.examples.push_back({from.network, from.device, from.host_fingerprint, from.repeat,
                               from.quantity, from.ours, from.theirs});
    summary.parts.push_back(std::move(part));
  }
  return summary;
}

}  // namespace edgesage::app
