#include "src/report/inspect.h"
#include "src/report/json_common.h"
#include "src/report/json_lists.h"
#include "src/report/json_memory.h"

namespace edgesage::report {
namespace {

Json tensor_json(const InspectedTensor& tensor) {
  if (tensor.index < 0) return nullptr;
  Json out = object_with_room(7);
  out["index"] = tensor.index;
  out["name"] = tensor.name;
  out["type"] = tensor.type;
  out["shape"] = tensor.has_rank ? Json(tensor.shape) : Json(nullptr);
  if (!tensor.shape_signature.empty()) out["shape_signature"] = tensor.shape_signature;
  if (tensor.is_constant) out["constant"] = true;
  out["bytes"] = or_null(tensor.bytes);
  return out;
}

Json tensors_json(const std::vector<InspectedTensor>& tensors) {
  Json out = Json::array();
  for (const InspectedTensor& tensor : tensors) out.push_back(tensor_json(tensor));
  return out;
}

Json operator_json(const InspectedOperator& op) {
  Json out = object_with_room(15);
  out["subgraph"] = op.subgraph;
  out["index"] = op.index;
  out["kind"] = op.kind;
  if (!op.custom_code.empty()) out["custom_code"] = op.custom_code;
  out["code"] = op.code;
  out["version"] = op.version;
  out["name"] = op.name;
  out["inputs"] = tensors_json(op.inputs);
  out["outputs"] = tensors_json(op.outputs);
  out["macs"] = or_null(op.macs);
  out["parameters"] = op.parameters;
  out["weights_bytes"] = op.weights_bytes;
  out["live_bytes"] = or_null(op.live_bytes);
  if (!op.placement.empty()) {
    out["placement"] = op.placement;
    out["placement_reason"] = text_or_null(op.placement_reason);
  }
  return out;
}

Json subgraphs_json(const Inspection& model) {
  Json out = Json::array();
  for (const InspectedSubgraph& subgraph : model.subgraphs)
    out.push_back({{"name", subgraph.name},
                   {"operators", subgraph.operators},
                   {"tensors", subgraph.tensors},
                   {"distinct_operators", subgraph.distinct_operators},
                   {"inputs", tensors_json(subgraph.inputs)},
                   {"outputs", tensors_json(subgraph.outputs)}});
  return out;
}

Json memory_json(const InspectedMemory& memory) {
  const auto& peak = memory.activations_bytes;
  Json reason = Json::object();
  if (!memory.tflm_arena.size.reason.empty()) reason["tflm_arena"] = memory.tflm_arena.size.reason;
  if (!memory.litert_arena.size.reason.empty())
    reason["litert_arena"] = memory.litert_arena.size.reason;
  return {{"value", or_null(peak)},
          {"activations", or_null(peak)},
          {"tflm_arena", arena_json(memory.tflm_arena)},
          {"litert_arena", arena_json(memory.litert_arena)},
          {"litert_xnnpack", delegated_json(memory.litert_xnnpack)},
          {"reason", std::move(reason)},
          {"operator", memory.peak_operator < 0 ? Json(nullptr) : Json(memory.peak_operator)},
          {"tensors", tensors_json(memory.peak_tensors)},
          {"not_counted", tensors_json(memory.unknown)}};
}

Json counts_json(const Inspection& model) {
  Json out = Json::array();
  for (const OperatorCount& entry : model.operator_counts) {
    Json row = {{"kind", entry.kind}, {"code", entry.code}};
    if (!entry.custom_code.empty()) row["custom_code"] = entry.custom_code;
    row["count"] = entry.count;
    out.push_back(std::move(row));
  }
  return out;
}

Json types_json(const Inspection& model) {
  Json out = Json::object();
  for (const auto& [type, count] : model.types)
    out[type] = {{"activations", count.activations},
                 {"constants", count.constants},
                 {"constant_bytes", count.constant_bytes}};
  return out;
}

Json signatures_json(const Inspection& model) {
  Json out = Json::array();
  for (const InspectedSignature& signature : model.signatures)
    out.push_back({{"key", signature.key},
                   {"subgraph", signature.subgraph},
                   {"inputs", signature.inputs},
                   {"outputs", signature.outputs}});
  return out;
}

Json row_json(const InspectedRow& row) {
  Json out = object_with_room(9);
  out["operator"] = row.op;
  out["fused"] = row.fused;
  out["kind"] = row.kind;
  out["placement"] = row.placement;
  out["repeat"] = row.repeat;
  out["macs"] = row.macs;
  out["ifm_bytes"] = row.ifm_bytes;
  out["ofm_bytes"] = row.ofm_bytes;
  out["weights_bytes"] = row.weights_bytes;
  return out;
}

Json target_json(const InspectedTarget& target, LongLists& lists) {
  Json placements = Json::object();
  for (const auto& [placement, count] : target.placements) placements[placement] = count;
  Json out = object_with_room(6);
  out["name"] = target.name;
  out["placements"] = std::move(placements);
  out["partitions"] = target.partitions;
  out["activations_bytes"] = or_null(target.activations_bytes);
  out["rows"] =
      lists.add(target.rows.size(), [&target](size_t i) { return row_json(target.rows[i]); });
  out["warnings"] = target.warnings;
  return out;
}

void fill_model(Json& out, const Inspection& model, LongLists& lists) {
  out["model"] = model.model;
  out["format"] = model.format;
  out["description"] = text_or_null(model.description);
  out["file_bytes"] = or_null(model.file_bytes);
  out["dtype"] = model.dtype;
  out["subgraphs"] = subgraphs_json(model);
  out["macs"] = model.macs;
  out["parameters"] = model.parameters;
  out["weights_bytes"] = model.weights_bytes;
  out["peak_ram_bytes"] = memory_json(model.memory);
  out["operator_counts"] = counts_json(model);
  out["types"] = types_json(model);
  const QuantizationCount& quantization = model.quantization;
  out["quantization"] = {{"per_tensor", quantization.per_tensor},
                         {"per_channel", quantization.per_channel},
                         {"blockwise", quantization.blockwise},
                         {"custom", quantization.custom},
                         {"none", quantization.none}};
  out["signatures"] = signatures_json(model);
  out["metadata"] = Json::object();
  for (const auto& [name, bytes] : model.metadata) out["metadata"][name] = bytes;
  out["operators"] = lists.add(model.operators.size(),
                               [&model](size_t i) { return operator_json(model.operators[i]); });
  if (model.target) out["target"] = target_json(*model.target, lists);
  out["warnings"] = model.warnings;
  out["unsupported"] = model.unsupported;
}

void fill_answer(Json& out, const Answer<Inspection>& answer, LongLists& lists) {
  if (answer.result) return fill_model(out, *answer.result, lists);
  out["model"] = answer.subject;
  out["error"] = error_json(answer.result.error());
}

}  // namespace

std::string inspect_json(const Answers<Inspection>& answers) {
  constexpr size_t kModelKeys = 20;
  LongLists lists;
  Json out = object_with_room(kModelKeys);
  out["schema_version"] = kSchemaVersion;
  if (answers.size() == 1) {
    fill_answer(out, answers.front(), lists);
  } else {
    Json& models = out["models"] = Json::array();
    for (const auto& answer : answers)
      fill_answer(models.emplace_back(object_with_room(kModelKeys)), answer, lists);
  }
  return lists.to_text(out) + '\n';
}

}  // namespace edgesage::report
