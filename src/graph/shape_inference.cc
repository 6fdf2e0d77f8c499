#include "src/graph/shape_inference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "src/graph/op_registry.h"
#include "src/graph/shape_rules.h"

namespace edgesage {
namespace shape_rules {

const Tensor* Context::input(size_t index) const {
  if (index >= op.inputs.size() || op.inputs[index] < 0) return nullptr;
  const auto tensor = static_cast<size_t>(op.inputs[index]);
  return tensor < subgraph.tensors.size() ? &subgraph.tensors[tensor] : nullptr;
}

Result<const Shape*> Context::shape(size_t index) const {
  const Tensor* tensor = input(index);
  if (tensor == nullptr) return bad(fmt::format("input {} is missing", index));
  if (!tensor->has_rank) return unknown(fmt::format("input {} has no shape", index));
  return &tensor->shape;
}

Result<const Shape*> Context::shape(size_t index, size_t rank) const {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* dims, shape(index));
  if (dims->size() != rank)
    return bad(fmt::format("input {} has shape [{}], {} dimensions are needed", index,
                           fmt::join(*dims, ","), rank));
  return dims;
}

Result<std::vector<int64_t>> Context::values(size_t index) const {
  const Tensor* tensor = input(index);
  if (tensor == nullptr) return bad(fmt::format("input {} is missing", index));
  std::optional<std::vector<int64_t>> constants = constant_ints(graph, *tensor);
  if (!constants) return unknown(fmt::format("input {} is not a constant of integers", index));
  return *std::move(constants);
}

tl::unexpected<Error> Context::bad(std::string message) const {
  return make_error(ErrorCode::kBadModel, std::string(op_name(op.kind)), std::move(message));
}

tl::unexpected<Error> Context::unknown(std::string message) const {
  return make_error(ErrorCode::kUnsupported, std::string(op_name(op.kind)), std::move(message));
}

}  // namespace shape_rules

namespace {

using shape_rules::Context;
using shape_rules::Rule;
using shape_rules::Shapes;

Shapes same_as_first(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* shape, context.shape(0));
  return std::vector<Shape>{*shape};
}

Shapes elementwise(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* a, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* b, context.shape(1));
  Result<Shape> shape = broadcast_shapes(*a, *b);
  if (!shape) return context.bad(shape.error().message);
  return std::vector<Shape>{*std::move(shape)};
}

Shapes fully_connected(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* filter, context.shape(1, 2));
  const int64_t units = (*filter)[0];
  const int64_t depth = (*filter)[1];
  const int64_t elements = context.input(0)->element_count();
  if (depth <= 0 || elements % depth != 0)
    return context.bad(fmt::format("weights [{}] do not fit an input of shape [{}]",
                                   fmt::join(*filter, ","), fmt::join(*input, ",")));
  if (context.op.attr_int("keep_num_dims", 0) == 0)
    return std::vector<Shape>{{elements / depth, units}};
  if (input->empty() || input->back() != depth)
    return context.bad(fmt::format("weights [{}] do not fit the last dimension of [{}]",
                                   fmt::join(*filter, ","), fmt::join(*input, ",")));
  Shape output = *input;
  output.back() = units;
  return std::vector<Shape>{std::move(output)};
}

int64_t count_elements(const Shape& shape) {
  Tensor tensor;
  tensor.shape = shape;
  return tensor.element_count();
}

Shapes reshape(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  Shape target;
  if (context.input(1) != nullptr) {
    EDGESAGE_ASSIGN_OR_RETURN(target, context.values(1));
  } else {
    const auto option = context.op.attr_ints("new_shape");
    target.assign(option.begin(), option.end());
  }
  const int64_t elements = context.input(0)->element_count();
  const auto stretch = std::find(target.begin(), target.end(), -1);
  for (auto dim = target.begin(); dim != target.end(); ++dim)
    if (*dim < 0 && dim != stretch)
      return context.bad(fmt::format("the target [{}] has dimensions below 0; one of -1 is allowed",
                                     fmt::join(target, ",")));
  const int64_t known = count_elements(target);  // counts -1 as 1
  if (stretch != target.end() && known > 0) *stretch = elements / known;
  const int64_t total = count_elements(target);
  if (total != elements)
    return context.bad(
        fmt::format("[{}] cannot become [{}]", fmt::join(*input, ","), fmt::join(target, ",")));
  return std::vector<Shape>{std::move(target)};
}

Shapes reduce(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.values(1));
  const auto rank = static_cast<int64_t>(input->size());
  std::vector<bool> reduced(input->size());
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank)
      return context.bad(fmt::format("axis {} is outside [{}]", axis, fmt::join(*input, ",")));
    reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  const bool keep = context.op.attr_int("keep_dims", 0) != 0;
  Shape output;
  for (size_t i = 0; i < input->size(); ++i) {
    if (!reduced[i])
      output.push_back((*input)[i]);
    else if (keep)
      output.push_back(1);
  }
  return std::vector<Shape>{std::move(output)};
}

