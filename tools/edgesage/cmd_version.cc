#include <fmt/format.h>

#include "tools/edgesage/commands.h"

namespace edgesage::cli {

Run declare_version(CLI::App& command, Session& session) {
  session.add_output(command);
  command.footer("Example:\n  edgesage version");
  return [&session] {
    return session.write(fmt::format("edgesage {} ({}, {})\n", EDGESAGE_VERSION, EDGESAGE_COMPILER,
                                     EDGESAGE_BUILD_TYPE));
  };
}

}  // namespace edgesage::cli
