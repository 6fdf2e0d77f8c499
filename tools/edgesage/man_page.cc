// Man pages, from the table that --help is printed from.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "tools/edgesage/command_table.h"

namespace edgesage::cli {
namespace {

// Text as roff: no character of it is a request or an escape, and hyphens can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

std::string term(const OptionRow& option) {
  if (option.names.empty()) return fmt::format("\\fI{}\\fR", roff(option.positional));
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  return join(names, ", ") +
         (option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(option.value)));
}

std::string description(const OptionRow& option) {
  std::string text = option.description;
  if (!option.choices.empty() &&
      option.description.find(option.choices.front()) == std::string::npos)
    text += ": " + join(option.choices, ", ");
  if (!option.otherwise.empty()) text += fmt::format(" (default: {})", option.otherwise);
  if (option.required) text += " (required)";
  return roff(text) + ".";
}

std::string synopsis(const CommandRow& command) {
  std::string text =
      fmt::format("\\fBedgesage{}{}\\fR", command.name.empty() ? "" : " ", roff(command.name));
  for (const OptionRow& option : command.options)
    if (option.names.empty())
      text += fmt::format(" \\fI{}\\fR{}", roff(option.positional), option.many ? "..." : "");
  for (const OptionRow& option : command.options)
    if (!option.names.empty() && option.required) text += " " + term(option);
  return text + (command.commands.empty() ? " [options]" : " \\fICOMMAND\\fR ...");
}

std::string footer(const std::string& words) {
  const size_t examples = std::min(words.find("Examples:\n"), words.find("Example:\n"));
  std::string text;
  if (const std::string_view before =
          trim(std::string_view(words).substr(0, std::min(examples, words.size())));
      !before.empty())
    text += fmt::format(".SH NOTES\n{}\n", roff(before));
  if (examples == std::string::npos) return text;
  const size_t begin = words.find('\n', examples) + 1;
  const size_t end = words.find("\n\n", begin);
  text += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n",
                      roff(words.substr(begin, end == std::string::npos ? end : end - begin)));
  if (end != std::string::npos)
    text += fmt::format(".PP\n{}\n", roff(trim(std::string_view(words).substr(end))));
  return text;
}

}  // namespace

std::string man_page_name(const CommandRow& command) {
  std::string name = command.name.empty() ? "edgesage" : "edgesage-" + command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page(const CommandRow& command, const std::vector<CommandRow>& table,
                     const std::string& version) {
  std::string title = man_page_name(command);
  std::ranges::transform(title, title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"edgesage {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n{}\n",
      roff(title), roff(version), roff(man_page_name(command)), roff(command.summary),
      synopsis(command));
  if (!command.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandRow& below : table) {
      const std::string inside = command.name.empty() ? "" : command.name + " ";
      if (below.name.empty() || !below.name.starts_with(inside) || below.name == command.name ||
          below.name.find(' ', inside.size()) != std::string::npos)
        continue;
      text +=
          fmt::format(".TP\n\\fB{}\\fR(1)\n{}.\n", roff(man_page_name(below)), roff(below.summary));
    }
  }
  text += ".SH OPTIONS\n";
  for (const OptionRow& option : command.options)
    text += fmt::format(".TP\n{}\n{}\n", term(option), description(option));
  text += footer(command.footer);
  text +=
      ".SH EXIT STATUS\n0 fine; 1 a budget is not met; 2 usage; 3 a model cannot be read; 4 not "
      "supported under \\fB\\-\\-strict\\fR; 5 a measurement or device failed; 6 a predictor or "
      "store is damaged; 70 an internal error.\n";
  if (!command.name.empty()) text += ".SH SEE ALSO\n\\fBedgesage\\fR(1)\n";
  return text;
}

}  // namespace edgesage::cli
