#include <fmt/format.h>

#include "src/app/instruction_set.h"
#include "src/base/text.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {

Run declare_version(CLI::App& command, Session& session) {
  session.add_output(command);
  command.footer("Example:\n  edgesage version");
  return [&session] {
    const app::InstructionSets sets = app::instruction_sets();
    return session.write(fmt::format(
        "edgesage {} ({}, {})\ninstruction set {} of {}; the variable EDGESAGE_TARGET chooses\n",
        EDGESAGE_VERSION, EDGESAGE_COMPILER, EDGESAGE_BUILD_TYPE, sets.chosen,
        join(sets.available, ", ")));
  };
}

}  // namespace edgesage::cli
