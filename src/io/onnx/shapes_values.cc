#include "src/io/onnx/shapes_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace edgesage::onnx {
namespace {

struct IntegerType {
  ElementType element;
  int bytes;
  bool is_signed;
};
constexpr IntegerType kIntegerTypes[] = {
    {ElementType::kInt8, 1, true},  {ElementType::kUint8, 1, false},
    {ElementType::kInt16, 2, true}, {ElementType::kUint16, 2, false},
    {ElementType::kInt32, 4, true}, {ElementType::kUint32, 4, false},
    {ElementType::kInt64, 8, true}, {ElementType::kUint64, 8, false},
    {ElementType::kBool, 1, false},
};

const IntegerType* integer_type(ElementType element) {
  const auto* at = std::ranges::find(kIntegerTypes, element, &IntegerType::element);
  return at == std::end(kIntegerTypes) ? nullptr : at;
}

int bytes_of(ElementType element) {
  if (element == ElementType::kFloat) return 4;
  if (element == ElementType::kDouble) return 8;
  return integer_type(element)->bytes;
}

// Little endian, as the format has it.
uint64_t read_bits(const std::byte* at, int bytes) {
  uint64_t bits = 0;
  for (int k = 0; k < bytes; ++k) bits |= std::to_integer<uint64_t>(at[k]) << (8 * k);
  return bits;
}

void write_bits(std::byte* at, int bytes, uint64_t bits) {
  for (int k = 0; k < bytes; ++k) at[k] = static_cast<std::byte>((bits >> (8 * k)) & 0xff);
}

Scalar read_scalar(ElementType element, const std::byte* at) {
  if (element == ElementType::kFloat) {
    const auto bits = static_cast<uint32_t>(read_bits(at, 4));
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return known_real(value);
  }
  if (element == ElementType::kDouble) {
    const uint64_t bits = read_bits(at, 8);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return known_real(value);
  }
  const IntegerType& type = *integer_type(element);
  const uint64_t bits = read_bits(at, type.bytes);
  if (element == ElementType::kBool) return known_integer(bits != 0 ? 1 : 0);
  if (!type.is_signed)
    return bits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
               ? Scalar{}
               : known_integer(static_cast<int64_t>(bits));
  const int shift = 64 - 8 * type.bytes;
  return known_integer(static_cast<int64_t>(bits << shift) >> shift);
}

uint64_t bits_of(ElementType element, const Scalar& scalar) {
  if (element == ElementType::kFloat) {
    const auto value = static_cast<float>(scalar.f);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  if (element == ElementType::kDouble) {
    uint64_t bits = 0;
    std::memcpy(&bits, &scalar.f, sizeof bits);
    return bits;
  }
  return static_cast<uint64_t>(scalar.i);
}

}  // namespace

Dimension operator+(const Dimension& a, const Dimension& b) {
  int64_t sum = 0;
  if (a.known() && b.known())
    return __builtin_add_overflow(a.value, b.value, &sum) ? Dimension{} : number(sum);
  if (a.value == 0) return b;
  if (b.value == 0) return a;
  return {};
}

Dimension operator*(const Dimension& a, const Dimension& b) {
  int64_t result = 0;
  if (a.known() && b.known())
    return __builtin_mul_overflow(a.value, b.value, &result) ? Dimension{} : number(result);
  if (a.value == 0 || b.value == 0) return number(0);
  if (a.value == 1) return b;
  if (b.value == 1) return a;
  return {};
}

Dimension operator/(const Dimension& a, const Dimension& b) {
  if (b.value == 1) return a;
  return a.known() && b.value > 0 ? number(a.value / b.value) : Dimension{};
}

Dimension either(const Dimension& a, const Dimension& b) {
  if (a.known()) return a;
  if (b.known()) return b;
  return a.symbol.empty() ? b : a;
}

Dimension common(const Dimension& a, const Dimension& b) { return a == b ? a : Dimension{}; }

bool all_known(const Shape& shape) { return std::ranges::all_of(shape, &Dimension::known); }

Shape shape_of(std::span<const int64_t> dims) {
  Shape shape;
  shape.reserve(dims.size());
  for (const int64_t dim : dims) shape.push_back(number(dim));
  return shape;
}

std::string text(const Dimension& dimension) {
  if (dimension.known()) return fmt::format("{}", dimension.value);
  return dimension.symbol.empty() ? "?" : std::string(dimension.symbol);
}

std::string text(const Shape& shape) {
  std::string result = "[";
  for (const Dimension& dimension : shape) {
    if (result.size() > 1) result += ", ";
    result += text(dimension);
  }
  return result + "]";
}

Dimension product(const Shape& shape, size_t begin, size_t end) {
  const auto part = std::span(shape).subspan(begin, end - begin);
  if (std::ranges::any_of(part, [](const Dimension& dim) { return dim.value == 0; }))
    return number(0);
  Dimension result = number(1);
  for (const Dimension& dimension : part) result = result * dimension;
  return result;
}

std::optional<size_t> at_axis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

std::vector<int64_t> all_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t k = 0; k < shorter.size(); ++k) {
    const Dimension& one = longer[k + offset];
    const Dimension& other = shorter[k];
    Dimension& out = result[k + offset];
    if (one.value == 1) {
      out = other;
    } else if (other.value == 1 || one == other) {
      out = one;
    } else if (one.known() && other.known()) {
      return std::nullopt;
    } else {
      out = one.known() ? one : other.known() ? other : Dimension{};
    }
  }
  return result;
}