Shapes concatenation(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* first, context.shape(0));
  const auto rank = static_cast<int64_t>(first->size());
  const int64_t option = context.op.attr_int("axis", 0);
  const int64_t axis = option < 0 ? option + rank : option;
  if (axis < 0 || axis >= rank)
    return context.bad(fmt::format("axis {} is outside [{}]", option, fmt::join(*first, ",")));
  Shape output = *first;
  for (size_t i = 1; i < context.op.inputs.size(); ++i) {
    EDGESAGE_ASSIGN_OR_RETURN(const Shape* shape, context.shape(i, first->size()));
    for (size_t dim = 0; dim < shape->size(); ++dim) {
      if (dim == static_cast<size_t>(axis))
        output[dim] += (*shape)[dim];
      else if ((*shape)[dim] != output[dim])
        return context.bad(fmt::format("[{}] and [{}] differ beside axis {}",
                                       fmt::join(*first, ","), fmt::join(*shape, ","), axis));
    }
  }
  return std::vector<Shape>{std::move(output)};
}

Shapes pad(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, context.values(1));
  if (pads.size() != 2 * input->size())
    return context.bad(
        fmt::format("{} pads for the {} dimensions of the input; two each are needed", pads.size(),
                    input->size()));
  Shape output = *input;
  for (size_t i = 0; i < output.size(); ++i) {
    for (const int64_t amount : {pads[2 * i], pads[2 * i + 1]}) {
      if (amount < 0 || amount > std::numeric_limits<int32_t>::max())
        return context.bad(fmt::format("a pad of {}; 0 to 2^31-1 is allowed", amount));
      output[i] += amount;
    }
  }
  return std::vector<Shape>{std::move(output)};
}

Shapes transpose(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> order, context.values(1));
  std::vector<bool> taken(input->size());
  Shape output;
  for (const int64_t dim : order) {
    const bool fits = dim >= 0 && dim < static_cast<int64_t>(input->size());
    if (!fits || taken[static_cast<size_t>(dim)] || order.size() != input->size())
      return context.bad(fmt::format("[{}] is no order of the {} dimensions of the input",
                                     fmt::join(order, ","), input->size()));
    taken[static_cast<size_t>(dim)] = true;
    output.push_back((*input)[static_cast<size_t>(dim)]);
  }
  return std::vector<Shape>{std::move(output)};
}

Shapes split(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.values(0));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(1));
  const auto rank = static_cast<int64_t>(input->size());
  const int64_t axis = axes.size() != 1 ? rank : axes[0] < 0 ? axes[0] + rank : axes[0];
  const int64_t parts = context.op.attr_int("num_splits", 0);
  if (axis < 0 || axis >= rank)
    return context.bad(
        fmt::format("axis [{}] is outside [{}]", fmt::join(axes, ","), fmt::join(*input, ",")));
  Shape part = *input;
  int64_t& length = part[static_cast<size_t>(axis)];
  if (parts <= 0 || length % parts != 0)
    return context.bad(fmt::format("{} parts of a length of {}", parts, length));
  const auto outputs = static_cast<int64_t>(context.op.outputs.size());
  constexpr int64_t kMostParts = 65'536;
  if (outputs > 0 ? parts != outputs : parts > kMostParts)
    return context.bad(fmt::format("{} parts for {} results", parts, outputs));
  length /= parts;
  return std::vector<Shape>(static_cast<size_t>(parts), part);
}

Shapes squeeze(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  const auto rank = static_cast<int64_t>(input->size());
  const auto dims = context.op.attr_ints("squeeze_dims");
  if (input->empty() && !dims.empty()) return context.unknown("its input has no dimensions");
  std::vector<bool> dropped(input->size());
  for (const int64_t dim : dims) {
    if (dim < -rank || dim >= rank)
      return context.bad(fmt::format("dimension {} is outside [{}]", dim, fmt::join(*input, ",")));
    dropped[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = true;
  }
  Shape output;
  for (size_t i = 0; i < input->size(); ++i) {
    const bool one = (*input)[i] == 1;
    if (dropped[i] && !one)
      return context.bad(fmt::format("a dimension of {} cannot be dropped", (*input)[i]));
    if (!(dims.empty() ? one : dropped[i])) output.push_back((*input)[i]);
  }
  return std::vector<Shape>{std::move(output)};
}

Shapes expand_dims(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.values(1));
  const auto rank = static_cast<int64_t>(input->size());
  const int64_t axis = axes.size() != 1 ? rank + 1 : axes[0] < 0 ? axes[0] + rank + 1 : axes[0];
  if (axis < 0 || axis > rank)
    return context.bad(
        fmt::format("axis [{}] is outside [{}]", fmt::join(axes, ","), fmt::join(*input, ",")));
  Shape output = *input;
  output.insert(output.begin() + axis, 1);
  return std::vector<Shape>{std::move(output)};
}

