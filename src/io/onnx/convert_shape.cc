// Rules for nodes that give the same elements another shape or order, or join, pad and repeat them.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

// The same tensor under another view; nothing runs.
Outcome viewed(Call& call, View view) {
  Val value = call.in(0);
  value.view = std::move(view);
  value.made_by = -1;
  if (value.quant != nullptr && value.quant->axis >= 0) {
    auto quant = std::make_shared<QuantParameters>(*value.quant);
    quant->axis = std::min(quant->axis, static_cast<int64_t>(value.view.rank()) - 1);
    value.quant = std::move(quant);
  }
  return one(std::move(value));
}

Outcome to_shape(Call& call, const Shape& shape) {
  const Val& in = call.in(0);
  if (elements(shape) == elements(in.view.shape()))
    if (auto view = in.view.reshaped(shape)) return viewed(call, *std::move(view));
  // Sides that do not line up with the data's order: bring it in order first.
  const bool integers = in.quant != nullptr;
  const Id plain = integers && !in.is_constant() ? call.net.stored(in, plain_order(in.view.rank()))
                                                 : call.plain(0);
  if (elements(shape) != elements(in.view.shape()))
    return one(call.moved(call.net.reshape(plain, shape), View::plain(shape), in));
  Val value = call.moved(plain, View::plain(shape), in);
  value.made_by = -1;
  return one(std::move(value));
}

Outcome reshape(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  if (call.knows(0)) return to_shape(call, call.out_shape());
  return std::vector<Val>{};
}

Outcome flatten(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  const Shape in = call.shape(0);
  int64_t axis = call.node.attr_int("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(in.size());
  if (axis < 0 || axis > static_cast<int64_t>(in.size())) return std::vector<Val>{};
  const auto middle = in.begin() + axis;
  return to_shape(call, {elements(Shape(in.begin(), middle)), elements(Shape(middle, in.end()))});
}

Outcome transpose(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  const size_t rank = call.rank(0);
  const auto given = call.node.attr_ints("perm");
  std::vector<int64_t> order(given.begin(), given.end());
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<bool> taken(rank, false);
  for (const int64_t d : order) {
    if (d < 0 || d >= static_cast<int64_t>(rank) || taken[static_cast<size_t>(d)])
      return std::vector<Val>{};
    taken[static_cast<size_t>(d)] = true;
  }
  if (order.size() != rank) return std::vector<Val>{};
  Val value = call.in(0);
  value.view = value.view.transposed(order);
  value.made_by = -1;
  if (value.quant != nullptr && value.quant->axis >= 0) {
    auto quant = std::make_shared<QuantParameters>(*value.quant);
    quant->axis = std::ranges::find(order, quant->axis) - order.begin();
    value.quant = std::move(quant);
  }
  return one(std::move(value));
}

// The numbers that a node which only moves elements works with: integers where the input has some.
struct Moving {
  DimOrder order;
  Id x = kNoTensor;
  Made made;
};

Moving moving(Call& call, size_t i = 0) {
  Moving moving;
  const Val& in = call.in(i);
  moving.order = call.layout(i);
  // Integers of slices along an axis would mean something else after the move.
  const bool keeps = in.quant != nullptr && !in.is_constant();
  moving.x = keeps ? call.net.stored(in, moving.order) : call.x(i, moving.order);
  moving.made = call.net.made_of(moving.x);
  return moving;
}

Val moved(Call& call, Id id, const DimOrder& order, const Val& from, size_t output = 0) {
  View view = call.knows(output) && call.out_shape(output).size() == from.view.rank()
                  ? View(call.out_shape(output), order)
                  : View::plain(call.net.shape(id));
  Val value = call.moved(id, std::move(view), from, output);
  if (from.is_constant()) value.quant = nullptr;
  return value;
}

// Where an ONNX dimension lies.
int64_t place_of(const DimOrder& order, int64_t dim) {
  return std::ranges::find(order, static_cast<int32_t>(dim)) - order.begin();
}

Outcome concat(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  const size_t rank = call.rank(0);
  const auto axis = Call::axis(call.node.attr_int("axis", 1), rank);
  if (!axis) return std::vector<Val>{};
  size_t leader = 0;
  bool all_integers = true;
  for (size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i) || call.rank(i) != rank) return std::vector<Val>{};
    if (call.in(leader).is_constant() && !call.in(i).is_constant()) leader = i;
    all_integers = all_integers && call.in(i).quant != nullptr &&
                   *call.in(i).quant == *call.in(0).quant && !call.in(i).is_constant();
  }
  const DimOrder order = call.layout(leader);
  Operator op;
  op.kind = OpKind::kConcatenation;
  const bool keeps = all_integers && !call.quantised();
  for (size_t i = 0; i < call.count(); ++i)
    op.inputs.push_back(keeps ? call.net.stored(call.in(i), order) : call.x(i, order));
  const int64_t place = place_of(order, *axis);
  op.set("axis", place);
  op.set("fused_activation_function", int64_t{0});
  Shape stored = call.net.shape(op.inputs[0]);
  if (static_cast<size_t>(place) >= stored.size()) return std::vector<Val>{};
  int64_t& side = stored[static_cast<size_t>(place)];
  for (size_t i = 1; i < op.inputs.size(); ++i)
    side += call.net.shape(op.inputs[i])[static_cast<size_t>(place)];
  const Made made = keeps ? call.net.made_of(op.inputs[0]) : call.made();
  const Id id = call.net.add(std::move(op), made, std::move(stored));
  Shape out = call.shape(leader);
  out[static_cast<size_t>(*axis)] = call.net.shape(id)[static_cast<size_t>(place)];
  Val value = call.result(id, View(out, order));
  if (keeps) value.quant = call.in(0).quant;
  return one(std::move(value));
}

