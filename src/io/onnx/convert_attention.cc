// Rules for attention, put together from products of matrices and a softmax.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Outcome nothing() { return std::vector<Val>{}; }

// Heads of a sequence: [batch, rows, heads * depth] to [batch, heads, rows, depth].
struct Heads {
  Id x = kNoTensor;
  int64_t batch = 0, heads = 0, rows = 0, depth = 0;
};

Heads heads_of(Call& call, Id x, int64_t heads) {
  const Shape shape = call.net.shape(x);
  Heads result{x, shape[0], heads, shape[1], shape[2] / heads};
  result.x = call.net.reshape(x, {shape[0], shape[1], heads, result.depth});
  result.x = call.net.transpose(result.x, {0, 2, 1, 3});
  return result;
}

// softmax(q k' / sqrt(depth) + mask) v, each [batch, heads, rows, depth].
Id attend(Call& call, const Heads& q, const Heads& k, const Heads& v, Id mask) {
  Emitter& net = call.net;
  const Made made = call.made();
  Id x = batch_matmul(call, q.x, k.x, false, true, made);
  const double scale = call.node.attr_float(
      "scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, q.depth))));
  x = net.binary(OpKind::kMul, x, net.scalar(scale, made), made);
  if (mask != kNoTensor) {
    const Shape scores = net.shape(x);
    const Id masked = net.binary(OpKind::kAdd, x, mask, made);
    if (net.shape(masked) != scores) net.tensor(masked).shape = scores;
    x = masked;
  }
  x = net.unary(OpKind::kSoftmax, x, made);
  return batch_matmul(call, x, v.x, false, false, made);
}

// [batch, heads, rows, depth] back to [batch, rows, heads * depth].
Id merged(Call& call, Id x) {
  const Shape shape = call.net.shape(x);
  x = call.net.transpose(x, {0, 2, 1, 3});
  return call.net.reshape(x, {shape[0], shape[2], shape[1] * shape[3]});
}

bool repeats(const Heads& q, const Heads& k) { return k.heads > 0 && q.heads % k.heads == 0; }

// Keys and values that several heads of queries share.
Heads spread(Call& call, Heads part, int64_t heads) {
  if (part.heads == heads) return part;
  Operator op;
  op.kind = OpKind::kTile;
  op.inputs = {part.x, call.net.ints({1, heads / part.heads, 1, 1})};
  part.heads = heads;
  part.x = call.net.add(std::move(op), call.net.made_of(part.x),
                        {part.batch, heads, part.rows, part.depth});
  return part;
}

// ai.onnx: q, k, v [batch, heads, rows, depth] or [batch, rows, heads * depth], mask, past keys and
// values.
Outcome onnx_attention(Call& call) {
  if (call.count() < 3 || call.has(4) || call.has(5)) return nothing();
  const size_t rank = call.rank(0);
  if ((rank != 3 && rank != 4) || call.rank(1) != rank || call.rank(2) != rank) return nothing();
  std::array<Heads, 3> parts;
  for (size_t i = 0; i < 3; ++i) {
    const Id x = call.plain(i);
    const Shape shape = call.net.shape(x);
    if (rank == 4) {
      parts[i] = {x, shape[0], shape[1], shape[2], shape[3]};
      continue;
    }
    const int64_t heads = call.node.attr_int(i == 0 ? "q_num_heads" : "kv_num_heads", 0);
    if (heads <= 0 || shape[2] % heads != 0) return nothing();
    parts[i] = heads_of(call, x, heads);
  }
  auto& [q, k, v] = parts;
  if (!repeats(q, k) || k.heads != v.heads || q.depth != k.depth) return nothing();
  const Id mask = call.has(3) ? call.plain(3) : kNoTensor;
  Id x = attend(call, q, spread(call, k, q.heads), spread(call, v, q.heads), mask);
  if (rank == 3) x = merged(call, x);
  return one(call.result(x, View::plain(call.net.shape(x))));
}

// com.microsoft: rows by one matrix for queries, keys and values.
Outcome packed_attention(Call& call) {
  const int64_t heads = call.node.attr_int("num_heads", 0);
  if (call.count() < 2 || heads <= 0 || call.rank(0) != 3 || call.rank(1) != 2 || call.has(4) ||
      !call.in(1).is_constant())
    return nothing();
  const auto given = call.node.attr_ints("qkv_hidden_sizes");
  const int64_t width = call.shape(1)[1];
  const std::vector<int64_t> sizes = given.size() == 3
                                         ? std::vector<int64_t>(given.begin(), given.end())
                                         : std::vector<int64_t>(3, width / 3);
  for (const int64_t size : sizes)
    if (size <= 0 || size % heads != 0) return nothing();
  if (sizes[0] + sizes[1] + sizes[2] != width || call.shape(0)[2] != call.shape(1)[0])
    return call.bad("the matrix of queries, keys and values does not fit its input");
  Val weights = call.in(1);
  weights.view = weights.view.transposed(std::vector<int64_t>{1, 0});
  const Val* bias = call.has(2) ? &call.in(2) : nullptr;
  const Made made = call.made();
  const Id all = fully_connected(call, call.plain(0), weights, bias, made, true);
  Operator op;
  op.kind = OpKind::kSplitV;
  op.inputs = {all, call.net.ints(sizes), call.net.ints({2}, true)};
  op.set("num_splits", int64_t{3});
  std::vector<Shape> shapes(3, call.net.shape(all));
  for (size_t i = 0; i < 3; ++i) shapes[i][2] = sizes[i];
  const std::vector<Id> parts = call.net.add(std::move(op), made, shapes);
  const Heads q = heads_of(call, parts[0], heads), k = heads_of(call, parts[1], heads);
  const Heads v = heads_of(call, parts[2], heads);
  if (call.has(3)) call.note("Attention: its mask is not counted");
  const Id x = merged(call, attend(call, q, k, v, kNoTensor));
  return one(call.result(x, View::plain(call.net.shape(x))));
}

Outcome attention(Call& call) {
  return call.node.domain.empty() ? onnx_attention(call) : packed_attention(call);
}

// com.microsoft: query, key, value, bias, mask.
Outcome multi_head_attention(Call& call) {
  const int64_t heads = call.node.attr_int("num_heads", 0);
  if (call.count() < 3 || heads <= 0) return nothing();
  for (size_t i = 0; i < 3; ++i)
    if (!call.has(i) || call.rank(i) != 3 || call.shape(i)[2] % heads != 0) return nothing();
  for (size_t i = 5; i < call.count(); ++i)
    if (call.has(i)) return nothing();
  const Heads q = heads_of(call, call.plain(0), heads), k = heads_of(call, call.plain(1), heads);
  const Heads v = heads_of(call, call.plain(2), heads);
  if (q.depth != k.depth) return nothing();
  const Id x = merged(call, attend(call, q, k, v, kNoTensor));
  return one(call.result(x, View::plain(call.net.shape(x))));
}

constexpr std::array kRules{
    NamedRule{"Attention", attention},
    NamedRule{"MultiHeadAttention", multi_head_attention},
};

}  // namespace

std::span<const NamedRule> attention_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
