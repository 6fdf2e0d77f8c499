#include "src/io/onnx/model.h"

#include <algorithm>

namespace edgesage::onnx {

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

}  // namespace edgesage::onnx