Outcome split(Call& call) {
  if (!call.has(0)) return std::vector<Val>{};
  const auto axis = Call::axis(call.node.attr_int("axis", 0), call.rank(0));
  if (!axis || call.outputs() == 0) return std::vector<Val>{};
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < call.outputs(); ++i) {
    if (!call.knows(i) || call.out_shape(i).size() != call.rank(0)) return std::vector<Val>{};
    sizes.push_back(call.out_shape(i)[static_cast<size_t>(*axis)]);
  }
  const Moving from = moving(call);
  const int64_t place = place_of(from.order, *axis);
  std::vector<Shape> shapes(sizes.size(), call.net.shape(from.x));
  for (size_t i = 0; i < sizes.size(); ++i) shapes[i][static_cast<size_t>(place)] = sizes[i];
  const bool equal = std::ranges::all_of(sizes, [&](int64_t size) { return size == sizes[0]; });
  Operator op;
  op.set("num_splits", static_cast<int64_t>(sizes.size()));
  const Id dimension = call.net.ints({place}, true);
  if (equal) {
    op.kind = OpKind::kSplit;
    op.inputs = {dimension, from.x};
  } else {
    op.kind = OpKind::kSplitV;
    op.inputs = {from.x, call.net.ints(sizes), dimension};
  }
  const std::vector<Id> ids = call.net.add(std::move(op), from.made, shapes);
  std::vector<Val> values;
  for (size_t i = 0; i < ids.size(); ++i)
    values.push_back(moved(call, ids[i], from.order, call.in(0), i));
  return values;
}

