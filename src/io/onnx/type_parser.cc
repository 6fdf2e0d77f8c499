#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/io/onnx/tensor_parser.h"

namespace edgesage::onnx {
namespace {

constexpr size_t kMaxTypeDepth = 64;
constexpr size_t kMaxRank = 65'536;

void read_dimension(Message message, std::vector<Dimension>& shape) {
  Dimension dimension;
  while (message.next()) {
    if (message.field() == 1) {
      dimension = {.value = message.integer("dim_value")};
    } else if (message.field() == 2) {
      dimension = {.symbol = message.bytes("dim_param")};
    }
  }
  shape.push_back(dimension);
}

void read_shape(Message message, ValueType& type) {
  type.has_shape = true;
  while (message.next()) {
    if (message.field() != 1) continue;
    if (type.shape.size() == kMaxRank)
      return message.fail(fmt::format("more than {} dimensions", kMaxRank));
    read_dimension(message.message("dim", static_cast<int64_t>(type.shape.size())), type.shape);
  }
}

void become(ValueType& type, ValueType::Kind kind) {
  if (type.kind == kind) return;
  type = {};
  type.kind = kind;
}

// The fields of one member of a TypeProto, but for the type inside of it, whose text is returned.
std::optional<std::string_view> read_member(Message message, ValueType& type) {
  std::optional<std::string_view> inner;
  const bool tensor =
      type.kind == ValueType::Kind::kTensor || type.kind == ValueType::Kind::kSparseTensor;
  const bool map = type.kind == ValueType::Kind::kMap;
  while (message.next()) {
    if (message.field() == 1 && (tensor || map)) {
      type.element = static_cast<ElementType>(message.integer(map ? "key_type" : "elem_type"));
    } else if (message.field() == 2 && tensor) {
      read_shape(message.message("shape"), type);
    } else if ((message.field() == 1 && !tensor) || (message.field() == 2 && map)) {
      inner = message.bytes(map ? "value_type" : "elem_type");
    }
  }
  return inner;
}

// One TypeProto without what is inside of it.
std::optional<std::string_view> read_level(Message message, ValueType& type) {
  std::optional<std::string_view> inner;
  const auto member = [&](const char* name, ValueType::Kind kind) {
    become(type, kind);
    inner = read_member(message.message(name), type);
  };
  while (message.next()) {
    switch (message.field()) {
      case 1:
        member("tensor_type", ValueType::Kind::kTensor);
        break;
      case 4:
        member("sequence_type", ValueType::Kind::kSequence);
        break;
      case 5:
        member("map_type", ValueType::Kind::kMap);
        break;
      case 8:
        member("sparse_tensor_type", ValueType::Kind::kSparseTensor);
        break;
      case 9:
        member("optional_type", ValueType::Kind::kOptional);
        break;
      default:
        break;
    }
  }
  return inner;
}

}  // namespace

void read_type(Message message, ValueType& type) {
  std::vector<ValueType> levels;
  std::optional<std::string_view> inner = read_level(message, type);
  while (inner && message.good()) {
    if (levels.size() == kMaxTypeDepth)
      return message.fail_whole(
          fmt::format("more than {} types one inside the other", kMaxTypeDepth));
    Message level = message.nested(*inner);
    inner = read_level(level, levels.emplace_back());
  }
  std::shared_ptr<const ValueType> built;
  while (!levels.empty()) {
    levels.back().inner = std::move(built);
    built = std::make_shared<const ValueType>(std::move(levels.back()));
    levels.pop_back();
  }
  type.inner = std::move(built);
}

}  // namespace edgesage::onnx
