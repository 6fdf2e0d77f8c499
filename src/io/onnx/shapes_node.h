// What a rule sees of one node, and where it puts what it finds.
//
// A rule sets the types of the outputs it knows; what it does not set stays unknown. Where the node
// cannot be, it calls fail(): all outputs lose shape and value, the reason becomes a warning.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/onnx/model.h"
#include "src/io/onnx/shapes_values.h"

namespace edgesage::onnx {

// What inference knows of a value besides its type.
struct ValueFacts {
  FoldedPtr folded;         // null: not folded (yet)
  bool load_tried = false;  // the constant's elements were asked for
  bool stale = false;       // behind an input whose fixed shape was replaced
};

struct NodeInput {
  const ValueType* type = nullptr;  // null: left out, or a name that nothing defines
  ValueFacts* facts = nullptr;      // beside it
  const Constant* constant = nullptr;
};

struct NodeOutput {
  ValueType type;
  FoldedPtr folded;
  const Constant* constant = nullptr;  // in the model
  std::optional<Constant> made;  // a constant that is in no file, of a type that is not folded
};

inline constexpr int64_t kNewestOperators = 28;

class NodeContext {
 public:
  // `budget`: elements that may still be folded in this model.
  NodeContext(const Node& node, std::span<const NodeInput> inputs, int64_t& budget);

  [[nodiscard]] const Node& node() const { return node_; }
  // Version of the operator set; the newest of ai.onnx where the file does not say, and for what
  // com.microsoft has from there.
  [[nodiscard]] int64_t since() const;
  [[nodiscard]] size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] size_t outputs() const { return outputs_.size(); }
  [[nodiscard]] bool has_input(size_t i) const;
  [[nodiscard]] bool wants_output(size_t o) const;

  // Of an input that is absent or not known: a type of kind kUnknown.
  [[nodiscard]] const ValueType& type(size_t i) const;
  [[nodiscard]] ElementType element(size_t i) const { return type(i).element; }
  [[nodiscard]] const Shape* shape(size_t i) const;  // null where it is not known
  // Elements, known in part perhaps; null where nothing is known or the value is too large.
  [[nodiscard]] FoldedPtr data(size_t i) const;
  // The same of a list of integers, at most kMaxRank of them: a shape, pads, axes.
  [[nodiscard]] FoldedPtr sizes(size_t i) const;
  // How long the list is that `sizes` gives or would give.
  [[nodiscard]] std::optional<size_t> list_length(size_t i) const;
  // All elements of an integer input.
  [[nodiscard]] std::optional<std::vector<int64_t>> ints(size_t i) const;
  // The only element of an input, as an integer or as a number.
  [[nodiscard]] std::optional<int64_t> integer(size_t i) const;
  [[nodiscard]] std::optional<double> real(size_t i) const;
  [[nodiscard]] const Constant* constant(size_t i) const;

  void set(size_t o, ValueType type);
  void set(size_t o, ElementType element, Shape shape) {
    set(o, tensor(element, std::move(shape)));
  }
  void set_element(size_t o, ElementType element) { set(o, tensor(element)); }
  // Sets type and value.
  void fold(size_t o, Folded folded);
  void fold(size_t o, FoldedPtr folded);
  void set_constant(size_t o, const Constant& constant);
  void set_constant(size_t o, Constant&& made);
  void fail(std::string reason);

  [[nodiscard]] bool failed() const { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::vector<NodeOutput>& results() { return outputs_; }

 private:
  const Node& node_;
  std::span<const NodeInput> inputs_;
  std::vector<NodeOutput> outputs_;
  std::string failure_;
  int64_t& budget_;
};

}  // namespace edgesage::onnx
