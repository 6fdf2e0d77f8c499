#include "src/app/check.h"

#include <algorithm>
#include <filesystem>

#include "src/base/file.h"
#include "src/report/check.h"
#include "tools/edgesage/abi_flag.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/shape_flags.h"

namespace edgesage::cli {
namespace {

constexpr int kBudgetMissed = 1;

std::string rendered(const Answers<Check>& answers, std::string_view format) {
  if (format == "json") return report::check_json(answers);
  if (format == "junit") return report::check_junit(answers);
  if (format == "markdown") return report::check_markdown(answers);
  return report::check_text(answers);
}

// By the ending of a report's file; empty: none of them.
std::string_view format_of(const std::string& file) {
  const std::filesystem::path ending = std::filesystem::path(file).extension();
  if (ending == ".xml") return "junit";
  if (ending == ".json") return "json";
  if (ending == ".md") return "markdown";
  return ending == ".txt" ? "text" : "";
}

std::string check_report(const std::string& file) {
  return format_of(file).empty() ? file + " ends in none of .xml, .json, .md, .txt" : "";
}

}  // namespace

Run declare_check(CLI::App& command, Session& session) {
  struct Options {
    app::CheckRequest request;
    std::vector<std::string> reports;
    double level = 0;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("MODEL", request.predict.models, "Model files; - is standard input")
      ->type_name("")
      ->required();
  command.add_option("--budget", request.budget, "Limits a device and model (TOML; docs/check.md)")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--baseline", request.baseline,
                  "Earlier figures, for the growth that the budget allows (JSON)")
      ->type_name("FILE");
  command
      .add_option("--write-baseline", request.write_baseline,
                  "Write today's figures; they may become the next baseline")
      ->type_name("FILE");
  command
      .add_option("--report", options->reports,
                  "Write the answer there too: .xml JUnit, .json, .md Markdown, .txt; repeatable")
      ->type_name("FILE")
      ->check(CLI::Validator(check_report, ""))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--predictor", request.predict.predictors,
                  "Predictor file, in place of the installed one of its device; repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--level", options->level,
                  "Probability of the intervals, in place of the budget's")
      ->check(CLI::IsMember({0.5, 0.8, 0.9, 0.95}))
      ->type_name("LEVEL");
  add_format(command, options->format, {"text", "json", "junit", "markdown"});
  command.add_flag("--strict", request.predict.strict,
                   "Exit with 4 when a model is outside the predictor's range, or has operators "
                   "that are not known");
  add_abi(command, request.predict.abi, request.predict.kernels);
  add_shapes(command, request.predict.read);
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Exits with 1 where a limit is missed, or is of a quantity that is not known.\n\n"
      "Examples:\n"
      "  edgesage check model.tflite --budget budget.toml\n"
      "  edgesage check model.tflite --budget budget.toml --report check.xml --report check.md");
  return [options, &session] {
    auto& wanted = options->request;
    if (options->level > 0) wanted.level = options->level;
    const auto answers = app::check_models(session.context(), wanted);
    if (!answers) return session.fail(answers.error());
    int code = exit_code(*answers);
    for (const auto& answer : *answers) {
      if (!answer.result)
        session.fail(answer.result.error());
      else if (!answer.result->passed())
        code = std::max(code, kBudgetMissed);
    }
    for (const std::string& file : options->reports)
      if (const Status written = write_text(file, rendered(*answers, format_of(file))); !written)
        return session.fail(
            {ErrorCode::kInvalidArgument, written.error().where, written.error().message});
    if (interrupted()) code = kInterrupted;
    const std::string answer = rendered(*answers, options->format);
    return options->format == "text" ? session.show(answer, code) : session.write(answer, code);
  };
}

}  // namespace edgesage::cli
