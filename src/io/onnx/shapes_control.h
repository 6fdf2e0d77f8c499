// Nodes with bodies: which body runs with which inputs, and what the node's outputs are then.
//
// The engine drives it (shapes.cc): begin once, then next and done in turn, then finish. Nothing
// here descends into a body itself, so nesting needs no stack.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/io/onnx/shapes_node.h"

namespace edgesage::onnx {

// Inputs by position; those beyond the list, or unknown ones, are as the body declares them.
struct BodyRun {
  int32_t graph = -1;
  std::vector<ValueType> inputs;
  std::vector<FoldedPtr> folded;  // beside `inputs`, or shorter
};

class Control {
 public:
  Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  virtual ~Control() = default;
  virtual void begin(const NodeContext& node) = 0;
  virtual std::optional<BodyRun> next() = 0;
  virtual void done(std::vector<NodeOutput> outputs) = 0;  // of the body that next() gave
  virtual void finish(NodeContext& node) = 0;
  // Whether the operator is one that inference knows.
  [[nodiscard]] virtual bool known() const { return true; }
};

// Of a node that has bodies. `may_repeat`: a Loop body may be gone through three times to
// find the shapes that it carries; otherwise once, and shapes that it carries are unknown.
[[nodiscard]] std::unique_ptr<Control> control_of(const Node& node, bool may_repeat);

}  // namespace edgesage::onnx
