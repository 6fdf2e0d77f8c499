// Parts of values, and values put together.
#include <algorithm>
#include <numeric>

#include "src/io/onnx/shapes_fold.h"
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// The parts laid one behind the other along `axis`; elements of each are copied in runs.
void fold_concat(NodeContext& node, size_t axis, const Shape& shape) {
  const auto dims = small_dims(shape);
  if (!dims) return;
  std::vector<FoldedPtr> parts;
  for (size_t i = 0; i < node.inputs(); ++i) {
    parts.push_back(node.data(i));
    if (parts.back() == nullptr) {
      // Nothing is known of this part but how long it is.
      const Shape* open = node.shape(i);
      const auto open_dims = open == nullptr ? std::nullopt : small_dims(*open);
      if (!open_dims || shape.size() != 1) return;
      auto unknown = std::make_shared<Folded>();
      unknown->element = node.element(0);
      unknown->dims = *open_dims;
      unknown->elements.resize(*small_count(*open_dims));
      parts.back() = std::move(unknown);
    }
  }
  if (std::ranges::none_of(parts, [](const FoldedPtr& part) {
        return std::ranges::any_of(part->elements, [](const Scalar& scalar) {
          return scalar.known || !scalar.symbol.empty();
        });
      }))
    return;
  Folded folded;
  folded.element = node.element(0);
  folded.dims = *dims;
  const size_t outer = *small_count(std::span(*dims).first(axis));
  for (size_t k = 0; k < outer; ++k) {
    for (const FoldedPtr& part : parts) {
      const size_t run = part->elements.size() / outer;
      const auto begin = part->elements.begin() + static_cast<std::ptrdiff_t>(k * run);
      folded.elements.insert(folded.elements.end(), begin,
                             begin + static_cast<std::ptrdiff_t>(run));
    }
  }
  node.fold(0, std::move(folded));
}

void concat(NodeContext& node) {
  node.set_element(0, node.element(0));
  auto parts = joined(node, node.node().attr_int("axis", 1), 0, 1);
  if (!parts) return;
  node.set(0, node.element(0), parts->shape);
  if (parts->complete) fold_concat(node, parts->axis, parts->shape);
}

// Elements `begin`, `begin + step`, ... of one axis.
Folded take(const Folded& from, size_t axis, int64_t begin, int64_t step, int64_t count) {
  Folded part;
  part.element = from.element;
  part.dims = from.dims;
  part.dims[axis] = count;
  const auto inner =
      static_cast<size_t>(std::accumulate(from.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                          from.dims.end(), int64_t{1}, std::multiplies<>()));
  const auto size = static_cast<size_t>(from.dims[axis]);
  if (size == 0 || inner == 0) return part;
  const size_t outer = from.elements.size() / inner / size;
  for (size_t k = 0; k < outer; ++k)
    for (int64_t n = 0; n < count; ++n) {
      const size_t at = (k * size + static_cast<size_t>(begin + n * step)) * inner;
      for (size_t e = 0; e < inner; ++e) part.elements.push_back(from.elements[at + e]);
    }
  return part;
}

// Lengths of the parts: given, or as equal as they can be.
std::optional<std::vector<Dimension>> split_lengths(NodeContext& node, const Dimension& size) {
  const size_t parts = node.outputs();
  std::vector<Dimension> lengths;
  const auto attribute = node.node().attr_ints("split");
  if (node.has_input(1)) {
    const auto given = sizes_as_shape(node, 1);
    lengths = given ? *given : Shape(parts);
  } else if (!attribute.empty()) {
    lengths = shape_of(attribute);
  } else if (!size.known() || parts == 0) {
    lengths.resize(parts);
    if (parts == 1) lengths[0] = size;
  } else {
    const auto count = static_cast<int64_t>(parts);
    const int64_t each = size.value == 0 ? 0 : (size.value - 1) / count + 1;
    int64_t left = size.value;
    for (size_t k = 0; k < parts; ++k) {
      lengths.push_back(number(std::min(left, each)));
      left -= lengths.back().value;
    }
  }
  if (lengths.size() == parts) return lengths;
  node.fail(std::to_string(lengths.size()) + " lengths for " + std::to_string(parts) + " parts");
  return std::nullopt;
}

