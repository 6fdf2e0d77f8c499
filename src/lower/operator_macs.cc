#include "src/lower/operator_macs.h"

#include <algorithm>
#include <limits>

#include "src/graph/custom_ops.h"
#include "src/lower/operator_shapes.h"

namespace edgesage {
namespace {

int64_t product(std::initializer_list<int64_t> factors) {
  return saturating_product(std::span(factors.begin(), factors.size()));
}

int64_t dimension(const Tensor& tensor, size_t from_end) {
  if (tensor.shape.size() < from_end) return 1;
  return std::max<int64_t>(tensor.shape[tensor.shape.size() - from_end], 0);
}

// Taps of a filter times the input channels that one output element sees.
int64_t taps_per_output(const Operator& op, const Tensor& filter) {
  // TensorFlow's own operators have filters of height, width, in, out.
  if (is_flex(op))
    return base_kind(op) == OpKind::kDepthwiseConv2D
               ? product({dimension(filter, 4), dimension(filter, 3)})
               : product({dimension(filter, 4), dimension(filter, 3), dimension(filter, 2)});
  switch (op.kind) {
    case OpKind::kDepthwiseConv2D:
      return product({dimension(filter, 3), dimension(filter, 2)});
    case OpKind::kConv3D:  // depth, height, width, in, out
      return product(
          {dimension(filter, 5), dimension(filter, 4), dimension(filter, 3), dimension(filter, 2)});
    default:  // out, height, width, in
      return product({dimension(filter, 3), dimension(filter, 2), dimension(filter, 1)});
  }
}

// Every element of the weight matrices once for each step of each sequence.
int64_t recurrent_macs(const Subgraph& subgraph, const Operator& op) {
  int64_t weights = 0;
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    const Tensor* tensor = input_tensor(subgraph, op, i);
    if (tensor != nullptr && !tensor->is_variable && tensor->shape.size() == 2 &&
        tensor->is_constant())
      weights = saturating_sum(weights, tensor->element_count());
  }
  const Tensor* input = input_tensor(subgraph, op, 0);
  const int64_t features = input != nullptr ? dimension(*input, 1) : 0;
  const int64_t steps = features > 0 ? input->element_count() / features : 0;
  return product({weights, steps});
}

int64_t mat_mul_macs(const Subgraph& subgraph, const Operator& op) {
  const Tensor* left = input_tensor(subgraph, op, 0);
  const Tensor* output = output_tensor(subgraph, op, 0);
  if (left == nullptr || output == nullptr) return 0;
  const bool transposed = op.attr_int("adj_x", 0) != 0;
  return product({output->element_count(), dimension(*left, transposed ? 2 : 1)});
}

int64_t flat_macs(const Subgraph& subgraph, const Operator& op) {
  const OperandRoles roles = operand_roles(op);
  const Tensor* input = input_tensor(subgraph, op, roles.ifm);
  const Tensor* output = output_tensor(subgraph, op, 0);
  const Tensor* filter = input_tensor(subgraph, op, 1);
  if (input == nullptr || output == nullptr || filter == nullptr) return 0;
  switch (base_kind(op)) {
    case OpKind::kConv2D:
    case OpKind::kDepthwiseConv2D:
    case OpKind::kConv3D:
      return product({output->element_count(), taps_per_output(op, *filter)});
    case OpKind::kTransposeConv:  // filter: out, height, width, in
      return product({input->element_count(), dimension(*filter, 4), dimension(*filter, 3),
                      dimension(*filter, 2)});
    case OpKind::kConv3DTranspose:  // filter: depth, height, width, out, in
      return product({input->element_count(), dimension(*filter, 5), dimension(*filter, 4),
                      dimension(*filter, 3), dimension(*filter, 2)});
    case OpKind::kFullyConnected:
      return product({output->element_count(), dimension(*filter, 1)});
    default:
      return 0;
  }
}

}  // namespace

int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

int64_t own_macs(const Subgraph& subgraph, const Operator& op) {
  switch (base_kind(op)) {
    case OpKind::kBatchMatmul:
      return mat_mul_macs(subgraph, op);
    case OpKind::kLstm:
    case OpKind::kRnn:
    case OpKind::kSvdf:
    case OpKind::kUnidirectionalSequenceLstm:
    case OpKind::kUnidirectionalSequenceRnn:
    case OpKind::kBidirectionalSequenceLstm:
    case OpKind::kBidirectionalSequenceRnn:
      return recurrent_macs(subgraph, op);
    default:
      return flat_macs(subgraph, op);
  }
}

}  // namespace edgesage
