// RNN, GRU and LSTM.
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// Outputs: Y of all steps, then `states` last ones.
void recurrent(NodeContext& node, size_t states) {
  const ElementType element = node.element(0);
  for (size_t o = 0; o < node.outputs(); ++o) node.set_element(o, element);
  const Shape* input = node.shape(0);
  const Shape* weights = node.shape(2);  // R: [directions, gates * hidden, hidden]
  const bool both = node.node().attr_string("direction", "forward") == "bidirectional";
  const Dimension directions = number(both ? 2 : 1);
  Dimension hidden = number(node.node().attr_int("hidden_size", -1));
  if (!hidden.known() && weights != nullptr && weights->size() == 3) hidden = (*weights)[2];
  if (input != nullptr && input->size() != 3)
    return node.fail("an input of shape " + text(*input) + ", not of 3 dimensions");
  const bool batch_first = node.node().attr_int("layout", 0) != 0;
  const Dimension first = input != nullptr ? (*input)[0] : Dimension{};
  const Dimension second = input != nullptr ? (*input)[1] : Dimension{};
  const Dimension& batch = batch_first ? first : second;
  node.set(0, element,
           batch_first ? Shape{first, second, directions, hidden}
                       : Shape{first, directions, second, hidden});
  for (size_t o = 1; o <= states; ++o)
    node.set(o, element,
             batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
}

void rnn(NodeContext& node) { recurrent(node, 1); }
void lstm(NodeContext& node) { recurrent(node, 2); }

constexpr RuleRow kRows[] = {{"GRU", rnn}, {"LSTM", lstm}, {"RNN", rnn}};

}  // namespace

RuleRows recurrent_rules() { return kRows; }

}  // namespace edgesage::onnx
