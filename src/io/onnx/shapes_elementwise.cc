#include <array>
#include <cmath>
#include <numeric>

#include "src/io/onnx/shapes_fold.h"
#include "src/io/onnx/shapes_rules.h"

namespace edgesage::onnx {
namespace {

void boolean_like(NodeContext& node) { shape_like(node, 0, ElementType::kBool, 0); }

// Before version 7 the second operand is broadcast to the first one (attributes broadcast, axis).
bool legacy(const NodeContext& node) { return node.since() < 7; }

using Binary = Scalar (*)(ElementType, const Scalar&, const Scalar&);

template <Binary kFunction>
void arithmetic(NodeContext& node) {
  if (legacy(node)) return same_type_as(node, 0, 0);
  broadcast_inputs(node, 0, node.element(0), {0, 1});
  fold_elementwise(node, node.element(0), {0, 1}, 0,
                   [](ElementType element, std::span<const Scalar> of) {
                     return kFunction(element, of[0], of[1]);
                   });
}

void power_rule(NodeContext& node) {
  if (legacy(node)) return same_type_as(node, 0, 0);
  broadcast_inputs(node, 0, node.element(0), {0, 1});
  if (node.element(0) == node.element(1)) arithmetic<power>(node);
}

void modulo_rule(NodeContext& node) {
  broadcast_inputs(node, 0, node.element(0), {0, 1});
  const bool like_c = node.node().attr_int("fmod", 0) != 0;
  if (is_real(node.element(0)) && !like_c) return;
  fold_elementwise(node, node.element(0), {0, 1}, 0,
                   [like_c](ElementType element, std::span<const Scalar> of) {
                     return modulo(element, of[0], of[1], like_c);
                   });
}

template <bool kLess, bool kEqual, bool kGreater>
void comparison(NodeContext& node) {
  if (legacy(node)) return shape_like(node, 0, ElementType::kBool, 0);
  broadcast_inputs(node, 0, ElementType::kBool, {0, 1});
  fold_elementwise(node, ElementType::kBool, {0, 1}, 0,
                   [](ElementType element, std::span<const Scalar> of) {
                     const auto order = compare(element, of[0], of[1]);
                     if (!order) return Scalar{};
                     const bool holds = *order < 0 ? kLess : *order > 0 ? kGreater : kEqual;
                     return known_integer(holds ? 1 : 0);
                   });
}

// `kAbsorbing`: the operand that decides alone; -1: none does.
template <int kAbsorbing>
void logical(NodeContext& node) {
  if (legacy(node)) return shape_like(node, 0, ElementType::kBool, 0);
  broadcast_inputs(node, 0, ElementType::kBool, {0, 1});
  fold_elementwise(node, ElementType::kBool, {0, 1}, 0,
                   [](ElementType, std::span<const Scalar> of) {
                     for (const Scalar& scalar : of)
                       if (scalar.known && scalar.i == kAbsorbing) return scalar;
                     if (!of[0].known || !of[1].known) return Scalar{};
                     if (kAbsorbing < 0) return known_integer(of[0].i != of[1].i ? 1 : 0);
                     return known_integer(1 - kAbsorbing);
                   });
}

void not_rule(NodeContext& node) {
  boolean_like(node);
  fold_elementwise(node, ElementType::kBool, {0}, 0, [](ElementType, std::span<const Scalar> of) {
    return of[0].known ? known_integer(1 - of[0].i) : Scalar{};
  });
}

void bitwise(NodeContext& node) { broadcast_inputs(node, 0, node.element(0), {0, 1}); }

std::vector<size_t> all_inputs(const NodeContext& node) {
  std::vector<size_t> which(node.inputs());
  std::iota(which.begin(), which.end(), size_t{0});
  return which;
}

// Sum, Mean, Min, Max of any number of inputs; before version 8 they have one shape.
void variadic(NodeContext& node) {
  const ElementType element = node.element(0);
  if (node.since() < 8) return same_type_as(node, 0, 0);
  if (node.inputs() > 0) broadcast_inputs(node, 0, element, all_inputs(node));
}

template <Binary kFunction>
void variadic_fold(NodeContext& node) {
  variadic(node);
  if (node.inputs() == 0) return;
  fold_elementwise(node, node.element(0), all_inputs(node), 0,
                   [](ElementType element, std::span<const Scalar> of) {
                     Scalar result = of[0];
                     for (const Scalar& next : of.subspan(1))
                       result = kFunction(element, result, next);
                     return result;
                   });
}

template <double (*kReal)(double), int64_t (*kInteger)(int64_t)>
void unary(NodeContext& node) {
  like_first(node);
  fold_elementwise(node, node.element(0), {0}, 0,
                   [](ElementType element, std::span<const Scalar> of) {
                     const Scalar& x = of[0];
                     if (!x.known) return Scalar{};
                     if (is_real(element)) return rounded(element, kReal(x.f));
                     if (x.i == INT64_MIN) return Scalar{};
                     return fitting(element, kInteger(x.i));
                   });
}

double real_negative(double x) { return -x; }
int64_t negative(int64_t x) { return -x; }
double real_magnitude(double x) { return std::fabs(x); }
int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }
double real_sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
int64_t sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double real_floor(double x) { return std::floor(x); }
double real_ceil(double x) { return std::ceil(x); }
double real_round(double x) { return std::nearbyint(x); }
double real_root(double x) { return std::sqrt(x); }
double real_inverse(double x) { return 1 / x; }
int64_t unchanged(int64_t x) { return x; }

void cast(NodeContext& node) {
  const ElementType to = element_attribute(node, "to", ElementType::kUndefined);
  shape_like(node, 0, to, 0);
  fold_elementwise(node, to, {0}, 0, [to](ElementType from, std::span<const Scalar> of) {
    return convert(from, to, of[0]);
  });
}

void cast_like(NodeContext& node) {
  const ElementType to = node.element(1);
  shape_like(node, 0, to, 0);
  fold_elementwise(node, to, {0}, 0, [to](ElementType from, std::span<const Scalar> of) {
    return convert(from, to, of[0]);
  });
}

void bit_cast(NodeContext& node) {
  const ElementType to = element_attribute(node, "to", ElementType::kUndefined);
  if (element_bits(to) == element_bits(node.element(0))) return shape_like(node, 0, to, 0);
  node.set_element(0, to);
}

// Version 1 to 10 have bounds as attributes, later ones as inputs: the type is the input's.
void clip(NodeContext& node) {
  like_first(node);
  if (node.since() < 11) return;
  const bool has_low = node.has_input(1);
  const bool has_high = node.has_input(2);
  const std::array<size_t, 3> which = {0, has_low ? size_t{1} : size_t{0},
                                       has_high ? size_t{2} : size_t{0}};
  fold_elementwise(node, node.element(0), which, 0,
                   [](ElementType element, std::span<const Scalar> of) {
                     return smaller(element, larger(element, of[0], of[1]), of[2]);
                   });
}

void where(NodeContext& node) {
  broadcast_inputs(node, 0, node.element(1), {0, 1, 2});
  fold_elementwise(node, node.element(1), {0, 1, 2}, 1,
                   [](ElementType element, std::span<const Scalar> of) {
                     if (of[0].known) return of[0].i != 0 ? of[1] : of[2];
                     const auto order = compare(element, of[1], of[2]);
                     return order == 0 ? of[1] : Scalar{};
                   });
}

// The slope is broadcast to the input, and never the other way round.
void prelu(NodeContext& node) {
  like_first(node);
  const Shape* input = node.shape(0);
  const Shape* slope = node.shape(1);
  if (legacy(node) || input == nullptr || slope == nullptr) return;
  const auto both = broadcast(*input, *slope);
  if (!both || both->size() != input->size() || (all_known(*input) && *both != *input))
    node.fail("a slope of shape " + text(*slope) + " for " + text(*input));
}

void dropout(NodeContext& node) {
  like_first(node);
  const bool boolean = node.since() >= 10;
  shape_like(node, 1, boolean ? ElementType::kBool : node.element(0), 0);
}

constexpr RuleRow kRows[] = {
    {"Abs", unary<real_magnitude, magnitude>},
    {"Acos", like_first},
    {"Acosh", like_first},
    {"Add", arithmetic<add>},
    {"And", logical<0>},
    {"Asin", like_first},
    {"Asinh", like_first},
    {"Atan", like_first},
    {"Atanh", like_first},
    {"BitCast", bit_cast},
    {"BitShift", bitwise},
    {"BitwiseAnd", bitwise},
    {"BitwiseNot", like_first},
    {"BitwiseOr", bitwise},
    {"BitwiseXor", bitwise},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", unary<real_ceil, unchanged>},
    {"Celu", like_first},
    {"Clip", clip},
    {"Cos", like_first},
    {"Cosh", like_first},
    {"CumProd", like_first},
    {"CumSum", like_first},
    {"Div", arithmetic<divide>},
    {"Dropout", dropout},
    {"Elu", like_first},
    {"Equal", comparison<false, true, false>},
    {"Erf", like_first},
    {"Exp", like_first},
    {"Floor", unary<real_floor, unchanged>},
    {"Gelu", like_first},
    {"Greater", comparison<false, false, true>},
    {"GreaterOrEqual", comparison<false, true, true>},
    {"HardSigmoid", like_first},
    {"HardSwish", like_first},
    {"Hardmax", like_first},
    {"Identity", same_as_first},
    {"IsInf", boolean_like},
    {"IsNaN", boolean_like},
    {"LeakyRelu", like_first},
    {"Less", comparison<true, false, false>},
    {"LessOrEqual", comparison<true, true, false>},
    {"Log", like_first},
    {"LogSoftmax", like_first},
    {"Max", variadic_fold<larger>},
    {"Mean", variadic},
    {"Min", variadic_fold<smaller>},
    {"Mish", like_first},
    {"Mod", modulo_rule},
    {"Mul", arithmetic<multiply>},
    {"Neg", unary<real_negative, negative>},
    {"Not", not_rule},
    {"Or", logical<1>},
    {"PRelu", prelu},
    {"Pow", power_rule},
    {"Reciprocal", unary<real_inverse, unchanged>},
    {"Relu", like_first},
    {"Round", unary<real_round, unchanged>},
    {"Selu", like_first},
    {"Shrink", like_first},
    {"Sigmoid", like_first},
    {"Sign", unary<real_sign, sign>},
    {"Sin", like_first},
    {"Sinh", like_first},
    {"Softmax", like_first},
    {"Softplus", like_first},
    {"Softsign", like_first},
    {"Sqrt", unary<real_root, unchanged>},
    {"Sub", arithmetic<subtract>},
    {"Sum", variadic_fold<add>},
    {"Swish", like_first},
    {"Tan", like_first},
    {"Tanh", like_first},
    {"ThresholdedRelu", like_first},
    {"Where", where},
    {"Xor", logical<-1>},
};

}  // namespace

RuleRows elementwise_rules() { return kRows; }

}  // namespace edgesage::onnx
