// Attention and its relatives, since version 23.
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// Batch, heads, length and size of a head, from [B, H, S, D] or, by the number of heads, [B, S,
// HD].
struct Heads {
  Dimension batch, heads, length, size;
};

Heads heads_of(const Shape* shape, int64_t count) {
  if (shape == nullptr) return {};
  if (shape->size() == 4) return {(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
  if (shape->size() != 3) return {};
  const Dimension heads = count > 0 ? number(count) : Dimension{};
  return {(*shape)[0], heads, (*shape)[1], heads.known() ? (*shape)[2] / heads : Dimension{}};
}

void attention(NodeContext& node) {
  const Shape* query = node.shape(0);
  const ElementType element = node.element(0);
  node.set_element(0, element);
  node.set_element(1, node.element(1));
  node.set_element(2, node.element(2));
  node.set_element(3, element);
  const Heads q = heads_of(query, node.node().attr_int("q_num_heads", 0));
  const Heads k = heads_of(node.shape(1), node.node().attr_int("kv_num_heads", 0));
  const Heads v = heads_of(node.shape(2), node.node().attr_int("kv_num_heads", 0));
  if (query == nullptr) return;
  if (query->size() != 3 && query->size() != 4)
    return node.fail("a query of shape " + text(*query));
  if (query->size() == 4) node.set(0, element, {q.batch, q.heads, q.length, v.size});
  if (query->size() == 3) node.set(0, element, {q.batch, q.length, q.heads * v.size});
  Dimension past = number(0);
  if (node.has_input(4)) {
    const Shape* shape = node.shape(4);
    past = shape != nullptr && shape->size() == 4 ? (*shape)[2] : Dimension{};
  }
  const Dimension total = past + k.length;
  node.set(1, node.element(1), {k.batch, k.heads, total, k.size});
  node.set(2, node.element(2), {v.batch, v.heads, total, v.size});
  node.set(3, element, {q.batch, q.heads, q.length, total});
}

// Packed [B, T, H * D]; the state is [B, H_kv, d_k, d_v].
void linear_attention(NodeContext& node) {
  const int64_t count = node.node().attr_int("q_num_heads", 0);
  const int64_t shared = node.node().attr_int("kv_num_heads", 0);
  const Heads q = heads_of(node.shape(0), count);
  const Heads k = heads_of(node.shape(1), shared);
  const Heads v = heads_of(node.shape(2), shared);
  node.set(0, node.element(0), {q.batch, q.length, q.heads * v.size});
  if (node.has_input(3)) return same_type_as(node, 1, 3);
  node.set(1, node.element(0), {q.batch, k.heads, k.size, v.size});
}

void causal_conv(NodeContext& node) {
  like_first(node);
  if (node.has_input(3) && node.shape(3) != nullptr) return same_type_as(node, 1, 3);
  const Shape* input = node.shape(0);
  const Shape* weights = node.shape(1);
  Shape state = open_shape(3);
  if (input != nullptr && input->size() == 3) state = {(*input)[0], (*input)[1], Dimension{}};
  if (weights != nullptr && weights->size() == 3 && (*weights)[2].value > 0)
    state[2] = number((*weights)[2].value - 1);
  node.set(1, node.element(0), std::move(state));
}

constexpr RuleRow kRows[] = {
    {"Attention", attention},
    {"CausalConvWithState", causal_conv},
    {"LinearAttention", linear_attention},
    {"RotaryEmbedding", like_first},
    {"SwiGLU", like_first},
};

constexpr RuleRow kPreview[] = {{"FlexAttention", attention}};

}  // namespace

RuleRows attention_rules() { return kRows; }

RuleRows preview_rules() { return kPreview; }

}  // namespace edgesage::onnx
