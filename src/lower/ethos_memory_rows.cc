#include "src/lower/ethos_memory_rows.h"

#include <algorithm>
#include <utility>

#include "src/lower/op_rows.h"
#include "src/lower/operator_shapes.h"

namespace edgesage::ethos {
namespace {

bool only_moves(OpKind kind) {
  switch (default_row_kind(kind)) {
    case RowKind::kReshape:
    case RowKind::kCopy:
    case RowKind::kPad:
      return true;
    default:
      return false;
  }
}

// Every reader computes on the NPU, and so can read a part or another view of a tensor in place.
bool is_read_by_npu_rows(const RowBuilder& builder, int32_t tensor) {
  if (tensor < 0 || builder.is_graph_output(tensor)) return false;
  const std::vector<int32_t>& readers = builder.consumers(tensor);
  return !readers.empty() && std::ranges::all_of(readers, [&](int32_t op) {
    return builder.is_placed_on(op, Placement::kNpu) && !only_moves(builder.op(op).kind);
  });
}

// The row that alone makes `tensor` for operator `op` and could write it elsewhere, or -1.
int32_t movable_writer(RowBuilder& builder, int32_t tensor, int32_t op) {
  const int32_t row = builder.writer(tensor);
  if (row < 0 || !builder.is_only_use(tensor, op)) return -1;
  const Row& producer = builder.row(row);
  return producer.placement == Placement::kNpu ? row : -1;
}

// What all copies of one operator have in common, without operands: these may be very many, and
// each copy has two of its own.
Row copy_of(const RowBuilder& builder, int32_t index, RowKind kind) {
  Row row = builder.make(index, kind, Placement::kNpu);
  row.has_ifm2 = false;
  row.ifm_tensors.clear();
  row.ofm_tensors.clear();
  row.ifm_tensors.shrink_to_fit();
  row.ofm_tensors.shrink_to_fit();
  return row;
}

void add_copy(RowBuilder& builder, const Row& like, int32_t from, int32_t to) {
  Row row = like;
  const std::vector<Tensor>& tensors = builder.subgraph().tensors;
  const Tensor& source = tensors[static_cast<size_t>(from)];
  const Tensor& target = tensors[static_cast<size_t>(to)];
  const Shape4 in = to_shape4(source), out = to_shape4(target);
  // A copy moves the smaller of the two: a part out of a whole, or into one.
  row.ifm = row.ofm = in.elements() <= out.elements() ? in : out;
  row.ifm_type = source.type;
  if (!source.is_constant()) row.ifm_tensors.push_back(from);
  row.ofm_tensors = {to};
  builder.add(std::move(row));
}

// The phases of a resize that writes a part of a concatenation are counted as deep as the whole.
void fill_depth(RowBuilder& builder, int32_t index, int32_t tensor) {
  Row& row = builder.row(index);
  if (row.kind != RowKind::kDepthwiseConv2D) return;
  row.ifm.c = row.ofm.c = to_shape4(builder.subgraph().tensors[static_cast<size_t>(tensor)]).c;
  row.groups = std::max<int64_t>(row.ofm.c, 1);
}

// True where a PAD's values can become the padding of the operator that reads it.
bool is_absorbed_by_reader(const RowBuilder& builder, const Row& pad, int32_t output) {
  if (builder.is_graph_output(output) || builder.consumers(output).size() != 1) return false;
  const int32_t reader = builder.consumers(output).front();
  const Operator& op = builder.op(reader);
  const bool convolves = op.kind == OpKind::kConv2D || op.kind == OpKind::kDepthwiseConv2D;
  constexpr int64_t kValid = 1;
  if (!convolves || !builder.is_placed_on(reader, Placement::kNpu) ||
      op.attr_int("padding", 0) != kValid)
    return false;
  Row row = builder.make(reader, RowKind::kConv2D, Placement::kNpu);
  return pad.pad_top < row.kernel_h && pad.pad_bottom < row.kernel_h &&
         pad.pad_left < row.kernel_w && pad.pad_right < row.kernel_w;
}

// Sides of a PAD along height and width; false where it pads other axes too or is not constant.
bool read_pads(const RowBuilder& builder, const Operator& op, Row& row) {
  const Tensor* pads = input_tensor(builder.subgraph(), op, 1);
  const auto values = pads != nullptr ? constant_ints(builder.graph(), *pads) : std::nullopt;
  if (!values || values->size() % 2 != 0 || values->size() < 4 || values->size() > 16) return false;
  const size_t rank = values->size() / 2;
  const auto at = [&](size_t axis, size_t side) {
    return static_cast<int32_t>(std::clamp<int64_t>((*values)[axis * 2 + side], 0, 1 << 20));
  };
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool spatial = rank >= 3 && (axis + 2 == rank || axis + 3 == rank);
    if (!spatial && (at(axis, 0) != 0 || at(axis, 1) != 0)) return false;
  }
  if (rank < 3) return false;
  row.pad_top = at(rank - 3, 0);
  row.pad_bottom = at(rank - 3, 1);
  row.pad_left = at(rank - 2, 0);
  row.pad_right = at(rank - 2, 1);
  return true;
}

void add_border(RowBuilder& builder, const Row& pad, Shape4 shape) {
  Row row = pad;
  row.ifm = row.ofm = shape;
  row.ifm_tensors.clear();
  builder.add(std::move(row));
}

}  // namespace

