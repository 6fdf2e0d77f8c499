#include "src/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace edgesage {

Buffer make_buffer(std::span<const std::byte> bytes) {
  auto storage = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  const std::span<const std::byte> data(storage->data(), storage->size());
  return {data, std::move(storage)};
}

int64_t Tensor::element_count() const {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t count = 1;
  for (const int64_t dim : shape) {
    if (dim == 0) return 0;
    if (dim < 0) continue;
    count = count > kMax / dim ? kMax : count * dim;
  }
  return count;
}

std::optional<int64_t> Tensor::byte_size() const {
  const int64_t bits = bits_per_element(type);
  if (bits == 0) return std::nullopt;
  const int64_t count = element_count();
  if (bits % 8 != 0) return count / 8 * bits + (count % 8 * bits + 7) / 8;
  const int64_t bytes = bits / 8;
  if (count > std::numeric_limits<int64_t>::max() / bytes)
    return std::numeric_limits<int64_t>::max();
  return count * bytes;
}

const Attribute::Value* Operator::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate.value;
  return nullptr;
}

int64_t Operator::attr_int(std::string_view attribute, int64_t otherwise) const {
  const auto* value = find(attribute);
  const auto* integer = value != nullptr ? std::get_if<int64_t>(value) : nullptr;
  return integer != nullptr ? *integer : otherwise;
}

double Operator::attr_float(std::string_view attribute, double otherwise) const {
  const auto* value = find(attribute);
  const auto* real = value != nullptr ? std::get_if<double>(value) : nullptr;
  return real != nullptr ? *real : otherwise;
}

std::span<const int64_t> Operator::attr_ints(std::string_view attribute) const {
  const auto* value = find(attribute);
  const auto* list = value != nullptr ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  return list != nullptr ? std::span<const int64_t>(*list) : std::span<const int64_t>();
}

void Operator::set(std::string_view attribute, Attribute::Value value) {
  for (Attribute& existing : attributes) {
    if (existing.name == attribute) {
      existing.value = std::move(value);
      return;
    }
  }
  attributes.push_back({std::string(attribute), std::move(value)});
}

std::span<const std::byte> Graph::constant(const Tensor& tensor) const {
  if (tensor.buffer < 0 || static_cast<size_t>(tensor.buffer) >= buffers.size()) return {};
  return buffers[static_cast<size_t>(tensor.buffer)].data;
}

void Graph::own_buffers() {
  for (Buffer& buffer : buffers) buffer = make_buffer(buffer.data);
}

GraphIndex::GraphIndex(const Subgraph& subgraph)
    : producer(subgraph.tensors.size(), -1), consumers(subgraph.tensors.size()) {
  for (size_t op = 0; op < subgraph.operators.size(); ++op) {
    const auto index = static_cast<int32_t>(op);
    for (const int32_t tensor : subgraph.operators[op].inputs) {
      if (tensor < 0) continue;
      auto& readers = consumers[static_cast<size_t>(tensor)];
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
    for (const int32_t tensor : subgraph.operators[op].outputs)
      if (tensor >= 0) producer[static_cast<size_t>(tensor)] = index;
  }
}

std::optional<std::vector<int64_t>> constant_ints(const Graph& graph, const Tensor& tensor) {
  if (!tensor.is_constant()) return std::nullopt;
  const std::span<const std::byte> bytes = graph.constant(tensor);
  const size_t width = static_cast<size_t>(bits_per_element(tensor.type)) / 8;
  if (tensor.type != DataType::kInt32 && tensor.type != DataType::kInt64) return std::nullopt;
  // Many operators may name one constant; reading it for each must stay cheap.
  constexpr size_t kMostValues = 4096;
  if (bytes.size() / width > kMostValues) return std::nullopt;
  std::vector<int64_t> values(bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    if (width == 4) {
      int32_t value = 0;
      std::memcpy(&value, bytes.data() + i * width, width);
      values[i] = value;
    } else {
      std::memcpy(&values[i], bytes.data() + i * width, width);
    }
  }
  return values;
}

}  // namespace edgesage
