// Rewrites of widths and of the network's beginning.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/app/advise_rewrites.h"
#include "src/base/text.h"
#include "src/transform/refit.h"
#include "src/transform/select_channels.h"

namespace edgesage::app {
namespace {

// Operators that read or make a tensor with channels of the group, ascending.
std::vector<int32_t> operators_of(const Graph& graph, const ChannelGroup& group) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < graph.main().operators.size(); ++i) {
    const Operator& op = graph.main().operators[i];
    const auto holds = [&](int32_t tensor) {
      return std::ranges::binary_search(group.tensors, tensor);
    };
    if (std::ranges::any_of(op.inputs, holds) || std::ranges::any_of(op.outputs, holds))
      out.push_back(static_cast<int32_t>(i));
  }
  return out;
}

double cost_of(const std::vector<int32_t>& operators, const Prediction& prediction) {
  double sum = 0;
  for (const int32_t op : operators)
    if (static_cast<size_t>(op) < prediction.operators.size())
      sum += prediction.operators[static_cast<size_t>(op)].latency_ms.value_or(0);
  return sum;
}

Result<Graph> narrowed(const Graph& graph, const ChannelGroups& groups, size_t group,
                       int32_t width) {
  ChannelSelection selection(groups.groups.size());
  for (int32_t unit = 0; unit < width; ++unit) selection[group].push_back(unit);
  return select_channels(graph, groups, selection);
}

Rewrite narrower(const Graph& graph, const ChannelGroups& groups, size_t group, int32_t width,
                 std::string topic, const Prediction& prediction) {
  const int32_t was = groups.groups[group].width;
  Rewrite rewrite{
      .topic = std::move(topic),
      .what = "",
      .operators = operators_of(graph, groups.groups[group]),
      .removed_share = static_cast<double>(was - width) / was,
      .make = [&graph, groups, group, width] { return narrowed(graph, groups, group, width); }};
  rewrite.touched_ms = cost_of(rewrite.operators, prediction);
  rewrite.what = fmt::format("{}: {} channels instead of {}", operators_in_words(rewrite.operators),
                             width, was);
  return rewrite;
}

bool can_narrow(const ChannelGroup& group) { return !group.fixed() && group.width > 4; }

// The first convolution that reads an input of the model; -1: none does.
int32_t first_convolution(const Graph& graph) {
  for (size_t i = 0; i < graph.main().operators.size(); ++i) {
    const Operator& op = graph.main().operators[i];
    if (op.kind == OpKind::kConv2D && !op.inputs.empty() && op.inputs[0] >= 0 &&
        std::ranges::find(graph.main().inputs, op.inputs[0]) != graph.main().inputs.end())
      return static_cast<int32_t>(i);
  }
  return -1;
}

Result<Graph> with_input_size(const Graph& graph, int64_t height, int64_t width) {
  Graph edited = graph;
  Tensor& image = edited.main().tensors[static_cast<size_t>(edited.main().inputs.front())];
  image.shape[1] = height;
  image.shape[2] = width;
  if (image.shape_signature.size() == 4)
    for (const size_t d : {size_t{1}, size_t{2}})
      if (image.shape_signature[d] >= 0) image.shape_signature[d] = image.shape[d];
  EDGESAGE_RETURN_IF_ERROR(refit_shapes(graph, edited));
  return edited;
}

Result<Graph> with_stride(const Graph& graph, int32_t op, int64_t stride) {
  Graph edited = graph;
  Operator& convolution = edited.main().operators[static_cast<size_t>(op)];
  convolution.set("stride_h", stride);
  convolution.set("stride_w", stride);
  EDGESAGE_RETURN_IF_ERROR(refit_shapes(graph, edited));
  return edited;
}

}  // namespace

