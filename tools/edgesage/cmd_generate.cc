#include "src/app/generate.h"
#include "src/report/generate.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"

namespace edgesage::cli {

Run declare_generate(CLI::App& command, Session& session) {
  struct Options {
    app::GenerateRequest request;
    std::string format = "text";
    bool list = false;
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("--space", request.space, "Search space; --list-spaces lists them")
      ->type_name("SPACE");
  command.add_option("--count", request.count, "How many networks")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}))
      ->capture_default_str();
  command.add_option("--seed", request.seed, "Seed of the first network; the others follow by one")
      ->capture_default_str();
  command
      .add_option("--code", request.codes,
                  "Code of a network of a published space, in place of sampling; repeatable")
      ->type_name("CODE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* codes =
      command.add_option("--codes", request.code_file, "CSV with codes; needs --code-column")
          ->type_name("FILE");
  command.add_option("--code-column", request.code_column, "Its column with the codes")
      ->type_name("NAME")
      ->needs(codes);
  command.add_option("-o,--output", request.directory, "Directory for the files")->type_name("DIR");
  command.add_option("--threads", request.threads, "Threads; 0: all of the machine")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  add_format(command, options->format, {"text", "json", "csv"},
             "text, json or csv: the list of what was made");
  command.add_flag("--list-spaces", options->list, "Print the search spaces and end");
  command.footer(
      "Examples:\n"
      "  edgesage generate --list-spaces\n"
      "  edgesage generate --space mobile-classifier --count 3 --seed 1 -o networks\n"
      "  edgesage generate --space fbnet --code 7-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4-5 "
      "-o networks");
  return [options, &session] {
    if (options->list) return session.show(report::spaces_text(app::search_spaces()));
    if (options->request.space.empty() || options->request.directory.empty())
      return session.fail({ErrorCode::kInvalidArgument, "",
                           "--space and --output are needed; see edgesage generate --help"});
    const auto networks = app::generate(session.context(), options->request);
    if (!networks) return session.fail(networks.error());
    const int code = interrupted() ? kInterrupted : 0;
    if (options->format == "json") return session.write(report::generate_json(*networks), code);
    if (options->format == "csv") return session.write(report::generate_csv(*networks), code);
    return session.show(report::generate_text(*networks), code);
  };
}

}  // namespace edgesage::cli
