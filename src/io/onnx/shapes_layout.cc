// The same elements in another shape or order.
#include <algorithm>
#include <map>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// Value of an input whose elements stay as they are, in its new dimensions.
void fold_as(NodeContext& node, const Shape& shape) {
  const FoldedPtr data = node.data(0);
  const auto dims = small_dims(shape);
  if (data == nullptr || !dims || *small_count(*dims) != data->elements.size()) return;
  Folded folded = *data;
  folded.dims = *dims;
  node.fold(0, std::move(folded));
}

void set_and_fold(NodeContext& node, Shape shape) {
  node.set(0, node.element(0), shape);
  fold_as(node, shape);
}

// The number that makes two shapes, `from` and `target` without `open`, of one size: numbers are
// divided, equal symbols cancel.
Dimension remainder(NodeContext& node, const Shape& from, const Shape& target, size_t open) {
  int64_t have = 1;
  int64_t want = 1;
  std::map<std::string_view, int> symbols;
  bool unknown = false;
  const auto count = [&](const Dimension& dim, int sign, int64_t& total) {
    if (dim.known()) {
      if (__builtin_mul_overflow(total, dim.value, &total)) unknown = true;
    } else if (dim.symbol.empty()) {
      unknown = true;
    } else {
      symbols[dim.symbol] += sign;
    }
  };
  for (const Dimension& dim : from) count(dim, 1, have);
  for (size_t k = 0; k < target.size(); ++k)
    if (k != open) count(target[k], -1, want);
  if (unknown || want == 0) return {};
  std::string_view left;
  for (const auto& [symbol, times] : symbols) {
    if (times == 0) continue;
    if (times != 1 || !left.empty()) return {};
    left = symbol;
  }
  if (left.empty() && have % want != 0) {
    node.fail("elements of " + text(from) + " cannot be laid out as " + text(target));
    return {};
  }
  if (left.empty()) return number(have / want);
  return have == want ? Dimension{-1, left} : Dimension{};
}

// The shape that a Reshape asks for, by what is known of its target.
std::optional<Shape> reshaped(NodeContext& node, const std::vector<Scalar>& target) {
  const Shape* input = node.shape(0);
  const bool zero_is_zero = node.node().attr_int("allowzero", 0) != 0;
  Shape result;
  std::optional<size_t> open;
  bool all_said = true;  // nothing in the target might be a -1 or 0 that we cannot see
  for (size_t k = 0; k < target.size(); ++k) {
    const Scalar& want = target[k];
    Dimension dim = dimension_of(want);
    if (want.known && want.i == 0 && !zero_is_zero) {
      if (input == nullptr) {
        dim = {};
        all_said = false;
      } else if (k >= input->size()) {
        node.fail("0 in the target copies dimension " + std::to_string(k) + " of " + text(*input));
        return std::nullopt;
      } else {
        dim = (*input)[k];
      }
    } else if (want.known && want.i == -1) {
      if (open) {
        node.fail("two -1 in the target");
        return std::nullopt;
      }
      open = k;
    } else if (want.known && want.i < 0) {
      node.fail("the target holds " + std::to_string(want.i));
      return std::nullopt;
    } else if (!want.known && want.symbol.empty()) {
      all_said = false;
    }
    result.push_back(dim);
  }
  if (input == nullptr || !all_said) {
    // One unseen element, and all else is known: it is what is left.
    const auto unseen = [](const Dimension& dim) { return dim == Dimension{}; };
    if (input != nullptr && !open && std::ranges::count_if(result, unseen) == 1 &&
        all_known(*input)) {
      const auto at = static_cast<size_t>(std::ranges::find_if(result, unseen) - result.begin());
      result[at] = remainder(node, *input, result, at);
    }
    return result;
  }
  if (open) {
    result[*open] = remainder(node, *input, result, *open);
  } else if (all_known(*input) && all_known(result)) {
    const Dimension have = product(*input, 0, input->size());
    const Dimension want = product(result, 0, result.size());
    if (have.known() && want.known() && have.value != want.value)
      node.fail("elements of " + text(*input) + " cannot be laid out as " + text(result));
  }
  return node.failed() ? std::nullopt : std::optional(std::move(result));
}

void reshape(NodeContext& node) {
  node.set_element(0, node.element(0));
  std::vector<Scalar> target;
  if (node.since() < 5 && node.inputs() < 2) {
    for (const int64_t dim : node.node().attr_ints("shape")) target.push_back(known_integer(dim));
  } else if (const FoldedPtr sizes = node.sizes(1)) {
    target = sizes->elements;
  } else if (const auto length = node.list_length(1)) {
    target.resize(*length);
  } else {
    return;
  }
  auto result = reshaped(node, target);
  if (result) set_and_fold(node, std::move(*result));
}

void flatten(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  if (input == nullptr) return node.set(0, node.element(0), open_shape(2));
  int64_t axis = node.node().attr_int("axis", 1);
  const auto rank = std::ssize(*input);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank)
    return node.fail("axis " + std::to_string(axis) + " of " + text(*input));
  const auto middle = static_cast<size_t>(axis);
  set_and_fold(node, {product(*input, 0, middle), product(*input, middle, input->size())});
}

// Axes of Squeeze and Unsqueeze: an attribute, from version 13 on an input.
struct Axes {
  bool given = false;
  std::optional<std::vector<int64_t>> list;  // absent: given, but not known
};

