#include "src/app/predict.h"

#include <map>

#include "src/report/predict.h"
#include "tools/edgesage/abi_flag.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/shape_flags.h"

namespace edgesage::cli {
namespace {

using Render = std::string (*)(const Answers<Prediction>&);

const std::map<std::string, Render> kFormats = {
    {"text", report::predict_text},
    {"json", report::predict_json},
    {"csv", report::predict_csv},
    {"markdown", report::predict_markdown},
    {"html", report::predict_html},
    {"trace", report::predict_trace},
    {"model-explorer", report::predict_model_explorer},
};

}  // namespace

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
  command
      .add_option("--format", options->format,
                  "text, json, csv, markdown, html (a page), trace (for Perfetto) or "
                  "model-explorer (colours of its nodes)")
      ->check(CLI::IsMember(kFormats))
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
      "  edgesage predict model.tflite --device ethos-u55-256 --format json\n"
      "  edgesage predict model.tflite --device ethos-u55-256 --format html -o model.html\n"
      "  edgesage predict model.tflite --device ethos-u55-256 --format trace -o trace.json");
  return [options, &session] {
    options->request.inspect = options->format == "html" || options->format == "trace" ||
                               options->format == "model-explorer";
    const auto answers = app::predict_models(session.context(), options->request);
    if (!answers) return session.fail(answers.error());
    for (const auto& answer : *answers)
      if (!answer.result) session.fail(answer.result.error());
    const int code = interrupted() ? kInterrupted : exit_code(*answers);
    const std::string text = kFormats.at(options->format)(*answers);
    return options->format == "text" ? session.show(text, code) : session.write(text, code);
  };
}

}  // namespace edgesage::cli
