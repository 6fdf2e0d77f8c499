// Fourier transforms and windows.
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

void window(NodeContext& node) {
  const ElementType element = element_attribute(node, "output_datatype", ElementType::kFloat);
  const auto size = node.integer(0);
  node.set(0, element, {size ? number(*size) : Dimension{}});
}

Dimension half(const Dimension& size) {
  return size.known() ? number(size.value / 2 + 1) : Dimension{};
}

// The axis is an attribute in version 17 (default 1), an input since 20 (default -2).
void dft(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  if (input->size() < 2) return node.fail("a signal of shape " + text(*input));
  std::optional<int64_t> given = node.since() < 20 ? node.node().attr_int("axis", 1) : -2;
  if (node.since() >= 20 && node.has_input(2)) given = node.integer(2);
  Shape result = *input;
  if (!given) return node.set(0, element, open_shape(result.size()));
  const auto axis = at_axis(*given, input->size());
  if (!axis || *axis + 1 == input->size())
    return node.fail("axis " + std::to_string(*given) + " of " + text(*input));
  if (node.has_input(1)) {
    const auto length = node.integer(1);
    result[*axis] = length ? number(*length) : Dimension{};
  }
  const bool one_sided = node.node().attr_int("onesided", 0) != 0;
  const bool inverse = node.node().attr_int("inverse", 0) != 0;
  if (one_sided && inverse && !node.has_input(1)) {
    const Dimension& bins = (*input)[*axis];
    result[*axis] = bins.value > 0 ? number(bins.value - 1) * number(2) : Dimension{};
  }
  if (one_sided && !inverse) result[*axis] = half(result[*axis]);
  result.back() = number(one_sided && inverse ? 1 : 2);
  node.set(0, element, std::move(result));
}

void stft(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set(0, element, {Dimension{}, Dimension{}, Dimension{}, number(2)});
  const Shape* signal = node.shape(0);
  if (signal == nullptr || signal->size() < 2) return;
  const auto step = node.integer(1);
  const Shape* window_shape = node.has_input(2) ? node.shape(2) : nullptr;
  // The window's length, else the length given, else all of the signal.
  const auto length = node.integer(3);
  Dimension frame = (*signal)[1];
  if (node.has_input(2) || node.has_input(3)) frame = length ? number(*length) : Dimension{};
  if (window_shape != nullptr && window_shape->size() == 1)
    frame = either(frame, (*window_shape)[0]);
  Dimension frames;
  if (step && *step > 0 && frame.known() && (*signal)[1].known()) {
    if ((*signal)[1].value < frame.value)
      return node.fail("frames of " + text(frame) + " in a signal of " + text((*signal)[1]));
    frames = number(((*signal)[1].value - frame.value) / *step + 1);
  }
  const bool one_sided = node.node().attr_int("onesided", 1) != 0;
  node.set(0, element, {(*signal)[0], frames, one_sided ? half(frame) : frame, number(2)});
}

void mel_weights(NodeContext& node) {
  const ElementType element = element_attribute(node, "output_datatype", ElementType::kFloat);
  const auto bins = node.integer(0);
  const auto length = node.integer(1);
  node.set(0, element,
           {length ? half(number(*length)) : Dimension{}, bins ? number(*bins) : Dimension{}});
}

constexpr RuleRow kRows[] = {
    {"BlackmanWindow", window},       {"DFT", dft},
    {"HammingWindow", window},        {"HannWindow", window},
    {"MelWeightMatrix", mel_weights}, {"STFT", stft},
};

}  // namespace

RuleRows signal_rules() { return kRows; }

}  // namespace edgesage::onnx
