#include "src/lower/operator_shapes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "src/graph/custom_ops.h"

namespace edgesage {
namespace {

constexpr int64_t kPaddingValid = 1;  // the schema's Padding: SAME 0, VALID 1

int64_t known(int64_t dimension) { return dimension < 0 ? 1 : dimension; }

int32_t clamp32(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<int32_t>::max()));
}

// Padding before and after along one axis, from what the output needs.
void same_padding(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                  int32_t& before, int32_t& after) {
  const int64_t reach = saturating_product(std::array{std::max<int64_t>(kernel - 1, 0), dilation});
  const int64_t last = saturating_product(std::array{std::max<int64_t>(out - 1, 0), stride});
  const int64_t total = std::max<int64_t>(last / 1 - in + 1 + std::min(reach, int64_t{1} << 40), 0);
  before = clamp32(total / 2);
  after = clamp32(total - total / 2);
}

void fill_padding(const Operator& op, Row& row) {
  if (op.attr_int("padding", 0) == kPaddingValid) return;
  // A transpose convolution pads its output; seen from there, stride and sizes swap roles.
  const bool transposed = row.kind == RowKind::kTransposeConv;
  const Shape4& in = transposed ? row.ofm : row.ifm;
  const Shape4& out = transposed ? row.ifm : row.ofm;
  same_padding(in.h, out.h, row.kernel_h, row.stride_h, row.dilation_h, row.pad_top,
               row.pad_bottom);
  same_padding(in.w, out.w, row.kernel_w, row.stride_w, row.dilation_w, row.pad_left,
               row.pad_right);
}

void fill_strides(const Operator& op, Row& row) {
  row.stride_h = std::max(clamp32(op.attr_int("stride_h", 1)), 1);
  row.stride_w = std::max(clamp32(op.attr_int("stride_w", 1)), 1);
  row.dilation_h = std::max(clamp32(op.attr_int("dilation_h_factor", 1)), 1);
  row.dilation_w = std::max(clamp32(op.attr_int("dilation_w_factor", 1)), 1);
}

void fill_convolution(const Operator& op, const Tensor* filter, Row& row) {
  fill_strides(op, row);
  if (filter != nullptr) {
    Shape4 shape = to_shape4(*filter);
    // TensorFlow's own operators have filters of height, width, in, out.
    if (is_flex(op)) shape = {shape.c, shape.n, shape.h, shape.w};
    row.kernel_h = clamp32(shape.h);
    row.kernel_w = clamp32(shape.w);
    row.weights_type = filter->type;
    if (base_kind(op) == OpKind::kConv2D && shape.c > 0 && row.ifm.c > shape.c)
      row.groups = row.ifm.c / shape.c;
    // TFLite has none of these; ONNX has.
    if (row.kind == RowKind::kTransposeConv && shape.n > 0 && row.ofm.c > shape.n)
      row.groups = row.ofm.c / shape.n;
  }
  if (base_kind(op) == OpKind::kDepthwiseConv2D) row.groups = std::max<int64_t>(row.ifm.c, 1);
  fill_padding(op, row);
}

void fill_pool(const Operator& op, Row& row) {
  fill_strides(op, row);
  row.kernel_h = std::max(clamp32(op.attr_int("filter_height", 1)), 1);
  row.kernel_w = std::max(clamp32(op.attr_int("filter_width", 1)), 1);
  row.groups = std::max<int64_t>(row.ifm.c, 1);
  fill_padding(op, row);
}

// Kinds whose second input is data of the same sort as the first, not a shape, axis or index.
bool has_second_operand(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kSquaredDifference:
    case OpKind::kPow:
    case OpKind::kFloorDiv:
    case OpKind::kFloorMod:
    case OpKind::kAtan2:
    case OpKind::kPrelu:
    case OpKind::kBatchMatmul:
    case OpKind::kLess:
    case OpKind::kLessEqual:
    case OpKind::kGreater:
    case OpKind::kGreaterEqual:
    case OpKind::kEqual:
    case OpKind::kNotEqual:
    case OpKind::kLogicalAnd:
    case OpKind::kLogicalOr:
    case OpKind::kBitwiseXor:
    case OpKind::kRightShift:
    case OpKind::kSelect:
    case OpKind::kSelectV2:
    case OpKind::kConcatenation:
    case OpKind::kStablehloAdd:
    case OpKind::kStablehloSubtract:
    case OpKind::kStablehloMultiply:
    case OpKind::kStablehloDivide:
    case OpKind::kStablehloMaximum:
    case OpKind::kStablehloMinimum:
      return true;
    default:
      return false;
  }
}

