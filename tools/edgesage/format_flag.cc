#include "tools/edgesage/format_flag.h"

#include <span>

#include "src/base/text.h"

namespace edgesage::cli {

void add_format(CLI::App& command, std::string& format, const std::vector<std::string>& formats,
                const std::string& about) {
  const std::string list =
      join(std::span(formats).first(formats.size() - 1), ", ") + " or " + formats.back();
  command.add_option("--format", format, about.empty() ? list : about)
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT")
      ->capture_default_str();
}

}  // namespace edgesage::cli
