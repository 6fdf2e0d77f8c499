#include "src/transform/refit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/graph/op_registry.h"
#include "src/graph/shape_inference.h"
#include "src/transform/constants.h"

namespace edgesage {
namespace {

class Refit {
 public:
  Refit(const Graph& before, Graph& graph)
      : before_(before.main()), graph_(graph), uses_(use_counts(graph.main())) {}

  Status run() {
    for (size_t i = 0; i < graph_.main().operators.size(); ++i) {
      Operator& op = graph_.main().operators[i];
      EDGESAGE_RETURN_IF_ERROR(adapt(op));
      EDGESAGE_RETURN_IF_ERROR(infer(op));
    }
    return {};
  }

 private:
  [[nodiscard]] const Shape& old_shape(int32_t tensor) const {
    return before_.tensors[static_cast<size_t>(tensor)].shape;
  }
  [[nodiscard]] Tensor& tensor(int32_t t) { return graph_.main().tensors[static_cast<size_t>(t)]; }
  [[nodiscard]] bool changed(const Operator& op) {
    return std::ranges::any_of(
        op.inputs, [&](int32_t t) { return t >= 0 && tensor(t).shape != old_shape(t); });
  }
  static tl::unexpected<Error> bad(const Operator& op, std::string message) {
    return make_error(ErrorCode::kBadModel, std::string(op_name(op.kind)), std::move(message));
  }

  // What was made for the old sizes.
  Status adapt(Operator& op) {
    if (!changed(op)) return {};
    switch (op.kind) {
      case OpKind::kAveragePool2D:
      case OpKind::kMaxPool2D:
      case OpKind::kL2Pool2D:
        adapt_pool(op);
        return {};
      case OpKind::kReshape:
        return adapt_reshape(op);
      case OpKind::kResizeBilinear:
      case OpKind::kResizeNearestNeighbor:
        return adapt_resize(op);
      case OpKind::kTransposeConv:
        return adapt_transpose_conv(op);
      case OpKind::kFullyConnected:
        return adapt_dense(op);
      default:
        return {};
    }
  }

  void adapt_pool(Operator& op) {
    const Shape& was = old_shape(op.inputs[0]);
    const Shape& is = tensor(op.inputs[0]).shape;
    if (was.size() != 4 || op.attr_int("filter_height", 0) != was[1] ||
        op.attr_int("filter_width", 0) != was[2])
      return;
    op.set("filter_height", is[1]);
    op.set("filter_width", is[2]);
    if (op.attr_int("stride_h", 1) == was[1]) op.set("stride_h", is[1]);
    if (op.attr_int("stride_w", 1) == was[2]) op.set("stride_w", is[2]);
  }

  // A constant that an operator reads, to be given other values.
  Result<std::vector<int64_t>> own_ints(const Operator& op, size_t input) {
    const int32_t t = input < op.inputs.size() ? op.inputs[input] : kNoTensor;
    if (t < 0 || uses_[static_cast<size_t>(t)] > 1) return bad(op, "its target is shared");
    auto values = constant_ints(graph_, tensor(t));
    if (!values) return bad(op, "its target is computed");
    return *std::move(values);
  }

  Status adapt_reshape(Operator& op) {
    const Shape& is = tensor(op.inputs[0]).shape;
    const Shape& target_was = old_shape(op.outputs[0]);
    const Shape& was = old_shape(op.inputs[0]);
    Shape target = target_was;
    if (was.size() == 4 && target.size() == 3 && target[1] == was[1] * was[2])
      target[1] = is[1] * is[2];
    else if (was.size() == 4 && target.size() == 2 && target[0] == was[0])
      target[1] = tensor(op.inputs[0]).element_count() / std::max<int64_t>(1, is[0]);
    else if (was.size() == 4 && target.size() == 2 && target[0] == was[0] * was[1] * was[2])
      target[0] = is[0] * is[1] * is[2];
    else if (target.size() == is.size() && target == was)
      target = is;
    else
      return bad(op, "its target was made for other sizes");
    if (op.inputs.size() < 2 || op.inputs[1] < 0) {
      op.set("new_shape", target);
      return {};
    }
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<int64_t> values, own_ints(op, 1));
    if (std::ranges::find(values, -1) == values.end())
      set_constant_ints(graph_, op.inputs[1], target);
    if (!op.attr_ints("new_shape").empty()) op.set("new_shape", target);
    return {};
  }

