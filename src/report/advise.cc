#include "src/report/advise.h"

#include <fmt/format.h>

#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string signed_percent(double before, double after) {
  return before > 0 ? fmt::format("{:+.1f} %", 100 * (after / before - 1)) : "";
}

std::string memory_change(const AdvisedCost& before, const AdvisedCost& after) {
  if (before.peak_ram_bytes && after.peak_ram_bytes)
    return signed_percent(*before.peak_ram_bytes, *after.peak_ram_bytes);
  return signed_percent(static_cast<double>(before.activations_bytes),
                        static_cast<double>(after.activations_bytes));
}

std::string topic_of(const Advice& advice) {
  return advice.in_range ? advice.topic : advice.topic + " (out of range)";
}

TextTable advice_table(const AdviceReport& report) {
  TextTable table({">ms", ">time", ">memory", ">weights", "about", "change", "because", "file"},
                  90);
  for (const Advice& advice : report.advice) {
    const std::optional<double> change = advice.latency_change_ms(report.before);
    table.add({change ? fmt::format("{:+.4f}", *change) : "-",
               change ? signed_percent(*report.before.latency_ms, *advice.after.latency_ms) : "",
               memory_change(report.before, advice.after),
               signed_percent(static_cast<double>(report.before.weights_bytes),
                              static_cast<double>(advice.after.weights_bytes)),
               topic_of(advice), advice.what, advice.why, advice.file});
  }
  return table;
}

std::string headline(const AdviceReport& report) {
  const Prediction& prediction = report.prediction;
  return fmt::format(
      "{} on {}: {}{} fallback{}; {} changes predicted, {} pay", shown(prediction.model, 200),
      prediction.device,
      report.before.latency_ms ? fmt::format("{} ms, ", decimal(*report.before.latency_ms)) : "",
      report.before.fallbacks, report.before.fallbacks == 1 ? "" : "s", report.tried,
      report.advice.size());
}

TextTable peak_table(const InspectedMemory& memory) {
  TextTable table({">bytes", "type", "shape", "tensor"});
  for (const InspectedTensor& tensor : memory.peak_tensors)
    table.add({grouped(tensor.bytes), tensor.type, shape_text(tensor.shape, tensor.has_rank),
               tensor.name});
  return table;
}

// Arenas that were planned again; where the device's runtime is another, they are of no use.
std::vector<std::string> arena_savings(const Prediction& prediction) {
  std::vector<std::string> out;
  if (!prediction.inspection) return out;
  const auto add = [&](const ArenaPlan& plan) {
    for (const ArenaSaving& saving : plan.savings)
      out.push_back(fmt::format("{}: {} bytes of arena instead of {} ({})", saving.what,
                                grouped(saving.arena_bytes), grouped(plan.arena_bytes),
                                plan.runtime));
  };
  if (prediction.runtime == "litert") add(prediction.inspection->memory.litert_arena);
  if (prediction.runtime == "tflm") add(prediction.inspection->memory.tflm_arena);
  return out;
}

Json cost_json(const AdvisedCost& cost) {
  return {{"latency_ms", or_null(cost.latency_ms)},
          {"energy_mj", or_null(cost.energy_mj)},
          {"peak_ram_bytes", or_null(cost.peak_ram_bytes)},
          {"activations_bytes", cost.activations_bytes},
          {"weights_bytes", cost.weights_bytes},
          {"macs", cost.macs},
          {"fallbacks", cost.fallbacks}};
}

}  // namespace

std::string advise_text(const AdviceReport& report) {
  std::string text = headline(report) + '\n';
  if (!report.advice.empty()) text += advice_table(report).render("  ");
  if (report.prediction.inspection) {
    const InspectedMemory& memory = report.prediction.inspection->memory;
    if (!memory.peak_tensors.empty())
      text += fmt::format("alive at the peak, operator {}:\n{}", memory.peak_operator,
                          peak_table(memory).render("  "));
  }
  for (const std::string& saving : arena_savings(report.prediction)) text += saving + '\n';
  for (const std::string& note : report.notes) text += shown(note, 300) + '\n';
  if (!report.prediction.in_range)
    text += fmt::format("the model is outside the predictor's range: {}\n",
                        shown(join(report.prediction.reasons, "; "), 300));
  return text;
}

std::string advise_markdown(const AdviceReport& report) {
  std::string text = fmt::format("### {}\n", markdown_text(headline(report), 300));
  if (!report.advice.empty()) text += '\n' + advice_table(report).markdown();
  std::vector<std::string> notes = arena_savings(report.prediction);
  notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  if (!notes.empty()) text += '\n';
  for (const std::string& note : notes) text += fmt::format("- {}\n", markdown_text(note, 300));
  return text;
}

std::string advise_json(const AdviceReport& report) {
  Json advice = Json::array(), peak = Json::array();
  for (const Advice& one : report.advice)
    advice.push_back({{"topic", one.topic},
                      {"what", one.what},
                      {"why", one.why},
                      {"operators", one.operators},
                      {"after", cost_json(one.after)},
                      {"latency_change_ms", or_null(one.latency_change_ms(report.before))},
                      {"in_range", one.in_range},
                      {"file", text_or_null(one.file)}});
  if (report.prediction.inspection)
    for (const InspectedTensor& tensor : report.prediction.inspection->memory.peak_tensors)
      peak.push_back({{"index", tensor.index},
                      {"name", tensor.name},
                      {"type", tensor.type},
                      {"shape", tensor.shape},
                      {"bytes", or_null(tensor.bytes)}});
  return to_text({{"schema_version", kSchemaVersion},
                  {"model", report.prediction.model},
                  {"device", report.prediction.device},
                  {"predictor_id", report.prediction.predictor_id},
                  {"in_range", report.prediction.in_range},
                  {"reasons", report.prediction.reasons},
                  {"before", cost_json(report.before)},
                  {"tried", report.tried},
                  {"advice", advice},
                  {"peak_tensors", peak},
                  {"arena_savings", arena_savings(report.prediction)},
                  {"notes", report.notes}},
                 2) +
         '\n';
}

}  // namespace edgesage::report
