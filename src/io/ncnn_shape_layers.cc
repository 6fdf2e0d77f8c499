// Layers of ncnn that move or select data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "src/io/ncnn_layers.h"

namespace edgesage {
namespace {

constexpr int64_t kUnset = -233;
constexpr int64_t kMostSide = int64_t{1} << 31;
constexpr int64_t kMostPad = 1 << 20;
constexpr int64_t kMostScale = 1 << 16;

int64_t elements(const Shape& shape) {
  Tensor tensor;
  tensor.shape = shape;
  return tensor.element_count();
}

NcnnOutputs pass(const NcnnCall& call) {
  return std::vector<int32_t>(std::max<size_t>(1, call.layer.outputs.size()), call.in[0]);
}

NcnnOutputs concat(const NcnnCall& call) {
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t axis, call.axis(call.layer.integer(0, 0)));
  if (call.in.size() == 1) return pass(call);
  Shape out = call.shape();
  for (size_t i = 1; i < call.in.size(); ++i) {
    const Shape& part = call.shape(i);
    for (size_t d = 0; d < out.size(); ++d)
      if (part.size() != out.size() || (d != static_cast<size_t>(axis) && part[d] != out[d]))
        return call.bad(fmt::format("joins blobs that differ beside axis {}", axis));
    out[static_cast<size_t>(axis)] += part[static_cast<size_t>(axis)];
  }
  Operator op;
  op.kind = OpKind::kConcatenation;
  op.inputs = call.in;
  op.set("axis", axis);
  return std::vector{call.net.add(std::move(op), out)};
}

NcnnOutputs slice(const NcnnCall& call) {
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t axis, call.axis(call.layer.integer(1, 0)));
  const std::vector<int64_t> sizes = call.layer.integers(0);
  const Shape in = call.shape();
  const int64_t whole = in[static_cast<size_t>(axis)];
  if (sizes.empty() || sizes.size() != call.layer.outputs.size())
    return call.bad(
        fmt::format("gives {} sizes for {} outputs", sizes.size(), call.layer.outputs.size()));
  std::vector<int64_t> parts;
  int64_t left = whole;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t part =
        sizes[i] == kUnset ? left / static_cast<int64_t>(sizes.size() - i) : sizes[i];
    if (part <= 0 || part > left)
      return call.bad(fmt::format("takes {} of the {} that are left of axis {}", part, left, axis));
    parts.push_back(part);
    left -= part;
  }
  std::vector<Shape> shapes(parts.size(), in);
  for (size_t i = 0; i < parts.size(); ++i) shapes[i][static_cast<size_t>(axis)] = parts[i];
  const bool equal =
      std::all_of(parts.begin(), parts.end(), [&](int64_t p) { return p == parts[0]; });
  Operator op;
  const int32_t dimension = call.net.ints({axis});
  call.net.graph().main().tensors.back().shape = {};
  op.set("num_splits", static_cast<int64_t>(parts.size()));
  if (equal && left == 0) {
    op.kind = OpKind::kSplit;
    op.inputs = {dimension, call.in[0]};
  } else {
    op.kind = OpKind::kSplitV;
    op.inputs = {call.in[0], call.net.ints(parts), dimension};
  }
  return call.net.add(std::move(op), shapes);
}

NcnnOutputs emit_slice(const NcnnCall& call, std::vector<int64_t> begin, const Shape& out) {
  Operator op;
  op.kind = OpKind::kSlice;
  op.inputs = {call.in[0], call.net.ints(begin), call.net.ints(out)};
  return std::vector{call.net.add(std::move(op), out)};
}

NcnnOutputs crop_by_axes(const NcnnCall& call) {
  const auto starts = call.layer.integers(9), ends = call.layer.integers(10);
  std::vector<int64_t> axes = call.layer.integers(11);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (starts.size() != ends.size() || starts.size() != axes.size())
    return call.bad("gives starts, ends and axes of different lengths");
  Shape out = call.shape();
  std::vector<int64_t> begin(out.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t axis, call.axis(axes[i]));
    const auto d = static_cast<size_t>(axis);
    const int64_t size = call.shape()[d];
    const int64_t first = starts[i] == kUnset ? 0 : starts[i] < 0 ? size + starts[i] : starts[i];
    const int64_t last = ends[i] == kUnset ? size : ends[i] <= 0 ? size + ends[i] : ends[i];
    begin[d] = first;
    out[d] = std::min(last, size) - first;
    if (first < 0 || out[d] <= 0)
      return call.bad(fmt::format("crops from {} to {} of {}", first, last, size));
  }
  return emit_slice(call, std::move(begin), out);
}

