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

}  // namespace edgesage::app
