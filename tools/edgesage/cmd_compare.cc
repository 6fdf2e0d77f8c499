#include "src/app/compare.h"

#include <limits>

#include "src/report/compare.h"
#include "tools/edgesage/abi_flag.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/shape_flags.h"

namespace edgesage::cli {

Run declare_compare(CLI::App& command, Session& session) {
  struct Options {
    app::PredictRequest request;
    size_t top = 15;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("MODEL", request.models, "Two models, or one; - is standard input")
      ->type_name("")
      ->required()
      ->expected(1, 2);
  command.add_option("--device", request.devices, "Device; twice for one model on two")
      ->type_name("DEVICE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option(
          "--predictor", request.predictors,
          "Predictor file; twice, or beside the installed one of --device, for one model by "
          "two predictors")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--level", request.level, "Probability of the intervals")
      ->check(CLI::IsMember({0.5, 0.8, 0.9, 0.95}))
      ->type_name("LEVEL")
      ->capture_default_str();
  command
      .add_option(
          "--top", options->top,
          "Operators to show, by the size of their difference; 0: all. JSON and CSV have all")
      ->type_name("N")
      ->capture_default_str();
  add_format(command, options->format, {"text", "json", "csv", "markdown"});
  add_abi(command, request.abi, request.kernels);
  add_shapes(command, request.read);
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Operators are matched in order, by kind, shape and name. A negative difference: B costs "
      "less.\n\n"
      "Examples:\n"
      "  edgesage compare model.tflite model.tflite --device ethos-u55-256\n"
      "  edgesage compare model.tflite model.tflite --device ethos-u55-256 --format json");
  return [options, &session] {
    const auto comparison = app::compare(session.context(), options->request);
    if (!comparison) return session.fail(comparison.error());
    const size_t top = options->top > 0 ? options->top : std::numeric_limits<size_t>::max();
    if (options->format == "json") return session.write(report::compare_json(*comparison));
    if (options->format == "csv") return session.write(report::compare_csv(*comparison));
    if (options->format == "markdown")
      return session.write(report::compare_markdown(*comparison, top));
    return session.show(report::compare_text(*comparison, top));
  };
}

}  // namespace edgesage::cli
