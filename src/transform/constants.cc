#include "src/transform/constants.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/op_registry.h"

namespace edgesage {
namespace {

template <class T>
void take(std::vector<T>& values, std::span<const int64_t> chosen) {
  if (values.size() <= 1) return;
  std::vector<T> taken;
  for (const int64_t i : chosen) taken.push_back(values[static_cast<size_t>(i)]);
  values = std::move(taken);
}

}  // namespace

Status take_along(Graph& graph, int32_t tensor, size_t dimension, std::span<const int64_t> chosen) {
  Tensor& constant = graph.main().tensors[static_cast<size_t>(tensor)];
  const int bits = bits_per_element(constant.type);
  if (bits % 8 != 0 || bits == 0)
    return make_error(ErrorCode::kUnsupported, constant.name,
                      fmt::format("constants of {} cannot be sliced", type_name(constant.type)));
  size_t outer = 1, inner = static_cast<size_t>(bits) / 8;
  for (size_t d = 0; d < constant.shape.size(); ++d) {
    const auto size = static_cast<size_t>(constant.shape[d]);
    if (d < dimension) outer *= size;
    if (d > dimension) inner *= size;
  }
  const auto length = static_cast<size_t>(constant.shape[dimension]);
  const std::span<const std::byte> from = graph.constant(constant);
  constant.shape[dimension] = static_cast<int64_t>(chosen.size());
  const bool by_channel = static_cast<size_t>(constant.quantization.axis) == dimension &&
                          constant.quantization.scale.size() == length && length > 1;
  if (by_channel) {
    take(constant.quantization.scale, chosen);
    take(constant.quantization.zero_point, chosen);
    take(constant.quantization.min, chosen);
    take(constant.quantization.max, chosen);
  }
  if (from.empty()) return {};  // shapes without bytes
  std::vector<std::byte> bytes;
  bytes.reserve(outer * chosen.size() * inner);
  for (size_t o = 0; o < outer; ++o)
    for (const int64_t i : chosen) {
      const auto* begin = from.data() + (o * length + static_cast<size_t>(i)) * inner;
      bytes.insert(bytes.end(), begin, begin + inner);
    }
  constant.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(bytes));
  return {};
}

void set_constant_ints(Graph& graph, int32_t tensor, std::span<const int64_t> values) {
  Tensor& constant = graph.main().tensors[static_cast<size_t>(tensor)];
  const size_t size = constant.type == DataType::kInt64 ? sizeof(int64_t) : sizeof(int32_t);
  std::vector<std::byte> bytes;
  for (const int64_t value : values)
    for (size_t i = 0; i < size; ++i)  // little endian, as in the file
      bytes.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
  constant.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(bytes));
}

bool is_complete(const Operator& op) {
  const OpInfo* info = op_info(op.kind);
  const auto needed = static_cast<size_t>(info != nullptr ? info->min_inputs : 0);
  if (op.inputs.size() < needed || op.outputs.empty() || op.outputs[0] < 0) return false;
  return std::all_of(op.inputs.begin(), op.inputs.begin() + static_cast<ptrdiff_t>(needed),
                     [](int32_t tensor) { return tensor >= 0; });
}

std::vector<int32_t> use_counts(const Subgraph& subgraph) {
  std::vector<int32_t> uses(subgraph.tensors.size(), 0);
  for (const Operator& op : subgraph.operators)
    for (const int32_t tensor : op.inputs)
      if (tensor >= 0) ++uses[static_cast<size_t>(tensor)];
  return uses;
}

}  // namespace edgesage
