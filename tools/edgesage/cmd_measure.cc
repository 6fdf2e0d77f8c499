#include "src/app/measure.h"
#include "src/report/measure.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {
namespace {

struct Options {
  app::MeasureRequest request;
  std::vector<std::string> pairs;  // NAME=VALUE
  int threads = 0;                 // 0: as the device says
  double deadline_s = 300;
  std::string format = "text";
};

int run(Options& options, Session& session) {
  for (const std::string& pair : options.pairs) {
    const size_t sign = pair.find('=');
    options.request.options.emplace_back(pair.substr(0, sign), pair.substr(sign + 1));
  }
  if (options.threads > 0)
    options.request.options.emplace_back("threads", std::to_string(options.threads));
  options.request.deadline =
      std::chrono::milliseconds(static_cast<int64_t>(options.deadline_s * 1e3));
  const auto answers = app::measure_models(session.context(), options.request);
  if (!answers) return session.fail(answers.error());
  for (const auto& answer : *answers)
    if (!answer.result) session.fail(answer.result.error());
  const int code = interrupted() ? kInterrupted : exit_code(*answers);
  return session.write(
      options.format == "json" ? report::measure_json(*answers) : report::measure_text(*answers),
      code);
}

}  // namespace

Run declare_measure(CLI::App& command, Session& session) {
  auto options = std::make_shared<Options>();
  command.add_option("MODEL", options->request.models, "Model files; - is standard input")
      ->required();
  command.add_option("--device", options->request.device, "Device; edgesage devices lists them")
      ->type_name("DEVICE")
      ->required();
  command
      .add_option("--store", options->request.store,
                  "Store that keeps every sample, the protocol and the model itself; made if it "
                  "does not exist")
      ->type_name("FILE");
  command.add_option("--threads", options->threads, "Threads of a runtime that has them")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--option", options->pairs,
                  "Option of the device's worker, NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check([](const std::string& pair) {
        return pair.find('=') == std::string::npos || pair.front() == '='
                   ? pair + " is not of the form NAME=VALUE"
                   : std::string();
      });
  command.add_option("--repeats", options->request.repeats, "Measure each model so often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--deadline", options->deadline_s, "Seconds that one measurement may take")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  command.add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage measure model.tflite --device ethos-u55-256\n"
      "  edgesage measure model.tflite --device host-litert --store labels.sqlite --format json");
  return [options, &session] { return run(*options, session); };
}

}  // namespace edgesage::cli
