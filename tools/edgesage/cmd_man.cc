#include <algorithm>
#include <filesystem>

#include "src/base/file.h"
#include "src/base/text.h"
#include "tools/edgesage/command_table.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {
namespace {

int write_all(Session& session, const std::vector<CommandRow>& table,
              const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  for (const CommandRow& command : table)
    if (const Status written = write_text(folder / (man_page_name(command) + ".1"),
                                          man_page(command, table, EDGESAGE_VERSION));
        !written)
      return session.fail(
          {ErrorCode::kInvalidArgument, written.error().where, written.error().message});
  return session.write("");
}

}  // namespace

Run declare_man(CLI::App& command, Session& session) {
  struct Options {
    std::vector<std::string> words;
    std::string folder;
  };
  auto options = std::make_shared<Options>();
  command.add_option("COMMAND", options->words, "Whose page; none: the program's")->type_name("");
  command.add_option("--write", options->folder, "Directory for the pages of all commands")
      ->type_name("DIR");
  session.add_output(command);
  command.footer(
      "Examples:\n"
      "  edgesage man predict\n"
      "  edgesage man --write man1\n\n"
      "`edgesage man predict | man -l -` shows a page.");
  return [options, &command, &session] {
    const std::vector<CommandRow> table = command_table(*command.get_parent());
    if (!options->folder.empty()) return write_all(session, table, options->folder);
    const std::string name = join(options->words, " ");
    const auto found = std::ranges::find(table, name, &CommandRow::name);
    if (found != table.end()) return session.write(man_page(*found, table, EDGESAGE_VERSION));
    std::vector<std::string> names;
    for (const CommandRow& row : table) names.push_back(row.name);
    const std::string_view close = closest(name, names);
    return session.fail({ErrorCode::kInvalidArgument, "",
                         "no command " + name +
                             (close.empty() ? "" : ", did you mean " + std::string(close) + "?")});
  };
}

}  // namespace edgesage::cli
