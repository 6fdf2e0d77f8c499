// ai.onnx.ml and ai.onnx.preview.training.
#include <algorithm>

#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

void float_like(NodeContext& node) { shape_like(node, 0, ElementType::kFloat, 0); }

void cast_map(NodeContext& node) {
  const std::string_view to = node.node().attr_string("cast_to", "TO_FLOAT");
  node.set_element(0, to == "TO_STRING"  ? ElementType::kString
                      : to == "TO_INT64" ? ElementType::kInt64
                                         : ElementType::kFloat);
}

void category_mapper(NodeContext& node) {
  const bool text = node.element(0) == ElementType::kString;
  shape_like(node, 0, text ? ElementType::kInt64 : ElementType::kString, 0);
}

void label_encoder(NodeContext& node) {
  ElementType element = ElementType::kUndefined;
  for (const Attribute& attribute : node.node().attributes) {
    if (attribute.name == "values_strings" || attribute.name == "classes_strings")
      element = ElementType::kString;
    if (attribute.name == "values_int64s") element = ElementType::kInt64;
    if (attribute.name == "values_floats") element = ElementType::kFloat;
    if (attribute.name == "values_tensor" && !attribute.tensors.empty())
      element = attribute.tensors[0].element;
  }
  // Version 1 maps strings to numbers and back by one list.
  if (node.since() < 2)
    element = node.element(0) == ElementType::kString ? ElementType::kInt64 : ElementType::kString;
  shape_like(node, 0, element, 0);
}

// A class for each sample, and a score for each class.
void classifier(NodeContext& node) {
  size_t classes = 0;
  bool text = false;
  for (const std::string_view name :
       {"classlabels_strings", "classlabels_ints", "classlabels_int64s"}) {
    const Attribute* attribute = node.node().find(name);
    if (attribute == nullptr) continue;
    if (!attribute->strings.empty()) text = true;
    classes = std::max({classes, attribute->strings.size(), attribute->ints.size()});
  }
  const Shape* input = node.shape(0);
  Dimension samples;
  if (input != nullptr)
    samples = input->size() == 1 ? number(1) : input->empty() ? Dimension{} : (*input)[0];
  node.set(0, text ? ElementType::kString : ElementType::kInt64, {samples});
  node.set(1, ElementType::kFloat,
           {samples, classes > 0 ? number(static_cast<int64_t>(classes)) : Dimension{}});
}

void regressor(NodeContext& node) {
  const Shape* input = node.shape(0);
  int64_t targets = node.node().attr_int("n_targets", node.node().attr_int("targets", 1));
  const Dimension samples = input != nullptr && input->size() == 2 ? (*input)[0] : Dimension{};
  node.set(0, ElementType::kFloat, {samples, number(targets)});
}

void tree_ensemble(NodeContext& node) {
  const Shape* input = node.shape(0);
  node.set(0, node.element(0),
           {input != nullptr && !input->empty() ? (*input)[0] : Dimension{},
            number(node.node().attr_int("n_targets", 1))});
}

void one_hot_encoder(NodeContext& node) {
  size_t categories = 0;
  for (const std::string_view name : {"cats_int64s", "cats_strings"})
    if (const Attribute* attribute = node.node().find(name))
      categories = std::max({categories, attribute->ints.size(), attribute->strings.size()});
  node.set_element(0, ElementType::kFloat);
  const Shape* input = node.shape(0);
  if (input == nullptr) return;
  Shape result = *input;
  result.push_back(number(static_cast<int64_t>(categories)));
  node.set(0, ElementType::kFloat, std::move(result));
}

void array_feature_extractor(NodeContext& node) {
  node.set_element(0, node.element(0));
  const Shape* input = node.shape(0);
  const Shape* indices = node.shape(1);
  if (input == nullptr || indices == nullptr || input->empty() || indices->empty()) return;
  Shape result = *input;
  result.back() = product(*indices, 0, indices->size());
  if (result.size() == 1) result.insert(result.begin(), number(1));
  node.set(0, node.element(0), std::move(result));
}

void feature_vectorizer(NodeContext& node) {
  const Shape* input = node.shape(0);
  Dimension width = number(0);
  for (const int64_t size : node.node().attr_ints("inputdimensions")) width = width + number(size);
  if (width.value == 0) width = {};
  node.set(0, ElementType::kFloat,
           {input != nullptr && input->size() == 2 ? (*input)[0] : Dimension{}, width});
}

void zip_map(NodeContext& node) {
  const bool text = node.node().find("classlabels_strings") != nullptr;
  ValueType map = holder(ValueType::Kind::kMap, tensor(ElementType::kFloat, {}));
  map.element = text ? ElementType::kString : ElementType::kInt64;
  node.set(0, holder(ValueType::Kind::kSequence, std::move(map)));
}

void dict_vectorizer(NodeContext& node) {
  const ValueType* inner = node.type(0).inner.get();
  if (inner != nullptr) node.set_element(0, inner->element);
}

constexpr RuleRow kClassical[] = {
    {"ArrayFeatureExtractor", array_feature_extractor},
    {"Binarizer", like_first},
    {"CastMap", cast_map},
    {"CategoryMapper", category_mapper},
    {"DictVectorizer", dict_vectorizer},
    {"FeatureVectorizer", feature_vectorizer},
    {"Imputer", like_first},
    {"LabelEncoder", label_encoder},
    {"LinearClassifier", classifier},
    {"LinearRegressor", regressor},
    {"Normalizer", float_like},
    {"OneHotEncoder", one_hot_encoder},
    {"SVMClassifier", classifier},
    {"SVMRegressor", regressor},
    {"Scaler", float_like},
    {"TreeEnsemble", tree_ensemble},
    {"TreeEnsembleClassifier", classifier},
    {"TreeEnsembleRegressor", regressor},
    {"ZipMap", zip_map},
};

// Inputs: rate, step, then groups of tensors, gradients and what the method keeps of each tensor;
// outputs: the tensors and what is kept.
void optimizer(NodeContext& node, size_t kept) {
  const size_t groups = node.inputs() < 2 ? 0 : (node.inputs() - 2) / (kept + 2);
  for (size_t k = 0; k < groups; ++k) {
    same_type_as(node, k, 2 + k);
    for (size_t n = 0; n < kept; ++n)
      same_type_as(node, (n + 1) * groups + k, 2 + (n + 2) * groups + k);
  }
}

void adagrad(NodeContext& node) { optimizer(node, 1); }
void adam(NodeContext& node) { optimizer(node, 2); }

// The gradient by each of the `xs`, which are the first inputs.
void gradient(NodeContext& node) {
  for (size_t o = 0; o < node.outputs(); ++o) same_type_as(node, o, o);
}

constexpr RuleRow kTraining[] = {
    {"Adagrad", adagrad}, {"Adam", adam}, {"Gradient", gradient}, {"Momentum", adagrad}};

}  // namespace

RuleRows classical_rules() { return kClassical; }

RuleRows training_rules() { return kTraining; }

}  // namespace edgesage::onnx
