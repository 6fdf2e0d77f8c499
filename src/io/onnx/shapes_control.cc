#include "src/io/onnx/shapes_control.h"

#include <algorithm>
#include <limits>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

using Kind = ValueType::Kind;

const ValueType kNothing;

ValueType without_shape(const ValueType& type) {
  ValueType result = type;
  result.has_shape = false;
  result.shape.clear();
  if (type.inner != nullptr) result.inner = std::make_shared<const ValueType>(kNothing);
  if (type.inner != nullptr && type.inner->inner == nullptr) {
    ValueType inner = *type.inner;
    inner.has_shape = false;
    inner.shape.clear();
    result.inner = std::make_shared<const ValueType>(std::move(inner));
  }
  return result;
}

const ValueType& type_at(const std::vector<NodeOutput>& outputs, size_t k) {
  return k < outputs.size() ? outputs[k].type : kNothing;
}

// An output that is a body's.
void pass_on(NodeContext& node, size_t o, const NodeOutput& output) {
  if (output.folded != nullptr) return node.fold(o, output.folded);
  if (output.constant != nullptr) return node.set_constant(o, *output.constant);
  node.set(o, output.type);
}

class If : public Control {
 public:
  explicit If(const Node& node)
      : branches_{node.attr_graph("then_branch"), node.attr_graph("else_branch")} {}

  void begin(const NodeContext& node) override {
    if (const auto condition = node.integer(0)) taken_ = *condition != 0 ? 0 : 1;
  }
  std::optional<BodyRun> next() override {
    if (results_.size() >= branches_.size()) return std::nullopt;
    return BodyRun{branches_[results_.size()], {}, {}};
  }
  void done(std::vector<NodeOutput> outputs) override { results_.push_back(std::move(outputs)); }
  void finish(NodeContext& node) override {
    for (size_t o = 0; o < node.outputs(); ++o) {
      if (taken_ && o < results_[*taken_].size()) {
        pass_on(node, o, results_[*taken_][o]);
      } else if (!taken_) {
        node.set(o, common(type_at(results_[0], o), type_at(results_[1], o)));
      }
    }
  }

 private:
  std::vector<int32_t> branches_;
  std::optional<size_t> taken_;  // where the condition is known
  std::vector<std::vector<NodeOutput>> results_;
};

// Inputs: trip count, condition, carried values. Body: iteration, condition, carried values; gives
// condition, carried values, and one slice of each further output of the node.
class Loop : public Control {
 public:
  Loop(const Node& node, bool may_repeat)
      : body_(node.attr_graph("body")), may_repeat_(may_repeat) {}

  void begin(const NodeContext& node) override {
    trips_ =
        node.has_input(0) ? node.integer(0) : std::optional(std::numeric_limits<int64_t>::max());
    bounded_ = node.has_input(0);
    const auto condition = node.integer(1);
    runs_while_ = !node.has_input(1) || (condition && *condition != 0);
    for (size_t i = 2; i < node.inputs(); ++i) initial_.push_back(node.type(i));
    carried_ = initial_;
    if (!may_repeat_)
      for (ValueType& type : carried_) type = without_shape(type);
  }

  std::optional<BodyRun> next() override {
    if (stable_) return std::nullopt;
    BodyRun run;
    run.graph = body_;
    run.inputs = {tensor(ElementType::kInt64, {}), tensor(ElementType::kBool, {})};
    run.inputs.insert(run.inputs.end(), carried_.begin(), carried_.end());
    // The body is entered only while the condition holds.
    auto holds = std::make_shared<Folded>();
    holds->element = ElementType::kBool;
    holds->elements = {known_integer(1)};
    run.folded = {nullptr, std::move(holds)};
    return run;
  }

  void done(std::vector<NodeOutput> outputs) override {
    ++attempts_;
    bool changed = false;
    for (size_t k = 0; may_repeat_ && k < carried_.size(); ++k) {
      ValueType both = common(carried_[k], type_at(outputs, k + 1));
      if (same_type(both, carried_[k])) continue;
      changed = true;
      carried_[k] = std::move(both);
    }
    // What still changes after that may change anything else: no shape is certain any more.
    if (changed && attempts_ == 2)
      for (ValueType& type : carried_) type = without_shape(type);
    stable_ = !changed || attempts_ == 3;
    outputs_ = std::move(outputs);
  }

  void finish(NodeContext& node) override {
    for (size_t k = 0; k < initial_.size(); ++k)
      node.set(k, common(initial_[k], type_at(outputs_, k + 1)));
    const bool goes_on = !outputs_.empty() && outputs_[0].folded != nullptr &&
                         outputs_[0].folded->elements.size() == 1 &&
                         outputs_[0].folded->elements[0].known &&
                         outputs_[0].folded->elements[0].i != 0;
    Dimension count;
    if (bounded_ && trips_ && runs_while_ && goes_on) count = number(std::max<int64_t>(*trips_, 0));
    for (size_t o = initial_.size(); o < node.outputs(); ++o) {
      const ValueType& slice = type_at(outputs_, o + 1);
      ValueType type = tensor(slice.element);
      if (slice.has_shape) {
        Shape shape = slice.shape;
        shape.insert(shape.begin(), count);
        type = tensor(slice.element, std::move(shape));
      }
      node.set(o, std::move(type));
    }
  }

