#include "src/app/devices.h"
#include "src/app/generate.h"
#include "tools/edgesage/command_table.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {
namespace {

int print_names(Session& session, const std::string& what) {
  std::string text;
  if (what == "DEVICE") {
    const auto devices = app::devices(session.context());
    if (!devices) return session.fail(devices.error());
    for (const DeviceStatus& device : *devices) text += device.name + '\n';
  } else {
    for (const auto& space : app::search_spaces()) text += std::string(space.name) + '\n';
  }
  return session.write(text);
}

}  // namespace

Run declare_completion(CLI::App& command, Session& session) {
  struct Options {
    std::string shell, what = "DEVICE";
  };
  auto options = std::make_shared<Options>();
  command.add_option("SHELL", options->shell, "bash, zsh or fish; names: what scripts ask for")
      ->check(CLI::IsMember({"bash", "zsh", "fish", "names"}))
      ->type_name("")
      ->required();
  command.add_option("WHAT", options->what, "Of names: DEVICE or SPACE")
      ->check(CLI::IsMember({"DEVICE", "SPACE"}))
      ->type_name("");
  session.add_output(command);
  command.footer(
      "Examples:\n"
      "  edgesage completion bash -o edgesage.bash\n"
      "  edgesage completion fish\n\n"
      "For bash source the file, or put it into ~/.local/share/bash-completion/completions as\n"
      "`edgesage`; for zsh into a directory of $fpath as `_edgesage`; for fish into\n"
      "~/.config/fish/completions as `edgesage.fish`.");
  return [options, &command, &session] {
    if (options->shell == "names") return print_names(session, options->what);
    const std::vector<CommandRow> table = command_table(*command.get_parent());
    return session.write(options->shell == "bash"  ? bash_completion(table)
                         : options->shell == "zsh" ? zsh_completion(table)
                                                   : fish_completion(table));
  };
}

}  // namespace edgesage::cli
