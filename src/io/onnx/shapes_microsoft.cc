// com.microsoft: the operators that ONNX Runtime's optimiser and quantiser write into files.
#include <algorithm>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

// Each operand is followed by its scale and zero point.
void qlinear_binary(NodeContext& node) { broadcast_inputs(node, 0, node.element(0), {0, 3}); }
void qlinear_where(NodeContext& node) { broadcast_inputs(node, 0, node.element(1), {0, 1, 4}); }
void qlinear_pool(NodeContext& node) { pooling(node, 0, node.element(0)); }
void fused_conv(NodeContext& node) { convolution(node, 0, 1, node.element(0)); }
void qlinear_conv(NodeContext& node) { convolution(node, 0, 3, node.element(7)); }

void qlinear_global_pool(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  if (input == nullptr || input->size() < 2) return;
  Shape result = *input;
  const size_t first = node.node().attr_int("channels_last", 0) != 0 ? 1 : 2;
  std::fill_n(result.begin() + static_cast<std::ptrdiff_t>(first), result.size() - 2, number(1));
  node.set(0, node.element(0), std::move(result));
}

// Inputs: scale and zero point of the result, then triples.
void qlinear_concat(NodeContext& node) {
  node.set_element(0, node.element(1));
  auto parts = joined(node, node.node().attr_int("axis", 0), 2, 3);
  if (parts) node.set(0, node.element(1), std::move(parts->shape));
}

void qlinear_reduce_mean(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  const auto given = node.node().attr_ints("axes");
  std::vector<int64_t> axes(given.begin(), given.end());
  if (axes.empty()) axes = all_axes(input->size());
  auto result = reduced(node, *input, axes, node.node().attr_int("keepdims", 1) == 1);
  if (result) node.set(0, node.element(0), std::move(*result));
}

bool turns(const NodeContext& node, std::string_view attribute) {
  return node.node().attr_int(attribute, 0) != 0;
}

void fused_matmul(NodeContext& node) {
  // Stacks that are turned too move the batch inside; rare, and left open.
  if (turns(node, "transBatchA") || turns(node, "transBatchB"))
    return node.set_element(0, node.element(0));
  matrix_product(node, 0, 1, node.element(0), turns(node, "transA"), turns(node, "transB"));
}
void dynamic_matmul(NodeContext& node) { matrix_product(node, 0, 1, node.element(0)); }
void matmul_integer_to_float(NodeContext& node) { matrix_product(node, 0, 1, node.element(2)); }
void matmul_integer16(NodeContext& node) { matrix_product(node, 0, 1, ElementType::kInt32); }

// The type is the zero point's; without one the result is float.
void qgemm(NodeContext& node) {
  matrix_product(node, 0, 3, node.has_input(8) ? node.element(8) : ElementType::kFloat,
                 turns(node, "transA"), turns(node, "transB"));
}

// Packed weights: their sizes are attributes.
void matmul_packed(NodeContext& node) {
  const ElementType element = node.element(0);
  node.set_element(0, element);
  const Shape* input = node.shape(0);
  if (input == nullptr || input->empty()) return;
  const Dimension inner = number(node.node().attr_int("K", -1));
  if (inner.known() && input->back().known() && inner.value != input->back().value)
    return node.fail("K of " + text(inner) + " on " + text(*input));
  Shape result = *input;
  result.back() = number(node.node().attr_int("N", -1));
  node.set(0, element, std::move(result));
}

void bias_split_gelu(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  if (input == nullptr || input->empty()) return;
  Shape result = *input;
  result.back() = result.back() / number(2);
  node.set(0, node.element(0), std::move(result));
}

void bias_dropout(NodeContext& node) {
  like_first(node);
  shape_like(node, 1, ElementType::kBool, 0);
}

// Outputs: the result, mean, inverse deviation, and the sum of what was added.
void skip_layer_normalization(NodeContext& node) {
  like_first(node);
  same_type_as(node, 3, 0);
  const Shape* input = node.shape(0);
  for (size_t o = 1; o < 3; ++o) {
    node.set_element(o, ElementType::kFloat);
    if (input == nullptr || input->empty()) continue;
    Shape statistics = *input;
    statistics.back() = number(1);
    node.set(o, ElementType::kFloat, std::move(statistics));
  }
}

// Inputs: ids [batch, length], segments, then tables [entries, hidden].
void embed_layer_normalization(NodeContext& node) {
  const Shape* ids = node.shape(0);
  const Shape* table = node.shape(2);
  const ElementType element = node.element(2);
  Shape result = open_shape(3);
  if (ids != nullptr && ids->size() == 2) std::copy(ids->begin(), ids->end(), result.begin());
  if (table != nullptr && table->size() == 2) result[2] = (*table)[1];
  node.set(1, ElementType::kInt32, {result[0]});
  node.set(2, element, result);
  node.set(0, element, std::move(result));
}

// Input [batch, length, width] by weights [width, 3 * hidden]; `past` [2, batch, heads, length,
// size].
void merged_attention(NodeContext& node, ElementType element, size_t past_input) {
  const Shape* input = node.shape(0);
  const Shape* weights = node.shape(1);
  Shape result = open_shape(3);
  if (input != nullptr && input->size() == 3) result = {(*input)[0], (*input)[1], Dimension{}};
  const auto sizes = node.node().attr_ints("qkv_hidden_sizes");
  if (sizes.size() == 3) {
    result[2] = number(sizes[2]);
  } else if (weights != nullptr && weights->size() == 2) {
    result[2] = (*weights)[1] / number(3);
  }
  const int64_t count = node.node().attr_int("num_heads", 0);
  const Dimension heads = count > 0 ? number(count) : Dimension{};
  Dimension total = result[1];
  if (node.has_input(past_input)) {
    const Shape* past = node.shape(past_input);
    const bool shared = node.node().attr_int("past_present_share_buffer", 0) != 0;
    const Dimension before = past != nullptr && past->size() == 5 ? (*past)[3] : Dimension{};
    total = shared ? before : before + total;
  }
  node.set(1, element,
           {number(2), result[0], heads, total, heads.known() ? result[2] / heads : Dimension{}});
  node.set(0, element, std::move(result));
}

