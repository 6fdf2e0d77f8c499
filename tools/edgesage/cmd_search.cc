#include <filesystem>

#include "src/app/search.h"
#include "src/base/file.h"
#include "src/report/search.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/worker_flags.h"

namespace edgesage::cli {
namespace {

struct Options {
  app::SearchRequest request;
  WorkerFlags worker;
  double max_latency_ms = 0, max_ram_bytes = 0, quality_timeout_s = 600;
  bool keep_blocks = false, all_widths = false;
  std::string format = "text";
};

void add_search_flags(CLI::App& command, Options& options) {
  auto& request = options.request;
  command.add_option("model", request.model, "A .tflite file, or a network: reference/resnet50@96")
      ->type_name("MODEL")
      ->required();
  command.add_option("--device", request.device, "Device that decides")
      ->type_name("DEVICE")
      ->required();
  command.add_option("--dir", request.directory, "Directory of networks, report and checkpoint")
      ->type_name("DIR")
      ->required();
  command
      .add_option("--predictor", request.predictor, "Predictor file; default: the installed one")
      ->type_name("FILE");
  command.add_option("--method", request.method, "nsga2, netadapt (to --max-latency-ms), random")
      ->check(CLI::IsMember({"nsga2", "netadapt", "random"}))
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--objective", request.objectives,
                  "Beside quality: latency_ms, energy_mj, peak_ram_bytes, weights_bytes, macs")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--max-latency-ms", options.max_latency_ms, "Slower networks are infeasible")
      ->check(CLI::PositiveNumber)
      ->type_name("MS");
  command.add_option("--max-ram-bytes", options.max_ram_bytes, "And those that need more")
      ->check(CLI::PositiveNumber)
      ->type_name("BYTES");
  command.add_option("--evaluations", request.evaluations, "Networks to look at")
      ->check(CLI::Range(8, 100'000'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--population", request.population, "Of a generation; even")
      ->check(CLI::Range(8, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", request.seed, "Another one, another search")
      ->type_name("N")
      ->capture_default_str();
}

void add_quality_flags(CLI::App& command, Options& options) {
  const std::string kGroup = "Quality (higher is better)";
  auto& request = options.request;
  command.add_option("--quality", request.quality, "magnitude (of weights), fidelity (of outputs)")
      ->check(CLI::IsMember({"magnitude", "fidelity"}))
      ->type_name("NAME")
      ->group(kGroup)
      ->capture_default_str();
  command
      .add_option("--quality-command", request.quality_command,
                  "Program and arguments, one with {model}; its last line is a number")
      ->type_name("PROGRAM [ARG...]")
      ->expected(-1)
      ->group(kGroup);
  command.add_option("--quality-timeout-s", options.quality_timeout_s, "Of one network")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->group(kGroup)
      ->capture_default_str();
  command
      .add_option("--calibration-inputs", request.calibration_inputs,
                  "Of fidelity: raw inputs, one set after the other; default: smooth random ones")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_option("--calibration-sets", request.calibration_sets, "How many to make up")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
}

void add_device_flags(CLI::App& command, Options& options) {
  const std::string kGroup = "The device in the search";
  auto& request = options.request;
  command.add_flag("--hardware", request.hardware, "Every network is measured")->group(kGroup);
  command
      .add_option("--hybrid", request.hybrid,
                  "Measure N networks a generation, where the predictor is least sure, and learn")
      ->check(CLI::Range(0, 10'000))
      ->type_name("N")
      ->group(kGroup);
  command.add_option("--confirm", request.confirm, "Measure the K most interesting points")
      ->check(CLI::Range(0, 10'000))
      ->type_name("K")
      ->group(kGroup);
  command
      .add_option("--calibrate", request.calibrate,
                  "First measure N pruned networks, and learn a predictor of them")
      ->check(CLI::Range(20, 100'000))
      ->type_name("N")
      ->group(kGroup);
  command
      .add_option("--workers", request.workers,
                  "Workers of a device that is no single machine; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
}

void add_gene_flags(CLI::App& command, Options& options) {
  const std::string kGroup = "What may change";
  auto& request = options.request;
  command.add_option("--least-share", request.least_share, "Of the channels of a group")
      ->check(CLI::Range(0.01, 1.0))
      ->type_name("SHARE")
      ->group(kGroup)
      ->capture_default_str();
  command.add_option("--levels", request.levels, "Widths of a group, at most")
      ->check(CLI::Range(1, 4096))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
  command.add_option("--side", request.side_shares, "Sides of the image, as shares: 0.5 0.75")
      ->check(CLI::Range(0.05, 1.0))
      ->type_name("SHARE")
      ->group(kGroup);
  command.add_flag("--keep-blocks", options.keep_blocks, "Drop no residual block")->group(kGroup);
  command.add_flag("--all-widths", options.all_widths, "Not only those at the device's steps")
      ->group(kGroup);
  command.add_option("--keep", request.keep, "Points to write as .tflite")
      ->check(CLI::Range(0, 100'000))
      ->type_name("N")
      ->group(kGroup)
      ->capture_default_str();
}

void finish_request(Options& options) {
  auto& request = options.request;
  if (options.max_latency_ms > 0) request.max_latency_ms = options.max_latency_ms;
  if (options.max_ram_bytes > 0) request.max_ram_bytes = options.max_ram_bytes;
  if (!request.quality_command.empty()) request.quality = "command";
  request.quality_timeout =
      std::chrono::milliseconds(static_cast<int64_t>(options.quality_timeout_s * 1000));
  request.drop_blocks = !options.keep_blocks;
  request.snap = !options.all_widths;
  request.options = options.worker.options();
  request.deadline = options.worker.deadline();
}

}  // namespace

Run declare_search(CLI::App& command, Session& session) {
  auto options = std::make_shared<Options>();
  add_search_flags(command, *options);
  add_quality_flags(command, *options);
  add_device_flags(command, *options);
  add_gene_flags(command, *options);
  options->worker.add(command);
  add_format(command, options->format, {"text", "json", "html"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage search model.tflite --device ethos-u55-256 --dir smaller\n"
      "  edgesage search model.tflite --device ethos-u55-256 --dir fine --max-ram-bytes 200000\n\n"
      "Writes the front's points as .tflite, search.html and search-front.json. Interrupted, the\n"
      "same command goes on where it was, to the same result.");
  return [options, &session] {
    finish_request(*options);
    const auto found = app::search(session.context(), options->request);
    if (!found) return session.fail(found.error());
    const std::filesystem::path directory = options->request.directory;
    const std::string page = report::search_html(*found), json = report::search_json(*found);
    for (const auto& [name, text] :
         {std::pair{"search.html", &page}, std::pair{"search-front.json", &json}})
      if (const Status written = write_text(directory / name, *text); !written)
        return session.fail(written.error());
    session.note("report: " + (directory / "search.html").string());
    const int code = found->stopped ? kInterrupted : found->target_reached ? 0 : 1;
    if (options->format == "json") return session.write(json, code);
    return session.write(options->format == "html" ? page : report::search_text(*found), code);
  };
}

}  // namespace edgesage::cli
