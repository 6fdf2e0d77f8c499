// Layers of ncnn that TFLite's vocabulary takes several operators for.
#include <fmt/format.h>

#include <utility>

#include "src/io/ncnn_layers.h"

namespace edgesage {
namespace {

constexpr int64_t kMostWidth = 1 << 24;

// Mean, variance, normalisation, scale and shift over the last dimension.
NcnnOutputs layer_norm(const NcnnCall& call) {
  NcnnEmitter& net = call.net;
  const Shape shape = call.shape();
  Shape narrow = shape;
  narrow.back() = 1;
  const auto mean = [&](int32_t of) {
    Operator op;
    op.kind = OpKind::kMean;
    op.inputs = {of, net.ints({static_cast<int64_t>(shape.size()) - 1})};
    op.set("keep_dims", int64_t{1});
    return net.add(std::move(op), narrow);
  };
  const int32_t centre = mean(call.in[0]);
  const int32_t variance = mean(net.binary(OpKind::kSquaredDifference, call.in[0], centre, shape));
  const DataType type = net.type(call.in[0]);
  const int32_t safe =
      net.binary(OpKind::kAdd, variance, net.scalar(call.layer.real(1, 1e-5), type), narrow);
  const int32_t inverse = net.unary(OpKind::kRsqrt, safe);
  int32_t x = net.binary(OpKind::kSub, call.in[0], centre, shape);
  x = net.binary(OpKind::kMul, x, inverse, shape);
  if (call.layer.integer(2, 1) != 0) {
    x = net.binary(OpKind::kMul, x, net.constant("", {shape.back()}), shape);
    x = net.binary(OpKind::kAdd, x, net.constant("", {shape.back()}), shape);
  }
  return std::vector{x};
}

// Rows of embeddings by a matrix with bias.
int32_t project(NcnnEmitter& net, int32_t x, int64_t width) {
  const Shape in = net.shape(x);
  Operator op;
  op.kind = OpKind::kFullyConnected;
  op.set("keep_num_dims", int64_t{1});
  return net.weighted(std::move(op), x, {width, in.back()}, width, true, {1, in[1], width});
}

NcnnOutputs multi_head_attention(const NcnnCall& call) {
  NcnnEmitter& net = call.net;
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t width, call.bounded(0, 0, 1, kMostWidth, "width"));
  EDGESAGE_ASSIGN_OR_RETURN(const int64_t heads, call.bounded(1, 1, 1, width, "number of heads"));
  if (width % heads != 0)
    return call.bad(fmt::format("splits a width of {} to {} heads", width, heads));
  const int32_t query = call.in[0];
  const int32_t key = call.in.size() > 1 ? call.in[1] : query;
  const int32_t value = call.in.size() > 2 ? call.in[2] : key;
  for (const int32_t x : {query, key, value})
    if (net.shape(x).size() != 3) return call.bad("reads a blob that is no list of rows");
  const int64_t depth = width / heads;
  const auto per_head = [&](int32_t x) {
    const int32_t rows = project(net, net.as_float(x), width);
    const int64_t count = net.shape(rows)[1];
    return net.transpose(net.reshape(rows, {1, count, heads, depth}), {0, 2, 1, 3});
  };
  const int32_t q = per_head(query), k = per_head(key), v = per_head(value);
  const int64_t rows = net.shape(q)[2], others = net.shape(k)[2];
  if (net.shape(v)[2] != others) return call.bad("reads keys and values of different lengths");
  Operator scores;
  scores.kind = OpKind::kBatchMatmul;
  scores.inputs = {q, k};
  scores.set("adj_y", int64_t{1});
  int32_t x = net.add(std::move(scores), Shape{1, heads, rows, others});
  x = net.binary(OpKind::kMul, x, net.scalar(0.125, net.type(x)), net.shape(x));
  x = net.unary(OpKind::kSoftmax, x);
  net.graph().main().operators.back().set("beta", 1.0);
  Operator mixed;
  mixed.kind = OpKind::kBatchMatmul;
  mixed.inputs = {x, v};
  x = net.add(std::move(mixed), Shape{1, heads, rows, depth});
  x = net.reshape(net.transpose(x, {0, 2, 1, 3}), {1, rows, width});
  return std::vector{project(net, x, width)};
}

}  // namespace

std::optional<NcnnRule> ncnn_composite_rule(std::string_view type) {
  if (type == "LayerNorm") return NcnnRule{layer_norm};
  if (type == "MultiHeadAttention") return NcnnRule{multi_head_attention};
  return std::nullopt;
}

}  // namespace edgesage