void attention(NodeContext& node) { merged_attention(node, node.element(0), 4); }
void qattention(NodeContext& node) { merged_attention(node, node.element(3), 8); }

// Query [batch, length, hidden], or all packed [batch, length, heads, 3, size].
void multi_head_attention(NodeContext& node) {
  const Shape* query = node.shape(0);
  const Shape* value = node.shape(2);
  const ElementType element = node.element(0);
  node.set_element(0, element);
  if (query == nullptr) return;
  if (query->size() == 5)
    return node.set(0, element, {(*query)[0], (*query)[1], (*query)[2] * (*query)[4]});
  if (query->size() != 3) return node.fail("a query of shape " + text(*query));
  Shape result = {(*query)[0], (*query)[1], Dimension{}};
  if (value != nullptr && value->size() == 3) result[2] = (*value)[2];
  if (value != nullptr && value->size() == 4) result[2] = (*value)[1] * (*value)[3];
  node.set(0, element, std::move(result));
}

// Query [batch, length, hidden]; without a key the heads of key and value are packed into it.
void group_query_attention(NodeContext& node) {
  const Shape* query = node.shape(0);
  const ElementType element = node.element(0);
  for (size_t o = 0; o < node.outputs(); ++o) node.set_element(o, element);
  if (query == nullptr || query->size() != 3) return;
  const int64_t heads = node.node().attr_int("num_heads", 0);
  const int64_t shared = node.node().attr_int("kv_num_heads", 0);
  if (heads < 1 || shared < 1 || heads > (1 << 20) || shared > (1 << 20)) return;
  const bool packed = !node.has_input(1);
  const Dimension size = (*query)[2] / number(packed ? heads + 2 * shared : heads);
  node.set(0, element, {(*query)[0], (*query)[1], size * number(heads)});
  for (size_t o = 1; o < 3; ++o)
    node.set(o, element, {(*query)[0], number(shared), Dimension{}, size});
}

void expand_dims(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  const auto given = node.integer(1);
  if (input == nullptr || !given) return;
  const auto axis = at_axis(*given, input->size() + 1);
  if (!axis) return node.fail("axis " + std::to_string(*given) + " for " + text(*input));
  Shape result = *input;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis), number(1));
  node.set(0, node.element(0), std::move(result));
}

// No rule of its own: as the operator of that name in ai.onnx, in its newest version.
constexpr Rule kAsInOnnx = nullptr;

constexpr RuleRow kRows[] = {
    {"Attention", attention},
    {"BiasAdd", like_first},
    {"BiasDropout", bias_dropout},
    {"BiasGelu", like_first},
    {"BiasSoftmax", like_first},
    {"BiasSplitGelu", bias_split_gelu},
    {"CausalConvWithState", kAsInOnnx},
    {"DequantizeLinear", kAsInOnnx},
    {"DynamicQuantizeMatMul", dynamic_matmul},
    {"EmbedLayerNormalization", embed_layer_normalization},
    {"ExpandDims", expand_dims},
    {"FastGelu", like_first},
    {"FusedConv", fused_conv},
    {"FusedGemm", kAsInOnnx},
    {"FusedMatMul", fused_matmul},
    {"FusedMatMulActivation", fused_matmul},
    {"GatherND", kAsInOnnx},
    {"Gelu", like_first},
    {"GridSample", kAsInOnnx},
    {"GroupNorm", like_first},
    {"GroupQueryAttention", group_query_attention},
    {"Inverse", like_first},
    {"LayerNormalization", kAsInOnnx},
    {"MatMulBnb4", matmul_packed},
    {"MatMulInteger16", matmul_integer16},
    {"MatMulIntegerToFloat", matmul_integer_to_float},
    {"MatMulNBits", matmul_packed},
    {"MultiHeadAttention", multi_head_attention},
    {"NhwcConv", fused_conv},
    {"NhwcFusedConv", fused_conv},
    {"NhwcMaxPool", qlinear_pool},
    {"Pad", kAsInOnnx},
    {"QAttention", qattention},
    {"QGemm", qgemm},
    {"QLinearAdd", qlinear_binary},
    {"QLinearAveragePool", qlinear_pool},
    {"QLinearConcat", qlinear_concat},
    {"QLinearConv", qlinear_conv},
    {"QLinearGlobalAveragePool", qlinear_global_pool},
    {"QLinearLeakyRelu", like_first},
    {"QLinearMul", qlinear_binary},
    {"QLinearReduceMean", qlinear_reduce_mean},
    {"QLinearSigmoid", like_first},
    {"QLinearSoftmax", like_first},
    {"QLinearWhere", qlinear_where},
    {"QuantizeLinear", kAsInOnnx},
    {"QuickGelu", like_first},
    {"Range", kAsInOnnx},
    {"RotaryEmbedding", like_first},
    {"SkipGroupNorm", like_first},
    {"SkipLayerNormalization", skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", skip_layer_normalization},
    {"TransposeMatMul", fused_matmul},
    {"Trilu", kAsInOnnx},
    {"Unique", kAsInOnnx},
};

}  // namespace

RuleRows microsoft_rules() { return kRows; }

}  // namespace edgesage::onnx