void split(NodeContext& node) {
  const ElementType element = node.element(0);
  for (size_t o = 0; o < node.outputs(); ++o) node.set_element(o, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const auto axis = at_axis(node.node().attr_int("axis", 0), input->size());
  if (!axis)
    return node.fail("axis " + std::to_string(node.node().attr_int("axis", 0)) + " of " +
                     text(*input));
  const Dimension& size = (*input)[*axis];
  const auto lengths = split_lengths(node, size);
  if (!lengths) return;
  Dimension total = number(0);
  for (const Dimension& length : *lengths) total = total + length;
  if (total.known() && size.known() && total.value != size.value)
    return node.fail("parts of " + text(total) + " in all, of " + text(size));
  const FoldedPtr data = node.data(0);
  int64_t begin = 0;
  for (size_t o = 0; o < node.outputs(); ++o) {
    Shape part = *input;
    part[*axis] = (*lengths)[o];
    node.set(o, element, std::move(part));
    if (data == nullptr || !total.known()) continue;
    node.fold(o, take(*data, *axis, begin, 1, (*lengths)[o].value));
    begin += (*lengths)[o].value;
  }
}

struct Cut {
  std::vector<Scalar> starts, ends, steps;
  std::vector<int64_t> axes;
};

std::vector<Scalar> known_list(std::span<const int64_t> values) {
  std::vector<Scalar> list;
  std::ranges::transform(values, std::back_inserter(list), known_integer);
  return list;
}

// Lists of a Slice: attributes before version 10, inputs since. nullopt where axes are not known.
std::optional<Cut> cut_of(NodeContext& node) {
  Cut cut;
  bool axes_given = false;
  if (node.since() < 10 && node.node().find("starts") != nullptr) {
    cut.starts = known_list(node.node().attr_ints("starts"));
    cut.ends = known_list(node.node().attr_ints("ends"));
    const auto axes = node.node().attr_ints("axes");
    axes_given = node.node().find("axes") != nullptr;
    cut.axes.assign(axes.begin(), axes.end());
  } else {
    const auto list = [&](size_t i, size_t length) {
      const FoldedPtr sizes = node.sizes(i);
      return sizes != nullptr ? sizes->elements : std::vector<Scalar>(length);
    };
    auto length = node.list_length(1);
    if (!length) length = node.list_length(2);
    if (!length) length = node.list_length(3);
    if (!length) return std::nullopt;
    cut.starts = list(1, *length);
    cut.ends = list(2, *length);
    axes_given = node.has_input(3);
    if (axes_given) {
      const auto axes = node.ints(3);
      if (!axes) return std::nullopt;
      cut.axes = *axes;
    }
    if (node.has_input(4)) cut.steps = list(4, *length);
  }
  if (!axes_given) {
    cut.axes = all_axes(cut.starts.size());
  }
  if (cut.steps.empty()) cut.steps.assign(cut.starts.size(), known_integer(1));
  if (cut.ends.size() == cut.starts.size() && cut.axes.size() == cut.starts.size() &&
      cut.steps.size() == cut.starts.size())
    return cut;
  node.fail("starts, ends, axes and steps of different lengths");
  return std::nullopt;
}

struct Run {
  int64_t begin = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Of an axis of `size`, all known; the bounds are clamped as the specification says.
Run run_of(int64_t size, int64_t start, int64_t end, int64_t step) {
  const auto from_front = [size](int64_t at) { return at < 0 ? at + size : at; };
  if (step > 0) {
    const int64_t begin = std::clamp(from_front(start), int64_t{0}, size);
    const int64_t stop = std::clamp(from_front(end), int64_t{0}, size);
    return {begin, step, stop <= begin ? 0 : (stop - begin - 1) / step + 1};
  }
  if (size == 0) return {0, step, 0};
  const int64_t begin = std::clamp(from_front(start), int64_t{0}, size - 1);
  const int64_t stop = std::clamp(from_front(end), int64_t{-1}, size - 1);
  const int64_t span = begin - stop;
  if (span <= 0) return {begin, step, 0};
  return {begin, step, step <= -span ? 1 : (span - 1) / -step + 1};
}

// The length along one axis, where it can be told; `run` where all is known.
Dimension cut_length(const Dimension& size, const Scalar& start, const Scalar& end,
                     const Scalar& step, std::optional<Run>& run) {
  if (size.known() && start.known && end.known && step.known) {
    run = run_of(size.value, start.i, end.i, step.i);
    return number(run->count);
  }
  if (!step.known || step.i != 1 || !start.known) return {};
  constexpr int64_t kFar = int64_t{1} << 31;
  const bool to_end = (end.known && end.i >= kFar - 1) ||
                      (!end.known && !end.symbol.empty() && end.symbol == size.symbol);
  if (start.i == 0 && to_end) return size;
  // From the front to a size that is named: as long as that, if the axis has it; not certain.
  return {};
}

void slice(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const auto cut = cut_of(node);
  if (node.failed()) return;
  if (!cut) return node.set(0, element, open_shape(input->size()));
  Shape result = *input;
  FoldedPtr data = node.data(0);
  std::vector<bool> seen(input->size(), false);
  for (size_t k = 0; k < cut->starts.size(); ++k) {
    const auto axis = at_axis(cut->axes[k], input->size());
    if (!axis || seen[*axis])
      return node.fail("axis " + std::to_string(cut->axes[k]) + " of " + text(*input) +
                       " is not there or twice given");
    seen[*axis] = true;
    if (cut->steps[k].known && (cut->steps[k].i == 0 || cut->steps[k].i == INT64_MIN))
      return node.fail("a step of " + std::to_string(cut->steps[k].i));
    std::optional<Run> run;
    result[*axis] = cut_length((*input)[*axis], cut->starts[k], cut->ends[k], cut->steps[k], run);
    if (data != nullptr && run)
      data = std::make_shared<const Folded>(take(*data, *axis, run->begin, run->step, run->count));
    if (!run) data = nullptr;
  }
  node.set(0, element, std::move(result));
  if (data != nullptr) node.fold(0, data);
}

void pad(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  std::vector<Scalar> pads;
  if (node.since() < 11) {
    const std::string_view name = node.node().find("pads") != nullptr ? "pads" : "paddings";
    pads = known_list(node.node().attr_ints(name));
  } else if (const FoldedPtr given = node.data(1)) {
    if (is_integer(given->element)) pads = given->elements;
  }
  std::vector<int64_t> axes = all_axes(input->size());
  if (node.has_input(3)) {
    const auto given = node.ints(3);
    if (!given) return node.set(0, element, open_shape(input->size()));
    axes = *given;
  }
  if (pads.empty() && !axes.empty()) return node.set(0, element, open_shape(input->size()));
  if (pads.size() != 2 * axes.size())
    return node.fail(std::to_string(pads.size()) + " pads for " + std::to_string(axes.size()) +
                     " axes");
  Shape result = *input;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = at_axis(axes[k], input->size());
    if (!axis) return node.fail("axis " + std::to_string(axes[k]) + " of " + text(*input));
    const Scalar both = add(ElementType::kInt64, pads[k], pads[k + axes.size()]);
    const Scalar padded = add(ElementType::kInt64, scalar_of(result[*axis]), both);
    if (padded.known && padded.i < 0) return node.fail("pads cut away more than there is");
    result[*axis] = dimension_of(padded);
  }
  node.set(0, element, std::move(result));
}

void expand(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  const auto target = sizes_as_shape(node, 1);
  if (input == nullptr || !target) return;
  const auto result = broadcast(*input, *target);
  if (!result)
    return node.fail("shapes " + text(*input) + " and " + text(*target) + " do not meet");
  node.set(0, element, *result);
  const auto dims = small_dims(*result);
  const FoldedPtr data = node.data(0);
  if (!dims || data == nullptr) return;
  // One element fills any shape; what else is expanded is no shape arithmetic.
  if (data->elements.size() != 1) return;
  Folded folded;
  folded.element = data->element;
  folded.dims = *dims;
  folded.elements.assign(*small_count(*dims), data->elements[0]);
  node.fold(0, std::move(folded));
}

void fold_tiled(NodeContext& node, const std::vector<Scalar>& repeats) {
  const FoldedPtr data = node.data(0);
  if (data == nullptr || data->dims.size() != 1 || repeats.size() != 1 || !repeats[0].known) return;
  const int64_t times = repeats[0].i;
  if (data->dims[0] == 0 || times > kMaxFoldedElements / data->dims[0]) return;
  Folded folded;
  folded.element = data->element;
  folded.dims = {data->dims[0] * times};
  for (int64_t k = 0; k < times; ++k)
    folded.elements.insert(folded.elements.end(), data->elements.begin(), data->elements.end());
  node.fold(0, std::move(folded));
}

// Version 1 repeats one axis: inputs tiles and axis.
void tile(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  if (node.since() < 6) {
    const auto times = node.integer(1);
    const auto axis = node.integer(2);
    const auto at = axis ? at_axis(*axis, input->size()) : std::nullopt;
    Shape result = at && times ? *input : open_shape(input->size());
    if (at && times) result[*at] = result[*at] * number(*times);
    return node.set(0, element, std::move(result));
  }
  const auto repeats = sizes_as_shape(node, 1);
  if (node.failed()) return;
  if (!repeats) return node.set(0, element, open_shape(input->size()));
  if (repeats->size() != input->size())
    return node.fail(std::to_string(repeats->size()) + " repeats for " + text(*input));
  Shape result;
  for (size_t k = 0; k < input->size(); ++k) result.push_back((*input)[k] * (*repeats)[k]);
  node.set(0, element, std::move(result));
  if (const FoldedPtr given = node.sizes(1)) fold_tiled(node, given->elements);
}

// How many of the first `size` elements a condition keeps; it may be shorter, the rest goes.
Dimension kept(const FoldedPtr& condition, const Dimension& size) {
  if (condition == nullptr || !condition->complete() || !size.known()) return {};
  int64_t count = 0;
  const auto length = std::min(std::ssize(condition->elements), size.value);
  for (int64_t k = 0; k < length; ++k)
    count += condition->elements[static_cast<size_t>(k)].i != 0 ? 1 : 0;
  return number(count);
}

void compress(NodeContext& node) {
  const ElementType element = node.element(0);
  const Shape* input = node.shape(0);
  const FoldedPtr condition = node.data(1);
  const Attribute* attribute = node.node().find("axis");
  if (attribute == nullptr)
    return node.set(
        0, element,
        {kept(condition, input != nullptr ? product(*input, 0, input->size()) : Dimension{})});
  node.set_element(0, element);
  if (input == nullptr) return;
  const auto axis = at_axis(attribute->i, input->size());
  if (!axis) return node.fail("axis " + std::to_string(attribute->i) + " of " + text(*input));
  Shape result = *input;
  result[*axis] = kept(condition, result[*axis]);
  node.set(0, element, std::move(result));
}

void center_crop_pad(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const auto target = sizes_as_shape(node, 1);
  if (!target) return node.failed() ? void() : node.set(0, element, open_shape(input->size()));
  const Attribute* attribute = node.node().find("axes");
  std::vector<int64_t> axes = all_axes(input->size());
  if (attribute != nullptr) axes = attribute->ints;
  if (axes.size() != target->size())
    return node.fail(std::to_string(target->size()) + " sizes for " + std::to_string(axes.size()) +
                     " axes");
  Shape result = *input;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = at_axis(axes[k], input->size());
    if (!axis) return node.fail("axis " + std::to_string(axes[k]) + " of " + text(*input));
    result[*axis] = (*target)[k];
  }
  node.set(0, element, std::move(result));
}

