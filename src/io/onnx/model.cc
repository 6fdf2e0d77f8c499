#include "src/io/onnx/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace edgesage::onnx {
namespace {

struct ElementInfo {
  std::string_view name;
  int bits;
};

// By the numbers of the format.
constexpr auto kElements = std::to_array<ElementInfo>({
    {"undefined", 0},
    {"float32", 32},
    {"uint8", 8},
    {"int8", 8},
    {"uint16", 16},
    {"int16", 16},
    {"int32", 32},
    {"int64", 64},
    {"string", 0},
    {"bool", 8},
    {"float16", 16},
    {"float64", 64},
    {"uint32", 32},
    {"uint64", 64},
    {"complex64", 64},
    {"complex128", 128},
    {"bfloat16", 16},
    {"float8_e4m3fn", 8},
    {"float8_e4m3fnuz", 8},
    {"float8_e5m2", 8},
    {"float8_e5m2fnuz", 8},
    {"uint4", 4},
    {"int4", 4},
    {"float4_e2m1", 4},
    {"float8_e8m0", 8},
    {"uint2", 2},
    {"int2", 2},
    {"float6_e2m3", 6},
    {"float6_e3m2", 6},
});

}  // namespace

int element_bits(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return number < kElements.size() ? kElements[number].bits : 0;
}

std::string element_name(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return number < kElements.size() ? std::string(kElements[number].name)
                                   : fmt::format("type {}", static_cast<int32_t>(type));
}

std::optional<int64_t> tensor_bytes(ElementType type, std::span<const int64_t> dims) {
  const int bits = element_bits(type);
  if (bits == 0) return std::nullopt;
  int64_t total = bits;
  // A zero anywhere makes it empty, however large the others are.
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) return std::nullopt;
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  for (const int64_t dim : dims)
    if (__builtin_mul_overflow(total, dim, &total)) return std::nullopt;
  return total / 8 + (total % 8 != 0 ? 1 : 0);
}

const Attribute* Node::find(std::string_view attribute) const {
  const auto at = std::ranges::find(attributes, attribute, &Attribute::name);
  return at == attributes.end() ? nullptr : &*at;
}

int64_t Node::attr_int(std::string_view attribute, int64_t otherwise) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kInt ? found->i : otherwise;
}

double Node::attr_float(std::string_view attribute, double otherwise) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kFloat ? found->f : otherwise;
}

std::string_view Node::attr_string(std::string_view attribute, std::string_view otherwise) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kString ? found->s : otherwise;
}

std::span<const int64_t> Node::attr_ints(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kInts
             ? std::span<const int64_t>(found->ints)
             : std::span<const int64_t>();
}

int32_t Node::attr_graph(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kGraph && !found->graphs.empty()
             ? found->graphs.front()
             : -1;
}

std::string_view Model::keep(std::string text) { return names.emplace_back(std::move(text)); }

std::vector<int32_t> bodies_of(const Node& node) {
  std::vector<int32_t> bodies;
  for (const Attribute& attribute : node.attributes)
    bodies.insert(bodies.end(), attribute.graphs.begin(), attribute.graphs.end());
  return bodies;
}

}  // namespace edgesage::onnx
