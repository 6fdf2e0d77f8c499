#include "src/app/measure.h"
#include "src/report/measure.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/shape_flags.h"
#include "tools/edgesage/worker_flags.h"

namespace edgesage::cli {

Run declare_measure(CLI::App& command, Session& session) {
  struct Options {
    app::MeasureRequest request;
    WorkerFlags worker;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("MODEL", request.models, "Model files; - is standard input")
      ->type_name("")
      ->required();
  command.add_option("--device", request.device, "Device; edgesage devices lists them")
      ->type_name("DEVICE")
      ->required();
  command
      .add_option("--store", request.store,
                  "Store that keeps every sample, the protocol and the model itself; made if it "
                  "does not exist")
      ->type_name("FILE");
  command
      .add_option("--energy-table", request.energy_table,
                  "Table of costs (TOML) that the energy is modelled with, instead of the device's")
      ->type_name("FILE");
  add_sizes(command, request.read);
  command.add_flag("--energy", request.measure_energy,
                   "Measure the energy of an inference with sensors of this computer "
                   "(docs/energy.md)");
  command.add_option("--sensor-root", request.sensor_root, "Where to look for sensors")
      ->type_name("DIR")
      ->capture_default_str();
  options->worker.add(command);
  command.add_option("--repeats", request.repeats, "Measure each model so often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      .add_option("--attempts", request.attempts,
                  "Measure a series that is rejected for its noise again, up to so often in all")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  add_format(command, options->format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage measure model.tflite --device ethos-u55-256\n"
      "  edgesage measure model.tflite --device host-litert --store labels.sqlite --format json\n"
      "  edgesage measure model.tflite --device host-litert --threads 2\n\n"
      "Of an ONNX model (host-onnxruntime) -f DIM:VALUE gives an open dimension a size.\n"
      "A device of your own is a TOML file, named with --device-file: docs/adding_a_device.md.");
  return [options, &session] {
    options->request.options = options->worker.options();
    options->request.deadline = options->worker.deadline();
    const auto answers = app::measure_models(session.context(), options->request);
    if (!answers) return session.fail(answers.error());
    for (const auto& answer : *answers)
      if (!answer.result) session.fail(answer.result.error());
    return session.write(
        options->format == "json" ? report::measure_json(*answers) : report::measure_text(*answers),
        interrupted() ? kInterrupted : exit_code(*answers));
  };
}

}  // namespace edgesage::cli
