#include "src/app/store.h"
#include "src/report/store.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"

namespace edgesage::cli {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> inputs;
  std::string format = "text";
};

constexpr const char* kInfoExample = "  edgesage store info labels.sqlite";
constexpr const char* kMergeExample = "  edgesage store merge all.sqlite labels.sqlite";

}  // namespace

Run declare_store(CLI::App& command, Session& session) {
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  command.footer(std::string("Examples:\n") + kInfoExample + '\n' + kMergeExample);
  CLI::App* info = command.add_subcommand("info", "Networks, devices, measurements and failures");
  info->allow_extras();
  info->add_option("FILE", options->file, "Store")->type_name("")->required();
  info->footer(std::string("Example:\n") + kInfoExample);
  CLI::App* merge = command.add_subcommand("merge", "Join shards and machines");
  merge->allow_extras();
  merge->add_option("OUT", options->file, "Store to add to; made if needed")
      ->type_name("")
      ->required();
  merge->add_option("IN", options->inputs, "Stores to take over; they are not changed")
      ->type_name("")
      ->required();
  merge->footer(std::string("Example:\n") + kMergeExample +
                "\n\nWhat both measured is kept once. Where it differs, the first is kept, the "
                "difference is\n"
                "reported and the exit code is 1. Labels of different machines stand apart.");
  for (CLI::App* one : {info, merge}) {
    add_format(*one, options->format, {"text", "json"});
    session.add_output(*one);
    session.add_common(*one);
  }
  return [options, merge, &session] {
    const bool json = options->format == "json";
    if (merge->parsed()) {
      const auto merged = app::merge_stores(session.context(), options->file, options->inputs);
      if (!merged) return session.fail(merged.error());
      return session.write(
          json ? report::store_merge_json(*merged) : report::store_merge_text(*merged),
          merged->has_conflicts() ? 1 : 0);
    }
    const auto summary = app::store_info(options->file);
    if (!summary) return session.fail(summary.error());
    return session.write(json ? report::store_json(*summary) : report::store_text(*summary));
  };
}

}  // namespace edgesage::cli
