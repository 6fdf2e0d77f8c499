// The page of an inspection.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/report/html.h"
#include "src/report/html_arena.h"
#include "src/report/inspect.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

std::string ports(const std::vector<InspectedTensor>& tensors) {
  std::vector<std::string> parts;
  for (const InspectedTensor& tensor : tensors)
    parts.push_back(fmt::format("{} {} {}", shown(tensor.name, 40), tensor.type,
                                shape_text(tensor.shape, tensor.has_rank)));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string summary(const Inspection& model) {
  std::string text =
      fmt::format("<h1>{}</h1><p class=\"sub\">{}, {}", escaped(shown(model.model, 120)),
                  escaped(model.format), escaped(model.dtype));
  if (model.file_bytes) text += fmt::format(", {}", human_bytes(*model.file_bytes));
  if (!model.description.empty())
    text += fmt::format("; {}", escaped(shown(model.description, 120)));
  text += "</p>";
  if (!model.subgraphs.empty())
    text += fmt::format("<p>{} -&gt; {}</p>", escaped(ports(model.subgraphs.front().inputs)),
                        escaped(ports(model.subgraphs.front().outputs)));
  text += "<div class=\"cards\">";
  int64_t operators = 0;
  for (const InspectedSubgraph& subgraph : model.subgraphs) operators += subgraph.operators;
  card(text, grouped(operators), "operators");
  card(text, human_count(static_cast<double>(model.macs)), "multiply-accumulates");
  card(text, human_bytes(model.weights_bytes),
       fmt::format("{} parameters", grouped(model.parameters)));
  if (model.memory.activations_bytes)
    card(text, human_bytes(*model.memory.activations_bytes), "activations alive at once");
  if (const auto& total = model.memory.litert_arena.size.total_bytes)
    card(text, human_bytes(*total), "working memory in LiteRT");
  if (const auto& total = model.memory.tflm_arena.size.total_bytes)
    card(text, human_bytes(*total),
         fmt::format("arena in TensorFlow Lite Micro, {}-bit", model.memory.tflm_arena.size.abi));
  return text + "</div>";
}

std::string shape_cell(const std::vector<InspectedTensor>& tensors) {
  const auto found = std::ranges::find_if(tensors, [](const InspectedTensor& tensor) {
    return tensor.index >= 0 && !tensor.is_constant;
  });
  return found == tensors.end() ? "" : shape_text(found->shape, found->has_rank);
}

std::string operators_table(const Inspection& model) {
  const bool placed = std::ranges::any_of(
      model.operators, [](const InspectedOperator& op) { return !op.placement.empty(); });
  std::string text = fmt::format(
      "<h2>Operators</h2><div class=\"wide\"><table class=\"ops\"><tr><th>#</th><th>operator</th>"
      "<th>input</th><th>output</th><th>MACs</th><th>weights B</th><th>live B</th>{}</tr>",
      placed ? "<th>runs on</th>" : "");
  for (const InspectedOperator& op : model.operators) {
    if (op.subgraph != 0) break;
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
        op.index, escaped(shown(op.custom_code.empty() ? op.kind : op.kind + " " + op.custom_code)),
        shape_cell(op.inputs), shape_cell(op.outputs),
        op.macs && *op.macs == 0 ? "" : grouped(op.macs),
        op.weights_bytes == 0 ? "" : grouped(op.weights_bytes), grouped(op.live_bytes));
    if (placed)
      text += fmt::format("<td>{}</td>",
                          escaped(op.placement_reason.empty()
                                      ? op.placement
                                      : op.placement + ": " + shown(op.placement_reason, 80)));
    text += "</tr>";
  }
  return text + "</table></div>";
}

std::string delegated_table(const DelegatedMemory& memory) {
  if (!memory.total_bytes) return "";
  std::string text =
      "<h2>With XNNPACK</h2><p>LiteRT's default on CPUs. Its arena is planned to the byte; what "
      "the "
      "delegate allocates beside it is an estimate.</p><table>";
  const auto row = [&](std::string_view part, std::optional<int64_t> bytes,
                       std::string_view words) {
    text += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>", part,
                        grouped(bytes), words);
  };
  row("arena", memory.arena_bytes, "what goes into and out of partitions, and what stays outside");
  row("runtime", memory.runtime_bytes, "state and tensors beside the arena");
  row("workspace", memory.workspace_bytes, "values inside partitions");
  row("packed weights", memory.packed_weights_bytes, "copies in the order of the kernels");
  row("indirection", memory.indirection_bytes, "pointers to the inputs of windows");
  row("tables", memory.tables_bytes, "structures of runtime and delegate");
  row("<strong>total</strong>", memory.total_bytes, "estimate");
  return text + "</table>";
}

std::string model_section(const Inspection& model, size_t number) {
  std::string text = summary(model);
  for (const std::string& warning : model.warnings)
    text += fmt::format("<p class=\"note\">Warning: {}</p>", escaped(shown(warning, 300)));
  text += "<h2>Memory over time</h2>";
  if (!model.memory.litert_arena.runtime.empty())
    text += arena_section(model.memory.litert_arena, model, fmt::format("litert-{}", number));
  if (model.memory.tflm_arena.size.total_bytes && !model.memory.tflm_arena.entries.empty())
    text += arena_section(model.memory.tflm_arena, model, fmt::format("tflm-{}", number));
  return text + delegated_table(model.memory.litert_xnnpack) + operators_table(model);
}

}  // namespace

std::string inspect_html(const Answers<Inspection>& answers) {
  std::string text;
  size_t number = 0;
  for (const Answer<Inspection>& answer : answers)
    text += answer.result ? model_section(*answer.result, number++)
                          : fmt::format("<h1>{}</h1><p>{}</p>", escaped(shown(answer.subject, 120)),
                                        escaped(shown(answer.result.error().message, 300)));
  return page(answers.size() == 1 ? shown(answers.front().subject, 80) : "edgesage inspect", text,
              arena_style(), arena_script());
}

}  // namespace edgesage::report
