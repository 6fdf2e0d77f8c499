#include "src/report/devices.h"

#include <fmt/format.h>

#include <map>

#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {

std::string devices_text(const std::vector<DeviceStatus>& devices) {
  TextTable table({"device", "predict", "measure", "description"}, 100);
  // A reason that holds for many devices is said once.
  std::map<std::string, std::vector<std::string>> reasons;
  for (const DeviceStatus& device : devices) {
    table.add({device.name, device.can_predict ? "yes" : "no", device.can_measure ? "yes" : "no",
               device.description});
    if (!device.can_measure) reasons["measure: " + device.measure_reason].push_back(device.name);
  }
  std::string text = table.render();
  for (const auto& [reason, names] : reasons)
    text += fmt::format("cannot {} ({} device{})\n", reason, names.size(),
                        names.size() == 1 ? "" : "s");
  for (const DeviceStatus& device : devices)
    if (!device.can_predict) {
      text += fmt::format(
          "predict needs a predictor of the device: train one with edgesage train, or name a file "
          "with --predictor\n");
      break;
    }
  return text;
}

std::string device_text(const DeviceStatus& device) {
  std::string text = fmt::format("{}: {}\n", device.name, device.description);
  const auto line = [&](std::string_view label, std::string_view value) {
    if (!value.empty()) text += fmt::format("  {:<12}{}\n", label, value);
  };
  line("runtime", device.runtime);
  line("lowered as", device.target);
  line("latency", device.statistic == "estimate" ? "an estimate of the compiler"
                                                 : fmt::format("{} of a series", device.statistic));
  line("reports", join(device.quantities, ", "));
  line("labels", device.host_bound ? "belong to the machine that they were measured on"
                                   : "do not depend on the machine");
  line("predict",
       device.can_predict ? "yes, with " + device.predictor : "no: " + device.predict_reason);
  line("measure", device.can_measure ? "yes" : "no: " + device.measure_reason);
  return text;
}

std::string devices_json(const std::vector<DeviceStatus>& devices) {
  Json rows = Json::array();
  for (const DeviceStatus& device : devices)
    rows.push_back(
        {{"device", device.name},
         {"description", device.description},
         {"runtime", device.runtime},
         {"target", device.target},
         {"statistic", device.statistic},
         {"quantities", device.quantities},
         {"host_bound", device.host_bound},
         {"predict",
          {{"possible", device.can_predict},
           {"predictor", text_or_null(device.predictor)},
           {"reason", text_or_null(device.predict_reason)}}},
         {"measure",
          {{"possible", device.can_measure}, {"reason", text_or_null(device.measure_reason)}}}});
  return to_text({{"schema_version", kSchemaVersion}, {"devices", rows}}, 2) + '\n';
}

}  // namespace edgesage::report