Shapes batch_matmul(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* a, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* b, context.shape(1));
  if (a->size() < 2 || b->size() < 2) return context.bad("two dimensions or more are needed");
  const bool turn_a = context.op.attr_int("adj_x", 0) != 0;
  const bool turn_b = context.op.attr_int("adj_y", 0) != 0;
  const auto last = [](const Shape& shape, size_t from_end) {
    return shape[shape.size() - from_end];
  };
  const int64_t depth = last(*a, turn_a ? 2 : 1);
  if (depth != last(*b, turn_b ? 1 : 2))
    return context.bad(
        fmt::format("[{}] and [{}] cannot be multiplied", fmt::join(*a, ","), fmt::join(*b, ",")));
  Result<Shape> output =
      broadcast_shapes(std::span(*a).first(a->size() - 2), std::span(*b).first(b->size() - 2));
  if (!output) return context.bad(output.error().message);
  output->push_back(last(*a, turn_a ? 1 : 2));
  output->push_back(last(*b, turn_b ? 2 : 1));
  return std::vector<Shape>{*std::move(output)};
}

Shapes arg_max(const Context& context) {
  EDGESAGE_ASSIGN_OR_RETURN(const Shape* input, context.shape(0));
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.values(1));
  const auto rank = static_cast<int64_t>(input->size());
  const int64_t axis = axes.size() != 1 ? rank : axes[0] < 0 ? axes[0] + rank : axes[0];
  if (axis < 0 || axis >= rank)
    return context.bad(
        fmt::format("axis [{}] is outside [{}]", fmt::join(axes, ","), fmt::join(*input, ",")));
  Shape output = *input;
  output.erase(output.begin() + axis);
  return std::vector<Shape>{std::move(output)};
}

Rule rule_for(OpKind kind) {
  switch (kind) {
    case OpKind::kConv2D:
      return shape_rules::conv_2d;
    case OpKind::kDepthwiseConv2D:
      return shape_rules::depthwise_conv_2d;
    case OpKind::kAveragePool2D:
    case OpKind::kMaxPool2D:
    case OpKind::kL2Pool2D:
      return shape_rules::pool_2d;
    case OpKind::kFullyConnected:
      return fully_connected;
    case OpKind::kReshape:
      return reshape;
    case OpKind::kMean:
    case OpKind::kSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
      return reduce;
    case OpKind::kConcatenation:
      return concatenation;
    case OpKind::kPad:
    case OpKind::kPadv2:
      return pad;
    case OpKind::kTranspose:
      return transpose;
    case OpKind::kTransposeConv:
      return shape_rules::transpose_conv;
    case OpKind::kDepthToSpace:
      return shape_rules::depth_to_space;
    case OpKind::kResizeBilinear:
    case OpKind::kResizeNearestNeighbor:
      return shape_rules::resize;
    case OpKind::kSplit:
      return split;
    case OpKind::kArgMax:
    case OpKind::kArgMin:
      return arg_max;
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
    case OpKind::kLess:
    case OpKind::kLessEqual:
    case OpKind::kGreater:
    case OpKind::kGreaterEqual:
    case OpKind::kEqual:
    case OpKind::kNotEqual:
    case OpKind::kLogicalAnd:
    case OpKind::kLogicalOr:
      return elementwise;
    case OpKind::kRelu:
    case OpKind::kRelu6:
    case OpKind::kReluN1To1:
    case OpKind::kLogistic:
    case OpKind::kTanh:
    case OpKind::kHardSwish:
    case OpKind::kLeakyRelu:
    case OpKind::kPrelu:
    case OpKind::kSoftmax:
    case OpKind::kQuantize:
    case OpKind::kDequantize:
    case OpKind::kAbs:
    case OpKind::kCast:
    case OpKind::kCeil:
    case OpKind::kCos:
    case OpKind::kElu:
    case OpKind::kExp:
    case OpKind::kFloor:
    case OpKind::kGelu:
    case OpKind::kL2Normalization:
    case OpKind::kLocalResponseNormalization:
    case OpKind::kLog:
    case OpKind::kLogicalNot:
    case OpKind::kLogSoftmax:
    case OpKind::kNeg:
    case OpKind::kRelu0To1:
    case OpKind::kRound:
    case OpKind::kRsqrt:
    case OpKind::kSign:
    case OpKind::kSin:
    case OpKind::kSqrt:
    case OpKind::kSquare:
    case OpKind::kZerosLike:
      return same_as_first;
    case OpKind::kSqueeze:
      return squeeze;
    case OpKind::kExpandDims:
      return expand_dims;
    case OpKind::kBatchMatmul:
      return batch_matmul;
    default:
      return nullptr;
  }
}

}  // namespace

Result<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  Shape output(std::max(a.size(), b.size()));
  for (size_t i = 0; i < output.size(); ++i) {  // i counts from the last dimension
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1)
      return make_error(
          ErrorCode::kInvalidArgument, {},
          fmt::format("[{}] and [{}] cannot be broadcast", fmt::join(a, ","), fmt::join(b, ",")));
    output[output.size() - 1 - i] = left == 1 ? right : left;
  }
  return output;
}

bool has_shape_rule(OpKind kind) { return rule_for(kind) != nullptr; }

Result<std::vector<Shape>> infer_shapes(const Graph& graph, const Subgraph& subgraph,
                                        const Operator& op) {
  const Context context{graph, subgraph, op};
  const Rule rule = rule_for(op.kind);
  if (rule == nullptr) return context.unknown("there is no shape rule for this kind");
  return rule(context);
}

}  // namespace edgesage
