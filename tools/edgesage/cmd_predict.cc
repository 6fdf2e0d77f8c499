#include "src/app/predict.h"
#include "src/report/predict.h"
#include "tools/edgesage/abi_flag.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/shape_flags.h"

namespace edgesage::cli {

Run declare_predict(CLI::App& command, Session& session) {
  struct Options {
    app::PredictRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("MODEL", request.models, "Model files; - is standard input")
      ->type_name("")
      ->required();
  command
      .add_option("--device", request.devices, "Device; repeatable; edgesage devices lists them")
      ->type_name("DEVICE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--predictor", request.predictors,
                  "Predictor file, in place of the installed one of its device; repeatable")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--bfloat16", request.bfloat16,
                   "Weights of the predictor in bfloat16: half the memory, faster");
  command.add_option("--level", request.level, "Probability of the intervals")
      ->check(CLI::IsMember({0.5, 0.8, 0.9, 0.95}))
      ->type_name("LEVEL")
      ->capture_default_str();
  command.add_option("--format", options->format, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  command.add_flag("--strict", request.strict,
                   "Exit with 4 when a model is outside the predictor's range, or has operators "
                   "that are not known");
  add_abi(command, request.abi, request.kernels);
  add_shapes(command, request.read);
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage predict model.tflite --device ethos-u55-256\n"
      "  edgesage predict model.tflite --device ethos-u55-256 --format json");
  return [options, &session] {
    const auto answers = app::predict_models(session.context(), options->request);
    if (!answers) return session.fail(answers.error());
    for (const auto& answer : *answers)
      if (!answer.result) session.fail(answer.result.error());
    const int code = interrupted() ? kInterrupted : exit_code(*answers);
    if (options->format == "json") return session.write(report::predict_json(*answers), code);
    if (options->format == "csv") return session.write(report::predict_csv(*answers), code);
    return session.write(report::predict_text(*answers), code);
  };
}

}  // namespace edgesage::cli
