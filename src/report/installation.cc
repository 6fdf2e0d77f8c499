#include "src/report/installation.h"

#include <fmt/format.h>

#include <array>

#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string_view outcome_name(SelftestStep::Outcome outcome) {
  constexpr std::array<std::string_view, 3> kNames = {"passed", "failed", "skipped"};
  return kNames[static_cast<size_t>(outcome)];
}

}  // namespace

std::string selftest_text(const std::vector<SelftestStep>& steps) {
  TextTable table({"", "step", "found"}, 200);
  for (const SelftestStep& step : steps)
    table.add({std::string(outcome_name(step.outcome)), step.name, step.detail});
  return table.render();
}

std::string selftest_json(const std::vector<SelftestStep>& steps) {
  Json rows = Json::array();
  bool passed = true;
  for (const SelftestStep& step : steps) {
    passed = passed && step.outcome != SelftestStep::Outcome::kFailed;
    rows.push_back(
        {{"name", step.name}, {"outcome", outcome_name(step.outcome)}, {"detail", step.detail}});
  }
  return to_text({{"schema_version", kSchemaVersion}, {"passed", passed}, {"steps", rows}}, 2) +
         '\n';
}

std::string strip_text(const Stripped& stripped) {
  std::string text =
      fmt::format("{}: {}, values of {} constants removed, {} kept\n", shown(stripped.file, 200),
                  human_bytes(stripped.file_bytes), stripped.constants, stripped.kept);
  if (!stripped.same.empty())
    text += fmt::format("same prediction on {}\n", join(stripped.same, ", "));
  for (const std::string& difference : stripped.differ)
    text += fmt::format("another prediction: {}\n", difference);
  return text;
}

std::string strip_json(const Stripped& stripped) {
  return to_text({{"schema_version", kSchemaVersion},
                  {"model", stripped.model},
                  {"file", stripped.file},
                  {"file_bytes", stripped.file_bytes},
                  {"constants", stripped.constants},
                  {"kept", stripped.kept},
                  {"graph_hash", stripped.graph_hash},
                  {"same", stripped.same},
                  {"differ", stripped.differ}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