  Status adapt_resize(Operator& op) {
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<int64_t> size, own_ints(op, 1));
    const Shape& was = old_shape(op.inputs[0]);
    const Shape& is = tensor(op.inputs[0]).shape;
    for (size_t d = 0; d < size.size() && d < 2; ++d)
      size[d] = std::max<int64_t>(1, std::llround(static_cast<double>(size[d] * is[d + 1]) /
                                                  static_cast<double>(was[d + 1])));
    set_constant_ints(graph_, op.inputs[1], size);
    return {};
  }

  Status adapt_transpose_conv(Operator& op) {
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<int64_t> target, own_ints(op, 0));
    const Shape& was = old_shape(op.inputs[2]);
    const Shape& is = tensor(op.inputs[2]).shape;
    if (target.size() != 4 || was.size() != 4) return bad(op, "its target has no four dimensions");
    target[1] += (is[1] - was[1]) * op.attr_int("stride_h", 1);
    target[2] += (is[2] - was[2]) * op.attr_int("stride_w", 1);
    set_constant_ints(graph_, op.inputs[0], target);
    return {};
  }

  Status adapt_dense(Operator& op) {
    const int32_t filter = op.inputs[1];
    const Shape weights = tensor(filter).shape;
    const Tensor& rows_before = before_.tensors[static_cast<size_t>(op.inputs[0])];
    if (weights.size() != 2 || !tensor(filter).is_constant() ||
        uses_[static_cast<size_t>(filter)] > 1)
      return bad(op, "its weights are computed or shared");
    const int64_t depth = weights[1];
    const int64_t rows = depth > 0 ? rows_before.element_count() / depth : 0;
    const int64_t elements = tensor(op.inputs[0]).element_count();
    if (rows <= 0 || elements % rows != 0) return bad(op, "its rows do not fit");
    const int64_t wanted = elements / rows;
    if (wanted == depth) return {};
    std::vector<int64_t> columns;
    for (int64_t c = 0; c < wanted; ++c) columns.push_back(c % depth);
    return take_along(graph_, filter, 1, columns);
  }

  Status infer(Operator& op) {
    if (!has_shape_rule(op.kind)) {
      if (!changed(op)) return {};
      return make_error(ErrorCode::kUnsupported, std::string(op_name(op.kind)),
                        "there is no shape rule for this kind");
    }
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                              infer_shapes(graph_, graph_.main(), op));
    for (size_t i = 0; i < shapes.size() && i < op.outputs.size(); ++i) {
      if (op.outputs[i] < 0) continue;
      if (std::ranges::any_of(shapes[i], [](int64_t size) { return size <= 0; }))
        return bad(op, "nothing would be left of its output");
      Tensor& output = tensor(op.outputs[i]);
      output.shape = shapes[i];
      if (output.shape_signature.size() != output.shape.size()) {
        output.shape_signature.clear();
        continue;
      }
      for (size_t d = 0; d < output.shape.size(); ++d)
        if (output.shape_signature[d] >= 0) output.shape_signature[d] = output.shape[d];
    }
    return {};
  }

  const Subgraph& before_;
  Graph& graph_;
  std::vector<int32_t> uses_;
};

size_t data_input(OpKind kind) { return kind == OpKind::kTransposeConv ? 2 : 0; }

// int32 values for other scales, one a channel or one for all, in a buffer of their own.
void rescale(Graph& graph, Tensor& bias, const std::vector<float>& scales) {
  const std::span<const std::byte> stored = graph.constant(bias);
  if (stored.empty()) return;  // shapes without bytes
  std::vector<std::byte> bytes(stored.begin(), stored.end());
  for (size_t i = 0; i < bytes.size() / sizeof(int32_t); ++i) {
    const size_t c = scales.size() == 1 ? 0 : i;
    int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    const double real = static_cast<double>(value) * double{bias.quantization.scale[c]};
    constexpr double kLargest = 2147483647.0;
    value =
        static_cast<int32_t>(std::clamp(std::round(real / double{scales[c]}), -kLargest, kLargest));
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  bias.buffer = static_cast<int32_t>(graph.buffers.size());
  graph.buffers.push_back(make_buffer(bytes));
}

}  // namespace

Status refit_shapes(const Graph& before, Graph& graph) { return Refit(before, graph).run(); }

