#include "src/app/store.h"
#include "src/report/store.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {

Run declare_store(CLI::App& command, Session& session) {
  struct Options {
    std::string file;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  command.footer("Example:\n  edgesage store info labels.sqlite");
  CLI::App* info = command.add_subcommand("info", "Networks, devices, measurements and failures");
  info->allow_extras();
  info->add_option("FILE", options->file, "Store")->type_name("")->required();
  info->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  session.add_output(*info);
  session.add_common(*info);
  info->footer("Example:\n  edgesage store info labels.sqlite");
  return [options, &session] {
    const auto summary = app::store_info(options->file);
    if (!summary) return session.fail(summary.error());
    return session.write(options->format == "json" ? report::store_json(*summary)
                                                   : report::store_text(*summary));
  };
}

}  // namespace edgesage::cli
