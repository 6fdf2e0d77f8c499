#include "src/app/advise.h"

#include "src/report/advise.h"
#include "tools/edgesage/abi_flag.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/shape_flags.h"

namespace edgesage::cli {

Run declare_advise(CLI::App& command, Session& session) {
  struct Options {
    app::AdviseRequest request;
    double least_percent = 0.5;
    std::string folder;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request.predict;
  command.add_option("MODEL", request.models, "Model file; - is standard input")
      ->type_name("")
      ->required()
      ->expected(1);
  command.add_option("--device", request.devices, "Device; edgesage devices lists them")
      ->type_name("DEVICE")
      ->expected(1);
  command.add_option("--predictor", request.predictors, "Predictor file, in place of --device")
      ->type_name("FILE")
      ->expected(1);
  command
      .add_option("--least", options->least_percent,
                  "Percent of the latency or of the peak memory that a change must save")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command
      .add_option("--write", options->folder, "Directory for the changed models, as .tflite files")
      ->type_name("DIR");
  add_format(command, options->format, {"text", "json", "markdown"});
  add_abi(command, request.abi, request.kernels);
  add_shapes(command, request.read);
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Every change is made to a copy of the model, and what it saves is the difference of two "
      "predictions. Its accuracy is for you to find out.\n\n"
      "Examples:\n"
      "  edgesage advise model.tflite --device ethos-u55-256\n"
      "  edgesage advise model.tflite --device ethos-u55-256 --write advised");
  return [options, &session] {
    options->request.least_gain = options->least_percent / 100;
    options->request.folder = options->folder;
    const auto report = app::advise(session.context(), options->request);
    if (!report) return session.fail(report.error());
    const int code = interrupted() ? kInterrupted : 0;
    if (options->format == "json") return session.write(report::advise_json(*report), code);
    if (options->format == "markdown") return session.write(report::advise_markdown(*report), code);
    return session.show(report::advise_text(*report), code);
  };
}

}  // namespace edgesage::cli