Axes axes_of(const NodeContext& node) {
  if (node.has_input(1)) return {true, node.ints(1)};
  const Attribute* attribute = node.node().find("axes");
  if (attribute == nullptr) return {false, std::vector<int64_t>{}};
  return {true, attribute->ints};
}

void squeeze(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Axes axes = axes_of(node);
  const Shape* input = node.shape(0);
  if (input == nullptr || !axes.list) return;
  if (!axes.given && !all_known(*input)) return;
  std::vector<bool> gone(input->size(), false);
  for (const int64_t axis : *axes.list) {
    const auto at = at_axis(axis, input->size());
    if (!at) return node.fail("axis " + std::to_string(axis) + " of " + text(*input));
    const Dimension& dim = (*input)[*at];
    if (dim.known() && dim.value != 1)
      return node.fail("axis " + std::to_string(axis) + " of " + text(*input) + " is not 1");
    gone[*at] = true;
  }
  Shape result;
  for (size_t k = 0; k < input->size(); ++k)
    if (!(axes.given ? gone[k] : (*input)[k].value == 1)) result.push_back((*input)[k]);
  set_and_fold(node, std::move(result));
}

void unsqueeze(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Axes axes = axes_of(node);
  const Shape* input = node.shape(0);
  if (input == nullptr || !axes.list) return;
  if (std::ssize(*axes.list) + std::ssize(*input) > kMaxRank)
    return node.fail("a result of more than " + std::to_string(kMaxRank) + " dimensions");
  const size_t rank = input->size() + axes.list->size();
  std::vector<bool> added(rank, false);
  for (const int64_t axis : *axes.list) {
    const auto at = at_axis(axis, rank);
    if (!at || added[*at])
      return node.fail("axis " + std::to_string(axis) + " is twice there or beyond " +
                       std::to_string(rank) + " dimensions");
    added[*at] = true;
  }
  Shape result;
  size_t next = 0;
  for (size_t k = 0; k < rank; ++k) result.push_back(added[k] ? number(1) : (*input)[next++]);
  set_and_fold(node, std::move(result));
}

std::optional<std::vector<size_t>> permutation(NodeContext& node, size_t rank) {
  const auto given = node.node().attr_ints("perm");
  std::vector<size_t> order;
  if (node.node().find("perm") == nullptr) {
    for (size_t k = rank; k-- > 0;) order.push_back(k);
    return order;
  }
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : given) {
    const auto at = axis < 0 ? std::nullopt : at_axis(axis, rank);
    if (!at || seen[*at]) break;
    seen[*at] = true;
    order.push_back(*at);
  }
  if (order.size() == rank && given.size() == rank) return order;
  node.fail("perm is no order of " + std::to_string(rank) + " dimensions");
  return std::nullopt;
}

void fold_transposed(NodeContext& node, const std::vector<size_t>& order) {
  const FoldedPtr data = node.data(0);
  if (data == nullptr || data->dims.size() != order.size()) return;
  std::vector<size_t> strides(order.size(), 1);
  for (size_t k = order.size(); k-- > 1;)
    strides[k - 1] = strides[k] * static_cast<size_t>(data->dims[k]);
  Folded folded;
  folded.element = data->element;
  for (const size_t axis : order) folded.dims.push_back(data->dims[axis]);
  folded.elements.reserve(data->elements.size());
  for (size_t k = 0; k < data->elements.size(); ++k) {
    size_t rest = k;
    size_t source = 0;
    for (size_t axis = order.size(); axis-- > 0;) {
      const auto size = static_cast<size_t>(folded.dims[axis]);
      source += rest % size * strides[order[axis]];
      rest /= size;
    }
    folded.elements.push_back(data->elements[source]);
  }
  node.fold(0, std::move(folded));
}

void transpose(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const auto order = permutation(node, input->size());
  if (!order) return;
  Shape result;
  for (const size_t axis : *order) result.push_back((*input)[axis]);
  node.set(0, node.element(0), std::move(result));
  fold_transposed(node, *order);
}

// Blocks of pixels into channels or back; NCHW.
void rearrange_blocks(NodeContext& node, bool to_depth) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  const int64_t block = node.node().attr_int("blocksize", 0);
  if (input == nullptr) return;
  if (input->size() != 4 || block < 1 || block > (1 << 20))
    return node.fail("blocks of " + std::to_string(block) + " in an input of shape " +
                     text(*input));
  const Dimension side = number(block);
  const Dimension area = side * side;
  const Shape& in = *input;
  node.set(0, node.element(0),
           to_depth ? Shape{in[0], in[1] * area, in[2] / side, in[3] / side}
                    : Shape{in[0], in[1] / area, in[2] * side, in[3] * side});
}

void depth_to_space(NodeContext& node) { rearrange_blocks(node, false); }
void space_to_depth(NodeContext& node) { rearrange_blocks(node, true); }

constexpr RuleRow kRows[] = {
    {"DepthToSpace", depth_to_space}, {"Flatten", flatten},  {"Reshape", reshape},
    {"ReverseSequence", like_first},  {"Squeeze", squeeze},  {"SpaceToDepth", space_to_depth},
    {"Transpose", transpose},         {"Trilu", like_first}, {"Unsqueeze", unsqueeze},
};

}  // namespace

RuleRows layout_rules() { return kRows; }

}  // namespace edgesage::onnx
