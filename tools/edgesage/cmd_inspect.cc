#include "src/app/inspect.h"
#include "src/report/inspect.h"
#include "tools/edgesage/abi_flag.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/shape_flags.h"

namespace edgesage::cli {

Run declare_inspect(CLI::App& command, Session& session) {
  struct Options {
    app::InspectOptions request;
    std::string device;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->request.models, "Model files; - is standard input")
      ->type_name("")
      ->required();
  command
      .add_option("--device", options->device,
                  "Also say where each operator runs on this device, and why")
      ->type_name("DEVICE");
  add_format(command, options->format, {"text", "json", "html"},
             "text, json or html (a page with the picture of the arena)");
  command.add_flag("--strict", options->request.strict,
                   "Exit with 4 when something in a model is not known");
  add_abi(command, options->request.abi, options->request.kernels);
  add_shapes(command, options->request.read);
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage inspect model.tflite\n"
      "  edgesage inspect model.tflite --device ethos-u55-256 --format json\n"
      "  edgesage inspect model.tflite --format html -o model.html");
  return [options, &session] {
    if (!options->device.empty()) {
      const Result<Target> target = app::target_of(session.context(), options->device);
      if (!target) return session.fail(target.error());
      options->request.target = target->name;
    }
    const Answers<Inspection> answers = app::inspect(options->request);
    for (const auto& answer : answers)
      if (!answer.result) session.fail(answer.result.error());
    if (options->format == "text")
      return session.show(report::inspect_text(answers), exit_code(answers));
    const auto render = options->format == "json" ? report::inspect_json : report::inspect_html;
    return session.write(render(answers), exit_code(answers));
  };
}

}  // namespace edgesage::cli
