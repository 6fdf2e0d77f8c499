#include "src/report/annotate.h"

#include <fmt/format.h>

#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {

std::string annotate_text(const AnnotationSummary& summary) {
  TextTable table({"device", ">pass", ">networks", ">measured", ">failed", ">already",
                   ">duplicates", ">passed over", ">seconds", ">a second"});
  for (const AnnotationPass& pass : summary.passes) {
    const auto done = static_cast<double>(pass.measured + pass.failed);
    table.add({pass.device, std::to_string(pass.repeat), grouped(pass.networks),
               grouped(pass.measured), grouped(pass.failed), grouped(pass.already),
               grouped(pass.duplicates), grouped(pass.passed_over),
               fmt::format("{:.1f}", pass.seconds),
               pass.seconds > 0 ? fmt::format("{:.1f}", done / pass.seconds) : ""});
  }
  std::string text = table.render();
  for (const AnnotationPass& pass : summary.passes)
    if (const std::optional<double> overhead = pass.overhead())
      text += fmt::format(
          "{} pass {}: overhead {:.1f} % of the workers' time ({:.1f} s beside {:.1f} s of "
          "processor)\n",
          pass.device, pass.repeat, *overhead, pass.own_cpu_seconds, pass.worker_cpu_seconds);
  if (summary.stopped)
    text += fmt::format("stopped; the same command goes on with {}\n", summary.store);
  return text;
}

std::string annotate_json(const AnnotationSummary& summary) {
  Json passes = Json::array();
  for (const AnnotationPass& pass : summary.passes)
    passes.push_back({{"device", pass.device},
                      {"host_fingerprint", text_or_null(pass.host_fingerprint)},
                      {"repeat", pass.repeat},
                      {"workers", pass.workers},
                      {"networks", pass.networks},
                      {"measured", pass.measured},
                      {"failed", pass.failed},
                      {"already", pass.already},
                      {"duplicates", pass.duplicates},
                      {"passed_over", pass.passed_over},
                      {"seconds", pass.seconds},
                      {"worker_seconds", pass.worker_seconds},
                      {"build_seconds", pass.build_seconds},
                      {"own_cpu_seconds", pass.own_cpu_seconds},
                      {"worker_cpu_seconds", pass.worker_cpu_seconds},
                      {"overhead", or_null(pass.overhead())}});
  return to_text({{"schema_version", kSchemaVersion},
                  {"store", summary.store},
                  {"passes", passes},
                  {"stopped", summary.stopped}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
