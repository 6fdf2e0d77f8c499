#include "src/app/context.h"

namespace edgesage::app {

Result<DeviceCatalog> load_devices(const Context& context) {
  return DeviceCatalog::load(context.device_directories, target_names());
}

Result<Target> target_of(const Context& context, std::string_view name) {
  if (auto target = target_from_name(name)) return target;
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device, catalog.find(name));
  return target_from_name(device.target);
}

}  // namespace edgesage::app
