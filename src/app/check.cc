#include "src/app/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/app/budget.h"

namespace edgesage::app {
namespace {

// What a limit or a baseline allows may be met to the last digit.
constexpr double kRounding = 1 + 1e-9;

CheckFinding against_limit(const Prediction& prediction, const std::string& quantity,
                           double limit) {
  const BudgetFigure figure = budget_figure(prediction, quantity);
  CheckFinding finding{.quantity = quantity,
                       .rule = "limit",
                       .value = figure.value,
                       .judged = figure.upper,
                       .limit = limit,
                       .reason = figure.reason};
  if (figure.upper)
    finding.verdict = *figure.upper <= limit * kRounding ? Verdict::kMet : Verdict::kMissed;
  return finding;
}

CheckFinding against_baseline(const Prediction& prediction, const std::string& quantity,
                              double percent, const BaselineEntry* entry) {
  const BudgetFigure figure = budget_figure(prediction, quantity);
  CheckFinding finding{.quantity = quantity,
                       .rule = "growth",
                       .value = figure.value,
                       .judged = figure.value,
                       .allowed_percent = percent,
                       .reason = figure.reason};
  if (entry == nullptr) {
    finding.verdict = Verdict::kNew;
    finding.reason = "the baseline does not have this model on this device";
    return finding;
  }
  const auto before = entry->values.find(quantity);
  if (before == entry->values.end()) {
    finding.verdict = Verdict::kNew;
    finding.reason = "the baseline does not have this quantity";
    return finding;
  }
  finding.baseline = before->second;
  finding.limit = before->second * (1 + percent / 100);
  if (!figure.value) return finding;
  if (figure.predicted && entry->predictor_id != prediction.predictor_id) {
    finding.judged.reset();
    finding.reason = fmt::format(
        "the baseline is of predictor {}, this is of {}: they cannot be compared; write the "
        "baseline anew with --write-baseline",
        entry->predictor_id, prediction.predictor_id);
    return finding;
  }
  finding.verdict = *figure.value <= *finding.limit * kRounding ? Verdict::kMet : Verdict::kMissed;
  return finding;
}

struct Rules {
  Budget budget;
  std::vector<BaselineEntry> baseline;
  bool has_baseline = false;
};

Check judge(const Prediction& prediction, const Rules& rules) {
  Check check{.model = prediction.model,
              .device = prediction.device,
              .predictor_id = prediction.predictor_id,
              .level = rules.budget.level,
              .in_range = prediction.in_range,
              .reasons = prediction.reasons,
              .warnings = prediction.warnings,
              .findings = {}};
  for (const BudgetLimits& limits : rules.budget.limits) {
    if (limits.device != prediction.device || !holds_for(limits, prediction.model)) continue;
    for (const auto& [quantity, limit] : limits.at_most)
      check.findings.push_back(against_limit(prediction, quantity, limit));
    if (limits.require_in_range)
      check.findings.push_back(
          {.quantity = "in_range",
           .rule = "limit",
           .verdict = prediction.in_range ? Verdict::kMet : Verdict::kMissed,
           .reason = prediction.reasons.empty() ? "" : prediction.reasons.front()});
  }
  if (!rules.has_baseline) return check;
  const BaselineEntry* entry = find_entry(rules.baseline, prediction.model, prediction.device);
  for (const auto& [quantity, percent] : rules.budget.growth_percent)
    check.findings.push_back(against_baseline(prediction, quantity, percent, entry));
  return check;
}

Result<Rules> read_rules(const CheckRequest& request) {
  Rules rules;
  EDGESAGE_ASSIGN_OR_RETURN(rules.budget, read_budget(request.budget));
  if (request.level) rules.budget.level = *request.level;
  if (!request.baseline.empty()) rules.budget.baseline = request.baseline;
  // The first time there is nothing yet to compare with.
  std::error_code ignored;
  const bool to_be_made =
      !request.write_baseline.empty() && !std::filesystem::exists(rules.budget.baseline, ignored);
  if (rules.budget.baseline.empty() || to_be_made) return rules;
  EDGESAGE_ASSIGN_OR_RETURN(rules.baseline, read_baseline(rules.budget.baseline));
  rules.has_baseline = true;
  return rules;
}

bool is_limited(const Rules& rules, const std::string& model, const std::string& device) {
  return std::ranges::any_of(rules.budget.limits, [&](const BudgetLimits& limits) {
    return limits.device == device && holds_for(limits, model);
  });
}

}  // namespace

Result<Answers<Check>> check_models(const Context& context, const CheckRequest& request) {
  EDGESAGE_ASSIGN_OR_RETURN(const Rules rules, read_rules(request));
  PredictRequest predict = request.predict;
  predict.devices = rules.budget.devices();
  predict.level = rules.budget.level;
  EDGESAGE_ASSIGN_OR_RETURN(Answers<Prediction> predictions, predict_models(context, predict));
  std::erase_if(predictions, [&](const Answer<Prediction>& answer) {
    return !is_limited(rules, answer.subject, answer.device);
  });
  // A gate that lets everything pass because no limit was meant for it would be found out late.
  for (const std::string& model : request.predict.models)
    if (!context.stop_wanted() &&
        std::ranges::none_of(predictions, [&](const auto& one) { return one.subject == model; }))
      return make_error(ErrorCode::kInvalidArgument, model,
                        fmt::format("no [[limits]] of {} hold for it", request.budget));
  Answers<Check> answers;
  for (const Answer<Prediction>& answer : predictions) {
    answers.push_back({answer.subject, answer.device, Check{}});
    if (answer.result)
      answers.back().result = judge(*answer.result, rules);
    else
      answers.back().result = tl::unexpected(answer.result.error());
  }
  if (!request.write_baseline.empty())
    EDGESAGE_RETURN_IF_ERROR(write_baseline(predictions, request.write_baseline));
  return answers;
}

}  // namespace edgesage::app
