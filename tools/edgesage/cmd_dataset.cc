#include "src/app/dataset.h"
#include "src/report/dataset.h"
#include "src/report/learn.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/worker_flags.h"

namespace edgesage::cli {
namespace {

struct Options {
  app::ExportRequest exported;
  app::ImportRequest imported;
  std::string info_path, info_device, energy_table;
  app::VerifyRequest verified;
  WorkerFlags worker;
  std::string format = "text";
};

constexpr const char* kExportExample =
    "  edgesage dataset export --store labels.sqlite --device ethos-u55-256 -o labels.csv.zst\n"
    "  edgesage dataset export --store labels.sqlite --device ethos-u55-256 -o labels/edgedlperf";
constexpr const char* kInfoExample = "  edgesage dataset info labels/edgedlperf";
constexpr const char* kVerifyExample =
    "  edgesage dataset verify labels/edgedlperf --count 200 --workers 2";
constexpr const char* kImportExample =
    "  edgesage dataset import cells.csv --space nas-bench-201 --code-column arch_str "
    "--label-column pi_ms --device raspberry-pi -o labels.csv.zst";

CLI::App* declare_export(CLI::App& command, Options& options) {
  CLI::App* exporting = command.add_subcommand("export", "Labels of a device as a file");
  app::ExportRequest& request = options.exported;
  exporting->allow_extras();
  exporting->add_option("--store", request.store, "Store")->type_name("FILE")->required();
  exporting->add_option("--device", request.device, "Device")->type_name("DEVICE")->required();
  exporting
      ->add_option("--host", request.host_fingerprint,
                   "Fingerprint of the host, where the store has several")
      ->type_name("FINGERPRINT");
  exporting
      ->add_option("--runtime-version", request.runtime_version,
                   "Version of the runtime, where the store has several")
      ->type_name("VERSION");
  exporting
      ->add_option("-o,--output", request.output,
                   "The file, compressed CSV (.csv.zst); another name is a folder, with a file a "
                   "space and block of seeds")
      ->type_name("PATH")
      ->required();
  exporting->add_option("--block", request.block, "Seeds a file, in a folder")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  exporting->footer(std::string("Example:\n") + kExportExample);
  return exporting;
}

CLI::App* declare_import(CLI::App& command, Options& options) {
  CLI::App* importing =
      command.add_subcommand("import", "Labels that others measured, from a CSV of network codes");
  LabelImport& labels = options.imported.labels;
  importing->allow_extras();
  importing->add_option("FILE", options.imported.file, "CSV with a header; - is standard input")
      ->type_name("")
      ->required();
  importing->add_option("--space", labels.space, "Published space that the codes are of")
      ->type_name("SPACE")
      ->required();
  importing
      ->add_option("--code-column", labels.code_column,
                   "Column with the code; FIRST:LAST joins the cells of several by -")
      ->type_name("NAME")
      ->required();
  importing->add_option("--label-column", labels.label_column, "Column with the label")
      ->type_name("NAME")
      ->required();
  importing->add_option("--quantity", labels.quantity, "What was measured, with its unit")
      ->type_name("NAME")
      ->capture_default_str();
  importing->add_option("--unit", labels.unit, "Unit of the column, where it is another")
      ->type_name("UNIT");
  importing->add_option("--device", labels.device, "Device that it was measured on")
      ->type_name("DEVICE")
      ->required();
  importing->add_option("--runtime", labels.runtime, "Runtime that it was measured with")
      ->type_name("NAME");
  importing->add_option("--runtime-version", labels.runtime_version, "And its version")
      ->type_name("VERSION");
  importing->add_option("--statistic", labels.statistic, "Which of a series: min, p50, mean")
      ->type_name("NAME");
  importing
      ->add_option("--resolution", labels.resolution,
                   "Side of the image, where it is not the space's usual one")
      ->check(CLI::Range(0, 4096));
  importing->add_flag("--float32", labels.float32, "The networks were run in float32, not int8");
  importing->add_option("-o,--output", options.imported.output, "The file (.csv.zst)")
      ->type_name("FILE")
      ->required();
  importing->footer(std::string("Example:\n") + kImportExample);
  return importing;
}

CLI::App* declare_info(CLI::App& command, Options& options, Session& session) {
  CLI::App* info =
      command.add_subcommand("info", "Devices, spaces, ranges and failures of label files");
  info->allow_extras();
  info->add_option("PATH", options.info_path, "Label file or folder")->type_name("")->required();
  info->add_option("--device", options.info_device, "Of this device alone")->type_name("DEVICE");
  info->add_option("--energy-table", options.energy_table,
                   "Table of costs (TOML) that energy_mj is modelled with, instead of the device's")
      ->type_name("FILE");
  info->footer(std::string("Example:\n") + kInfoExample +
               "\n\n--format json has every quantity with its histogram.");
  session.add_output(*info);
  return info;
}

CLI::App* declare_verify(CLI::App& command, Options& options, Session& session) {
  CLI::App* verify =
      command.add_subcommand("verify", "Rebuild and measure some networks again, and compare");
  app::VerifyRequest& request = options.verified;
  verify->allow_extras();
  verify->add_option("PATH", request.path, "Label file or folder")->type_name("")->required();
  verify->add_option("--device", request.device, "Of this device alone")->type_name("DEVICE");
  verify->add_option("--count", request.count, "Networks of each device")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}))
      ->capture_default_str();
  verify->add_option("--seed", request.seed, "Seed of their choice")->capture_default_str();
  verify->add_option("--workers", request.workers, "Workers of a device that is not this machine")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verify->add_option("--repeats", request.repeats, "Passes over the networks")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verify
      ->add_option("--tolerance", request.exact_tolerance,
                   "Relative difference of what is not timed; 0: 1e-4")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verify
      ->add_option("--time-tolerance", request.time_tolerance,
                   "Relative difference of timed latencies, which a tenth of the networks may "
                   "exceed; 0: 0.1")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  options.worker.add(*verify);
  verify->footer(
      std::string("Example:\n") + kVerifyExample +
      "\n\nEnds with 1 where labels do not hold, and where none could be compared. Labels "
      "of another\nmachine are skipped.");
  session.add_output(*verify);
  session.add_devices(*verify);
  return verify;
}