void refit_bias_scales(Graph& graph, BiasValues values) {
  Subgraph& main = graph.main();
  for (Operator& op : main.operators) {
    const bool weighted = op.kind == OpKind::kConv2D || op.kind == OpKind::kDepthwiseConv2D ||
                          op.kind == OpKind::kFullyConnected || op.kind == OpKind::kTransposeConv;
    const size_t bias_at = data_input(op.kind) + (op.kind == OpKind::kTransposeConv ? 1 : 2);
    if (!weighted || op.inputs.size() <= bias_at || op.inputs[bias_at] < 0) continue;
    const Quantization& in =
        main.tensors[static_cast<size_t>(op.inputs[data_input(op.kind)])].quantization;
    const Quantization& filter = main.tensors[static_cast<size_t>(op.inputs[1])].quantization;
    const Tensor& bias = main.tensors[static_cast<size_t>(op.inputs[bias_at])];
    if (in.scale.size() != 1 || filter.scale.empty() || bias.type != DataType::kInt32 ||
        bias.quantization.scale.size() != filter.scale.size())
      continue;
    std::vector<float> scales;
    bool same = true;
    for (size_t c = 0; c < filter.scale.size(); ++c) {
      scales.push_back(in.scale[0] * filter.scale[c]);
      same = same && std::abs(scales[c] - bias.quantization.scale[c]) <= 1e-3F * scales[c];
    }
    if (same) continue;
    // Another reader of the same bias keeps its scales.
    Tensor own = bias;
    if (values == BiasValues::kReal) rescale(graph, own, scales);
    own.quantization.scale = std::move(scales);
    op.inputs[bias_at] = static_cast<int32_t>(main.tensors.size());
    main.tensors.push_back(std::move(own));
  }
}

std::vector<int32_t> remove_unused(Graph& graph) {
  Subgraph& main = graph.main();
  std::vector<bool> needed(main.tensors.size(), false);
  const auto need = [&](int32_t t) {
    if (t >= 0) needed[static_cast<size_t>(t)] = true;
  };
  for (const int32_t t : main.outputs) need(t);
  std::vector<bool> kept(main.operators.size(), false);
  for (size_t i = main.operators.size(); i-- > 0;) {
    const Operator& op = main.operators[i];
    // Operators without outputs act on variables or other subgraphs.
    kept[i] = op.outputs.empty() || std::ranges::any_of(op.outputs, [&](int32_t t) {
                return t >= 0 && needed[static_cast<size_t>(t)];
              });
    if (!kept[i]) continue;
    for (const auto* list : {&op.inputs, &op.outputs, &op.intermediates})
      for (const int32_t t : *list) need(t);
  }
  for (const int32_t t : main.inputs) need(t);
  for (size_t t = 0; t < main.tensors.size(); ++t) {
    if (!needed[t]) continue;
    need(main.tensors[t].quantization.block_scales);
    need(main.tensors[t].quantization.block_zero_points);
  }
  std::vector<int32_t> number(main.tensors.size(), kNoTensor);
  std::vector<Tensor> tensors;
  std::vector<int32_t> old_tensor;
  for (size_t t = 0; t < main.tensors.size(); ++t) {
    if (!needed[t]) continue;
    old_tensor.push_back(static_cast<int32_t>(t));
    number[t] = static_cast<int32_t>(tensors.size());
    tensors.push_back(std::move(main.tensors[t]));
  }
  const auto renumber = [&](int32_t& t) {
    if (t >= 0) t = number[static_cast<size_t>(t)];
  };
  for (Tensor& tensor : tensors) {
    renumber(tensor.quantization.block_scales);
    renumber(tensor.quantization.block_zero_points);
  }
  main.tensors = std::move(tensors);
  std::vector<Operator> operators;
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) operators.push_back(std::move(main.operators[i]));
  main.operators = std::move(operators);
  for (Operator& op : main.operators)
    for (auto* list : {&op.inputs, &op.outputs, &op.intermediates})
      for (int32_t& t : *list) renumber(t);
  for (auto* list : {&main.inputs, &main.outputs})
    for (int32_t& t : *list) renumber(t);
  for (Signature& signature : graph.signatures) {
    if (signature.subgraph != 0) continue;
    for (auto* ports : {&signature.inputs, &signature.outputs})
      for (Signature::Port& port : *ports) renumber(port.tensor);
  }
  return old_tensor;
}

}  // namespace edgesage
