#include "src/app/devices.h"

#include "src/app/predictors.h"

namespace edgesage::app {

Result<std::vector<DeviceStatus>> devices(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  std::vector<DeviceStatus> out;
  for (const DeviceDescription& device : catalog.devices()) {
    DeviceStatus& status = out.emplace_back();
    status.name = device.name;
    status.description = device.description;
    status.runtime = device.runtime;
    status.target = device.target;
    status.statistic = device.statistic;
    status.quantities = device.quantities;
    status.host_bound = device.host_bound;
    const Status measurable = check_device(device, context.places);
    status.can_measure = measurable.has_value();
    if (!measurable) status.measure_reason = measurable.error().message;
    const Result<std::filesystem::path> predictor = find_predictor(context, device.name);
    status.can_predict = predictor.has_value();
    if (predictor)
      status.predictor = predictor->string();
    else
      status.predict_reason = predictor.error().message;
  }
  return out;
}

}  // namespace edgesage::app