NcnnOutputs crop(const NcnnCall& call) {
  if (call.layer.has(9)) return crop_by_axes(call);
  if (call.in.size() > 1) {  // to the size of the second blob
    if (call.shape(1).size() != call.shape().size())
      return call.bad("crops to a blob of other rank");
    Shape out = call.shape(1);
    if (out.size() == 4) out[3] = call.shape()[3];
    return emit_slice(call, std::vector<int64_t>(out.size(), 0), out);
  }
  if (call.shape().size() != 4) return call.bad("reads a blob that is no image");
  // Width, height, channels: offset 0, 1, 2; size 3, 4, 5; offset from the end 6, 7, 8.
  constexpr std::array<size_t, 3> kDimension{2, 1, 3};
  Shape out = call.shape();
  std::vector<int64_t> begin(4, 0);
  for (int i = 0; i < 3; ++i) {
    const size_t d = kDimension[static_cast<size_t>(i)];
    const int64_t size = call.shape()[d];
    begin[d] = call.layer.integer(i, 0);
    const int64_t wanted = call.layer.integer(3 + i, 0);
    const int64_t behind = call.layer.integer(6 + i, 0);
    out[d] = wanted > 0 ? wanted : size - begin[d] - behind;
    if (begin[d] < 0 || behind < 0 || out[d] <= 0 || begin[d] > size || out[d] > size - begin[d])
      return call.bad(fmt::format("crops {} from {} of {}", out[d], begin[d], size));
  }
  return emit_slice(call, std::move(begin), out);
}

NcnnOutputs flatten(const NcnnCall& call) {
  if (call.shape().size() == 2) return pass(call);
  return std::vector{call.net.reshape(call.in[0], {1, elements(call.shape())})};
}

NcnnOutputs reshape(const NcnnCall& call) {
  const Shape in = call.shape();
  const int64_t w = call.layer.integer(0, kUnset), h = call.layer.integer(1, kUnset);
  const int64_t c = call.layer.integer(2, kUnset);
  if (call.layer.has(11) && call.layer.integer(11, kUnset) != kUnset)
    return call.bad("reshapes to four dimensions, which is not read");
  Shape out = h == kUnset ? Shape{1, w} : c == kUnset ? Shape{1, h, w} : Shape{1, h, w, c};
  size_t open = 0;
  int64_t known = 1;
  for (size_t i = 1; i < out.size(); ++i) {
    if (out[i] == 0 && i < in.size()) out[i] = in[i];
    if (out[i] == -1 && open == 0) {
      open = i;
      continue;
    }
    if (out[i] <= 0 || out[i] > kMostSide)
      return call.bad(fmt::format("reshapes to a side of {}", out[i]));
    known = elements({known, out[i]});
  }
  const int64_t all = elements(in);
  if (open > 0) out[open] = all / known;
  if (elements(out) != all)
    return call.bad(fmt::format("reshapes {} elements to {}", all, elements(out)));
  if (out == in) return pass(call);
  return std::vector{call.net.reshape(call.in[0], out)};
}

NcnnOutputs permute(const NcnnCall& call) {
  const int64_t type = call.layer.integer(0, 0);
  const Shape& in = call.shape();
  if (in.size() == 2 || type == 0) return pass(call);
  if (in.size() == 3) return std::vector{call.net.transpose(call.in[0], {0, 2, 1})};
  // The new width, height and channels, as dimensions of the old NHWC tensor.
  constexpr int64_t kW = 2, kH = 1, kC = 3;
  constexpr std::array<std::array<int64_t, 3>, 6> kOrders{
      {{kW, kH, kC}, {kH, kW, kC}, {kW, kC, kH}, {kC, kW, kH}, {kH, kC, kW}, {kC, kH, kW}}};
  if (type < 0 || type >= static_cast<int64_t>(kOrders.size()))
    return call.bad(fmt::format("has order {}; 0 to 5 are allowed", type));
  const auto& order = kOrders[static_cast<size_t>(type)];
  return std::vector{call.net.transpose(call.in[0], {0, order[1], order[0], order[2]})};
}

