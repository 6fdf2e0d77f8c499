#include <fmt/format.h>

#include "src/base/csv.h"
#include "src/base/text.h"
#include "src/report/json_common.h"
#include "src/report/json_memory.h"
#include "src/report/predict.h"

namespace edgesage::report {
namespace {

constexpr const char* kNoEnergy = "this predictor was not trained on energy";

Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"value", interval->value},
          {"lo", interval->lo},
          {"hi", interval->hi},
          {"level", interval->level}};
}

Json operators_json(const Prediction& prediction) {
  Json out = Json::array();
  for (const OperatorPrediction& op : prediction.operators)
    out.push_back({{"index", op.index},
                   {"kind", op.kind},
                   {"name", op.name},
                   {"latency_ms", or_null(op.latency_ms)},
                   {"energy_mj", or_null(op.energy_mj)},
                   {"macs", op.macs},
                   {"placement", text_or_null(op.placement)},
                   {"placement_reason", text_or_null(op.placement_reason)},
                   {"known", op.known}});
  return out;
}

Json prediction_json(const Prediction& prediction) {
  Json out = {{"model", prediction.model},
              {"device", prediction.device},
              {"predictor_id", prediction.predictor_id},
              {"runtime", prediction.runtime},
              {"runtime_version", prediction.runtime_version},
              {"threads", or_null(prediction.threads)},
              {"dtype", prediction.dtype},
              {"batch", prediction.batch},
              {"per", "inference"}};
  Json latency = interval_json(prediction.latency_ms);
  if (!latency.is_null()) latency["statistic"] = prediction.latency_statistic;
  out["latency_ms"] = std::move(latency);
  Json energy = interval_json(prediction.energy_mj);
  if (!energy.is_null()) {
    energy["source"] = prediction.energy_table.empty() ? "learnt from labels" : "modelled";
    energy["table"] = text_or_null(prediction.energy_table);
    energy["table_hash"] = text_or_null(prediction.energy_table_hash);
  }
  out["energy_mj"] = std::move(energy);
  Json memory = interval_json(prediction.peak_ram_bytes);
  if (!memory.is_null()) memory["activations"] = prediction.activations_bytes;
  if (!memory.is_null() && prediction.litert_xnnpack.total_bytes)
    memory["litert_xnnpack"] = delegated_json(prediction.litert_xnnpack);
  out["peak_ram_bytes"] = std::move(memory);
  if (prediction.dram_bytes) out["dram_bytes"] = interval_json(prediction.dram_bytes);
  out["activations_bytes"] = prediction.activations_bytes;
  out["weights_bytes"] = prediction.weights_bytes;
  out["flash_bytes"] = or_null(prediction.flash_bytes);
  out["macs"] = prediction.macs;
  out["litert_arena"] = arena_size_json(prediction.litert_arena);
  out["tflm_arena"] = arena_size_json(prediction.tflm_arena);
  out["missing"] = texts_json(prediction.missing);
  if (!prediction.litert_arena.reason.empty())
    out["missing"]["litert_arena"] = prediction.litert_arena.reason;
  if (!prediction.tflm_arena.reason.empty())
    out["missing"]["tflm_arena"] = prediction.tflm_arena.reason;
  if (!prediction.energy_mj && !out["missing"].contains("energy_mj"))
    out["missing"]["energy_mj"] = kNoEnergy;
  out["in_range"] = prediction.in_range;
  out["reasons"] = prediction.reasons;
  out["warnings"] = prediction.warnings;
  out["operators"] = operators_json(prediction);
  out["overhead_ms"] = prediction.overhead_ms;
  if (prediction.energy_mj) out["overhead_mj"] = prediction.overhead_mj;
  return out;
}

std::string csv_interval(const std::optional<Interval>& interval) {
  if (!interval) return ",,,";
  return fmt::format("{},{},{},{}", interval->value, interval->lo, interval->hi, interval->level);
}

}  // namespace

std::string predict_json(const Answers<Prediction>& answers) {
  Json rows = Json::array();
  for (const auto& answer : answers) {
    if (answer.result)
      rows.push_back(prediction_json(*answer.result));
    else
      rows.push_back({{"model", answer.subject},
                      {"device", answer.device},
                      {"error", error_json(answer.result.error())}});
  }
  return to_text({{"schema_version", kSchemaVersion}, {"predictions", rows}}, 2) + '\n';
}

std::string predict_csv(const Answers<Prediction>& answers) {
  std::string text =
      "model,device,predictor_id,runtime,runtime_version,threads,dtype,batch,"
      "latency_ms,latency_ms_lo,latency_ms_hi,latency_level,latency_statistic,"
      "peak_ram_bytes,peak_ram_bytes_lo,peak_ram_bytes_hi,peak_ram_level,activations_bytes,"
      "weights_bytes,macs,in_range,reasons,energy_mj,energy_mj_lo,energy_mj_hi,energy_level,"
      "flash_bytes,error_code,error\n";
  for (const auto& answer : answers) {
    const std::string head = csv_cell(answer.subject) + "," + csv_cell(answer.device);
    if (!answer.result) {
      const Error& error = answer.result.error();
      text += fmt::format("{}{},{},{}\n", head, std::string(25, ','), static_cast<int>(error.code),
                          csv_cell(error.to_string()));
      continue;
    }
    const Prediction& prediction = *answer.result;
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},,\n", head,
        csv_cell(prediction.predictor_id), csv_cell(prediction.runtime),
        csv_cell(prediction.runtime_version),
        prediction.threads ? std::to_string(*prediction.threads) : "", prediction.dtype,
        prediction.batch, csv_interval(prediction.latency_ms), prediction.latency_statistic,
        csv_interval(prediction.peak_ram_bytes), prediction.activations_bytes,
        prediction.weights_bytes, prediction.macs, prediction.in_range ? "true" : "false",
        csv_cell(join(prediction.reasons, "; ")), csv_interval(prediction.energy_mj),
        prediction.flash_bytes ? std::to_string(*prediction.flash_bytes) : "");
  }
  return text;
}

}  // namespace edgesage::report