int run_info(const Options& options, Session& session) {
  const auto summary = app::dataset_info(session.context(), options.info_path, options.info_device,
                                         options.energy_table);
  if (!summary) return session.fail(summary.error());
  return session.write(options.format == "json" ? report::dataset_json(*summary)
                                                : report::dataset_text(*summary));
}

int run_verify(Options& options, Session& session) {
  options.verified.options = options.worker.options();
  options.verified.deadline = options.worker.deadline();
  const auto result = app::verify_dataset(session.context(), options.verified);
  if (!result) return session.fail(result.error());
  const int code = result->stopped ? kInterrupted : result->passed() ? 0 : 1;
  return session.write(options.format == "json" ? report::verification_json(*result)
                                                : report::verification_text(*result),
                       code);
}

}  // namespace

Run declare_dataset(CLI::App& command, Session& session) {
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  command.footer(std::string("Examples:\n") + kExportExample + '\n' + kInfoExample + '\n' +
                 kVerifyExample);
  CLI::App* exporting = declare_export(command, *options);
  CLI::App* importing = declare_import(command, *options);
  CLI::App* info = declare_info(command, *options, session);
  CLI::App* verify = declare_verify(command, *options, session);
  for (CLI::App* one : {exporting, importing, info, verify}) {
    add_format(*one, options->format, {"text", "json"});
    session.add_common(*one);
  }
  return [options, exporting, info, verify, &session] {
    if (info->parsed()) return run_info(*options, session);
    if (verify->parsed()) return run_verify(*options, session);
    const auto written = exporting->parsed() ? app::export_dataset(options->exported)
                                             : app::import_dataset(options->imported);
    if (!written) return session.fail(written.error());
    return session.write(options->format == "json" ? report::labels_json(*written)
                                                   : report::labels_text(*written));
  };
}

}  // namespace edgesage::cli
