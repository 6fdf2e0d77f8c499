#include "src/app/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/app/advise_rewrites.h"
#include "src/base/file.h"
#include "src/graph/validate.h"
#include "src/io/tflite_writer.h"
#include "src/transform/constants.h"
#include "src/transform/refit.h"

namespace edgesage::app {
namespace {

// A saving in proportion to what was removed is no step.
constexpr double kStep = 1.5;
// Of the latency: a first layer that costs less needs no advice.
constexpr double kLargeShare = 0.1;

AdvisedCost cost_of(const Prediction& prediction) {
  AdvisedCost cost{.activations_bytes = prediction.activations_bytes,
                   .weights_bytes = prediction.weights_bytes,
                   .macs = prediction.macs};
  if (prediction.latency_ms) cost.latency_ms = prediction.latency_ms->value;
  if (prediction.energy_mj) cost.energy_mj = prediction.energy_mj->value;
  if (prediction.peak_ram_bytes) cost.peak_ram_bytes = prediction.peak_ram_bytes->value;
  for (const OperatorPrediction& op : prediction.operators)
    cost.fallbacks += op.placement == "cpu" ? 1 : 0;
  return cost;
}

double saved(std::optional<double> before, std::optional<double> after) {
  return before && after && *before > 0 ? 1 - *after / *before : 0;
}

double saved_memory(const AdvisedCost& before, const AdvisedCost& after) {
  if (before.peak_ram_bytes && after.peak_ram_bytes)
    return saved(before.peak_ram_bytes, after.peak_ram_bytes);
  return saved(static_cast<double>(before.activations_bytes),
               static_cast<double>(after.activations_bytes));
}

// Why the change is advice, in words; empty: it is none.
std::string judge(const Rewrite& rewrite, const AdvisedCost& before, const AdvisedCost& after,
                  double least) {
  const double time = saved(before.latency_ms, after.latency_ms);
  const double memory = saved_memory(before, after);
  if (rewrite.topic == "channels") {
    if (time < least || rewrite.touched_ms <= 0) return "";
    const double touched = time * *before.latency_ms / rewrite.touched_ms;
    if (touched < kStep * rewrite.removed_share) return "";
    return fmt::format("{:.1f} % fewer channels save {:.1f} % of these operators' time",
                       100 * rewrite.removed_share, 100 * touched);
  }
  if (rewrite.topic == "memory")
    return memory >= least ? fmt::format("what it makes is alive at the peak; {:.1f} % less there",
                                         100 * memory)
                           : "";
  if (after.fallbacks < before.fallbacks)
    return fmt::format("{} operators on the CPU instead of {}", after.fallbacks, before.fallbacks);
  if (time >= least) return fmt::format("{:.1f} % of the latency", 100 * time);
  return "";
}

struct Advisor {
  ModelPricer& pricer;
  const AdviseRequest& request;
  AdviceReport report;

  // Changes that lead to no valid graph are not advice.
  Status consider(const Rewrite& rewrite) {
    Result<Graph> graph = rewrite.make();
    if (!graph) return {};
    remove_unused(*graph);
    if (!validate(*graph)) return {};
    Answers<Prediction> answers = pricer.price(*graph, report.prediction.model);
    if (!answers.front().result) return {};
    const Prediction& prediction = *answers.front().result;
    ++report.tried;
    Advice advice{.topic = rewrite.topic,
                  .what = rewrite.what,
                  .why = "",
                  .operators = rewrite.operators,
                  .after = cost_of(prediction),
                  .in_range = prediction.in_range,
                  .file = ""};
    advice.why = judge(rewrite, report.before, advice.after, request.least_gain);
    if (advice.why.empty()) return {};
    if (!request.folder.empty()) {
      const std::filesystem::path file =
          request.folder / fmt::format("advice-{}.tflite", report.advice.size() + 1);
      EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(*graph));
      EDGESAGE_RETURN_IF_ERROR(write_file(file, bytes));
      advice.file = file.string();
    }
    report.advice.push_back(std::move(advice));
    return {};
  }

  // Of several widths of the same operators the one that saves most.
  void keep_best_steps() {
    std::map<std::vector<int32_t>, double> best;
    const auto change = [&](const Advice& advice) {
      return advice.latency_change_ms(report.before).value_or(0);
    };
    for (const Advice& advice : report.advice)
      if (advice.topic == "channels")
        best[advice.operators] = std::min(best[advice.operators], change(advice));
    std::erase_if(report.advice, [&](const Advice& advice) {
      return advice.topic == "channels" && change(advice) > best[advice.operators];
    });
  }

