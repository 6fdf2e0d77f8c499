#include "src/app/evaluate.h"
#include "src/report/learn.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/label_flags.h"

namespace edgesage::cli {

Run declare_evaluate(CLI::App& command, Session& session) {
  struct Options {
    app::EvaluateRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  add_label_flags(command, request.labels);
  command
      .add_option("--predictor", request.predictor,
                  "Predictor file; default: the one that is installed for the device")
      ->type_name("FILE");
  add_split_flags(command, request.split);
  command.add_option("--format", options->format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Example:\n"
      "  edgesage evaluate --store labels.sqlite --device ethos-u55-256 --predictor "
      "ethos-u55-256.edgesage\n\n"
      "The split must be that of the training; it is by graph, so equal networks stay together.");
  return [options, &session] {
    const auto table = app::evaluate(session.context(), options->request);
    if (!table) return session.fail(table.error());
    if (options->format == "json") return session.write(report::evaluate_json(*table));
    if (options->format == "csv") return session.write(report::evaluate_csv(*table));
    return session.write(report::evaluate_text(*table));
  };
}

}  // namespace edgesage::cli
