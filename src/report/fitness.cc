#include "src/report/fitness.h"

#include <fmt/format.h>

#include "src/report/json_common.h"

namespace edgesage::report {

std::string fitness_text(const Fitness& fitness) {
  std::string text =
      fmt::format("{}: {}\n", fitness.device,
                  fitness.level == FitnessLevel::kOk        ? "fit to be measured"
                  : fitness.level == FitnessLevel::kWarning ? "may be measured, with warnings"
                                                            : "unfit to be measured now");
  for (const FitnessFinding& finding : fitness.findings) {
    text += fmt::format("  {:<12} {:<8} {}", finding.check, to_string(finding.level),
                        finding.found.empty() ? finding.reason : finding.found);
    text += '\n';
    if (!finding.found.empty() && !finding.reason.empty())
      text += fmt::format("  {:<21} {}\n", "", finding.reason);
    if (!finding.remedy.empty()) text += fmt::format("  {:<21} remedy: {}\n", "", finding.remedy);
  }
  return text;
}

std::string fitness_json(const Fitness& fitness) {
  Json findings = Json::array();
  for (const FitnessFinding& finding : fitness.findings)
    findings.push_back({{"check", finding.check},
                        {"level", to_string(finding.level)},
                        {"found", text_or_null(finding.found)},
                        {"reason", text_or_null(finding.reason)},
                        {"remedy", text_or_null(finding.remedy)}});
  return to_text({{"schema_version", kSchemaVersion},
                  {"device", fitness.device},
                  {"level", to_string(fitness.level)},
                  {"findings", findings}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
