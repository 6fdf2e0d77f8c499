#include "tools/edgesage/command_table.h"

#include "src/base/text.h"

namespace edgesage::cli {
namespace {

// CLI11 gives "FORMAT:{text,json}": the name, then what validators say.
void split_type(const std::string& type, OptionRow& row) {
  row.value = type.substr(0, type.find(':'));
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return;
  row.choices = split(type.substr(open + 1, close - open - 1), ',');
}

OptionRow option_row(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (row.names.empty()) row.positional = option.get_name();
  row.description = option.get_description();
  row.otherwise = option.get_default_str();
  row.required = option.get_required();
  row.many = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0) split_type(option.get_type_name(), row);
  if (option.get_items_expected_max() > 0 && row.value.empty()) row.value = "VALUE";
  return row;
}

void add(const CLI::App& command, const std::string& name, std::vector<CommandRow>& table) {
  const size_t index = table.size();
  table.push_back({name, command.get_description(), {}, {}, command.get_footer()});
  for (const CLI::Option* option : command.get_options())
    table[index].options.push_back(option_row(*option));
  for (const CLI::App* below : command.get_subcommands(nullptr)) {
    table[index].commands.push_back(below->get_name());
    add(*below, name.empty() ? below->get_name() : name + " " + below->get_name(), table);
  }
}

}  // namespace

std::vector<CommandRow> command_table(const CLI::App& program) {
  std::vector<CommandRow> table;
  add(program, "", table);
  return table;
}

}  // namespace edgesage::cli
