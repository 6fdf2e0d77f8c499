#include "src/app/devices.h"
#include "src/report/devices.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {

Run declare_devices(CLI::App& command, Session& session) {
  auto format = std::make_shared<std::string>("text");
  command.add_option("--format", *format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  session.add_output(command);
  session.add_devices(command);
  command.footer("Example:\n  edgesage devices");
  return [format, &session] {
    const auto devices = app::devices(session.context());
    if (!devices) return session.fail(devices.error());
    return session.write(*format == "json" ? report::devices_json(*devices)
                                           : report::devices_text(*devices));
  };
}

}  // namespace edgesage::cli