  void sort() {
    std::ranges::stable_sort(report.advice, {}, [&](const Advice& advice) {
      return std::pair(advice.topic == "memory",
                       advice.latency_change_ms(report.before).value_or(0));
    });
  }

  void add_notes() {
    std::map<std::pair<std::string, std::string>, std::vector<int32_t>> left;
    for (const OperatorPrediction& op : report.prediction.operators) {
      if (op.placement != "cpu") continue;
      const bool advised = std::ranges::any_of(report.advice, [&](const Advice& advice) {
        return advice.topic == "operator" &&
               std::ranges::find(advice.operators, op.index) != advice.operators.end();
      });
      if (!advised) left[{op.kind, op.placement_reason}].push_back(op.index);
    }
    for (const auto& [what, operators] : left)
      report.notes.push_back(
          fmt::format("{} ({}) run on the CPU{}; no replacement is known that this device runs",
                      operators_in_words(operators), what.first,
                      what.second.empty() ? "" : fmt::format(": {}", what.second)));
  }
};

// Whether the network's beginning costs so much, or is where memory peaks, that it is worth a look.
bool begins_too_large(const Prediction& prediction, const Rewrite& rewrite) {
  const int32_t first = rewrite.operators.front();
  const auto& cost = prediction.operators[static_cast<size_t>(first)].latency_ms;
  if (cost && prediction.latency_ms && *cost >= kLargeShare * prediction.latency_ms->value)
    return true;
  return prediction.inspection && prediction.inspection->memory.peak_operator <= first + 1;
}

std::vector<Rewrite> all_rewrites(const Graph& graph, const ChannelGroups& groups,
                                  const Prediction& prediction) {
  std::vector<Rewrite> all = channel_rewrites(graph, groups, prediction);
  std::ranges::move(operator_rewrites(graph, prediction), std::back_inserter(all));
  std::ranges::move(memory_rewrites(graph, groups, prediction), std::back_inserter(all));
  for (Rewrite& rewrite : first_layer_rewrites(graph, groups, prediction))
    if (begins_too_large(prediction, rewrite)) all.push_back(std::move(rewrite));
  return all;
}

}  // namespace

Result<AdviceReport> advise(const Context& context, const AdviseRequest& request) {
  if (request.predict.models.size() != 1 ||
      request.predict.devices.size() + request.predict.predictors.size() != 1)
    return make_error(ErrorCode::kInvalidArgument, "",
                      "advice is about one model on one device: name one of each");
  const std::string& model = request.predict.models.front();
  // Standard input can be read once.
  EDGESAGE_ASSIGN_OR_RETURN(const Graph graph, read_model(model, request.predict.read));
  PredictRequest inspecting = request.predict;
  inspecting.inspect = true;
  std::error_code ignored;
  if (!request.folder.empty()) std::filesystem::create_directories(request.folder, ignored);
  AdviceReport report;
  {
    EDGESAGE_ASSIGN_OR_RETURN(ModelPricer first, ModelPricer::load(context, inspecting));
    Answers<Prediction> answers = first.price(graph, model);
    if (!answers.front().result) return tl::unexpected(answers.front().result.error());
    report.prediction = std::move(*answers.front().result);
  }
  report.before = cost_of(report.prediction);
  if (report.prediction.operators.empty()) return report;
  // The range of the changed models is told, not refused.
  inspecting.inspect = inspecting.strict = false;
  EDGESAGE_ASSIGN_OR_RETURN(ModelPricer pricer, ModelPricer::load(context, inspecting));
  Advisor advisor{.pricer = pricer, .request = request, .report = std::move(report)};
  const ChannelGroups groups = channel_groups(graph);
  const std::vector<Rewrite> rewrites = all_rewrites(graph, groups, advisor.report.prediction);
  int64_t done = 0;
  for (const Rewrite& rewrite : rewrites) {
    if (context.stop_wanted()) break;
    context.report(done++, std::ssize(rewrites), rewrite.what);
    EDGESAGE_RETURN_IF_ERROR(advisor.consider(rewrite));
  }
  advisor.keep_best_steps();
  advisor.sort();
  advisor.add_notes();
  return std::move(advisor.report);
}

}  // namespace edgesage::app
