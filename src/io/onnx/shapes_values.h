// Arithmetic on dimensions that may be unknown, and folded values: small tensors of which every
// element may be a number, a symbol (the size of a named dimension) or unknown.
//
// Sums and products that leave int64 are unknown dimensions. Thread-safe: no state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/onnx/model.h"

namespace edgesage::onnx {

using Shape = std::vector<Dimension>;

// A folded value holds at most so many elements.
inline constexpr int64_t kMaxFoldedElements = 4096;
// A shape has at most so many dimensions; a longer one is unknown.
inline constexpr int64_t kMaxRank = 256;

[[nodiscard]] inline Dimension number(int64_t value) { return {value < 0 ? -1 : value, {}}; }
[[nodiscard]] Dimension operator+(const Dimension& a, const Dimension& b);
[[nodiscard]] Dimension operator*(const Dimension& a, const Dimension& b);
// Rounded down; unknown where `b` is 0.
[[nodiscard]] Dimension operator/(const Dimension& a, const Dimension& b);
// The better known of two statements about one dimension; of two numbers the first.
[[nodiscard]] Dimension either(const Dimension& a, const Dimension& b);
// What holds for both.
[[nodiscard]] Dimension common(const Dimension& a, const Dimension& b);

[[nodiscard]] bool all_known(const Shape& shape);
[[nodiscard]] Shape shape_of(std::span<const int64_t> dims);
[[nodiscard]] std::string text(const Dimension& dimension);
[[nodiscard]] std::string text(const Shape& shape);
// Of the dimensions from `begin` to before `end`; unknown where one of them is. 1 where there is
// none, 0 where one is 0.
[[nodiscard]] Dimension product(const Shape& shape, size_t begin, size_t end);
// `axis` counted from the front; nullopt where it is beyond `rank`.
[[nodiscard]] std::optional<size_t> at_axis(int64_t axis, size_t rank);

// 0, 1, ... to before `rank`.
[[nodiscard]] std::vector<int64_t> all_axes(size_t rank);

// NumPy's rule, from the last dimension; nullopt where two sizes cannot meet.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);

[[nodiscard]] ValueType tensor(ElementType element);
[[nodiscard]] ValueType tensor(ElementType element, Shape shape);
[[nodiscard]] ValueType holder(ValueType::Kind kind, ValueType inner);
// What holds for a value of either type (the branches of an If).
[[nodiscard]] ValueType common(const ValueType& a, const ValueType& b);
// Same kind, element, rank and dimensions, whatever names they have.
[[nodiscard]] bool same_type(const ValueType& a, const ValueType& b);

// Element types that folded values may have.
[[nodiscard]] bool is_real(ElementType element);      // float, double
[[nodiscard]] bool is_integer(ElementType element);   // all of 8 to 64 bits
[[nodiscard]] bool is_foldable(ElementType element);  // these and bool

struct Scalar {
  int64_t i = 0;  // of integers and bool
  double f = 0;   // of real numbers
  std::string_view symbol;
  bool known = false;
};

struct Folded {
  ElementType element = ElementType::kInt64;
  std::vector<int64_t> dims;
  std::vector<Scalar> elements;

  [[nodiscard]] bool complete() const;
};
using FoldedPtr = std::shared_ptr<const Folded>;

[[nodiscard]] Scalar known_integer(int64_t value);
[[nodiscard]] Scalar known_real(double value);
// An integer as `element` holds it: unknown where it does not fit.
[[nodiscard]] Scalar fitting(ElementType element, int64_t value);
// A real number rounded to `element`.
[[nodiscard]] Scalar rounded(ElementType element, double value);
[[nodiscard]] Scalar scalar_of(const Dimension& dimension);
// A size given by an element: unknown where it is negative.
[[nodiscard]] Dimension dimension_of(const Scalar& scalar);
[[nodiscard]] Folded integers(std::span<const int64_t> values);
// Product of `dims`; nullopt where it is beyond kMaxFoldedElements or a dimension is negative.
[[nodiscard]] std::optional<size_t> small_count(std::span<const int64_t> dims);
// The same of a shape; nullopt too where it is not known.
[[nodiscard]] std::optional<std::vector<int64_t>> small_dims(const Shape& shape);

// nullptr where the constant is too large, of another type, or its bytes are missing.
[[nodiscard]] FoldedPtr load(const Constant& constant);
// A complete value as bytes of its own.
[[nodiscard]] Constant store(const Folded& folded);

}  // namespace edgesage::onnx
