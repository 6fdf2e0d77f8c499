// Normalisation over channels, groups or the last dimensions.
#include <algorithm>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// Outputs behind the first are statistics of each channel: those of training.
void batch_normalization(NodeContext& node) {
  like_first(node);
  const Shape* input = node.shape(0);
  for (size_t o = 1; o < node.outputs(); ++o) {
    const ElementType element = node.element(3);
    const Shape* mean = node.shape(3);
    Dimension channels;
    if (mean != nullptr && mean->size() == 1) channels = (*mean)[0];
    if (input != nullptr && input->size() > 1) channels = either(channels, (*input)[1]);
    node.set(o, element, {channels});
  }
}

// Outputs behind the first: mean and inverse deviation, 1 in each normalised dimension.
void layer_normalization(NodeContext& node) {
  like_first(node);
  const Shape* input = node.shape(0);
  const ElementType element = element_attribute(node, "stash_type", ElementType::kFloat);
  for (size_t o = 1; o < node.outputs(); ++o) node.set_element(o, element);
  if (input == nullptr) return;
  const int64_t given = node.node().attr_int("axis", -1);
  const auto axis = at_axis(given, input->size());
  if (!axis) return node.fail("axis " + std::to_string(given) + " of " + text(*input));
  Shape statistics = *input;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis), statistics.end(), number(1));
  for (size_t o = 1; o < node.outputs(); ++o) node.set(o, element, statistics);
}

constexpr RuleRow kRows[] = {
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", like_first},
    {"InstanceNormalization", like_first},
    {"LRN", like_first},
    {"LayerNormalization", layer_normalization},
    {"LpNormalization", like_first},
    {"MeanVarianceNormalization", like_first},
    {"RMSNormalization", like_first},
    // Not of the standard, but ONNX Runtime's optimiser writes it into this domain.
    {"SimplifiedLayerNormalization", layer_normalization},
};

}  // namespace

RuleRows normalization_rules() { return kRows; }

}  // namespace edgesage::onnx
