// Constants that are added to what a convolution or a dense layer gives, or multiplied with it, go
// into its bias and weights, as converters to TFLite do it.
#include <optional>
#include <utility>
#include <vector>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

constexpr std::string_view kFused = "fused_activation_function";

// `constant` has a value for each of the `channels` of dimension `channel` of a value of `rank`. A
// single number for all of them stays an operator: a step of an activation, mostly.
bool is_per_channel(const Shape& constant, size_t rank, size_t channel, int64_t channels) {
  Tensor tensor;
  tensor.shape = constant;
  const size_t from_end = rank - 1 - channel;
  return !constant.empty() && tensor.element_count() == channels && constant.size() > from_end &&
         constant[constant.size() - 1 - from_end] == channels;
}

}  // namespace

std::optional<size_t> bias_slot(const Operator& op) {
  switch (op.kind) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kFullyConnected:
    case OpKind::kConv3D:
      return 2;
    case OpKind::kTransposeConv:
    case OpKind::kConv3DTranspose:
      return 3;
    default:
      return std::nullopt;
  }
}

std::optional<Val> fold_constant(Call& call, size_t constant, size_t other) {
  if (!call.has(0) || !call.has(1) || !call.in(constant).is_constant()) return std::nullopt;
  Operator* op = call.sole_producer(other);
  if (op == nullptr || op->attr_int(kFused, 0) != 0) return std::nullopt;
  const auto slot = bias_slot(*op);
  const Val& in = call.in(other);
  if (!slot || call.shape(constant).size() > in.view.rank()) return std::nullopt;
  const bool dense = op->kind == OpKind::kFullyConnected;
  const Shape sides = in.view.shape();
  const size_t channel = dense || sides.size() < 3 ? sides.size() - 1 : 1;
  if (sides.empty() || !is_per_channel(call.shape(constant), sides.size(), channel, sides[channel]))
    return std::nullopt;
  Emitter& net = call.net;
  const bool adds = call.op() == "Add";
  if (op->inputs.size() <= *slot) op->inputs.resize(*slot + 1, kNoTensor);
  const bool integers = net.tensor(in.tensor).quantization.scale.size() == 1;
  const Made bias{integers ? DataType::kInt32 : net.tensor(in.tensor).type, nullptr};
  const auto index = static_cast<size_t>(in.made_by);
  if (adds && op->inputs[*slot] == kNoTensor && !integers && call.shape(constant).size() <= 1 &&
      call.shape(constant) == Shape{sides[channel]}) {
    const Id id = net.stored(call.in(constant), plain_order(1));
    net.subgraph().operators[index].inputs[*slot] = id;
  } else if (adds && op->inputs[*slot] == kNoTensor) {
    const Id id = net.absent(bias, {sides[channel]});
    net.subgraph().operators[index].inputs[*slot] = id;
  } else {
    // The values of what is there change; its shape does not.
    Operator& target = net.subgraph().operators[index];
    const std::vector<size_t> changed =
        adds ? std::vector<size_t>{*slot} : std::vector<size_t>{1, *slot};
    for (const size_t i : changed) {
      if (target.inputs[i] == kNoTensor) continue;
      Tensor copy = net.tensor(target.inputs[i]);
      if (!copy.is_constant()) return std::nullopt;
      copy.buffer = net.constants().absent();
      target.inputs[i] = static_cast<Id>(net.subgraph().tensors.size());
      net.subgraph().tensors.push_back(std::move(copy));
    }
  }
  Val value = in;
  value.element = call.out_element();
  return value;
}

}  // namespace edgesage::onnx::convert