Outcome slice(Call& call) {
  if (!call.has(0) || !call.knows(0)) return std::vector<Val>{};
  const size_t rank = call.rank(0);
  const Shape in = call.shape(0), out = call.out_shape();
  const auto starts = call.ints_of("starts", 1);
  auto axes = call.ints_of("axes", 3);
  const auto given_steps = call.node.since >= 10 ? call.ints(4) : std::nullopt;
  const bool open = !starts || (call.has(3) && !axes) || (call.has(4) && !given_steps);
  const Moving from = moving(call);
  std::vector<int64_t> begin(rank, 0), steps(rank, 1);
  if (!open) {
    if (!axes) {
      axes.emplace(starts->size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    for (size_t i = 0; i < axes->size() && i < starts->size(); ++i) {
      const auto d = Call::axis((*axes)[i], rank);
      if (!d) return std::vector<Val>{};
      const auto at = static_cast<size_t>(*d);
      const int64_t start = (*starts)[i] < 0 ? (*starts)[i] + in[at] : (*starts)[i];
      begin[at] = std::clamp<int64_t>(start, 0, in[at]);
      if (given_steps && i < given_steps->size()) steps[at] = (*given_steps)[i];
    }
  }
  const auto ordered = [&](const std::vector<int64_t>& values, int64_t otherwise) {
    std::vector<int64_t> result;
    for (const int32_t d : from.order)
      result.push_back(d == kNoDim ? otherwise : values[static_cast<size_t>(d)]);
    return result;
  };
  if (out.size() != rank) return std::vector<Val>{};
  const Shape size = View(out, from.order).stored_shape(from.order);
  const bool strided = std::ranges::any_of(steps, [](int64_t step) { return step != 1; });
  if (size == call.net.shape(from.x) && !strided) {
    Val value = call.in(0);
    value.element = call.out_element();
    return one(std::move(value));
  }
  Operator op;
  op.kind = strided ? OpKind::kStridedSlice : OpKind::kSlice;
  const std::vector<int64_t> first = ordered(begin, 0);
  if (strided) {
    std::vector<int64_t> last = first;
    const std::vector<int64_t> stride = ordered(steps, 1);
    for (size_t d = 0; d < last.size(); ++d) last[d] += size[d] * stride[d];
    op.inputs = {from.x, call.net.ints(first), call.net.ints(last), call.net.ints(stride)};
  } else {
    op.inputs = {from.x, call.net.ints(first), call.net.ints(size)};
  }
  return one(moved(call, call.net.add(std::move(op), from.made, size), from.order, call.in(0)));
}

Outcome pad(Call& call) {
  if (!call.has(0) || !call.knows(0)) return std::vector<Val>{};
  const size_t rank = call.rank(0);
  const Shape in = call.shape(0), out = call.out_shape();
  auto given = call.node.find("pads") != nullptr       ? call.ints_of("pads", 99)
               : call.node.find("paddings") != nullptr ? call.ints_of("paddings", 99)
                                                       : call.ints(1);
  if (out.size() != rank) return std::vector<Val>{};
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  auto axes = call.ints(3);
  if (!axes) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (given && given->size() == 2 * axes->size()) {
    for (size_t i = 0; i < axes->size(); ++i) {
      const auto d = Call::axis((*axes)[i], rank);
      if (!d) return std::vector<Val>{};
      before[static_cast<size_t>(*d)] = (*given)[i];
      after[static_cast<size_t>(*d)] = (*given)[i + axes->size()];
    }
  } else {
    for (size_t d = 0; d < rank; ++d) after[d] = out[d] - in[d];
  }
  const std::string_view mode = call.node.attr_string("mode", "constant");
  const double value = call.node.find("value") != nullptr ? call.node.attr_float("value", 0)
                                                          : call.real(2).value_or(0);
  const Moving from = moving(call);
  std::vector<int64_t> pads, begin;
  Shape size;
  for (size_t s = 0; s < from.order.size(); ++s) {
    const auto d = static_cast<size_t>(std::max(from.order[s], 0));
    const bool moves = from.order[s] != kNoDim;
    const int64_t low = moves ? before[d] : 0, high = moves ? after[d] : 0;
    pads.insert(pads.end(), {std::max<int64_t>(0, low), std::max<int64_t>(0, high)});
    begin.push_back(std::max<int64_t>(0, -low));
    size.push_back(std::max<int64_t>(
        0, call.net.shape(from.x)[s] + std::min<int64_t>(0, low) + std::min<int64_t>(0, high)));
  }
  const bool mirror = mode == "reflect";
  const OpKind kind = mirror || mode == "edge" || mode == "wrap" ? OpKind::kMirrorPad
                      : value != 0                               ? OpKind::kPadv2
                                                                 : OpKind::kPad;
  if (mode == "edge" || mode == "wrap")
    call.note("Pad repeats the edge: counted as MIRROR_PAD, which costs the same");
  Id id = call.net.slice(from.x, begin, size);
  id = call.net.pad(id, pads, kind, value);
  if (id == from.x) {
    Val same = call.in(0);
    return one(std::move(same));
  }
  return one(moved(call, id, from.order, call.in(0)));
}

// REPEAT and EXPAND.
Outcome tile(Call& call) {
  if (!call.has(0) || !call.knows(0) || call.out_shape().size() != call.rank(0))
    return std::vector<Val>{};
  const Moving from = moving(call);
  const Shape stored = View(call.out_shape(), from.order).stored_shape(from.order);
  const Shape& own = call.net.shape(from.x);
  if (stored == own) return one(call.in(0));
  std::vector<int64_t> times;
  for (size_t d = 0; d < stored.size(); ++d)
    times.push_back(stored[d] / std::max<int64_t>(1, own[d]));
  Operator op;
  op.kind = OpKind::kTile;
  op.inputs = {from.x, call.net.ints(times)};
  return one(moved(call, call.net.add(std::move(op), from.made, stored), from.order, call.in(0)));
}

Outcome expand(Call& call) {
  if (!call.has(0) || !call.knows(0)) return std::vector<Val>{};
  const Shape out = call.out_shape();
  if (out == call.shape(0)) return one(call.in(0));
  Shape full(out.size() - std::min(out.size(), call.rank(0)), 1);
  const Shape in = call.shape(0);
  full.insert(full.end(), in.begin(), in.end());
  Operator op;
  op.kind = OpKind::kBroadcastTo;
  const Id x = call.plain(0);
  op.inputs = {x, call.net.ints(out)};
  const Made made = call.net.made_of(x);
  Val value = call.moved(call.net.add(std::move(op), made, out), View::plain(out), call.in(0));
  if (call.in(0).quant != nullptr && !call.quantised()) value.quant = nullptr;
  return one(std::move(value));
}

// Blocks of pixels to and from channels. Channels first by block (DCR) or by channel (CRD): the
// same work.
Outcome depth_to_space(Call& call) {
  if (!call.has(0) || call.rank(0) != 4 || !call.knows(0)) return std::vector<Val>{};
  const bool widens = call.op() == "DepthToSpace";
  const DimOrder order = image_order(4);
  const Val& in = call.in(0);
  const bool keeps = in.quant != nullptr && !in.is_constant();
  const Id x = keeps ? call.net.stored(in, order) : call.x(0, order);
  Operator op;
  op.kind = widens ? OpKind::kDepthToSpace : OpKind::kSpaceToDepth;
  op.inputs = {x};
  op.set("block_size", call.node.attr_int("blocksize", 1));
  const Shape stored = View(call.out_shape(), order).stored_shape(order);
  return one(moved(call, call.net.add(std::move(op), call.net.made_of(x), stored), order, in));
}

// Rows of one dimension are images of height 1.
Outcome resize(Call& call) {
  const size_t rank = call.has(0) ? call.rank(0) : 0;
  if ((rank != 3 && rank != 4) || !call.knows(0) || call.out_shape().size() != rank)
    return std::vector<Val>{};
  const Shape in = call.shape(0), out = call.out_shape();
  const Val& from = call.in(0);
  // Sides that stay are batch and channels; which two move says whether it is NCHW or NHWC.
  const bool last_moves = rank == 4 && out[1] != in[1] && out[3] == in[3];
  const DimOrder order = last_moves ? plain_order(4) : image_order(rank);
  if (out[0] != in[0] || (!last_moves && out[1] != in[1])) return std::vector<Val>{};
  const std::string_view mode = call.node.attr_string("mode", "nearest");
  const std::string_view where = call.node.attr_string(
      "coordinate_transformation_mode", call.node.since >= 11 ? "half_pixel" : "asymmetric");
  const bool keeps = from.quant != nullptr && !from.is_constant();
  const Id x = keeps ? call.net.stored(from, order) : call.x(0, order);
  const Shape stored = View(out, order).stored_shape(order);
  if (stored == call.net.shape(x)) return one(from);
  Operator op;
  op.kind = mode == "nearest" ? OpKind::kResizeNearestNeighbor : OpKind::kResizeBilinear;
  op.inputs = {x, call.net.ints({stored[1], stored[2]})};
  op.set("align_corners", static_cast<int64_t>(where == "align_corners"));
  op.set("half_pixel_centers",
         static_cast<int64_t>(where.ends_with("half_pixel") || where == "pytorch_half_pixel"));
  if (mode == "cubic") call.note("Resize of mode cubic is counted as RESIZE_BILINEAR");
  return one(moved(call, call.net.add(std::move(op), call.net.made_of(x), stored), order, from));
}

constexpr std::array kRules{
    NamedRule{"Reshape", reshape},
    NamedRule{"Flatten", flatten},
    NamedRule{"Squeeze", reshape},
    NamedRule{"Unsqueeze", reshape},
    NamedRule{"Transpose", transpose},
    NamedRule{"Concat", concat},
    NamedRule{"Split", split},
    NamedRule{"Slice", slice},
    NamedRule{"Pad", pad},
    NamedRule{"Tile", tile},
    NamedRule{"Expand", expand},
    NamedRule{"DepthToSpace", depth_to_space},
    NamedRule{"SpaceToDepth", depth_to_space},
    NamedRule{"Resize", resize},
    NamedRule{"Upsample", resize},
};

}  // namespace

std::span<const NamedRule> shape_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
