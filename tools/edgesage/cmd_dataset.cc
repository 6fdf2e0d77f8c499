#include "src/app/dataset.h"
#include "src/report/learn.h"
#include "tools/edgesage/commands.h"

namespace edgesage::cli {

Run declare_dataset(CLI::App& command, Session& session) {
  struct Options {
    app::ExportRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  constexpr const char* kExample =
      "Example:\n"
      "  edgesage dataset export --store labels.sqlite --device ethos-u55-256 -o labels.csv.zst";
  command.require_subcommand(1);
  command.footer(kExample);
  CLI::App* exporting = command.add_subcommand("export", "Labels of a device as a file");
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
  exporting->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  session.add_common(*exporting);
  exporting->footer(kExample);
  return [options, &session] {
    const auto written = app::export_dataset(options->request);
    if (!written) return session.fail(written.error());
    return session.write(options->format == "json" ? report::labels_json(*written)
                                                   : report::labels_text(*written));
  };
}

}  // namespace edgesage::cli
