// Completion scripts. Names of devices and spaces are asked of the program when they are wanted:
// `edgesage completion names DEVICE`.
#include <fmt/format.h>

#include "src/base/text.h"
#include "tools/edgesage/command_table.h"

namespace edgesage::cli {
namespace {

bool is_asked_for(const OptionRow& option) {
  return option.value == "DEVICE" || option.value == "SPACE";
}

// In single quotes of bash, zsh and fish alike.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

// The first sentence, so that menus stay readable.
std::string brief(const std::string& text) {
  const size_t end = text.find("; ");
  return text.substr(0, end);
}

std::string all_names(const CommandRow& command) {
  std::vector<std::string> names = command.commands;
  for (const OptionRow& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names, " ");
}

std::string bash_values(const OptionRow& option) {
  if (!option.choices.empty())
    return fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")",
                       in_quotes(join(option.choices, " ")));
  if (is_asked_for(option))
    return fmt::format(
        "mapfile -t COMPREPLY < <(compgen -W \"$(edgesage completion names {} 2>/dev/null)\" -- "
        "\"$cur\")",
        option.value);
  if (option.value == "DIR") return "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
  if (option.value == "FILE") return "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
  return "COMPREPLY=()";
}

// For _arguments: no brackets and colons in the words.
std::string zsh_words(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionRow& option) {
  if (!option.choices.empty()) return fmt::format("({})", join(option.choices, " "));
  if (is_asked_for(option))
    return fmt::format("($(edgesage completion names {} 2>/dev/null))", option.value);
  if (option.value == "DIR") return "_files -/";
  return option.value == "FILE" ? "_files" : " ";
}

std::string zsh_option(const OptionRow& option) {
  if (option.names.empty()) return fmt::format("'*:{}:_files'", option.positional);
  std::vector<std::string> specs;
  for (const std::string& name : option.names) {
    std::string spec = fmt::format("*{}[{}]", name, zsh_words(brief(option.description)));
    if (!option.value.empty()) spec += fmt::format(":{}:{}", option.value, zsh_action(option));
    specs.push_back(in_quotes(spec));
  }
  return join(specs, " ");
}

std::string function_name(const CommandRow& command) {
  std::string name = "_edgesage_" + command.name;
  for (char& c : name)
    if (c == ' ' || c == '-') c = '_';
  return name;
}

std::string fish_condition(const CommandRow& command) {
  if (command.name.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (const std::string& word : split(command.name, ' '))
    condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
  return condition;
}

std::string fish_values(const OptionRow& option) {
  if (!option.choices.empty()) return fmt::format(" -xa {}", in_quotes(join(option.choices, " ")));
  if (is_asked_for(option))
    return fmt::format(" -xa '(edgesage completion names {} 2>/dev/null)'", option.value);
  if (option.value == "DIR") return " -xa '(__fish_complete_directories)'";
  if (option.value == "FILE") return " -rF";
  return option.value.empty() ? "" : " -x";
}

const CommandRow* find(const std::vector<CommandRow>& table, const std::string& name) {
  for (const CommandRow& command : table)
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace

std::string bash_completion(const std::vector<CommandRow>& table) {
  std::string words, values;
  for (const CommandRow& command : table) {
    words += fmt::format("    {}) words={} ;;\n", in_quotes(command.name),
                         in_quotes(all_names(command)));
    for (const OptionRow& option : command.options)
      for (const std::string& name : option.names)
        if (!option.value.empty())
          values += fmt::format("    {}) {}; return ;;\n", in_quotes(command.name + ":" + name),
                                bash_values(option));
  }
  std::string parents;
  for (const CommandRow& command : table)
    if (!command.name.empty() && !command.commands.empty())
      parents += fmt::format("{}{}", parents.empty() ? "" : "|", command.name);
  return fmt::format(R"script(# bash completion of edgesage; made by `edgesage completion bash`
_edgesage() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -* ]] && continue
    case $command in
      '') command=${{COMP_WORDS[i]}} ;;
      {0}) command="$command ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command:$prev" in
{1}  esac
  case $command in
{2}  esac
  if [[ $cur == -* || -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -f -- "$cur")
  fi
}}
complete -o filenames -F _edgesage edgesage
)script",
                     parents.empty() ? "_" : parents, values, words);
}

std::string zsh_completion(const std::vector<CommandRow>& table) {
  std::string text = "#compdef edgesage\n# made by `edgesage completion zsh`\n";
  for (const CommandRow& command : table) {
    text += fmt::format("\n{}() {{\n", function_name(command));
    if (!command.commands.empty()) {
      text += "  local -a commands\n  commands=(\n";
      for (const std::string& below : command.commands) {
        const CommandRow* row =
            find(table, command.name.empty() ? below : command.name + " " + below);
        text +=
            fmt::format("    {}\n", in_quotes(below + ":" + (row != nullptr ? row->summary : "")));
      }
      text += "  )\n";
    }
    text += "  _arguments";
    for (const OptionRow& option : command.options)
      if (command.commands.empty() || !option.names.empty())
        text += " \\\n    " + zsh_option(option);
    if (command.commands.empty()) {
      text += "\n}\n";
      continue;
    }
    text +=
        " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n"
        "    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
    for (const std::string& below : command.commands)
      if (const CommandRow* row =
              find(table, command.name.empty() ? below : command.name + " " + below))
        text += fmt::format("        {}) {} ;;\n", below, function_name(*row));
    text += "      esac ;;\n  esac\n}\n";
  }
  return text + "\n_edgesage_ \"$@\"\n";
}

std::string fish_completion(const std::vector<CommandRow>& table) {
  std::string text = "# fish completion of edgesage; made by `edgesage completion fish`\n";
  for (const CommandRow& command : table) {
    const std::string condition = in_quotes(fish_condition(command));
    for (const std::string& below : command.commands) {
      const CommandRow* row =
          find(table, command.name.empty() ? below : command.name + " " + below);
      text += fmt::format("complete -c edgesage -f -n {} -a {} -d {}\n", condition, below,
                          in_quotes(row != nullptr ? row->summary : ""));
    }
    for (const OptionRow& option : command.options) {
      if (option.names.empty()) continue;
      text += fmt::format("complete -c edgesage -n {}", condition);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format(" -d {}{}\n", in_quotes(brief(option.description)), fish_values(option));
    }
  }
  return text;
}

}  // namespace edgesage::cli
