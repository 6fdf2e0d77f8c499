#include <filesystem>

#include "src/app/calibrate.h"
#include "src/base/file.h"
#include "src/report/calibration.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/pool_flags.h"
#include "tools/edgesage/worker_flags.h"

namespace edgesage::cli {
namespace {

struct Options {
  app::CalibrateRequest request;
  WorkerFlags worker;
  std::string report;
  std::string format = "text";
};

void add_flags(CLI::App& command, Options& options) {
  auto& request = options.request;
  command.add_option("--device", request.device, "Device to learn; 'edgesage devices' lists them")
      ->type_name("DEVICE")
      ->required();
  command.add_option("--budget", request.budget, "Measurements")
      ->check(CLI::Range(8, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--store", request.store,
                  "Store of the measurements; default: DEVICE.sqlite beside the predictor")
      ->type_name("FILE");
  command.add_option("--predictor", request.output, "Predictor to write; default: DEVICE.edgesage")
      ->type_name("FILE");
  command.add_option("--report", options.report, "HTML report to write; default: DEVICE.html")
      ->type_name("FILE");
  command.add_option("--from", request.from, "Learn from this label file; nothing is measured")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command
      .add_option("--verify", request.verify,
                  "Measure N labelled networks again: does the predictor still hold?")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  command
      .add_option("--repeats", request.repeats, "Passes over the networks; labels are the least")
      ->check(CLI::Range(1, 100))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--measure-unfit", request.measure_unfit,
                   "Measure although this computer is not fit for it");
  command.add_option("--members", request.members, "Networks of the ensemble that ships; 0: none")
      ->check(CLI::Range(0, 32))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--epochs", request.epochs, "Passes of teaching")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
}

void fill_places(Options& options) {
  auto& request = options.request;
  if (request.output.empty()) request.output = request.device + ".edgesage";
  const std::filesystem::path folder = request.output.parent_path();
  if (request.store.empty()) request.store = folder / (request.device + ".sqlite");
  if (options.report.empty()) options.report = (folder / (request.device + ".html")).string();
}

}  // namespace

Run declare_calibrate(CLI::App& command, Session& session) {
  auto options = std::make_shared<Options>();
  add_flags(command, *options);
  add_pool_flags(command, options->request.pool);
  options->worker.add(command);
  add_format(command, options->format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage calibrate --device host-litert --budget 100\n"
      "  edgesage calibrate --device host-litert --verify 10\n\n"
      "Chooses networks, measures them, learns, and writes a predictor and a report. Interrupted,\n"
      "the same command goes on where it was: what the store holds is not measured again.");
  return [options, &session] {
    fill_places(*options);
    app::CalibrateRequest& request = options->request;
    request.options = options->worker.options();
    request.deadline = options->worker.deadline();
    const auto calibration = app::calibrate(session.context(), request);
    if (!calibration) return session.fail(calibration.error());
    if (!calibration->stopped && !calibration->drift) {
      if (const Status written =
              write_text(options->report, report::calibration_html(*calibration));
          !written)
        return session.fail(written.error());
      session.note("report: " + options->report);
    }
    const int code = calibration->stopped ? kInterrupted : 0;
    return session.write(options->format == "json" ? report::calibration_json(*calibration)
                                                   : report::calibration_text(*calibration),
                         code);
  };
}

}  // namespace edgesage::cli
