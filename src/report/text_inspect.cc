#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/report/inspect.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string type_and_shape(const InspectedTensor& tensor) {
  const auto& shape = tensor.shape_signature.empty() ? tensor.shape : tensor.shape_signature;
  return tensor.type + " " + shape_text(shape, tensor.has_rank);
}

std::string ports(const std::vector<InspectedTensor>& tensors) {
  std::vector<std::string> parts;
  for (const InspectedTensor& tensor : tensors)
    parts.push_back(fmt::format("{} {}", shown(tensor.name, 40), type_and_shape(tensor)));
  return parts.empty() ? "none" : join(parts, ", ");
}

// The first activation that goes in, and what comes out.
std::string shape_in(const InspectedOperator& op) {
  const auto found = std::ranges::find_if(op.inputs, [](const InspectedTensor& tensor) {
    return tensor.index >= 0 && !tensor.is_constant;
  });
  return found == op.inputs.end() ? "" : shape_text(found->shape, found->has_rank);
}

std::string shape_out(const InspectedOperator& op) {
  if (op.outputs.empty() || op.outputs.front().index < 0) return "";
  return shape_text(op.outputs.front().shape, op.outputs.front().has_rank);
}

std::string kind_text(const InspectedOperator& op) {
  return op.custom_code.empty() ? op.kind : op.kind + " " + op.custom_code;
}

std::string summary(const Inspection& model) {
  std::string text;
  const auto line = [&](std::string_view label, std::string_view value) {
    text += fmt::format("  {:<13} {}\n", label, value);
  };
  int64_t operators = 0, tensors = 0;
  for (const auto& subgraph : model.subgraphs) {
    operators += subgraph.operators;
    tensors += subgraph.tensors;
  }
  if (!model.description.empty()) line("description", shown(model.description));
  if (!model.subgraphs.empty()) {
    line("inputs", ports(model.subgraphs.front().inputs));
    line("outputs", ports(model.subgraphs.front().outputs));
  }
  line("operators", fmt::format("{} of {} kinds, {} tensors, {} subgraph{}", operators,
                                model.operator_counts.size(), tensors, model.subgraphs.size(),
                                model.subgraphs.size() == 1 ? "" : "s"));
  line("MACs", fmt::format("{} ({}; operations = 2 x MACs)", grouped(model.macs),
                           human_count(static_cast<double>(model.macs))));
  line("parameters",
       fmt::format("{} in {}", grouped(model.parameters), human_bytes(model.weights_bytes)));
  return text;
}

std::string memory_text(const Inspection& model) {
  const InspectedMemory& memory = model.memory;
  if (!memory.activations_bytes) return "  peak memory   not known: no tensor has a fixed size\n";
  std::string text =
      fmt::format("  peak memory   {} of activations ({} bytes)",
                  human_bytes(*memory.activations_bytes), grouped(*memory.activations_bytes));
  if (memory.peak_operator < 0) return text + '\n';
  const auto index = static_cast<size_t>(memory.peak_operator);
  text += fmt::format(" at operator {}", memory.peak_operator);
  if (index < model.operators.size())
    text += fmt::format(", {}", kind_text(model.operators[index]));
  text += '\n';
  constexpr size_t kShown = 4;
  for (size_t i = 0; i < std::min(kShown, memory.peak_tensors.size()); ++i) {
    const InspectedTensor& tensor = memory.peak_tensors[i];
    text += fmt::format("                {:>10}  {} {}\n", grouped(tensor.bytes),
                        type_and_shape(tensor), shown(tensor.name, 44));
  }
  if (memory.peak_tensors.size() > kShown)
    text += fmt::format("                and {} more\n", memory.peak_tensors.size() - kShown);
  return text;
}

std::string arena_text(std::string_view label, const ArenaPlan& plan) {
  if (!plan.size.total_bytes)
    return plan.size.reason.empty()
               ? ""
               : fmt::format("  {:<13} not planned: {}\n", label, plan.size.reason);
  std::string text =
      fmt::format("  {:<13} {} ({} bytes): activations {}, scratch {}, runtime {}\n", label,
                  human_bytes(*plan.size.total_bytes), grouped(plan.size.total_bytes),
                  grouped(plan.size.activations_bytes), grouped(plan.size.scratch_bytes),
                  grouped(plan.size.runtime_bytes));
  if (plan.size.sufficient_bytes)
    text += fmt::format("                an arena of {} bytes is enough to prepare it too\n",
                        grouped(plan.size.sufficient_bytes));
  if (!plan.savings.empty())
    text += fmt::format("                {}: {} bytes of arena instead of {}\n",
                        shown(plan.savings.front().what, 60),
                        grouped(plan.savings.front().arena_bytes), grouped(plan.arena_bytes));
  for (const std::string& line : plan.not_counted)
    text += fmt::format("                not counted: {}\n", shown(line, 110));
  return text;
}

