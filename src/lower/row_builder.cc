#include "src/lower/row_builder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/lower/operator_shapes.h"

namespace edgesage {

RowBuilder::RowBuilder(const Graph& graph, Lowering& lowering)
    : graph_(graph),
      subgraph_(graph.main()),
      lowering_(lowering),
      index_(subgraph_),
      writers_(subgraph_.tensors.size()),
      is_graph_output_(subgraph_.tensors.size(), 0) {
  lowering_.operators.resize(subgraph_.operators.size());
  lowering_.storage.resize(subgraph_.tensors.size());
  std::iota(lowering_.storage.begin(), lowering_.storage.end(), 0);
  for (const int32_t tensor : subgraph_.outputs)
    if (tensor >= 0 && static_cast<size_t>(tensor) < is_graph_output_.size())
      is_graph_output_[static_cast<size_t>(tensor)] = 1;
}

int32_t RowBuilder::resolve(int32_t tensor) const {
  return lowering_.storage[static_cast<size_t>(tensor)];
}

Row RowBuilder::make(int32_t op_index, RowKind kind, Placement placement) const {
  Row row;
  row.kind = kind;
  row.op = op_index;
  row.placement = placement;
  fill_geometry(graph_, subgraph_, op(op_index), row);
  return row;
}

int32_t RowBuilder::add(Row row) {
  const auto index = static_cast<int32_t>(lowering_.rows.size());
  for (int32_t& tensor : row.ifm_tensors) {
    tensor = resolve(tensor);
    const std::vector<int32_t>& producers = writers_[static_cast<size_t>(tensor)];
    row.inputs.insert(row.inputs.end(), producers.begin(), producers.end());
  }
  for (auto* list : {&row.inputs, &row.ifm_tensors}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (const int32_t tensor : row.ofm_tensors)
    writers_[static_cast<size_t>(tensor)].push_back(index);
  lowering_.rows.push_back(std::move(row));
  return index;
}

int32_t RowBuilder::add_inner(const Row& like, RowKind kind, Shape4 ifm, Shape4 ofm,
                              std::vector<int32_t> inputs) {
  Row row;
  row.kind = kind;
  row.op = like.op;
  row.op_kind = like.op_kind;
  row.placement = like.placement;
  row.partition = like.partition;
  row.ifm = ifm;
  row.ofm = ofm;
  row.ifm_type = row.ofm_type = DataType::kInt32;
  row.inputs = std::move(inputs);
  return add(std::move(row));
}

void RowBuilder::place(int32_t op_index, Placement placement, std::string reason) {
  lowering_.operators[static_cast<size_t>(op_index)] = {placement, std::move(reason)};
}

bool RowBuilder::is_placed_on(int32_t op_index, Placement placement) const {
  return lowering_.operators[static_cast<size_t>(op_index)].placement == placement;
}

int32_t RowBuilder::writer(int32_t tensor) const {
  if (tensor < 0 || static_cast<size_t>(tensor) >= writers_.size()) return -1;
  const std::vector<int32_t>& rows = writers_[static_cast<size_t>(resolve(tensor))];
  return rows.empty() ? -1 : rows.back();
}

bool RowBuilder::is_only_use(int32_t tensor, int32_t op_index) const {
  if (tensor < 0 || is_graph_output_[static_cast<size_t>(tensor)] != 0) return false;
  const std::vector<int32_t>& readers = index_.consumers[static_cast<size_t>(tensor)];
  return readers.size() == 1 && readers.front() == op_index;
}

bool RowBuilder::is_graph_output(int32_t tensor) const {
  return is_graph_output_[static_cast<size_t>(tensor)] != 0;
}

const std::vector<int32_t>& RowBuilder::consumers(int32_t tensor) const {
  return index_.consumers[static_cast<size_t>(tensor)];
}

std::vector<int32_t> RowBuilder::write_into(int32_t part, int32_t tensor) {
  const int32_t from = resolve(part);
  const std::vector<int32_t> rows = std::move(writers_[static_cast<size_t>(from)]);
  writers_[static_cast<size_t>(from)].clear();
  for (const int32_t index : rows) {
    for (int32_t& written : row(index).ofm_tensors)
      if (written == from) written = tensor;
    writers_[static_cast<size_t>(tensor)].push_back(index);
  }
  return rows;
}

void RowBuilder::take_output(int32_t row_index, int32_t tensor) {
  std::erase(row(row_index).ofm_tensors, tensor);
  std::erase(writers_[static_cast<size_t>(tensor)], row_index);
}

void RowBuilder::fuse(int32_t op_index, int32_t row_index) {
  row(row_index).fused.push_back(op_index);
  const Operator& folded = op(op_index);
  write_into(folded.inputs.front(), folded.outputs.front());
  place(op_index, Placement::kFolded, {});
}

void RowBuilder::alias(int32_t op_index) {
  const Operator& free = op(op_index);
  const int32_t input = free.inputs[operand_roles(free).ifm];
  for (const int32_t output : free.outputs)
    if (output >= 0 && output != input)
      lowering_.storage[static_cast<size_t>(output)] = resolve(input);
  if (const int32_t producer = writer(input); producer >= 0)
    row(producer).fused.push_back(op_index);
  place(op_index, Placement::kFolded, {});
}

void RowBuilder::warn(std::string text) { lowering_.warnings.push_back(std::move(text)); }

}  // namespace edgesage