 private:
  int32_t body_;
  bool may_repeat_;
  bool bounded_ = false;
  bool runs_while_ = false;
  bool stable_ = false;
  int attempts_ = 0;
  std::optional<int64_t> trips_;
  std::vector<ValueType> initial_, carried_;
  std::vector<NodeOutput> outputs_;
};

// A control whose body is gone through once.
class RunsOnce : public Control {
 public:
  std::optional<BodyRun> next() override {
    if (ran_) return std::nullopt;
    return run_;
  }
  void done(std::vector<NodeOutput> outputs) override {
    ran_ = true;
    outputs_ = std::move(outputs);
  }

 protected:
  BodyRun run_;
  std::vector<NodeOutput> outputs_;

 private:
  bool ran_ = false;
};

// Inputs: states, then what is scanned. Version 8 has an input of lengths before them, and a batch
// as the first dimension of each.
class Scan : public RunsOnce {
 public:
  explicit Scan(const Node& node) : body_(node.attr_graph("body")), node_(node) {}

  void begin(const NodeContext& node) override {
    batched_ = node.since() < 9;
    const size_t first = batched_ ? 1 : 0;
    const int64_t scanned = node_.attr_int("num_scan_inputs", 0);
    const size_t given = node.inputs() > first ? node.inputs() - first : 0;
    states_ = scanned >= 0 && static_cast<uint64_t>(scanned) <= given
                  ? given - static_cast<size_t>(scanned)
                  : 0;
    run_.graph = body_;
    const auto axes = node_.attr_ints(batched_ ? "" : "scan_input_axes");
    for (size_t k = 0; k < given; ++k) {
      ValueType type = node.type(first + k);
      if (batched_ && type.has_shape && !type.shape.empty()) {
        batch_ = either(batch_, type.shape[0]);
        type.shape.erase(type.shape.begin());
      }
      if (k < states_) initial_.push_back(type);
      if (k >= states_ && type.has_shape) {
        const size_t which = k - states_;
        const auto axis = at_axis(which < axes.size() ? axes[which] : 0, type.shape.size());
        if (axis) {
          const auto at = type.shape.begin() + static_cast<std::ptrdiff_t>(*axis);
          length_ = either(length_, *at);
          type.shape.erase(at);
        } else {
          type = without_shape(type);
        }
      }
      run_.inputs.push_back(std::move(type));
    }
  }

  void finish(NodeContext& node) override {
    const auto axes = node_.attr_ints(batched_ ? "" : "scan_output_axes");
    for (size_t o = 0; o < node.outputs(); ++o) {
      ValueType type = type_at(outputs_, o);
      // A state keeps its shape from step to step.
      if (o < states_ && !type.has_shape) type = initial_[o];
      if (o >= states_ && type.has_shape) {
        const size_t which = o - states_;
        const auto axis = at_axis(which < axes.size() ? axes[which] : 0, type.shape.size() + 1);
        if (!axis) return node.fail("a scan output axis is beyond " + text(type.shape));
        type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(*axis), length_);
      }
      if (batched_ && type.has_shape) type.shape.insert(type.shape.begin(), batch_);
      node.set(o, std::move(type));
    }
  }

 private:
  int32_t body_;
  const Node& node_;
  bool batched_ = false;
  size_t states_ = 0;
  Dimension batch_, length_;
  std::vector<ValueType> initial_;
};

// The body maps elements; inputs behind the first are sequences too, or the same for all.
class SequenceMap : public RunsOnce {
 public:
  explicit SequenceMap(const Node& node) { run_.graph = node.attr_graph("body"); }

  void begin(const NodeContext& node) override {
    for (size_t i = 0; i < node.inputs(); ++i) {
      const ValueType& type = node.type(i);
      run_.inputs.push_back(
          type.kind == Kind::kSequence ? (type.inner != nullptr ? *type.inner : kNothing) : type);
    }
  }
  void finish(NodeContext& node) override {
    for (size_t o = 0; o < node.outputs() && o < outputs_.size(); ++o)
      node.set(o, holder(Kind::kSequence, std::move(outputs_[o].type)));
  }
};

// Bodies of any other operator: gone through for what is in them, as they declare their inputs.
class Others : public Control {
 public:
  explicit Others(const Node& node)
      : bodies_(bodies_of(node)), rule_(find_rule(node.domain, node.op_type)) {}

  void begin(const NodeContext&) override {}
  std::optional<BodyRun> next() override {
    if (next_ >= bodies_.size()) return std::nullopt;
    return BodyRun{bodies_[next_++], {}, {}};
  }
  void done(std::vector<NodeOutput>) override {}
  void finish(NodeContext& node) override {
    if (rule_ != nullptr) rule_(node);
  }
  [[nodiscard]] bool known() const override { return rule_ != nullptr; }

 private:
  std::vector<int32_t> bodies_;
  Rule rule_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Control> control_of(const Node& node, bool may_repeat) {
  if (node.domain.empty() || node.domain == "ai.onnx") {
    if (node.op_type == "If") return std::make_unique<If>(node);
    if (node.op_type == "Loop") return std::make_unique<Loop>(node, may_repeat);
    if (node.op_type == "Scan") return std::make_unique<Scan>(node);
    if (node.op_type == "SequenceMap") return std::make_unique<SequenceMap>(node);
  }
  return std::make_unique<Others>(node);
}

}  // namespace edgesage::onnx
