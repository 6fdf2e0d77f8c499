// Rules for normalisations and softmax. TFLite has no operator for most of the former, so that
// converters write them as means, differences and products; so does this.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Outcome nothing() { return std::vector<Val>{}; }

// A constant of a value a channel in [C]; kNoTensor where it is left out.
Id per_channel(Call& call, size_t i) {
  return call.has(i) ? call.x(i, plain_order(call.rank(i))) : kNoTensor;
}

// Folded into the convolution before it: the weights change their values, a bias there is.
std::optional<Val> fold(Call& call) {
  Operator* op = call.sole_producer(0);
  if (op == nullptr || op->attr_int("fused_activation_function", 0) != 0) return std::nullopt;
  const auto slot = bias_slot(*op);
  if (!slot) return std::nullopt;
  Emitter& net = call.net;
  const Val& in = call.in(0);
  const int64_t channels = in.view.shape()[1];
  if (op->inputs.size() <= *slot) op->inputs.resize(*slot + 1, kNoTensor);
  if (net.tensor(op->inputs[1]).is_constant()) {
    Tensor weights = net.tensor(op->inputs[1]);
    if (weights.quantization.empty()) {
      weights.buffer = net.constants().absent();
      op->inputs[1] = static_cast<Id>(net.subgraph().tensors.size());
      net.subgraph().tensors.push_back(std::move(weights));
    }
  } else {
    return std::nullopt;
  }
  const bool integers = in.quant != nullptr;
  const Made bias{integers ? DataType::kInt32 : net.tensor(in.tensor).type, nullptr};
  op->inputs[*slot] = net.absent(bias, {channels});
  return in;
}

Outcome batch_normalization(Call& call) {
  if (call.count() < 5 || !call.has(0) || call.rank(0) < 2 ||
      call.node.attr_int("training_mode", 0) != 0)
    return nothing();
  const bool constant = call.in(1).is_constant() && call.in(2).is_constant() &&
                        call.in(3).is_constant() && call.in(4).is_constant();
  if (constant)
    if (auto value = fold(call)) return one(*std::move(value));
  // A value a channel, multiplied and added.
  const size_t rank = call.rank(0);
  const DimOrder order = rank > 2 ? image_order(rank) : plain_order(rank);
  const Made made = call.made();
  Id x = call.x(0, order);
  const Shape channels{call.shape(0)[1]};
  const Id scale = constant ? call.net.absent(made, channels) : per_channel(call, 1);
  const Id shift = constant ? call.net.absent(made, channels) : per_channel(call, 2);
  x = call.net.binary(OpKind::kMul, x, scale, made);
  x = call.net.binary(OpKind::kAdd, x, shift, made);
  return one(call.result(x, View(call.shape(0), order)));
}

Outcome layer_norm_node(Call& call, bool centred) {
  if (!call.has(0)) return nothing();
  const auto axis = Call::axis(call.node.attr_int("axis", -1), call.rank(0));
  if (!axis) return nothing();
  const double epsilon = call.node.attr_float("epsilon", 1e-5);
  return one(layer_norm(call, call.in(0), *axis, epsilon, centred, call.has(1) ? call.in(1) : Val{},
                        centred && call.has(2) ? call.in(2) : Val{}));
}

Outcome layer_normalization(Call& call) { return layer_norm_node(call, true); }
Outcome rms_normalization(Call& call) { return layer_norm_node(call, false); }

// input, skip, gamma, beta, bias.
Outcome skip_norm(Call& call, bool centred) {
  if (!call.has(0) || !call.has(1)) return nothing();
  const size_t rank = call.rank(0);
  const Made made = call.made();
  const Id sum = call.net.binary(OpKind::kAdd, call.plain(0), call.plain(1), made);
  const double epsilon = call.node.attr_float("epsilon", 1e-5);
  const Id id = normalize(call, sum, {static_cast<int64_t>(rank) - 1}, epsilon, centred,
                          per_channel(call, 2), centred ? per_channel(call, 3) : kNoTensor);
  std::vector<Val> values{call.result(id, View::plain(call.shape(0)))};
  values.resize(std::max<size_t>(call.outputs(), 1));
  if (call.outputs() > 3) {
    values[3] = call.result(sum, View::plain(call.shape(0)), 3);
    values[3].made_by = -1;
  }
  return values;
}

Outcome skip_layer_normalization(Call& call) { return skip_norm(call, true); }
Outcome skip_rms_normalization(Call& call) { return skip_norm(call, false); }