NcnnOutputs shuffle_channel(const NcnnCall& call) {
  const Shape in = call.shape();
  if (in.size() != 4) return call.bad("reads a blob that is no image");
  EDGESAGE_ASSIGN_OR_RETURN(int64_t groups, call.bounded(0, 1, 1, in[3], "groups"));
  if (in[3] % groups != 0)
    return call.bad(fmt::format("shuffles {} channels in {} groups", in[3], groups));
  if (call.layer.integer(1, 0) != 0) groups = in[3] / groups;
  int32_t x = call.net.reshape(call.in[0], {1, in[1] * in[2], groups, in[3] / groups});
  x = call.net.transpose(x, {0, 1, 3, 2});
  return std::vector{call.net.reshape(x, in)};
}

NcnnOutputs padding(const NcnnCall& call) {
  std::array<int64_t, 6> amount{};  // top, bottom, left, right, front, behind
  constexpr std::array<int, 6> kIds{0, 1, 2, 3, 7, 8};
  int64_t sum = 0;
  for (size_t i = 0; i < amount.size(); ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(amount[i], call.bounded(kIds[i], 0, 0, kMostPad, "padding"));
    sum += amount[i];
  }
  if (sum == 0) return pass(call);
  const auto [top, bottom, left, right, front, behind] = amount;
  switch (call.shape().size()) {
    case 4:
      return std::vector{call.net.pad(call.in[0], {0, 0, top, bottom, left, right, front, behind})};
    case 3:
      return std::vector{call.net.pad(call.in[0], {0, 0, top, bottom, left, right})};
    default:
      return std::vector{call.net.pad(call.in[0], {0, 0, left, right})};
  }
}

NcnnOutputs interp(const NcnnCall& call) {
  const Shape in = call.shape();
  if (in.size() != 4) return call.bad("reads a blob that is no image");
  Shape out = in;
  for (const auto& [size_id, scale_id, d] : {std::array{3, 1, 1}, std::array{4, 2, 2}}) {
    const auto dimension = static_cast<size_t>(d);
    EDGESAGE_ASSIGN_OR_RETURN(const int64_t size,
                              call.bounded(size_id, 0, 0, kMostPad, "output size"));
    const double scale = call.layer.real(scale_id, 1);
    if (!(scale > 0 && scale <= static_cast<double>(kMostScale)))
      return call.bad(fmt::format("scales by {}", scale));
    const double scaled = static_cast<double>(in[dimension]) * scale;
    if (scaled > static_cast<double>(kMostSide))
      return call.bad(fmt::format("scales by {}", scale));
    out[dimension] = size > 0 ? size : std::max<int64_t>(1, static_cast<int64_t>(scaled));
  }
  Operator op;
  op.kind =
      call.layer.integer(0, 0) == 1 ? OpKind::kResizeNearestNeighbor : OpKind::kResizeBilinear;
  op.inputs = {call.in[0], call.net.ints({out[1], out[2]})};
  op.set("align_corners", static_cast<int64_t>(call.layer.integer(6, 0) != 0));
  return std::vector{call.net.add(std::move(op), out)};
}

struct Named {
  std::string_view type;
  NcnnRule rule;
};
constexpr std::array kRules{Named{"Split", {pass}},      Named{"Noop", {pass}},
                            Named{"Dropout", {pass}},    Named{"Concat", {concat}},
                            Named{"Slice", {slice}},     Named{"Crop", {crop}},
                            Named{"Flatten", {flatten}}, Named{"Reshape", {reshape}},
                            Named{"Permute", {permute}}, Named{"ShuffleChannel", {shuffle_channel}},
                            Named{"Padding", {padding}}, Named{"Interp", {interp}}};

}  // namespace

std::optional<NcnnRule> ncnn_shape_rule(std::string_view type) {
  for (const Named& named : kRules)
    if (named.type == type) return named.rule;
  return std::nullopt;
}

}  // namespace edgesage
