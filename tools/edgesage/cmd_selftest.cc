#include "src/app/selftest.h"

#include <algorithm>

#include "src/report/installation.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"

namespace edgesage::cli {

Run declare_selftest(CLI::App& command, Session& session) {
  auto format = std::make_shared<std::string>("text");
  add_format(command, *format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Exits with 70 where something that is installed does not work; what is not installed is "
      "skipped.\n\nExample:\n  edgesage selftest");
  return [format, &session] {
    const std::vector<SelftestStep> steps = app::selftest(session.context());
    const bool failed = std::ranges::any_of(steps, [](const SelftestStep& step) {
      return step.outcome == SelftestStep::Outcome::kFailed;
    });
    const int code = failed ? static_cast<int>(ErrorCode::kInternal) : 0;
    return *format == "json" ? session.write(report::selftest_json(steps), code)
                             : session.show(report::selftest_text(steps), code);
  };
}

}  // namespace edgesage::cli