std::string delegated_text(const DelegatedMemory& memory) {
  if (!memory.total_bytes) return "";
  return fmt::format(
      "  with XNNPACK  about {}: arena {} (planned), workspace {}, packed weights {}, "
      "indirection {}\n",
      human_bytes(*memory.total_bytes), human_bytes(*memory.arena_bytes),
      human_bytes(*memory.workspace_bytes), human_bytes(*memory.packed_weights_bytes),
      human_bytes(*memory.indirection_bytes));
}

std::string types_text(const Inspection& model) {
  std::vector<std::string> parts;
  for (const auto& [type, count] : model.types)
    parts.push_back(fmt::format("{} ({} tensors, {} constants of {})", type, count.activations,
                                count.constants, human_bytes(count.constant_bytes)));
  std::string text = fmt::format("  types         {}\n", join(parts, ", "));
  const QuantizationCount& q = model.quantization;
  parts.clear();
  const auto add = [&](int64_t count, std::string_view name) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, name));
  };
  add(q.per_tensor, "per tensor");
  add(q.per_channel, "per channel");
  add(q.blockwise, "blockwise");
  add(q.custom, "custom");
  add(q.none, "not quantised");
  text += fmt::format("  quantisation  {}\n", join(parts, ", "));
  return text;
}

std::string signatures_text(const Inspection& model) {
  std::string text;
  for (const InspectedSignature& signature : model.signatures)
    text += fmt::format("  signature     {}: subgraph {}, {} -> {}\n", shown(signature.key),
                        signature.subgraph, shown(join(signature.inputs, ", ")),
                        shown(join(signature.outputs, ", ")));
  std::vector<std::string> names;
  for (const auto& [name, bytes] : model.metadata)
    names.push_back(fmt::format("{} ({})", shown(name), human_bytes(bytes)));
  if (!names.empty()) text += fmt::format("  metadata      {}\n", join(names, ", "));
  return text;
}

std::string operators_text(const Inspection& model) {
  TextTable table(
      {">#", "operator", "input", "output", ">MACs", ">weights B", ">live B", "runs on"});
  std::string text;
  for (const InspectedOperator& op : model.operators) {
    if (op.subgraph != 0) break;  // the others follow as one line each
    std::string placement = op.placement;
    if (!op.placement_reason.empty()) placement += ": " + op.placement_reason;
    table.add({std::to_string(op.index), kind_text(op), shape_in(op), shape_out(op),
               op.macs && *op.macs == 0 ? "" : grouped(op.macs),
               op.weights_bytes == 0 ? "" : grouped(op.weights_bytes), grouped(op.live_bytes),
               placement});
  }
  if (!table.empty()) text += '\n' + table.render("  ");
  for (size_t s = 1; s < model.subgraphs.size(); ++s)
    text += fmt::format("  subgraph {} {}: {} operators, {} -> {}\n", s,
                        shown(model.subgraphs[s].name, 40), model.subgraphs[s].operators,
                        ports(model.subgraphs[s].inputs), ports(model.subgraphs[s].outputs));
  return text;
}

std::string target_text(const InspectedTarget& target) {
  std::vector<std::string> parts;
  for (const auto& [placement, count] : target.placements)
    parts.push_back(fmt::format("{} {}", count, placement));
  std::string text = fmt::format("\n  on {}: operators {}; {} rows", target.name, join(parts, ", "),
                                 target.rows.size());
  if (target.partitions > 0)
    text += fmt::format(" in {} partition{}", target.partitions, target.partitions == 1 ? "" : "s");
  if (target.activations_bytes)
    text += fmt::format("; peak of activations {}", human_bytes(*target.activations_bytes));
  text += '\n';
  return text;
}

std::string model_text(const Inspection& model) {
  std::string text = fmt::format("{}: {}, {}", model.model, model.format, model.dtype);
  if (model.file_bytes) text += fmt::format(", {}", human_bytes(*model.file_bytes));
  text += '\n' + summary(model) + memory_text(model) +
          arena_text("LiteRT arena", model.memory.litert_arena) +
          arena_text(fmt::format("TFLM {}-bit", model.memory.tflm_arena.size.abi),
                     model.memory.tflm_arena) +
          delegated_text(model.memory.litert_xnnpack) + types_text(model) + signatures_text(model) +
          operators_text(model);
  if (model.target) text += target_text(*model.target);
  std::vector<std::string> warnings = model.warnings;
  if (model.target)
    warnings.insert(warnings.end(), model.target->warnings.begin(), model.target->warnings.end());
  if (!warnings.empty()) text += '\n';
  for (const std::string& warning : warnings)
    text += fmt::format("  warning: {}\n", shown(warning, 300));
  return text;
}

}  // namespace

std::string inspect_text(const Answers<Inspection>& answers) {
  std::string text;
  for (const Answer<Inspection>& answer : answers) {
    if (!text.empty()) text += '\n';
    text += answer.result ? model_text(*answer.result)
                          : fmt::format("{}: {}\n", answer.subject, answer.result.error().message);
  }
  return text;
}

}  // namespace edgesage::report
