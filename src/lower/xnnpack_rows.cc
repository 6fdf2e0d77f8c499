#include "src/lower/xnnpack_rows.h"

#include <utility>
#include <vector>

#include "src/graph/custom_ops.h"
#include "src/lower/op_rows.h"
#include "src/lower/operator_shapes.h"
#include "src/lower/xnnpack_placement.h"

namespace edgesage {
namespace {

void add_row(RowBuilder& builder, int32_t index, Placement placement, int32_t partition,
             const std::vector<int32_t>& unpacked) {
  const Operator& op = builder.op(index);
  Row row = builder.make(index, default_row_kind(base_kind(op)), placement);
  row.partition = partition;
  for (int32_t* operand : {&row.weights, &row.bias})
    if (*operand >= 0 && unpacked[static_cast<size_t>(*operand)] >= 0)
      *operand = unpacked[static_cast<size_t>(*operand)];
  std::erase_if(row.ifm_tensors,
                [&](int32_t tensor) { return unpacked[static_cast<size_t>(tensor)] >= 0; });
  builder.add(std::move(row));
}

}  // namespace

int32_t lower_xnnpack(RowBuilder& builder) {
  const auto count = static_cast<int32_t>(builder.subgraph().operators.size());
  std::vector<std::string> obstacles(static_cast<size_t>(count));
  std::vector<uint8_t> folded(static_cast<size_t>(count), 0);
  const std::vector<int32_t> unpacked = xnnpack_unpacked(builder.subgraph());
  for (int32_t index = 0; index < count; ++index) {
    const Operator& op = builder.op(index);
    obstacles[static_cast<size_t>(index)] =
        xnnpack_obstacle(builder.graph(), builder.subgraph(), op, unpacked);
    const Tensor* output = output_tensor(builder.subgraph(), op, 0);
    const bool unpacks = op.kind == OpKind::kDequantize || op.kind == OpKind::kDensify;
    if (unpacks && output != nullptr && unpacked[static_cast<size_t>(op.outputs.front())] >= 0)
      folded[static_cast<size_t>(index)] = 1;
  }
  const std::vector<int32_t> partition = xnnpack_partitions(builder.subgraph(), obstacles, folded);
  int32_t partitions = 0;
  for (int32_t index = 0; index < count; ++index) {
    const auto i = static_cast<size_t>(index);
    if (folded[i] != 0) {
      builder.place(index, Placement::kFolded, "constant, unpacked once at load");
      continue;
    }
    const bool delegated = partition[i] >= 0;
    const Placement placement = delegated ? Placement::kDelegate : Placement::kCpu;
    builder.place(index, placement, std::move(obstacles[i]));
    add_row(builder, index, placement, partition[i], unpacked);
    partitions = std::max(partitions, partition[i] + 1);
  }
  return partitions;
}

}  // namespace edgesage
