#include "src/app/measure_fitness.h"

#include "src/devices/worker_client.h"

namespace edgesage::app {

Result<Fitness> device_fitness(const Context& context, const std::string& name,
                               const FitnessPaths& paths) {
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceCatalog catalog, load_devices(context));
  EDGESAGE_ASSIGN_OR_RETURN(const DeviceDescription device, catalog.find(name));
  EDGESAGE_ASSIGN_OR_RETURN(WorkerClient client, WorkerClient::for_device(device, context.places));
  EDGESAGE_ASSIGN_OR_RETURN(const WorkerHello hello, client.hello());
  client.stop();
  EDGESAGE_ASSIGN_OR_RETURN(Fitness fitness, check_fitness(device, paths));
  fitness.findings.insert(
      fitness.findings.begin(),
      {"answers", FitnessLevel::kOk, hello.runtime + " " + hello.runtime_version, "", ""});
  return fitness;
}

}  // namespace edgesage::app
