#include <fmt/format.h>

#include "src/app/calibrate.h"
#include "src/report/calibration.h"
#include "tools/edgesage/commands.h"
#include "tools/edgesage/format_flag.h"
#include "tools/edgesage/pool_flags.h"

namespace edgesage::cli {

Run declare_sample(CLI::App& command, Session& session) {
  struct Options {
    app::SampleRequest request;
    std::string format = "text";
  };
  auto options = std::make_shared<Options>();
  auto& request = options->request;
  command.add_option("--count", request.count, "Networks to choose")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--device", request.device,
                  "Device that they are lowered for; default: any (generic)")
      ->type_name("DEVICE");
  command
      .add_option("--store", request.store,
                  "Store with labels of the device: choose what to measure next")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  add_pool_flags(command, request.pool);
  add_format(command, options->format, {"text", "json"});
  session.add_output(command);
  session.add_devices(command);
  command.footer(
      "Examples:\n"
      "  edgesage sample --count 30\n"
      "  edgesage sample --count 12 --device host-litert --store host-litert.sqlite\n"
      "  edgesage sample --count 20 --models my-models --mutations 50\n\n"
      "Without labels: one network of each cluster of simulated costs. With them: where the\n"
      "answer is least sure, and whether measuring more is worth it.");
  return [options, &session] {
    const auto sampled = app::sample(session.context(), options->request);
    if (!sampled) return session.fail(sampled.error());
    if (sampled->median_ape)
      session.note(
          fmt::format("{} labels, median held-out error {:.1f} %, after 12 more about "
                      "{:.1f} %: {}",
                      sampled->labelled, *sampled->median_ape, *sampled->median_ape_after,
                      sampled->enough ? "enough" : "worth measuring"));
    return session.write(options->format == "json" ? report::sample_json(*sampled)
                                                   : report::sample_text(*sampled));
  };
}

}  // namespace edgesage::cli
