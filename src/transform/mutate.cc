#include "src/transform/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/base/portable_math.h"
#include "src/base/rng.h"
#include "src/graph/graph_hash.h"
#include "src/graph/op_registry.h"
#include "src/graph/shape_inference.h"
#include "src/graph/validate.h"
#include "src/transform/blocks.h"
#include "src/transform/channel_groups.h"
#include "src/transform/constants.h"
#include "src/transform/refit.h"
#include "src/transform/select_channels.h"

namespace edgesage {
namespace {

constexpr int64_t kMostElements = 1 << 24;  // of one tensor: what a small device may meet
constexpr int32_t kMostWidth = 4096;

// What was done in words; empty: there was nothing to do it to.
using Edit = Result<std::string> (*)(Graph& graph, Rng& rng);

int32_t other_width(int32_t width, double factor, bool even) {
  auto wanted = static_cast<int32_t>(std::lround(width * factor));
  // Widths of 4 and 8 are what designers choose and hardware likes; others show what it does not.
  if (even && wanted > 4) wanted = (wanted + 2) / 4 * 4;
  return std::clamp(wanted, int32_t{1}, kMostWidth);
}

Result<std::string> change_widths(Graph& graph, Rng& rng) {
  const ChannelGroups groups = channel_groups(graph);
  ChannelSelection selection(groups.groups.size());
  const double factor = portable_log_uniform(rng, 0.4, 1.6);
  const bool even = rng.chance(0.7);
  int changed = 0;
  for (size_t g = 0; g < selection.size(); ++g) {
    const ChannelGroup& group = groups.groups[g];
    if (group.fixed() || group.width < 2) continue;
    const int32_t width =
        other_width(group.width, factor * portable_log_uniform(rng, 0.8, 1.25), even);
    if (width == group.width) continue;
    for (int32_t u = 0; u < width; ++u) selection[g].push_back(u % group.width);
    ++changed;
  }
  if (changed == 0) return std::string();
  EDGESAGE_ASSIGN_OR_RETURN(graph, select_channels(graph, groups, selection));
  return fmt::format("widths of {} groups by about {:.2f}", changed, factor);
}

bool is_image(const Tensor& input) {
  return input.shape.size() == 4 && input.shape[1] * input.shape[2] >= 16;
}

Result<std::string> change_resolution(Graph& graph, Rng& rng) {
  const double factor = portable_log_uniform(rng, 0.5, 1.5);
  Subgraph& main = graph.main();
  if (main.inputs.size() != 1) return std::string();
  Tensor& image = main.tensors[static_cast<size_t>(main.inputs[0])];
  if (!is_image(image)) return std::string();
  const Graph before = graph;
  const Shape was = image.shape;
  for (const size_t d : {size_t{1}, size_t{2}}) {
    if (was[d] == 1) continue;
    image.shape[d] = std::max<int64_t>(1, std::llround(static_cast<double>(was[d]) * factor));
    if (image.shape_signature.size() == 4 && image.shape_signature[d] >= 0)
      image.shape_signature[d] = image.shape[d];
  }
  if (image.shape == was) return std::string();
  const std::string change =
      fmt::format("input {}x{} instead of {}x{}", image.shape[1], image.shape[2], was[1], was[2]);
  EDGESAGE_RETURN_IF_ERROR(refit_shapes(before, graph));
  return change;
}

// Of inputs that are no single image: one dimension, in all inputs that agree in it.
Result<std::string> change_extent(Graph& graph, Rng& rng) {
  const double factor = portable_log_uniform(rng, 0.5, 4);
  Subgraph& main = graph.main();
  const auto input = [&main](int32_t id) -> Tensor& {
    return main.tensors[static_cast<size_t>(id)];
  };
  if (main.inputs.empty() || (main.inputs.size() == 1 && is_image(input(main.inputs[0]))))
    return std::string();
  const Shape shape = input(rng.pick(main.inputs)).shape;
  if (shape.empty()) return std::string();
  // Counted from the last dimension, as broadcasting does.
  const auto place = static_cast<size_t>(rng.integer(1, static_cast<int64_t>(shape.size())));
  const int64_t was = shape[shape.size() - place];
  const int64_t wanted =
      std::clamp<int64_t>(std::llround(static_cast<double>(was) * factor), 1, kMostWidth);
  if (wanted == was) return std::string();
  const Graph before = graph;
  for (const int32_t id : main.inputs) {
    Tensor& changed = input(id);
    const size_t rank = changed.shape.size();
    if (rank < place || changed.shape[rank - place] != was) continue;
    changed.shape[rank - place] = wanted;
    if (changed.shape_signature.size() == rank && changed.shape_signature[rank - place] >= 0)
      changed.shape_signature[rank - place] = wanted;
  }
  EDGESAGE_RETURN_IF_ERROR(refit_shapes(before, graph));
  return fmt::format("inputs of {} instead of {}", wanted, was);
}

bool has_square_kernel(const Graph& graph, const Operator& op, const std::vector<int32_t>& uses) {
  if (op.kind != OpKind::kConv2D && op.kind != OpKind::kDepthwiseConv2D) return false;
  const Tensor& filter = graph.main().tensors[static_cast<size_t>(op.inputs[1])];
  return filter.is_constant() && !filter.sparsity && uses[static_cast<size_t>(op.inputs[1])] == 1 &&
         filter.shape.size() == 4 && filter.shape[1] == filter.shape[2] && filter.shape[1] <= 5 &&
         filter.shape[1] % 2 == 1 && op.attr_int("padding", 0) == 0;
}

// A smaller kernel is the middle of the larger; a larger one repeats the smaller around it.
Result<std::string> change_kernel(Graph& graph, Rng& rng) {
  const std::vector<int32_t> uses = use_counts(graph.main());
  std::vector<size_t> candidates;
  for (size_t i = 0; i < graph.main().operators.size(); ++i)
    if (has_square_kernel(graph, graph.main().operators[i], uses)) candidates.push_back(i);
  if (candidates.empty()) return std::string();
  const size_t index = rng.pick(candidates);
  const Operator& op = graph.main().operators[index];
  const int32_t filter = op.inputs[1];
  const int64_t was = graph.main().tensors[static_cast<size_t>(filter)].shape[1];
  std::vector<int64_t> sizes;
  for (const int64_t size : {1, 3, 5})
    if (size != was) sizes.push_back(size);
  const int64_t size = rng.pick(sizes);
  std::vector<int64_t> taps;
  for (int64_t k = 0; k < size; ++k) {
    const int64_t from = k + (was - size) / 2;
    taps.push_back(((from % was) + was) % was);
  }
  const std::string change = fmt::format("operator {} ({}) with a kernel of {} instead of {}",
                                         index, op_name(op.kind), size, was);
  EDGESAGE_RETURN_IF_ERROR(take_along(graph, filter, 1, taps));
  EDGESAGE_RETURN_IF_ERROR(take_along(graph, filter, 2, taps));
  return change;
}

Result<std::string> change_depth(Graph& graph, Rng& rng) {
  const std::vector<Block> blocks = shape_keeping_blocks(graph);
  const bool drop = rng.chance(0.5);
  if (blocks.empty()) return std::string();
  const Block& block = rng.pick(blocks);
  (drop ? drop_block : repeat_block)(graph, block);
  return fmt::format("a block of {} operators {}", block.operators.size(),
                     drop ? "left out" : "repeated");
}

Result<std::string> change_activation(Graph& graph, Rng&) {
  constexpr int64_t kRelu = 1, kRelu6 = 3;
  constexpr std::string_view kOption = "fused_activation_function";
  int changed = 0;
  for (Operator& op : graph.main().operators) {
    const int64_t was = op.attr_int(kOption, 0);
    if (was != kRelu && was != kRelu6) continue;
    op.set(kOption, was == kRelu ? kRelu6 : kRelu);
    ++changed;
  }
  return changed == 0 ? std::string()
                      : fmt::format("RELU and RELU6 exchanged in {} operators", changed);
}

bool is_sound(const Graph& graph) {
  return validate(graph) && std::ranges::all_of(graph.main().tensors, [](const Tensor& tensor) {
           return tensor.element_count() <= kMostElements;
         });
}

struct EditKind {
  Edit apply;
  double probability;
};

constexpr EditKind kEdits[] = {{change_depth, 0.4},       {change_kernel, 0.4},
                               {change_resolution, 0.5},  {change_widths, 0.8},
                               {change_activation, 0.15}, {change_extent, 0.6}};

}  // namespace

Result<Mutation> mutate(const Graph& graph, uint64_t seed) {
  if (graph.subgraphs.empty())
    return make_error(ErrorCode::kUnsupported, {}, "the model has no operators");
  if (!std::ranges::all_of(graph.main().operators, is_complete))
    return make_error(ErrorCode::kUnsupported, graph.description,
                      "an operator lacks an input that it needs");
  Rng rng(seed, "mutation of " + graph_hash(graph));
  Mutation mutation{graph, {}};
  // A second round where chance left everything as it was: then each edit is tried.
  for (const bool all : {false, true}) {
    if (!mutation.changes.empty()) break;
    for (const EditKind& edit : kEdits) {
      // The same numbers are drawn whatever comes of them.
      const bool wanted = rng.chance(edit.probability) || all;
      Rng own(rng.next());
      if (!wanted) continue;
      Graph edited = mutation.graph;
      const Result<std::string> change = edit.apply(edited, own);
      if (!change || change->empty() || !is_sound(edited)) continue;
      mutation.graph = std::move(edited);
      mutation.changes.push_back(*change);
    }
  }
  if (mutation.changes.empty())
    return make_error(ErrorCode::kUnsupported, graph.description,
                      "it has no width, resolution, kernel, block or activation that can change");
  return mutation;
}

}  // namespace edgesage
