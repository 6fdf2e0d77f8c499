// What the rules of shape_inference.h are written with, and the rules for windows over images.
// Inside of src/graph only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/shape_inference.h"

namespace edgesage::shape_rules {

// One operator with the tensors around it, so that rules read like their definitions.
struct Context {
  const Graph& graph;
  const Subgraph& subgraph;
  const Operator& op;

  [[nodiscard]] const Tensor* input(size_t index) const;  // null: not there
  [[nodiscard]] Result<const Shape*> shape(size_t index) const;
  [[nodiscard]] Result<const Shape*> shape(size_t index, size_t rank) const;
  // Values of a constant input such as axes or a target shape.
  [[nodiscard]] Result<std::vector<int64_t>> values(size_t index) const;
  [[nodiscard]] tl::unexpected<Error> bad(std::string message) const;
  [[nodiscard]] tl::unexpected<Error> unknown(std::string message) const;
};

using Shapes = Result<std::vector<Shape>>;
using Rule = Shapes (*)(const Context&);

[[nodiscard]] Shapes conv_2d(const Context& context);
[[nodiscard]] Shapes depthwise_conv_2d(const Context& context);
[[nodiscard]] Shapes pool_2d(const Context& context);
[[nodiscard]] Shapes transpose_conv(const Context& context);
[[nodiscard]] Shapes depth_to_space(const Context& context);
[[nodiscard]] Shapes resize(const Context& context);

}  // namespace edgesage::shape_rules