ValueType tensor(ElementType element) {
  ValueType type;
  type.kind = ValueType::Kind::kTensor;
  type.element = element;
  return type;
}

ValueType tensor(ElementType element, Shape shape) {
  ValueType type = tensor(element);
  type.has_shape = std::ssize(shape) <= kMaxRank;
  if (type.has_shape) type.shape = std::move(shape);
  return type;
}

ValueType holder(ValueType::Kind kind, ValueType inner) {
  ValueType type;
  type.kind = kind;
  type.inner = std::make_shared<const ValueType>(std::move(inner));
  return type;
}

ValueType common(const ValueType& a, const ValueType& b) {
  // An optional of X and an X: the value may be absent. Types hold at most a few levels, but a file
  // may say more: the walk down is a loop.
  std::vector<ValueType> levels;
  const ValueType* left = &a;
  const ValueType* right = &b;
  while (left != nullptr && right != nullptr && left->kind == right->kind) {
    ValueType level;
    level.kind = left->kind;
    if (left->element == right->element) level.element = left->element;
    if (left->has_shape && right->has_shape && left->shape.size() == right->shape.size()) {
      level.has_shape = true;
      for (size_t k = 0; k < left->shape.size(); ++k)
        level.shape.push_back(common(left->shape[k], right->shape[k]));
    }
    levels.push_back(std::move(level));
    left = left->inner.get();
    right = right->inner.get();
  }
  if (levels.empty()) return {};
  ValueType result = std::move(levels.back());
  for (size_t k = levels.size() - 1; k-- > 0;) {
    levels[k].inner = std::make_shared<const ValueType>(std::move(result));
    result = std::move(levels[k]);
  }
  return result;
}

bool same_type(const ValueType& a, const ValueType& b) {
  const ValueType* left = &a;
  const ValueType* right = &b;
  while (left != nullptr && right != nullptr) {
    if (left->kind != right->kind || left->element != right->element ||
        left->has_shape != right->has_shape || left->shape != right->shape)
      return false;
    left = left->inner.get();
    right = right->inner.get();
  }
  return left == right;
}

bool is_real(ElementType element) {
  return element == ElementType::kFloat || element == ElementType::kDouble;
}

bool is_integer(ElementType element) {
  return element != ElementType::kBool && integer_type(element) != nullptr;
}

bool is_foldable(ElementType element) { return is_real(element) || integer_type(element); }

bool Folded::complete() const { return std::ranges::all_of(elements, &Scalar::known); }

Scalar known_integer(int64_t value) { return {value, 0, {}, true}; }

Scalar known_real(double value) { return {0, value, {}, true}; }

Scalar fitting(ElementType element, int64_t value) {
  const IntegerType* type = integer_type(element);
  if (type == nullptr) return {};
  if (type->bytes == 8) return type->is_signed || value >= 0 ? known_integer(value) : Scalar{};
  const int bits = 8 * type->bytes - (type->is_signed ? 1 : 0);
  const int64_t limit = int64_t{1} << bits;
  const int64_t lowest = type->is_signed ? -limit : 0;
  return value >= lowest && value < limit ? known_integer(value) : Scalar{};
}

Scalar rounded(ElementType element, double value) {
  return known_real(element == ElementType::kFloat ? static_cast<float>(value) : value);
}

Scalar scalar_of(const Dimension& dimension) {
  if (dimension.known()) return known_integer(dimension.value);
  Scalar scalar;
  scalar.symbol = dimension.symbol;
  return scalar;
}

Dimension dimension_of(const Scalar& scalar) {
  if (scalar.known) return number(scalar.i);
  return {-1, scalar.symbol};
}

Folded integers(std::span<const int64_t> values) {
  Folded folded;
  folded.dims = {std::ssize(values)};
  for (const int64_t value : values) folded.elements.push_back(known_integer(value));
  return folded;
}

std::optional<size_t> small_count(std::span<const int64_t> dims) {
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) return std::nullopt;
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim > kMaxFoldedElements / count) return std::nullopt;
    count *= dim;
  }
  return static_cast<size_t>(count);
}

std::optional<std::vector<int64_t>> small_dims(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Dimension& dimension : shape) dims.push_back(dimension.value);
  return small_count(dims) ? std::optional(std::move(dims)) : std::nullopt;
}

FoldedPtr load(const Constant& constant) {
  if (constant.is_sparse || constant.data_missing || !is_foldable(constant.element)) return nullptr;
  const auto count = small_count(constant.dims);
  if (!count) return nullptr;
  const auto bytes = static_cast<size_t>(bytes_of(constant.element));
  if (constant.data.size() < *count * bytes) return nullptr;
  auto folded = std::make_shared<Folded>();
  folded->element = constant.element;
  folded->dims = constant.dims;
  folded->elements.reserve(*count);
  for (size_t k = 0; k < *count; ++k)
    folded->elements.push_back(read_scalar(constant.element, constant.data.data() + k * bytes));
  return folded;
}

Constant store(const Folded& folded) {
  const int bytes = bytes_of(folded.element);
  auto data =
      std::make_shared<std::vector<std::byte>>(folded.elements.size() * static_cast<size_t>(bytes));
  std::byte* at = data->data();
  for (const Scalar& scalar : folded.elements) {
    write_bits(at, bytes, bits_of(folded.element, scalar));
    at += bytes;
  }
  Constant constant;
  constant.element = folded.element;
  constant.dims = folded.dims;
  constant.data = *data;
  constant.storage = std::move(data);
  return constant;
}

}  // namespace edgesage::onnx
