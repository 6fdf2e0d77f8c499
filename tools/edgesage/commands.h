// The commands, one file each (cmd_<name>.cc). A command declares its options on a parser and
// returns what runs once they are parsed: an exit code.
#pragma once

#include <functional>
#include <memory>

#include "tools/edgesage/session.h"

namespace edgesage::cli {

using Run = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;  // one line of `edgesage --help`
  Run (*declare)(CLI::App& command, Session& session);
};

Run declare_advise(CLI::App& command, Session& session);
Run declare_annotate(CLI::App& command, Session& session);
Run declare_calibrate(CLI::App& command, Session& session);
Run declare_check(CLI::App& command, Session& session);
Run declare_compare(CLI::App& command, Session& session);
Run declare_completion(CLI::App& command, Session& session);
Run declare_dataset(CLI::App& command, Session& session);
Run declare_devices(CLI::App& command, Session& session);
Run declare_evaluate(CLI::App& command, Session& session);
Run declare_generate(CLI::App& command, Session& session);
Run declare_import(CLI::App& command, Session& session);
Run declare_inspect(CLI::App& command, Session& session);
Run declare_man(CLI::App& command, Session& session);
Run declare_measure(CLI::App& command, Session& session);
Run declare_predict(CLI::App& command, Session& session);
Run declare_sample(CLI::App& command, Session& session);
Run declare_search(CLI::App& command, Session& session);
Run declare_selftest(CLI::App& command, Session& session);
Run declare_store(CLI::App& command, Session& session);
Run declare_strip(CLI::App& command, Session& session);
Run declare_train(CLI::App& command, Session& session);
Run declare_version(CLI::App& command, Session& session);

}  // namespace edgesage::cli
