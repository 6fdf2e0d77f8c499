#include "src/report/html_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "src/report/html.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

constexpr double kNodeWidth = 176, kNodeHeight = 26, kColumn = 196, kRow = 46, kMargin = 60;

constexpr std::string_view kStyle =
    ".graph{overflow:auto;max-height:38rem;border:1px solid var(--line);border-radius:8px}"
    ".graph svg{display:block;margin:0 auto}.graph text{font:12px system-ui,sans-serif;"
    "fill:var(--ink);pointer-events:none}.graph .edge{stroke:var(--soft);fill:none;"
    "stroke-opacity:.55}.graph .box{stroke:var(--soft)}.graph .box:hover{stroke:var(--ink);"
    "stroke-width:2}.graph .unpriced{stroke-dasharray:4 3}.interval{display:block;width:100%;"
    "max-width:40rem;height:3.2rem}.interval .band{fill:var(--activation);fill-opacity:.25}"
    ".interval .axis{stroke:var(--line)}.interval .at{stroke:var(--activation);stroke-width:2}"
    ".interval text{font:12px system-ui,sans-serif;fill:var(--soft)}";

struct Node {
  const InspectedOperator* op = nullptr;
  std::vector<size_t> sources;  // nodes whose results it reads, each once
  size_t rank = 0;
  size_t lane = 0;
};

std::vector<Node> nodes_of(const Inspection& model) {
  std::vector<Node> nodes;
  std::map<int32_t, size_t> makers;  // of tensors
  for (const InspectedOperator& op : model.operators) {
    if (op.subgraph != 0) continue;
    Node node{.op = &op, .sources = {}};
    std::set<size_t> sources;
    for (const InspectedTensor& tensor : op.inputs)
      if (const auto maker = makers.find(tensor.index); tensor.index >= 0 && maker != makers.end())
        sources.insert(maker->second);
    node.sources.assign(sources.begin(), sources.end());
    for (const size_t source : node.sources)
      node.rank = std::max(node.rank, nodes[source].rank + 1);
    for (const InspectedTensor& tensor : op.outputs)
      if (tensor.index >= 0) makers[tensor.index] = nodes.size();
    nodes.push_back(std::move(node));
  }
  // Each stays below what it goes on with, where that place is free.
  std::map<size_t, std::set<size_t>> taken;
  for (Node& node : nodes) {
    if (!node.sources.empty()) node.lane = nodes[node.sources.back()].lane;
    std::set<size_t>& row = taken[node.rank];
    if (row.contains(node.lane)) {
      node.lane = 0;
      while (row.contains(node.lane)) ++node.lane;
    }
    row.insert(node.lane);
  }
  return nodes;
}

double left_of(const Node& node) { return kMargin + static_cast<double>(node.lane) * kColumn; }
double top_of(const Node& node) { return 12 + static_cast<double>(node.rank) * kRow; }

// Ways to the next row go straight, longer ones around what is between.
std::string edge(const Node& from, const Node& to) {
  const double x1 = left_of(from) + kNodeWidth / 2, y1 = top_of(from) + kNodeHeight;
  const double x2 = left_of(to) + kNodeWidth / 2, y2 = top_of(to);
  if (to.rank == from.rank + 1)
    return fmt::format("<path class=\"edge\" d=\"M{:.0f} {:.0f}L{:.0f} {:.0f}\"/>", x1, y1, x2, y2);
  const double side = std::max(left_of(from), left_of(to)) + kNodeWidth;
  const double out = side + 10 + 6 * std::log2(static_cast<double>(to.rank - from.rank));
  return fmt::format(
      "<path class=\"edge\" d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\"/>",
      left_of(from) + kNodeWidth, y1 - kNodeHeight / 2, out + 14, y1, out + 14, y2,
      left_of(to) + kNodeWidth, y2 + kNodeHeight / 2);
}

std::string title_of(const OperatorPrediction& op, const InspectedOperator& described,
                     double total) {
  std::string text = fmt::format("{} {} {}", op.index, op.kind, shown(op.name, 80));
  const auto shapes = [&](const std::vector<InspectedTensor>& tensors, bool constants) {
    std::string list;
    for (const InspectedTensor& tensor : tensors)
      if (tensor.index >= 0 && tensor.is_constant == constants)
        list += (list.empty() ? "" : ", ") + shape_text(tensor.shape, tensor.has_rank);
    return list;
  };
  text +=
      fmt::format("\n{} to {}", shapes(described.inputs, false), shapes(described.outputs, false));
  if (const std::string weights = shapes(described.inputs, true); !weights.empty())
    text += ", constants " + weights;
  if (op.latency_ms)
    text += fmt::format("\n{} ms, {:.1f} %", decimal(*op.latency_ms),
                        total > 0 ? 100 * *op.latency_ms / total : 0);
  else
    text += "\nno time is known";
  if (op.macs > 0) text += fmt::format(", {} MACs", grouped(op.macs));
  if (!op.placement.empty()) text += "\nruns on: " + op.placement;
  if (!op.placement_reason.empty()) text += ", " + shown(op.placement_reason, 200);
  if (!op.known) text += "\nnot seen in training: the figure is a guess";
  return text;
}

std::string box(const Node& node, const OperatorPrediction& op, double total, double most) {
  const double share = op.latency_ms && most > 0 ? *op.latency_ms / most : 0;
  const std::string figure =
      op.latency_ms && total > 0 ? fmt::format(" {:.1f} %", 100 * *op.latency_ms / total) : "";
  return fmt::format(
      "<rect class=\"box{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"4\" "
      "fill=\"var(--peak)\" fill-opacity=\"{:.3f}\"><title>{}</title></rect><text x=\"{:.0f}\" "
      "y=\"{:.0f}\" text-anchor=\"middle\">{}{}</text>",
      op.latency_ms ? "" : " unpriced", left_of(node), top_of(node), kNodeWidth, kNodeHeight,
      0.75 * std::sqrt(share), escaped(title_of(op, *node.op, total)),
      left_of(node) + kNodeWidth / 2, top_of(node) + 17, escaped(shown(op.kind, 18)), figure);
}

}  // namespace

std::string_view graph_style() { return kStyle; }

std::string graph_section(const Prediction& prediction) {
  if (!prediction.inspection || prediction.operators.empty()) return "";
  if (prediction.operators.size() > kDrawnOperators)
    return fmt::format("<p class=\"note\">The graph has more than {} operators: see the table.</p>",
                       kDrawnOperators);
  const std::vector<Node> nodes = nodes_of(*prediction.inspection);
  const size_t count = std::min(nodes.size(), prediction.operators.size());
  double most = 0;
  size_t lanes = 0, ranks = 0;
  for (size_t i = 0; i < count; ++i) {
    most = std::max(most, prediction.operators[i].latency_ms.value_or(0));
    lanes = std::max(lanes, nodes[i].lane);
    ranks = std::max(ranks, nodes[i].rank);
  }
  const double width = 2 * kMargin + static_cast<double>(lanes) * kColumn + kNodeWidth + 40;
  const double height = 24 + static_cast<double>(ranks) * kRow + kNodeHeight;
  std::string text = fmt::format(
      "<div class=\"graph\"><svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" role=\"img\" aria-label=\"graph coloured by cost\">",
      width, height);
  for (size_t i = 0; i < count; ++i)
    for (const size_t source : nodes[i].sources) text += edge(nodes[source], nodes[i]);
  const double total = prediction.latency_ms ? prediction.latency_ms->value : 0;
  for (size_t i = 0; i < count; ++i) text += box(nodes[i], prediction.operators[i], total, most);
  return text + "</svg></div>";
}

}  // namespace edgesage::report
