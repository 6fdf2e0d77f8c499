#include "src/lower/generic_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/graph/custom_ops.h"
#include "src/lower/op_rows.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

bool is_known(RowKind kind) { return kind != RowKind::kOther && kind != RowKind::kControl; }

// For each tensor that constants alone determine, a constant of the file that it is made from.
class ConstantTensors {
 public:
  explicit ConstantTensors(const Subgraph& subgraph)
      : subgraph_(subgraph), source_(subgraph.tensors.size(), kNoTensor) {}

  [[nodiscard]] int32_t source(int32_t tensor) const {
    const auto i = static_cast<size_t>(tensor);
    return subgraph_.tensors[i].is_constant() ? tensor : source_[i];
  }
  [[nodiscard]] bool is_made(int32_t tensor) const {
    return source_[static_cast<size_t>(tensor)] != kNoTensor;
  }

  // True, and the outputs become constants, where the operator reads constants and nothing else.
  bool fold(const Operator& op) {
    if (!is_known(default_row_kind(base_kind(op))) || op.kind == OpKind::kReadVariable ||
        op.kind == OpKind::kAssignVariable)
      return false;
    int32_t from = kNoTensor;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (input_tensor(subgraph_, op, i) == nullptr) continue;
      const int32_t constant = source(op.inputs[i]);
      if (constant == kNoTensor) return false;
      if (from == kNoTensor) from = constant;
    }
    if (from == kNoTensor) return false;
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (output_tensor(subgraph_, op, i) != nullptr)
        source_[static_cast<size_t>(op.outputs[i])] = from;
    return true;
  }

 private:
  const Subgraph& subgraph_;
  std::vector<int32_t> source_;
};

void add_row(RowBuilder& builder, int32_t index, RowKind kind, const ConstantTensors& constants) {
  const Operator& op = builder.op(index);
  Row row = builder.make(index, kind, is_known(kind) ? Placement::kDelegate : Placement::kCpu);
  row.partition = is_known(kind) ? 0 : -1;
  for (int32_t* operand : {&row.weights, &row.bias})
    if (*operand >= 0 && static_cast<size_t>(*operand) < builder.subgraph().tensors.size() &&
        constants.is_made(*operand))
      *operand = constants.source(*operand);
  if (row.has_ifm2 && input_tensor(builder.subgraph(), op, 1) != nullptr)
    row.ifm2_constant = constants.source(op.inputs[1]) != kNoTensor;
  std::erase_if(row.ifm_tensors, [&](int32_t tensor) { return constants.is_made(tensor); });
  builder.add(std::move(row));
}

}  // namespace

int32_t lower_generic(RowBuilder& builder) {
  ConstantTensors constants(builder.subgraph());
  bool any_known = false;
  for (int32_t index = 0; index < static_cast<int32_t>(builder.subgraph().operators.size());
       ++index) {
    const Operator& op = builder.op(index);
    if (constants.fold(op)) {
      builder.place(index, Placement::kFolded, "reads constants only, computed once at load");
      continue;
    }
    const RowKind kind = default_row_kind(base_kind(op));
    any_known = any_known || is_known(kind);
    if (is_known(kind))
      builder.place(index, Placement::kDelegate, {});
    else
      builder.place(index, Placement::kCpu, "no rule says what this operator costs");
    add_row(builder, index, kind, constants);
  }
  return any_known ? 1 : 0;
}

}  // namespace edgesage