Outcome instance_normalization(Call& call) {
  if (!call.has(0) || call.rank(0) < 3) return nothing();
  const size_t rank = call.rank(0);
  const DimOrder order = image_order(rank);
  std::vector<int64_t> axes;
  for (size_t d = 1; d + 1 < order.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  const double epsilon = call.node.attr_float("epsilon", 1e-5);
  const Id id = normalize(call, call.x(0, order), axes, epsilon, true, per_channel(call, 1),
                          per_channel(call, 2));
  return one(call.result(id, View(call.shape(0), order)));
}

// Channels in groups: an image of groups, normalised over pixels and the channels of a group.
Outcome group_normalization(Call& call) {
  const int64_t groups = call.node.attr_int(call.op() == "GroupNorm" ? "groups" : "num_groups", 0);
  if (!call.has(0) || call.rank(0) < 3 || groups <= 0 || call.op() == "GroupNorm") return nothing();
  const Shape in = call.shape(0);
  if (in[1] % groups != 0) return nothing();
  const DimOrder order = image_order(in.size());
  Id x = call.x(0, order);
  const Shape image = call.net.shape(x);
  const int64_t pixels = elements(in) / std::max<int64_t>(1, in[0] * in[1]);
  x = call.net.reshape(x, {in[0], pixels, groups, in[1] / groups});
  const double epsilon = call.node.attr_float("epsilon", 1e-5);
  x = normalize(call, x, {1, 3}, epsilon, true, kNoTensor, kNoTensor);
  x = call.net.reshape(x, image);
  const Made made = call.made();
  if (call.has(1) && elements(call.shape(1)) == in[1])
    x = call.net.binary(OpKind::kMul, x, per_channel(call, 1), made);
  if (call.has(2) && elements(call.shape(2)) == in[1])
    x = call.net.binary(OpKind::kAdd, x, per_channel(call, 2), made);
  return one(call.result(x, View(in, order)));
}

Outcome local_response(Call& call) {
  if (!call.has(0) || call.rank(0) != 4) return nothing();
  const DimOrder order = image_order(4);
  Operator op;
  op.kind = OpKind::kLocalResponseNormalization;
  const Id x = call.x(0, order);
  op.inputs = {x};
  op.set("radius", (call.node.attr_int("size", 1) - 1) / 2);
  op.set("bias", call.node.attr_float("bias", 1));
  op.set("alpha", call.node.attr_float("alpha", 1e-4));
  op.set("beta", call.node.attr_float("beta", 0.75));
  const Id id = call.net.add(std::move(op), call.made(), Shape(call.net.shape(x)));
  return one(call.result(id, View(call.shape(0), order)));
}

// x / norm(x) along one axis.
Outcome lp_normalization(Call& call) {
  if (!call.has(0)) return nothing();
  const auto axis = Call::axis(call.node.attr_int("axis", -1), call.rank(0));
  if (!axis) return nothing();
  const Made made = call.made();
  const DimOrder order = call.layout(0);
  const Id x = call.x(0, order);
  const int64_t place = std::ranges::find(order, static_cast<int32_t>(*axis)) - order.begin();
  const bool squares = call.node.attr_int("p", 2) == 2;
  Id norm = call.net.unary(squares ? OpKind::kSquare : OpKind::kAbs, x, made);
  norm = call.net.reduce(OpKind::kSum, norm, {place}, true, made);
  if (squares) norm = call.net.unary(OpKind::kSqrt, norm, made);
  const Id id = call.net.binary(OpKind::kDiv, x, norm, made);
  return one(call.result(id, View(call.shape(0), order)));
}

Outcome mean_variance(Call& call) {
  if (!call.has(0) || call.rank(0) < 3) return nothing();
  const DimOrder order = call.layout(0);
  const auto given = call.node.attr_ints("axes");
  std::vector<int64_t> axes(given.begin(), given.end()), places;
  if (axes.empty()) axes = {0, 2, 3};
  for (size_t s = 0; s < order.size(); ++s)
    if (std::ranges::find(axes, order[s]) != axes.end()) places.push_back(static_cast<int64_t>(s));
  const Id id = normalize(call, call.x(0, order), places, 1e-9, true, kNoTensor, kNoTensor);
  return one(call.result(id, View(call.shape(0), order)));
}

// Over the last stored dimension. Before operator set 13 over all dimensions from `axis` on, whose
// order among themselves does not matter.
Outcome softmax(Call& call) {
  if (!call.has(0) || call.rank(0) == 0) return nothing();
  const size_t rank = call.rank(0);
  const bool flat = call.node.since < 13 && call.node.domain.empty();
  const auto axis = Call::axis(call.node.attr_int("axis", flat ? 1 : -1), rank);
  if (!axis) return nothing();
  const OpKind kind = call.op() == "LogSoftmax" ? OpKind::kLogSoftmax : OpKind::kSoftmax;
  const Shape in = call.shape(0);
  const auto from = in.begin() + *axis;
  const int64_t behind = elements(Shape(from + 1, in.end()));
  const Made made = call.made();
  if (!flat || behind == 1) {
    DimOrder order = call.layout(0);
    // Sides of 1 behind the axis do not hide it.
    const auto place = std::ranges::find(order, static_cast<int32_t>(*axis));
    const bool last =
        std::all_of(place == order.end() ? place : place + 1, order.end(),
                    [&](int32_t d) { return d == kNoDim || in[static_cast<size_t>(d)] == 1; });
    if (place == order.end() || !last || place + 1 != order.end()) {
      if (last && place != order.end()) {  // [.., C, 1, 1]: the sides of 1 go to the front
        order.erase(place);
        order.push_back(static_cast<int32_t>(*axis));
      } else {
        order = plain_order(rank);
        std::erase(order, static_cast<int32_t>(*axis));
        order.push_back(static_cast<int32_t>(*axis));
      }
    }
    const Id id = call.net.unary(kind, call.x(0, order), made);
    return one(call.result(id, View(in, order)));
  }
  const auto leading = static_cast<size_t>(*axis);
  const int64_t rows = elements(Shape(in.begin(), from));
  const Val& value = call.in(0);
  const bool together = !value.is_constant() && value.view.leads_with(leading);
  Id x = together ? call.as_it_lies(0) : call.plain(0);
  x = call.net.unary(kind, call.net.reshape(x, {rows, elements(Shape(from, in.end()))}), made);
  return one(call.result(x, together ? value.view : View::plain(in)));
}

constexpr std::array kRules{
    NamedRule{"BatchNormalization", batch_normalization},
    NamedRule{"LayerNormalization", layer_normalization},
    NamedRule{"RMSNormalization", rms_normalization},
    NamedRule{"SimplifiedLayerNormalization", rms_normalization},
    NamedRule{"SkipLayerNormalization", skip_layer_normalization},
    NamedRule{"SkipSimplifiedLayerNormalization", skip_rms_normalization},
    NamedRule{"InstanceNormalization", instance_normalization},
    NamedRule{"GroupNormalization", group_normalization},
    NamedRule{"LRN", local_response},
    NamedRule{"LpNormalization", lp_normalization},
    NamedRule{"MeanVarianceNormalization", mean_variance},
    NamedRule{"Softmax", softmax},
    NamedRule{"LogSoftmax", softmax},
};

}  // namespace