std::string operators_in_words(const std::vector<int32_t>& operators) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < operators.size();) {
    size_t end = i + 1;
    while (end < operators.size() && operators[end] == operators[end - 1] + 1) ++end;
    parts.push_back(end - i > 1 ? fmt::format("{} to {}", operators[i], operators[end - 1])
                                : std::to_string(operators[i]));
    i = end;
  }
  constexpr size_t kShown = 4;
  const size_t more = parts.size() > kShown ? parts.size() - kShown : 0;
  parts.resize(parts.size() - more);
  return fmt::format("operator{} {}{}", operators.size() == 1 ? "" : "s", join(parts, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::vector<Rewrite> channel_rewrites(const Graph& graph, const ChannelGroups& groups,
                                      const Prediction& prediction) {
  constexpr double kLeastKept = 0.7;
  std::vector<Rewrite> out;
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const ChannelGroup& group = groups.groups[g];
    if (!can_narrow(group)) continue;
    std::set<int32_t> widths;
    for (const int32_t multiple : {4, 8, 16, 32}) {
      const int32_t width = (group.width - 1) / multiple * multiple;
      if (width >= kLeastKept * group.width) widths.insert(width);
    }
    for (const int32_t width : widths)
      out.push_back(narrower(graph, groups, g, width, "channels", prediction));
  }
  return out;
}

std::vector<Rewrite> memory_rewrites(const Graph& graph, const ChannelGroups& groups,
                                     const Prediction& prediction) {
  std::vector<Rewrite> out;
  if (!prediction.inspection) return out;
  std::set<size_t> at_peak;
  for (const InspectedTensor& tensor : prediction.inspection->memory.peak_tensors) {
    if (tensor.index < 0 || static_cast<size_t>(tensor.index) >= groups.runs.size()) continue;
    for (const ChannelRun& run : groups.runs[static_cast<size_t>(tensor.index)])
      at_peak.insert(static_cast<size_t>(run.group));
  }
  for (const size_t g : at_peak) {
    const ChannelGroup& group = groups.groups[g];
    if (!can_narrow(group)) continue;
    const int32_t step = group.width >= 32 ? 8 : 4;
    const int32_t width = group.width * 3 / 4 / step * step;
    if (width > 0) out.push_back(narrower(graph, groups, g, width, "memory", prediction));
  }
  return out;
}

std::vector<Rewrite> first_layer_rewrites(const Graph& graph, const ChannelGroups& groups,
                                          const Prediction& prediction) {
  std::vector<Rewrite> out;
  const int32_t first = first_convolution(graph);
  if (first < 0) return out;
  const Operator& op = graph.main().operators[static_cast<size_t>(first)];
  const std::string topic = "first layer";
  if (op.attr_int("stride_h", 1) == 1 && op.attr_int("stride_w", 1) == 1)
    out.push_back({.topic = topic,
                   .what = fmt::format("operator {}: a stride of 2 instead of 1", first),
                   .operators = {first},
                   .make = [&graph, first] { return with_stride(graph, first, 2); }});
  const Tensor& image = graph.main().tensors[static_cast<size_t>(op.inputs[0])];
  if (graph.main().inputs.size() == 1 && image.shape.size() == 4 && image.shape[1] >= 32 &&
      image.shape[2] >= 32) {
    const int64_t height = image.shape[1] * 3 / 4, width = image.shape[2] * 3 / 4;
    out.push_back(
        {.topic = topic,
         .what = fmt::format("input of {}x{} instead of {}x{}", height, width, image.shape[1],
                             image.shape[2]),
         .operators = {first},
         .make = [&graph, height, width] { return with_input_size(graph, height, width); }});
  }
  if (op.outputs.empty() || static_cast<size_t>(op.outputs[0]) >= groups.runs.size()) return out;
  const std::vector<ChannelRun>& runs = groups.runs[static_cast<size_t>(op.outputs[0])];
  if (runs.size() != 1) return out;
  const auto g = static_cast<size_t>(runs.front().group);
  const int32_t half = groups.groups[g].width / 2;
  if (can_narrow(groups.groups[g]) && half >= 4)
    out.push_back(narrower(graph, groups, g, half / 4 * 4, topic, prediction));
  return out;
}

}  // namespace edgesage::app
