// Matrix products and sums over subscripts.
#include <map>
#include <utility>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

Shape turned(Shape shape, bool turn) {
  if (turn && shape.size() > 1) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

void matmul(NodeContext& node) { matrix_product(node, 0, 1, node.element(0)); }
void matmul_integer(NodeContext& node) { matrix_product(node, 0, 1, ElementType::kInt32); }
void qlinear_matmul(NodeContext& node) { matrix_product(node, 0, 3, node.element(7)); }

void gemm(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* a = node.shape(0);
  const Shape* b = node.shape(1);
  if (a == nullptr || b == nullptr) return;
  if (a->size() != 2 || b->size() != 2)
    return node.fail("operands of shapes " + text(*a) + " and " + text(*b) + ", not matrices");
  const bool turn_a = node.node().attr_int("transA", 0) != 0;
  const bool turn_b = node.node().attr_int("transB", 0) != 0;
  const Dimension& inner_a = (*a)[turn_a ? 0 : 1];
  const Dimension& inner_b = (*b)[turn_b ? 1 : 0];
  if (inner_a.known() && inner_b.known() && inner_a.value != inner_b.value)
    return node.fail("operands of shapes " + text(*a) + " and " + text(*b) + " do not fit");
  node.set(0, element, {(*a)[turn_a ? 1 : 0], (*b)[turn_b ? 0 : 1]});
}

struct Equation {
  std::vector<std::string> inputs;  // letters; '.' stands for an ellipsis
  std::string output;
};

std::string term_of(std::string_view text) {
  std::string term;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == ' ') continue;
    if (text.substr(k, 3) == "...") k += 2;
    term += text[k];
  }
  return term;
}

// Without "->": the letters that occur once, in alphabetical order, behind an ellipsis.
std::string implied_output(const std::vector<std::string>& inputs) {
  std::map<char, int> counts;
  for (const std::string& term : inputs)
    for (const char letter : term) ++counts[letter];
  std::string output;
  if (counts.contains('.')) output = ".";
  for (const auto& [letter, count] : counts)
    if (letter != '.' && count == 1) output += letter;
  return output;
}

Equation parse(std::string_view text) {
  Equation equation;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    equation.inputs.push_back(term_of(left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  equation.output = arrow == std::string_view::npos ? implied_output(equation.inputs)
                                                    : term_of(text.substr(arrow + 2));
  return equation;
}

// Sizes of letters and of the ellipsis, gathered from one operand.
bool gather(NodeContext& node, const std::string& term, const Shape& shape,
            std::map<char, Dimension>& sizes, Shape& ellipsis) {
  const bool open = term.find('.') != std::string::npos;
  const size_t letters = term.size() - (open ? 1 : 0);
  if (letters > shape.size() || (!open && letters != shape.size())) {
    node.fail("an operand of shape " + text(shape) + " for the subscripts '" + term + "'");
    return false;
  }
  size_t axis = 0;
  for (const char letter : term) {
    if (letter == '.') {
      const size_t count = shape.size() - letters;
      const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(axis);
      const auto wider =
          broadcast(ellipsis, Shape(begin, begin + static_cast<std::ptrdiff_t>(count)));
      if (!wider) {
        node.fail("the dimensions of an ellipsis do not meet");
        return false;
      }
      ellipsis = *wider;
      axis += count;
      continue;
    }
    Dimension& size = sizes[letter];
    const Dimension& here = shape[axis++];
    if (size.known() && here.known() && size.value != here.value && size.value != 1 &&
        here.value != 1) {
      node.fail(std::string("the subscript '") + letter + "' is " + text(size) + " and " +
                text(here));
      return false;
    }
    size = size.value == 1 ? here : either(size, here);
  }
  return true;
}

void einsum(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Equation equation = parse(node.node().attr_string("equation", ""));
  if (equation.inputs.size() != node.inputs())
    return node.fail("subscripts for " + std::to_string(equation.inputs.size()) +
                     " operands, given " + std::to_string(node.inputs()));
  std::map<char, Dimension> sizes;
  Shape ellipsis;
  for (size_t i = 0; i < node.inputs(); ++i) {
    const Shape* shape = node.shape(i);
    if (shape == nullptr) return;
    if (!gather(node, equation.inputs[i], *shape, sizes, ellipsis)) return;
  }
  Shape result;
  for (const char letter : equation.output) {
    if (letter == '.') {
      result.insert(result.end(), ellipsis.begin(), ellipsis.end());
    } else if (sizes.contains(letter)) {
      result.push_back(sizes[letter]);
    } else {
      return node.fail(std::string("no operand has the subscript '") + letter + "'");
    }
  }
  node.set(0, element, std::move(result));
}

void determinant(NodeContext& node) {
  const Shape* shape = node.shape(0);
  node.set_element(0, node.element(0));
  if (shape == nullptr) return;
  if (shape->size() < 2) return node.fail("an input of shape " + text(*shape) + ", not a matrix");
  node.set(0, node.element(0), Shape(shape->begin(), shape->end() - 2));
}

constexpr RuleRow kRows[] = {
    {"Det", determinant},
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", qlinear_matmul},
};

}  // namespace

RuleRows matrix_rules() { return kRows; }

void matrix_product(NodeContext& node, size_t left, size_t right, ElementType element, bool turn_a,
                    bool turn_b) {
  node.set_element(0, element);
  if (node.shape(left) == nullptr || node.shape(right) == nullptr) return;
  const Shape a = turned(*node.shape(left), turn_a);
  const Shape b = turned(*node.shape(right), turn_b);
  if (a.empty() || b.empty()) return node.fail("a product with a scalar");
  const Dimension& inner_a = a.back();
  const Dimension& inner_b = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (inner_a.known() && inner_b.known() && inner_a.value != inner_b.value)
    return node.fail("operands of shapes " + text(a) + " and " + text(b) + " do not fit");
  const auto stack = [](const Shape& shape) {
    return shape.size() <= 2 ? Shape{} : Shape(shape.begin(), shape.end() - 2);
  };
  auto result = broadcast(stack(a), stack(b));
  if (!result) return node.fail("stacks of shapes " + text(a) + " and " + text(b) + " do not meet");
  if (a.size() > 1) result->push_back(a[a.size() - 2]);
  if (b.size() > 1) result->push_back(b.back());
  node.set(0, element, std::move(*result));
}

}  // namespace edgesage::onnx