void lower_reshape(RowBuilder& builder, int32_t index) {
  const Operator& op = builder.op(index);
  const int32_t input = op.inputs.front(), output = op.outputs.front();
  const bool made_here = movable_writer(builder, input, index) >= 0;
  if (made_here || is_read_by_npu_rows(builder, output)) {
    builder.alias(index);
    return;
  }
  add_copy(builder, copy_of(builder, index, RowKind::kReshape), input, output);
}

void lower_concatenation(RowBuilder& builder, int32_t index) {
  const Operator op = builder.op(index);
  const int32_t output = op.outputs.front();
  const Row copy = copy_of(builder, index, RowKind::kCopy);
  bool copies = false;
  int32_t last_writer = -1;
  for (const int32_t input : op.inputs) {
    if (input < 0) continue;
    const int32_t row =
        op.kind == OpKind::kConcatenation ? movable_writer(builder, input, index) : -1;
    if (row >= 0) {
      for (const int32_t moved : builder.write_into(input, output))
        if (builder.row(moved).op_kind == OpKind::kResizeBilinear)
          fill_depth(builder, moved, output);
      last_writer = row;
      continue;
    }
    copies = true;
    add_copy(builder, copy, input, output);
  }
  if (copies || last_writer < 0) return;
  builder.row(last_writer).fused.push_back(index);
  builder.place(index, Placement::kFolded, {});
}

void lower_slice(RowBuilder& builder, int32_t index) {
  const Operator& op = builder.op(index);
  const bool in_place = std::ranges::all_of(
      op.outputs, [&](int32_t output) { return is_read_by_npu_rows(builder, output); });
  if (in_place) {
    builder.alias(index);
    return;
  }
  const int32_t input = op.inputs[operand_roles(op).ifm];
  const Row copy = copy_of(builder, index, RowKind::kCopy);
  for (const int32_t output : op.outputs)
    if (output >= 0) add_copy(builder, copy, input, output);
}

void lower_pad(RowBuilder& builder, int32_t index) {
  Row row = builder.make(index, RowKind::kPad, Placement::kNpu);
  const Operator op = builder.op(index);
  const int32_t input = op.inputs.front(), output = op.outputs.front();
  const bool spatial = read_pads(builder, op, row);
  if (spatial && op.kind == OpKind::kPad && is_absorbed_by_reader(builder, row, output)) {
    builder.alias(index);
    return;
  }
  if (movable_writer(builder, input, index) >= 0)
    builder.write_into(input, output);
  else
    add_copy(builder, copy_of(builder, index, RowKind::kCopy), input, output);
  if (!spatial) {
    // Channels that are filled up lie behind the pixel's own.
    Shape4 border = row.ofm;
    const bool deeper = row.ofm.n == row.ifm.n && row.ofm.h == row.ifm.h &&
                        row.ofm.w == row.ifm.w && row.ofm.c > row.ifm.c;
    if (deeper) border.c = row.ofm.c - row.ifm.c;
    add_border(builder, row, border);
    return;
  }
  const Shape4 ofm = row.ofm;
  for (const int32_t side : {row.pad_top, row.pad_bottom})
    if (side > 0) add_border(builder, row, {ofm.n, side, ofm.w, ofm.c});
  for (const int32_t side : {row.pad_left, row.pad_right})
    if (side > 0) add_border(builder, row, {ofm.n, row.ifm.h, side, ofm.c});
}

void absorb_padding(const RowBuilder& builder, Row& row) {
  if (row.ifm_tensors.empty()) return;
  const int32_t producer = builder.producer(row.ifm_tensors.front());
  if (producer < 0 || builder.op(producer).kind != OpKind::kPad ||
      !builder.is_placed_on(producer, Placement::kFolded))
    return;
  read_pads(builder, builder.op(producer), row);
  if (const Tensor* source = input_tensor(builder.subgraph(), builder.op(producer), 0))
    row.ifm = to_shape4(*source);
}

void lower_tile(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kCopy, Placement::kNpu);
  const int64_t part = whole.ifm.elements();
  constexpr int64_t kMostRows = 64;
  const int64_t copies =
      part > 0 ? std::clamp<int64_t>(whole.ofm.elements() / part, 1, kMostRows) : 1;
  const Row copy = copy_of(builder, index, RowKind::kCopy);
  for (int64_t i = 0; i < copies; ++i)
    add_copy(builder, copy, builder.op(index).inputs.front(), builder.op(index).outputs.front());
}

}  // namespace edgesage::ethos
