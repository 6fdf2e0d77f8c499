#include <fmt/format.h>

#include "src/base/text.h"
#include "src/report/predict.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string milliseconds(const Interval& interval) {
  return fmt::format("{} ms  ({} to {} with {:.0f} %)", decimal(interval.value),
                     decimal(interval.lo), decimal(interval.hi), interval.level * 100);
}

std::string memory(const Interval& interval) {
  const auto bytes = [](double value) { return human_bytes(static_cast<int64_t>(value)); };
  return fmt::format("{}  ({} to {} with {:.0f} %)", bytes(interval.value), bytes(interval.lo),
                     bytes(interval.hi), interval.level * 100);
}

std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

TextTable operators_table(const Prediction& prediction) {
  TextTable table({">#", "operator", ">ms", ">share", ">MACs", "runs on", ""});
  const double total = prediction.latency_ms ? prediction.latency_ms->value : 0;
  for (const OperatorPrediction& op : prediction.operators) {
    std::string note = op.placement_reason;
    if (!op.known) note += note.empty() ? "not seen in training" : "; not seen in training";
    table.add({std::to_string(op.index), op.kind,
               op.latency_ms ? fmt::format("{:.4f}", *op.latency_ms) : "-",
               op.latency_ms ? share(*op.latency_ms, total) : "",
               op.macs == 0 ? "" : grouped(op.macs), op.placement, note});
  }
  if (prediction.latency_ms) {
    table.add({"", "overhead", fmt::format("{:.4f}", prediction.overhead_ms),
               share(prediction.overhead_ms, total)});
    table.add({"", "total", fmt::format("{:.4f}", total), "", grouped(prediction.macs)});
  }
  return table;
}

std::string energy_source(const Prediction& prediction) {
  if (prediction.energy_table.empty()) return "";
  return fmt::format(", modelled, costs '{}'", shown(prediction.energy_table, 60));
}

std::string prediction_text(const Prediction& prediction) {
  std::string text = fmt::format("{} on {} ({} {}, {})\n", prediction.model, prediction.device,
                                 prediction.runtime, prediction.runtime_version, prediction.dtype);
  const auto line = [&](std::string_view label, std::string_view value) {
    text += fmt::format("  {:<15}{}\n", label, value);
  };
  if (prediction.latency_ms)
    line("latency", milliseconds(*prediction.latency_ms) + ", " + prediction.latency_statistic);
  if (prediction.energy_mj)
    line("energy",
         fmt::format("{} mJ  ({} to {}, {:.0f} % interval){}", decimal(prediction.energy_mj->value),
                     decimal(prediction.energy_mj->lo), decimal(prediction.energy_mj->hi),
                     100 * prediction.energy_mj->level, energy_source(prediction)));
  if (prediction.peak_ram_bytes) line("peak memory", memory(*prediction.peak_ram_bytes));
  if (prediction.dram_bytes) line("DRAM", memory(*prediction.dram_bytes));
  line("activations", human_bytes(prediction.activations_bytes));
  const auto arena_line = [&](std::string_view label, const ArenaSize& arena) {
    if (arena.total_bytes)
      line(label, fmt::format("{} bytes: activations {}, scratch {}, runtime {}",
                              grouped(arena.total_bytes), grouped(arena.activations_bytes),
                              grouped(arena.scratch_bytes), grouped(arena.runtime_bytes)));
    else if (!arena.reason.empty())
      line(label, "not planned: " + shown(arena.reason, 200));
  };
  arena_line("LiteRT arena", prediction.litert_arena);
  arena_line(fmt::format("TFLM {}-bit", prediction.tflm_arena.abi), prediction.tflm_arena);
  line("weights", human_bytes(prediction.weights_bytes));
  if (prediction.flash_bytes) line("flash", human_bytes(*prediction.flash_bytes));
  line("MACs", human_count(static_cast<double>(prediction.macs)));
  for (const auto& [name, reason] : prediction.missing)
    text += fmt::format("  {:<15}not known: {}\n", name, reason);
  line("in range", prediction.in_range ? "yes" : "no");
  for (const std::string& reason : prediction.reasons)
    text += fmt::format("    {}\n", shown(reason, 200));
  line("predictor", prediction.predictor_id);
  for (const std::string& warning : prediction.warnings)
    text += fmt::format("  warning: {}\n", shown(warning, 300));
  if (prediction.operators.empty()) return text;
  return text + '\n' + operators_table(prediction).render("  ");
}

TextTable summary_table(const Answers<Prediction>& answers) {
  TextTable table({"model", "device", ">latency ms", ">lo", ">hi", ">peak RAM", ">weights", ">MACs",
                   "in range"});
  for (const auto& answer : answers) {
    if (!answer.result) {
      table.add({answer.subject, answer.device, "", "", "", "", "", "",
                 fmt::format("error {}", static_cast<int>(answer.result.error().code))});
      continue;
    }
    const Prediction& prediction = *answer.result;
    const auto& latency = prediction.latency_ms;
    const auto& peak = prediction.peak_ram_bytes;
    table.add(
        {answer.subject, answer.device, latency ? decimal(latency->value) : "-",
         latency ? decimal(latency->lo) : "", latency ? decimal(latency->hi) : "",
         peak ? human_bytes(static_cast<int64_t>(peak->value)) : "-",
         human_bytes(prediction.weights_bytes), human_count(static_cast<double>(prediction.macs)),
         prediction.in_range ? "yes" : fmt::format("no: {}", join(prediction.reasons, "; "))});
  }
  return table;
}

}  // namespace

std::string predict_markdown(const Answers<Prediction>& answers) {
  std::string text = summary_table(answers).markdown();
  for (const auto& answer : answers) {
    if (!answer.result) {
      text += fmt::format("\n{}: {}\n", markdown_text(answer.subject, 200),
                          markdown_text(answer.result.error().message, 300));
      continue;
    }
    text += fmt::format("\n#### {} on {}\n\n", markdown_text(answer.subject, 200),
                        markdown_text(answer.device));
    for (const auto& [name, reason] : answer.result->missing)
      text +=
          fmt::format("- {} is not known: {}\n", markdown_text(name), markdown_text(reason, 300));
    for (const std::string& reason : answer.result->reasons)
      text += fmt::format("- not in range: {}\n", markdown_text(reason, 300));
    for (const std::string& warning : answer.result->warnings)
      text += fmt::format("- warning: {}\n", markdown_text(warning, 300));
    if (!answer.result->operators.empty())
      text += fmt::format("\n{}", operators_table(*answer.result).markdown());
  }
  return text;
}

std::string predict_text(const Answers<Prediction>& answers) {
  if (answers.size() != 1) return summary_table(answers).render();
  const auto& answer = answers.front();
  return answer.result ? prediction_text(*answer.result)
                       : fmt::format("{}: {}\n", answer.subject, answer.result.error().message);
}

}  // namespace edgesage::report