constexpr RuleRow kRows[] = {
    {"CenterCropPad", center_crop_pad},
    {"Compress", compress},
    {"Concat", concat},
    {"Expand", expand},
    {"Pad", pad},
    {"Slice", slice},
    {"Split", split},
    {"Tile", tile},
};

}  // namespace

RuleRows slicing_rules() { return kRows; }

std::optional<Joined> joined(NodeContext& node, int64_t axis, size_t first, size_t step) {
  std::optional<Joined> result;
  bool complete = true;
  for (size_t i = first; i < node.inputs(); i += step) {
    const Shape* part = node.shape(i);
    if (part == nullptr) {
      complete = false;
      continue;
    }
    if (!result) {
      const auto at = at_axis(axis, part->size());
      if (!at) {
        node.fail("axis " + std::to_string(axis) + " of " + text(*part));
        return std::nullopt;
      }
      result = Joined{*part, *at, true};
      continue;
    }
    Shape& whole = result->shape;
    bool fits = part->size() == whole.size();
    for (size_t k = 0; fits && k < whole.size(); ++k) {
      const Dimension& next = (*part)[k];
      if (k != result->axis && whole[k].known() && next.known())
        fits = whole[k].value == next.value;
      whole[k] = k == result->axis ? whole[k] + next : either(whole[k], next);
    }
    if (!fits) {
      node.fail("parts of shapes " + text(whole) + " and " + text(*part));
      return std::nullopt;
    }
  }
  if (result && !complete) result->shape[result->axis] = {};
  if (result) result->complete = complete;
  return result;
}

}  // namespace edgesage::onnx