Id normalize(Call& call, Id x, const std::vector<int64_t>& axes, double epsilon, bool centred,
             Id scale, Id shift) {
  Emitter& net = call.net;
  const Made made = net.made_of(x);
  Id spread = kNoTensor, centre = kNoTensor;
  if (centred) {
    centre = net.reduce(OpKind::kMean, x, axes, true, made);
    spread = net.binary(OpKind::kSquaredDifference, x, centre, made);
  } else {
    spread = net.unary(OpKind::kSquare, x, made);
  }
  spread = net.reduce(OpKind::kMean, spread, axes, true, made);
  const Id safe = net.binary(OpKind::kAdd, spread, net.scalar(epsilon, made), made);
  const Id inverse = net.unary(OpKind::kRsqrt, safe, made);
  if (centred) x = net.binary(OpKind::kSub, x, centre, made);
  x = net.binary(OpKind::kMul, x, inverse, made);
  if (scale != kNoTensor) x = net.binary(OpKind::kMul, x, scale, made);
  if (shift != kNoTensor) x = net.binary(OpKind::kAdd, x, shift, made);
  return x;
}

Val layer_norm(Call& call, const Val& in, int64_t axis, double epsilon, bool centred,
               const Val& scale, const Val& shift) {
  const auto plain = [&](const Val& value) {
    return value.exists() ? call.x(value, plain_order(value.view.rank())) : kNoTensor;
  };
  std::vector<int64_t> axes;
  for (auto d = axis; d < static_cast<int64_t>(in.view.rank()); ++d) axes.push_back(d);
  const Id id = normalize(call, plain(in), axes, epsilon, centred, plain(scale), plain(shift));
  return call.result(id, View::plain(in.view.shape()));
}

std::span<const NamedRule> normalization_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