// Keeps the first of each; a concatenation may have very many.
void drop_repeats(std::vector<int32_t>& tensors) {
  constexpr size_t kFew = 16;
  if (tensors.size() <= kFew) {
    size_t kept = 0;
    for (const int32_t tensor : tensors) {
      const auto end = tensors.begin() + static_cast<std::ptrdiff_t>(kept);
      if (std::find(tensors.begin(), end, tensor) == end) tensors[kept++] = tensor;
    }
    tensors.resize(kept);
    return;
  }
  std::vector<std::pair<int32_t, int32_t>> places;  // tensor, where it stands
  for (size_t i = 0; i < tensors.size(); ++i)
    places.emplace_back(tensors[i], static_cast<int32_t>(i));
  std::ranges::sort(places);
  std::vector<uint8_t> repeats(tensors.size(), 0);
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first == places[i - 1].first) repeats[static_cast<size_t>(places[i].second)] = 1;
  size_t at = 0;
  std::erase_if(tensors, [&](int32_t) { return repeats[at++] != 0; });
}

// [batch, features] whatever the rank of the file's tensors.
void fill_fully_connected(const Tensor* weights, Row& row) {
  int64_t features = row.ifm.c, outputs = row.ofm.c;
  if (weights != nullptr && !weights->shape.empty()) {
    row.weights_type = weights->type;
    features = known(weights->shape.back());
    outputs = features > 0 ? weights->element_count() / features : 0;
  }
  const int64_t elements = row.ifm.elements();
  const int64_t batch = features > 0 ? elements / features : 0;
  row.ifm = {batch, 1, 1, features};
  row.ofm = {batch, 1, 1, outputs};
}

}  // namespace

int64_t saturating_product(std::span<const int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) {
      // A later zero still makes the product zero.
      if (std::ranges::find(factors, 0) != factors.end()) return 0;
      return std::numeric_limits<int64_t>::max();
    }
  return product;
}

Shape4 to_shape4(const Tensor& tensor) {
  Shape4 shape;
  if (!tensor.has_rank) return shape;
  const std::vector<int64_t>& dims = tensor.shape;
  const size_t rank = dims.size();
  if (rank >= 1) shape.c = known(dims[rank - 1]);
  if (rank >= 2) shape.w = known(dims[rank - 2]);
  if (rank >= 3) shape.h = known(dims[rank - 3]);
  if (rank == 4) {
    shape.n = known(dims[0]);
  } else if (rank > 4) {
    std::vector<int64_t> leading;
    for (size_t i = 0; i + 3 < rank; ++i) leading.push_back(known(dims[i]));
    shape.n = saturating_product(leading);
  }
  return shape;
}

const Tensor* input_tensor(const Subgraph& subgraph, const Operator& op, size_t index) {
  if (index >= op.inputs.size()) return nullptr;
  const int32_t tensor = op.inputs[index];
  if (tensor < 0 || static_cast<size_t>(tensor) >= subgraph.tensors.size()) return nullptr;
  return &subgraph.tensors[static_cast<size_t>(tensor)];
}

const Tensor* output_tensor(const Subgraph& subgraph, const Operator& op, size_t index) {
  if (index >= op.outputs.size()) return nullptr;
  const int32_t tensor = op.outputs[index];
  if (tensor < 0 || static_cast<size_t>(tensor) >= subgraph.tensors.size()) return nullptr;
  return &subgraph.tensors[static_cast<size_t>(tensor)];
}

OpKind fused_activation(const Operator& op) {
  switch (op.attr_int("fused_activation_function", 0)) {
    case 1:
      return OpKind::kRelu;
    case 2:
      return OpKind::kReluN1To1;
    case 3:
      return OpKind::kRelu6;
    case 4:
      return OpKind::kTanh;
    case 5:
      return OpKind::kSign;
    default:
      return OpKind::kUnknown;
  }
}

