#include "src/app/import.h"

#include "src/base/text.h"
#include "src/report/import.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"

namespace edgesage::cli {
namespace {

void add_flags(CLI::App& command, app::ImportRequest& request) {
  command.add_option("FILE", request.files, "Reports of other tools; - is standard input")
      ->type_name("")
      ->required();
  command
      .add_option("--from", request.format,
                  "Format, where the file does not show it: " + join(app::import_formats(), ", "))
      ->check(CLI::IsMember(app::import_formats()))
      ->type_name("FORMAT");
  command
      .add_option("--inferences", request.inferences,
                  "The files are CSVs of a power monitor with so many inferences in each window of "
                  "its marker (docs/energy.md)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->type_name("N");
  command
      .add_option("--model", request.models,
                  "Model that a report is about: one a report, one for all, or a directory with "
                  "files of the networks' names; repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--device", request.device,
                  "Device that was measured; edgesage devices lists them")
      ->type_name("DEVICE");
  command.add_option("--runtime", request.runtime, "Runtime, where the report does not say it")
      ->type_name("NAME");
  command.add_option("--runtime-version", request.runtime_version, "And its version")
      ->type_name("VERSION");
  command.add_option("--host", request.host, "Which of several machines of this kind it was")
      ->type_name("NAME");
  command
      .add_option("--statistic", request.statistic, "Which of a series, where the report is silent")
      ->type_name("NAME");
  command
      .add_option("--labels", request.labels,
                  "Label file to write (.csv.zst), for calibrate --from and evaluate --labels")
      ->type_name("FILE");
  command.add_flag("--append", request.append, "Keep the labels that are in that file");
}

}  // namespace

Run declare_import(CLI::App& command, Session& session) {
  struct Options {
    app::ImportRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  add_flags(command, options->request);
  add_format(command, options->format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage import measured.csv\n"
      "  edgesage import measured.csv --model my-models --device host-litert --labels "
      "measured.csv.zst");
  return [options, &session] {
    const auto import = app::import_reports(session.context(), options->request);
    if (!import) return session.fail(import.error());
    return options->format == "json" ? session.write(report::import_json(*import))
                                     : session.show(report::import_text(*import));
  };
}

}  // namespace edgesage::cli
