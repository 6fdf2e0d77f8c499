#include "src/app/devices.h"

#include <algorithm>

#include "src/app/measure_fitness.h"
#include "src/report/devices.h"
#include "src/report/fitness.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"

namespace edgesage::cli {
namespace {

int list_devices(Session& session, const std::string& name, bool json) {
  auto devices = app::devices(session.context());
  if (!devices) return session.fail(devices.error());
  if (!name.empty()) {
    const auto found = std::ranges::find(*devices, name, &DeviceStatus::name);
    // The catalogue knows the closest name.
    if (found == devices->end())
      return session.fail(app::device_fitness(session.context(), name).error());
    devices->assign(1, DeviceStatus(*found));
    if (!json) return session.show(report::device_text(devices->front()));
  }
  return json ? session.write(report::devices_json(*devices))
              : session.show(report::devices_text(*devices));
}

int check_device(Session& session, const std::string& name, bool json) {
  const auto fitness = app::device_fitness(session.context(), name);
  if (!fitness) return session.fail(fitness.error());
  const int code =
      fitness->level == FitnessLevel::kUnfit ? static_cast<int>(ErrorCode::kDeviceFailed) : 0;
  return session.write(json ? report::fitness_json(*fitness) : report::fitness_text(*fitness),
                       code);
}

}  // namespace

Run declare_devices(CLI::App& command, Session& session) {
  struct Options {
    std::string format = "text";
    std::string name;
    std::string check;
  };
  auto options = std::make_shared<Options>();
  command.add_option("DEVICE", options->name, "Tell this one in full: what it reports, why not")
      ->type_name("");
  command
      .add_option("--check", options->check,
                  "Say whether this device is fit to be measured now (governor, load, temperature, "
                  "...); exit 5 when it is not")
      ->type_name("DEVICE");
  add_format(command, options->format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage devices\n"
      "  edgesage devices host-litert\n"
      "  edgesage devices --check ethos-u55-256\n\n"
      "A device of your own is a TOML file, named with --device-file: docs/adding_a_device.md.");
  return [options, &session] {
    const bool json = options->format == "json";
    return options->check.empty() ? list_devices(session, options->name, json)
                                  : check_device(session, options->check, json);
  };
}

}  // namespace edgesage::cli
