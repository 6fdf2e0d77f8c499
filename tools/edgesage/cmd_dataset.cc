#include "src/app/dataset.h"
#include "src/report/learn.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {
namespace {

struct Options {
  app::ExportRequest exported;
  app::ImportRequest imported;
  std::string format = "text";
};

constexpr const char* kExportExample =
    "  edgesage dataset export --store labels.sqlite --device ethos-u55-256 -o labels.csv.zst";
constexpr const char* kImportExample =
    "  edgesage dataset import cells.csv --space nas-bench-201 --code-column arch_str "
    "--label-column pi_ms --device raspberry-pi -o labels.csv.zst";

void add_format(CLI::App& command, Options& options) {
  command.add_option("--format", options.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
}

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
  exporting->add_option("-o,--output", request.output, "The file, compressed CSV (.csv.zst)")
      ->type_name("FILE")
      ->required();
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

}  // namespace

Run declare_dataset(CLI::App& command, Session& session) {
  auto options = std::make_shared<Options>();
  command.require_subcommand(1);
  command.footer(std::string("Example:\n") + kExportExample);
  CLI::App* exporting = declare_export(command, *options);
  CLI::App* importing = declare_import(command, *options);
  for (CLI::App* one : {exporting, importing}) {
    add_format(*one, *options);
    session.add_common(*one);
  }
  return [options, exporting, &session] {
    const auto written = exporting->parsed() ? app::export_dataset(options->exported)
                                             : app::import_dataset(options->imported);
    if (!written) return session.fail(written.error());
    return session.write(options->format == "json" ? report::labels_json(*written)
                                                   : report::labels_text(*written));
  };
}

}  // namespace edgesage::cli