OperandRoles operand_roles(const Operator& op) {
  const auto at = [&op](size_t index) {
    return index < op.inputs.size() ? op.inputs[index] : kNoTensor;
  };
  switch (base_kind(op)) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kFullyConnected:
    case OpKind::kConv3D:
    case OpKind::kStablehloConvolution:
      return {0, at(1), at(2)};
    case OpKind::kTransposeConv:
    case OpKind::kConv3DTranspose:
      return {2, at(1), at(3)};
    case OpKind::kSplit:
      return {1, kNoTensor, kNoTensor};
    default:
      return {};
  }
}

bool is_shape_operand(const Operator& op, size_t input) {
  switch (op.kind) {
    case OpKind::kReshape:
    case OpKind::kExpandDims:
    case OpKind::kPad:
    case OpKind::kMirrorPad:
    case OpKind::kTranspose:
    case OpKind::kArgMax:
    case OpKind::kTile:
    case OpKind::kBroadcastTo:
    case OpKind::kSqueeze:
    case OpKind::kBatchToSpaceNd:
    case OpKind::kSpaceToBatchNd:
    case OpKind::kMean:
    case OpKind::kSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kReduceAll:
    case OpKind::kReduceAny:
    case OpKind::kReverseV2:
    case OpKind::kResizeBilinear:
    case OpKind::kResizeNearestNeighbor:
      return input == 1;
    case OpKind::kSplit:
    case OpKind::kTransposeConv:
      return input == 0;
    case OpKind::kPadv2:
      return input == 1;
    case OpKind::kFill:
      return input == 0;
    case OpKind::kSplitV:
    case OpKind::kSlice:
    case OpKind::kStridedSlice:
      return input >= 1;
    case OpKind::kGather:
      return input == 1;
    case OpKind::kScatterNd:
      return input != 1;
    default:
      return false;
  }
}

std::optional<std::vector<int64_t>> reduction_axes(const Graph& graph, const Subgraph& subgraph,
                                                   const Operator& op) {
  const Tensor* input = input_tensor(subgraph, op, 0);
  const Tensor* axes = input_tensor(subgraph, op, 1);
  if (input == nullptr || axes == nullptr) return std::nullopt;
  std::optional<std::vector<int64_t>> values = constant_ints(graph, *axes);
  if (!values) return std::nullopt;
  const auto rank = static_cast<int64_t>(input->shape.size());
  for (int64_t& axis : *values) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::ranges::sort(*values);
  values->erase(std::unique(values->begin(), values->end()), values->end());
  return values;
}

void fill_geometry(const Graph& /*graph*/, const Subgraph& subgraph, const Operator& op, Row& row) {
  const OperandRoles roles = operand_roles(op);
  row.op_kind = op.kind;
  row.activation = fused_activation(op);
  row.weights = roles.weights;
  row.bias = roles.bias;
  if (const Tensor* ifm = input_tensor(subgraph, op, roles.ifm)) {
    row.ifm = to_shape4(*ifm);
    row.ifm_type = ifm->type;
  }
  if (const Tensor* ofm = output_tensor(subgraph, op, 0)) {
    row.ofm = to_shape4(*ofm);
    row.ofm_type = ofm->type;
  }
  for (const int32_t output : op.outputs)
    if (output >= 0 && static_cast<size_t>(output) < subgraph.tensors.size())
      row.ofm_tensors.push_back(output);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor* tensor = input_tensor(subgraph, op, i);
    const bool shape_operand = op.kind == OpKind::kTransposeConv && i == 0;
    if (tensor == nullptr || tensor->is_constant() || shape_operand) continue;
    row.ifm_tensors.push_back(op.inputs[i]);
  }
  drop_repeats(row.ifm_tensors);
  const Tensor* filter = roles.weights == kNoTensor ? nullptr : input_tensor(subgraph, op, 1);
  switch (base_kind(op)) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kTransposeConv:
      fill_convolution(op, filter, row);
      break;
    case OpKind::kAveragePool2D:
    case OpKind::kMaxPool2D:
    case OpKind::kL2Pool2D:
      fill_pool(op, row);
      break;
    case OpKind::kFullyConnected:
      fill_fully_connected(filter, row);
      break;
    default:
      break;
  }
  if (roles.weights != kNoTensor || roles.ifm != 0 || !has_second_operand(base_kind(op))) return;
  if (const Tensor* second = input_tensor(subgraph, op, 1)) {
    row.has_ifm2 = true;
    row.ifm2 = to_shape4(*second);
    row.ifm2_constant = second->is_constant();
  }
}

}  // namespace edgesage
