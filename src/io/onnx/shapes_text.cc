// Strings and images.
#include <algorithm>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

void string_concat(NodeContext& node) { broadcast_inputs(node, 0, ElementType::kString, {0, 1}); }

void regex_full_match(NodeContext& node) { shape_like(node, 0, ElementType::kBool, 0); }

// Words of each string, and how many there are.
void string_split(NodeContext& node) {
  node.set_element(0, ElementType::kString);
  shape_like(node, 1, ElementType::kInt64, 0);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  Shape words = *input;
  words.emplace_back();
  node.set(0, ElementType::kString, std::move(words));
}

// Stop words go, where there are any: how many strings remain is not known.
void string_normalizer(NodeContext& node) {
  node.set_element(0, ElementType::kString);
  const Shape* input = node.shape(0);
  if (input == nullptr || input->empty()) return;
  const Attribute* stopwords = node.node().find("stopwords");
  Shape result = *input;
  if (stopwords != nullptr && !stopwords->strings.empty()) result.back() = {};
  node.set(0, ElementType::kString, std::move(result));
}

void tf_idf(NodeContext& node) {
  node.set_element(0, ElementType::kFloat);
  const Shape* input = node.shape(0);
  if (input == nullptr || input->size() > 2) return;
  int64_t most = -1;
  for (const int64_t index : node.node().attr_ints("ngram_indexes")) most = std::max(most, index);
  const Dimension count = most >= 0 && most < INT64_MAX ? number(most + 1) : Dimension{};
  if (input->size() == 2) return node.set(0, ElementType::kFloat, {(*input)[0], count});
  node.set(0, ElementType::kFloat, {count});
}

void image_decoder(NodeContext& node) {
  const bool gray = node.node().attr_string("pixel_format", "RGB") == "Grayscale";
  node.set(0, ElementType::kUint8, {Dimension{}, Dimension{}, number(gray ? 1 : 3)});
}

constexpr RuleRow kRows[] = {
    {"ImageDecoder", image_decoder}, {"RegexFullMatch", regex_full_match},
    {"StringConcat", string_concat}, {"StringNormalizer", string_normalizer},
    {"StringSplit", string_split},   {"TfIdfVectorizer", tf_idf},
};

}  // namespace

RuleRows text_rules() { return kRows; }

}  // namespace edgesage::onnx
