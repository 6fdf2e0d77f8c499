#include "src/io/onnx/shapes_node.h"

#include <utility>

namespace edgesage::onnx {
namespace {

const ValueType kNothing;

}  // namespace

NodeContext::NodeContext(const Node& node, std::span<const NodeInput> inputs, int64_t& budget)
    : node_(node), inputs_(inputs), outputs_(node.outputs.size()), budget_(budget) {}

int64_t NodeContext::since() const {
  return node_.since > 0 && node_.domain != "com.microsoft" ? node_.since : kNewestOperators;
}

bool NodeContext::has_input(size_t i) const {
  return i < inputs_.size() && !node_.inputs[i].empty();
}

bool NodeContext::wants_output(size_t o) const {
  return o < outputs_.size() && !node_.outputs[o].empty();
}

const ValueType& NodeContext::type(size_t i) const {
  return i < inputs_.size() && inputs_[i].type != nullptr ? *inputs_[i].type : kNothing;
}

const Shape* NodeContext::shape(size_t i) const {
  const ValueType& found = type(i);
  return found.has_shape ? &found.shape : nullptr;
}

FoldedPtr NodeContext::data(size_t i) const {
  if (i >= inputs_.size() || inputs_[i].facts == nullptr) return nullptr;
  ValueFacts& facts = *inputs_[i].facts;
  if (facts.folded == nullptr && !facts.load_tried && inputs_[i].constant != nullptr) {
    facts.load_tried = true;
    if (budget_ > 0) facts.folded = load(*inputs_[i].constant);
    if (facts.folded != nullptr) budget_ -= std::ssize(facts.folded->elements);
  }
  return facts.folded;
}

FoldedPtr NodeContext::sizes(size_t i) const {
  FoldedPtr folded = data(i);
  if (folded == nullptr || !is_integer(folded->element) || folded->dims.size() > 1 ||
      std::ssize(folded->elements) > kMaxRank)
    return nullptr;
  return folded;
}

std::optional<size_t> NodeContext::list_length(size_t i) const {
  if (const FoldedPtr folded = sizes(i)) return folded->elements.size();
  const Shape* found = shape(i);
  if (found == nullptr || found->size() != 1 || !(*found)[0].known() ||
      (*found)[0].value > kMaxRank)
    return std::nullopt;
  return static_cast<size_t>((*found)[0].value);
}

std::optional<std::vector<int64_t>> NodeContext::ints(size_t i) const {
  const FoldedPtr folded = data(i);
  if (folded == nullptr || !is_integer(folded->element)) return std::nullopt;
  std::vector<int64_t> values;
  values.reserve(folded->elements.size());
  for (const Scalar& scalar : folded->elements) {
    if (!scalar.known) return std::nullopt;
    values.push_back(scalar.i);
  }
  return values;
}

std::optional<int64_t> NodeContext::integer(size_t i) const {
  const FoldedPtr folded = data(i);
  if (folded == nullptr || is_real(folded->element) || folded->elements.size() != 1 ||
      !folded->elements[0].known)
    return std::nullopt;
  return folded->elements[0].i;
}

std::optional<double> NodeContext::real(size_t i) const {
  const FoldedPtr folded = data(i);
  if (folded == nullptr || folded->elements.size() != 1 || !folded->elements[0].known)
    return std::nullopt;
  const Scalar& scalar = folded->elements[0];
  return is_real(folded->element) ? scalar.f : static_cast<double>(scalar.i);
}

const Constant* NodeContext::constant(size_t i) const {
  return i < inputs_.size() ? inputs_[i].constant : nullptr;
}

void NodeContext::set(size_t o, ValueType type) {
  if (o < outputs_.size()) outputs_[o].type = std::move(type);
}

void NodeContext::fold(size_t o, Folded folded) {
  fold(o, std::make_shared<const Folded>(std::move(folded)));
}

void NodeContext::fold(size_t o, FoldedPtr folded) {
  if (o >= outputs_.size()) return;
  outputs_[o].type = tensor(folded->element, shape_of(folded->dims));
  if (budget_ <= 0) return;
  budget_ -= std::ssize(folded->elements);
  outputs_[o].folded = std::move(folded);
}

void NodeContext::set_constant(size_t o, const Constant& constant) {
  if (o >= outputs_.size()) return;
  outputs_[o].type = tensor(constant.element, shape_of(constant.dims));
  outputs_[o].constant = &constant;
}

void NodeContext::set_constant(size_t o, Constant&& made) {
  if (o >= outputs_.size()) return;
  outputs_[o].type = tensor(made.element, shape_of(made.dims));
  outputs_[o].made = std::move(made);
}

void NodeContext::fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
}

}  // namespace edgesage::onnx
