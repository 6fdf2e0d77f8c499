#include "src/io/onnx/shapes_fold.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgesage::onnx {
namespace {

bool is(ElementType element, const Scalar& scalar, int value) {
  return scalar.known && (is_real(element) ? scalar.f == value : scalar.i == value);
}

// Where in `dims` the element at `index` of the broadcast result lies.
size_t source_index(size_t index, std::span<const int64_t> out, std::span<const int64_t> dims) {
  size_t source = 0;
  size_t stride = 1;
  for (size_t k = out.size(); k-- > 0;) {
    const auto size = static_cast<size_t>(out[k]);
    const size_t at = index % size;
    index /= size;
    const size_t from_end = out.size() - k;
    if (from_end > dims.size()) continue;
    const auto own = static_cast<size_t>(dims[dims.size() - from_end]);
    if (own != 1) source += at * stride;
    stride *= own;
  }
  return source;
}

bool same_symbol(const Scalar& a, const Scalar& b) {
  return !a.known && !b.known && !a.symbol.empty() && a.symbol == b.symbol;
}

template <class Integer, class Real>
Scalar arithmetic(ElementType element, const Scalar& a, const Scalar& b, Integer integer,
                  Real real) {
  if (!a.known || !b.known) return {};
  if (is_real(element)) {
    if (element == ElementType::kFloat)
      return rounded(element, real(static_cast<float>(a.f), static_cast<float>(b.f)));
    return known_real(real(a.f, b.f));
  }
  int64_t result = 0;
  return integer(a.i, b.i, result) ? fitting(element, result) : Scalar{};
}

}  // namespace

void fold_elementwise(NodeContext& node, ElementType element, std::initializer_list<size_t> inputs,
                      size_t typed_by, const ScalarFunction& function) {
  fold_elementwise(node, element, std::span(inputs.begin(), inputs.size()), typed_by, function);
}

void fold_elementwise(NodeContext& node, ElementType element, std::span<const size_t> inputs,
                      size_t typed_by, const ScalarFunction& function) {
  std::vector<FoldedPtr> values;
  Shape shape;
  for (const size_t input : inputs) {
    values.push_back(node.data(input));
    if (values.back() == nullptr) return;
    const auto wider = broadcast(shape, shape_of(values.back()->dims));
    if (!wider) return;
    shape = *wider;
  }
  const auto dims = small_dims(shape);
  if (!dims || !is_foldable(element)) return;
  Folded folded;
  folded.element = element;
  folded.dims = *dims;
  const size_t count = *small_count(*dims);
  folded.elements.reserve(count);
  std::vector<Scalar> arguments(values.size());
  const ElementType type = node.element(typed_by);
  for (size_t k = 0; k < count; ++k) {
    for (size_t v = 0; v < values.size(); ++v)
      arguments[v] = values[v]->elements[source_index(k, *dims, values[v]->dims)];
    folded.elements.push_back(function(type, arguments));
  }
  node.fold(0, std::move(folded));
}

Scalar add(ElementType element, const Scalar& a, const Scalar& b) {
  if (is(element, a, 0)) return b;
  if (is(element, b, 0)) return a;
  return arithmetic(
      element, a, b, [](auto x, auto y, auto& out) { return !__builtin_add_overflow(x, y, &out); },
      [](auto x, auto y) { return x + y; });
}

Scalar subtract(ElementType element, const Scalar& a, const Scalar& b) {
  if (is(element, b, 0)) return a;
  if (same_symbol(a, b)) return known_integer(0);
  return arithmetic(
      element, a, b, [](auto x, auto y, auto& out) { return !__builtin_sub_overflow(x, y, &out); },
      [](auto x, auto y) { return x - y; });
}

Scalar multiply(ElementType element, const Scalar& a, const Scalar& b) {
  if (is(element, a, 1)) return b;
  if (is(element, b, 1)) return a;
  if (!is_real(element) && (is(element, a, 0) || is(element, b, 0))) return known_integer(0);
  return arithmetic(
      element, a, b, [](auto x, auto y, auto& out) { return !__builtin_mul_overflow(x, y, &out); },
      [](auto x, auto y) { return x * y; });
}

Scalar divide(ElementType element, const Scalar& a, const Scalar& b) {
  if (is(element, b, 1)) return a;
  if (is(element, b, 0)) return {};
  return arithmetic(
      element, a, b,
      [](auto x, auto y, auto& out) {
        if (y == -1 && x == std::numeric_limits<int64_t>::min()) return false;
        out = x / y;
        return true;
      },
      [](auto x, auto y) { return x / y; });
}

Scalar power(ElementType element, const Scalar& a, const Scalar& b) {
  if (is(element, b, 1)) return a;
  if (!a.known || !b.known) return {};
  if (is_real(element)) return rounded(element, std::pow(a.f, b.f));
  if (b.i < 0 || b.i > 64) return {};
  int64_t result = 1;
  for (int64_t k = 0; k < b.i; ++k)
    if (__builtin_mul_overflow(result, a.i, &result)) return {};
  return fitting(element, result);
}

Scalar modulo(ElementType element, const Scalar& a, const Scalar& b, bool like_c) {
  if (!a.known || !b.known || is(element, b, 0)) return {};
  if (is_real(element)) return rounded(element, std::fmod(a.f, b.f));
  if (b.i == -1) return known_integer(0);
  int64_t result = a.i % b.i;
  if (!like_c && result != 0 && (result < 0) != (b.i < 0)) result += b.i;
  return known_integer(result);
}

Scalar smaller(ElementType element, const Scalar& a, const Scalar& b) {
  const auto order = compare(element, a, b);
  return order ? (*order <= 0 ? a : b) : Scalar{};
}

Scalar larger(ElementType element, const Scalar& a, const Scalar& b) {
  const auto order = compare(element, a, b);
  return order ? (*order >= 0 ? a : b) : Scalar{};
}

std::optional<int> compare(ElementType element, const Scalar& a, const Scalar& b) {
  if (same_symbol(a, b)) return 0;
  // A symbol is a size: never below 0.
  const auto size_against = [](const Scalar& size, const Scalar& other) {
    return !size.known && !size.symbol.empty() && other.known && other.i < 0;
  };
  if (!is_real(element) && size_against(a, b)) return 1;
  if (!is_real(element) && size_against(b, a)) return -1;
  if (!a.known || !b.known) return std::nullopt;
  if (is_real(element)) {
    if (std::isnan(a.f) || std::isnan(b.f)) return std::nullopt;
    return a.f < b.f ? -1 : a.f > b.f ? 1 : 0;
  }
  return a.i < b.i ? -1 : a.i > b.i ? 1 : 0;
}

Scalar convert(ElementType from, ElementType to, const Scalar& value) {
  if (!value.known)
    return is_integer(from) && is_integer(to) ? Scalar{0, 0, value.symbol, false} : Scalar{};
  if (to == ElementType::kBool)
    return known_integer(is_real(from) ? (value.f != 0 ? 1 : 0) : (value.i != 0 ? 1 : 0));
  if (is_real(to)) return rounded(to, is_real(from) ? value.f : static_cast<double>(value.i));
  if (!is_real(from)) return fitting(to, value.i);
  if (!(std::abs(value.f) < 9.2e18)) return {};
  return fitting(to, static_cast<int64_t>(value.f));
}

}  // namespace edgesage::onnx
