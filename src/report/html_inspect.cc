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

constexpr std::string_view kStyle =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1c2330;--soft:#5b6577;--line:#e3e7ee;"
    "--card:#f6f8fb;--peak:#c4392b;--input:#2f8f6b;--output:#8a5bb5;--activation:#2867b2;"
    "--scratch:#c77c1e;--variable:#7a7f8a}"
    "@media(prefers-color-scheme:dark){:root{--page:#12161d;--ink:#e4e8ef;--soft:#9aa5b5;"
    "--line:#2a313d;--card:#1a202a;--peak:#ff7a6b;--input:#3aa57d;--output:#9d74c6;"
    "--activation:#3f7fca;--scratch:#cf8a33;--variable:#7f8896}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:74rem;margin:2rem auto;padding:0 1.2rem;"
    "color:var(--ink);background:var(--page)}h1{font-size:1.5rem;margin:0 0 .2rem;"
    "overflow-wrap:anywhere}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;"
    "margin:1.6rem 0 .4rem}p{margin:.5rem 0}table{border-collapse:collapse;margin:.5rem 0;"
    "font-size:.9rem}td,th{padding:.22rem .8rem .22rem 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:600}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".ops :is(td,th):is(:nth-child(1),:nth-child(5),:nth-child(6),:nth-child(7)){text-align:right;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.7rem;"
    "margin:1rem 0}.cards div{background:var(--card);border:1px solid var(--line);"
    "border-radius:8px;padding:.6rem .9rem}.cards b{display:block;font-size:1.25rem}"
    ".cards span,.note,.sub{color:var(--soft);font-size:.85rem}.wide{overflow-x:auto}"
    "details summary{cursor:pointer}.pick{margin:.6rem 0}.pick label{margin-right:1rem}";

void card(std::string& text, std::string_view value, std::string_view label) {
  text += fmt::format("<div><b>{}</b><span>{}</span></div>", escaped(value), escaped(label));
}

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
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/><title>{}</title><style>{}{}</style>"
      "</head><body>",
      answers.size() == 1 ? escaped(shown(answers.front().subject, 80)) : "edgesage inspect",
      kStyle, arena_style());
  size_t number = 0;
  for (const Answer<Inspection>& answer : answers)
    text += answer.result ? model_section(*answer.result, number++)
                          : fmt::format("<h1>{}</h1><p>{}</p>", escaped(shown(answer.subject, 120)),
                                        escaped(shown(answer.result.error().message, 300)));
  return text + fmt::format("<script>{}</script></body></html>\n", arena_script());
}

}  // namespace edgesage::report
