#include "src/app/strip.h"
#include "src/report/installation.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"

namespace edgesage::cli {

Run declare_strip(CLI::App& command, Session& session) {
  struct Options {
    app::StripRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->request.model, "Model file; - is standard input")
      ->type_name("")
      ->required();
  command
      .add_option("-o,--output", options->request.output,
                  "The copy (.tflite; of an .onnx also .onnx)")
      ->type_name("FILE")
      ->required();
  command.add_flag("--keep-names", options->request.keep_names,
                   "Keep the names of tensors; an .onnx keeps them, they are its structure");
  command.add_option("--seed", options->request.seed, "Of the order of what is shuffled")
      ->type_name("N")
      ->capture_default_str();
  add_format(command, options->format, {"text", "json"});
  session.add_devices(command);
  command.footer(
      "A copy for bug reports: the structure without the weights. Predictions stay the same; the "
      "copy says so of every predictor that is installed.\n\n"
      "Example:\n"
      "  edgesage strip model.tflite -o stripped.tflite");
  return [options, &session] {
    const auto stripped = app::strip(session.context(), options->request);
    if (!stripped) return session.fail(stripped.error());
    return options->format == "json" ? session.write(report::strip_json(*stripped))
                                     : session.show(report::strip_text(*stripped));
  };
}

}  // namespace edgesage::cli
