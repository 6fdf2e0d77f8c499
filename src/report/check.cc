#include "src/report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/text.h"
#include "src/report/html.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string_view verdict_name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"met", "missed", "unknown", "new"};
  return kNames[static_cast<size_t>(verdict)];
}

bool is_count(const CheckFinding& finding) {
  return finding.quantity.ends_with("_bytes") || finding.quantity == "macs";
}

std::string amount(const CheckFinding& finding, std::optional<double> value) {
  if (!value) return "";
  return is_count(finding) ? grouped(static_cast<int64_t>(*value + 0.5)) : decimal(*value);
}

std::string percent_of(double part, double whole) {
  return whole > 0 ? fmt::format(" ({:.1f} %)", 100 * part / whole) : "";
}

// "missed by 1,234 (5.6 %)"
std::string outcome(const CheckFinding& finding) {
  if (finding.quantity == "in_range" && finding.verdict == Verdict::kMissed)
    return "not in range: " + finding.reason;
  if (const std::optional<double> excess = finding.excess())
    return fmt::format("missed by {}{}", amount(finding, excess),
                       percent_of(*excess, finding.limit.value_or(0)));
  if (finding.verdict == Verdict::kUnknown) return "not known: " + finding.reason;
  if (finding.verdict == Verdict::kNew) return "new: " + finding.reason;
  return std::string(verdict_name(finding.verdict));
}

std::string rule_text(const CheckFinding& finding) {
  if (finding.rule == "growth")
    return finding.baseline ? fmt::format("{} + {} %", amount(finding, finding.baseline),
                                          decimal(finding.allowed_percent))
                            : fmt::format("+ {} %", decimal(finding.allowed_percent));
  return amount(finding, finding.limit);
}

TextTable findings_table(const Check& check) {
  TextTable table({"quantity", ">predicted", ">judged", ">at most", "verdict"}, 200);
  for (const CheckFinding& finding : check.findings)
    table.add({finding.quantity, amount(finding, finding.value), amount(finding, finding.judged),
               rule_text(finding), outcome(finding)});
  return table;
}

size_t failures(const Check& check) {
  return static_cast<size_t>(std::ranges::count_if(
      check.findings, [](const CheckFinding& finding) { return !passes(finding.verdict); }));
}

std::string headline(const Check& check) {
  const size_t failed = failures(check);
  return failed == 0 ? fmt::format("all {} rules met", check.findings.size())
                     : fmt::format("{} of {} rules failed", failed, check.findings.size());
}

std::vector<std::string> remarks(const Check& check) {
  std::vector<std::string> out;
  if (!check.in_range) out.push_back("outside the predictor's range: " + join(check.reasons, "; "));
  out.insert(out.end(), check.warnings.begin(), check.warnings.end());
  return out;
}

Json finding_json(const CheckFinding& finding) {
  Json out = {{"quantity", finding.quantity},
              {"rule", finding.rule},
              {"verdict", verdict_name(finding.verdict)},
              {"value", or_null(finding.value)},
              {"judged", or_null(finding.judged)},
              {"limit", or_null(finding.limit)},
              {"excess", or_null(finding.excess())}};
  if (finding.rule == "growth") {
    out["baseline"] = or_null(finding.baseline);
    out["allowed_percent"] = finding.allowed_percent;
  }
  out["reason"] = text_or_null(finding.reason);
  return out;
}

bool all_passed(const Answers<Check>& answers) {
  return std::ranges::all_of(answers, [](const Answer<Check>& answer) {
    return answer.result && answer.result->passed();
  });
}

std::string junit_case(const Check& check, const CheckFinding& finding) {
  const std::string name = finding.quantity + (finding.rule == "growth" ? " growth" : "");
  std::string text = fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"0\"",
                                 escaped(shown(check.device, 200)),
                                 escaped(shown(check.model, 200)), escaped(name));
  if (passes(finding.verdict)) return text + "/>\n";
  const std::string words = escaped(shown(outcome(finding), 400));
  return text + fmt::format(
                    ">\n      <failure message=\"{0}\">{1}: {0}; judged {2}, at most "
                    "{3}</failure>\n    </testcase>\n",
                    words, escaped(name), amount(finding, finding.judged),
                    escaped(rule_text(finding)));
}

}  // namespace

std::string check_text(const Answers<Check>& answers) {
  std::string text;
  for (const Answer<Check>& answer : answers) {
    if (!answer.result) {
      text += fmt::format("{} on {}: cannot be judged: {}\n", shown(answer.subject, 200),
                          answer.device, answer.result.error().to_string());
      continue;
    }
    const Check& check = *answer.result;
    text += fmt::format("{} on {}: {} (upper ends of {:.0f} % intervals)\n",
                        shown(check.model, 200), check.device, headline(check), check.level * 100);
    text += findings_table(check).render("  ");
    for (const std::string& remark : remarks(check))
      text += fmt::format("  warning: {}\n", shown(remark, 300));
  }
  return text;
}

std::string check_json(const Answers<Check>& answers) {
  Json rows = Json::array();
  for (const Answer<Check>& answer : answers) {
    if (!answer.result) {
      rows.push_back({{"model", answer.subject},
                      {"device", answer.device},
                      {"error", error_json(answer.result.error())}});
      continue;
    }
    const Check& check = *answer.result;
    Json findings = Json::array();
    for (const CheckFinding& finding : check.findings) findings.push_back(finding_json(finding));
    rows.push_back({{"model", check.model},
                    {"device", check.device},
                    {"predictor_id", check.predictor_id},
                    {"level", check.level},
                    {"passed", check.passed()},
                    {"in_range", check.in_range},
                    {"reasons", check.reasons},
                    {"warnings", check.warnings},
                    {"findings", findings}});
  }
  return to_text({{"schema_version", kSchemaVersion},
                  {"passed", all_passed(answers)},
                  {"checks", rows}},
                 2) +
         '\n';
}

std::string check_markdown(const Answers<Check>& answers) {
  std::string text = fmt::format("### Budget: {}\n", all_passed(answers) ? "kept" : "**not kept**");
  for (const Answer<Check>& answer : answers) {
    text += fmt::format("\n**{}** on {}: ", markdown_text(answer.subject, 200),
                        markdown_text(answer.device));
    if (!answer.result) {
      text += fmt::format("cannot be judged: {}\n",
                          markdown_text(answer.result.error().to_string(), 300));
      continue;
    }
    const Check& check = *answer.result;
    text += fmt::format("{} (upper ends of {:.0f} % intervals)\n\n{}", headline(check),
                        check.level * 100, findings_table(check).markdown());
    for (const std::string& remark : remarks(check))
      text += fmt::format("\n- {}", markdown_text(remark, 300));
    if (!remarks(check).empty()) text += '\n';
  }
  return text;
}

std::string check_junit(const Answers<Check>& answers) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"edgesage\">\n";
  for (const Answer<Check>& answer : answers) {
    const std::string name =
        escaped(shown(fmt::format("{} on {}", answer.subject, answer.device), 400));
    if (!answer.result) {
      text += fmt::format(
          "  <testsuite name=\"{0}\" tests=\"1\" failures=\"0\" errors=\"1\">\n    <testcase "
          "classname=\"{1}\" name=\"prediction\" time=\"0\">\n      <error "
          "message=\"{2}\"/>\n    </testcase>\n  </testsuite>\n",
          name, escaped(answer.device), escaped(shown(answer.result.error().to_string(), 400)));
      continue;
    }
    const Check& check = *answer.result;
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
                        name, check.findings.size(), failures(check));
    for (const CheckFinding& finding : check.findings) text += junit_case(check, finding);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace edgesage::report
