// Rules for products of matrices. By a constant matrix it is FULLY_CONNECTED, else BATCH_MATMUL.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "src/io/onnx/convert_call.h"

namespace edgesage::onnx::convert {
namespace {

Val with_view(const Val& value, View view) {
  Val result = value;
  result.view = std::move(view);
  result.made_by = -1;
  return result;
}

// The last two dimensions swapped, and the quantised axis with them.
Val turned(const Val& value) {
  std::vector<int64_t> order(value.view.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  Val result = with_view(value, value.view.transposed(order));
  if (result.quant != nullptr && result.quant->axis >= 0) {
    auto quant = std::make_shared<QuantParameters>(*result.quant);
    const auto last = static_cast<int64_t>(order.size()) - 1;
    if (quant->axis >= last - 1) quant->axis = quant->axis == last ? last - 1 : last;
    result.quant = std::move(quant);
  }
  return result;
}

// Rows for a dense layer: the last dimension is what weights multiply, those before it are kept.
// Where only the order within the last dimension differs (a flattened image), the weights' columns
// are taken in the order of the data instead, as converters do.
struct Rows {
  Id x = kNoTensor;
  View columns;  // the value's view where its last dimension lies in another order; else empty
};

Rows rows_of(Call& call, size_t i) {
  const Val& value = call.in(i);
  Rows rows;
  const size_t rank = value.view.rank();
  if (value.is_constant() || value.view.is_plain() || !value.view.leads_with(rank - 1)) {
    rows.x = call.plain(i);
    return rows;
  }
  rows.columns = value.view;
  rows.x = call.x(with_view(value, value.view.with_tail_as_stored()), plain_order(rank));
  return rows;
}

// Weights (outputs, inputs) whose input dimension is renumbered as the last one of `rows` lies.
Val with_columns(const Val& weights, const View& rows) {
  if (rows.rank() == 0 || !weights.is_constant()) return weights;
  Shape split{weights.view.shape()[0]};
  std::vector<std::pair<int32_t, int64_t>> by_place;  // stored atom, dimension of `split`
  for (const int32_t atom : rows.atoms_of(rows.rank() - 1)) {
    by_place.emplace_back(atom, static_cast<int64_t>(split.size()));
    split.push_back(rows.atoms()[static_cast<size_t>(atom)]);
  }
  const auto apart = weights.view.reshaped(split);
  if (!apart) return weights;
  std::ranges::sort(by_place);
  std::vector<int64_t> order{0};
  for (const auto& [atom, dim] : by_place) order.push_back(dim);
  Val result = weights;
  if (auto merged = apart->transposed(order).reshaped(weights.view.shape()))
    result.view = *std::move(merged);
  return result;
}

Outcome dense(Call& call, size_t a, const Val& weights, const Val* bias, bool keep) {
  if (!call.knows(0)) return std::vector<Val>{};
  const size_t rank = call.rank(a);
  const Shape in = call.shape(a), matrix = weights.view.shape();
  if (in.empty() || in.back() != matrix[1])
    return call.bad(fmt::format("a matrix of {} rows does not fit an input of shape [{}]",
                                matrix[1], fmt::join(in, ",")));
  Rows rows = rows_of(call, a);
  const Val ordered = with_columns(weights, rows.columns);
  const Id id = fully_connected(call, rows.x, ordered, bias, call.made(), keep || rank > 2);
  return one(call.result(id, View::plain(call.out_shape())));
}

// a [.., M, K] by b [.., K, N].
Outcome multiply(Call& call, const Val& a, const Val& b, size_t a_index) {
  if (!call.knows(0) || a.view.rank() == 0 || b.view.rank() == 0) return std::vector<Val>{};
  const bool matrix = b.is_constant() && b.view.rank() == 2 && a.view.rank() >= 2;
  if (matrix && !a.is_constant()) return dense(call, a_index, turned(b), nullptr, false);
  // Vectors become rows and columns.
  Val left = a, right = b;
  if (left.view.rank() == 1) {
    if (auto view = left.view.reshaped({1, left.view.shape()[0]})) left.view = *std::move(view);
  }
  if (right.view.rank() == 1) {
    if (auto view = right.view.reshaped({right.view.shape()[0], 1})) right.view = *std::move(view);
  }
  if (left.view.rank() < 2 || right.view.rank() < 2) return std::vector<Val>{};
  const Shape l = left.view.shape(), r = right.view.shape();
  if (l.back() != r[r.size() - 2])
    return call.bad(
        fmt::format("[{}] by [{}]: the inner sides differ", fmt::join(l, ","), fmt::join(r, ",")));
  // An operand that lies with its last two dimensions swapped is read that way.
  const auto lies_turned = [&](const Val& value) {
    if (value.is_constant() || value.view.is_plain()) return false;
    return turned(value).view.is_plain();
  };
  const bool turn_a = lies_turned(left), turn_b = lies_turned(right);
  const auto id_of = [&](const Val& value, bool turn) {
    return turn ? call.x(turned(value), plain_order(value.view.rank()))
                : call.x(value, plain_order(value.view.rank()));
  };
  const Id x = id_of(left, turn_a), y = id_of(right, turn_b);
  const Id id = batch_matmul(call, x, y, turn_a, turn_b, call.made());
  return one(call.result(id, View::plain(call.out_shape())));
}

Outcome mat_mul(Call& call) {
  if (!call.has(0) || !call.has(1)) return std::vector<Val>{};
  return multiply(call, call.in(0), call.in(1), 0);
}

Outcome gemm(Call& call) {
  if (!call.has(0) || !call.has(1) || call.rank(0) != 2 || call.rank(1) != 2 || !call.knows(0))
    return std::vector<Val>{};
  const bool turn_a = call.node.attr_int("transA", 0) != 0;
  const bool turn_b = call.node.attr_int("transB", 0) != 0;
  const Val weights = turn_b ? call.in(1) : turned(call.in(1));
  const Val* bias = call.has(2) ? &call.in(2) : nullptr;
  const int64_t units = weights.view.shape()[0];
  const bool row_bias = bias == nullptr || elements(bias->view.shape()) == units;
  if (weights.is_constant() && !turn_a && (bias == nullptr || bias->is_constant()) && row_bias) {
    Val flat;
    if (bias != nullptr) {
      flat = *bias;
      if (auto view = flat.view.reshaped({units})) flat.view = *std::move(view);
    }
    return dense(call, 0, weights, bias != nullptr ? &flat : nullptr, false);
  }
  const Val left = turn_a ? turned(call.in(0)) : call.in(0);
  const Val right = turned(weights);
  if (left.view.shape()[1] != right.view.shape()[0])
    return call.bad("the inner sides of its matrices differ");
  Id id = kNoTensor;
  if (weights.is_constant()) {
    id = fully_connected(call, call.x(left, plain_order(2)), weights, nullptr, call.made(), false);
  } else {
    // Read as they lie: a matrix that is transposed on the way needs no moving.
    const Id x = turn_a ? call.plain(0) : call.x(left, plain_order(2));
    const Id y = turn_b ? call.plain(1) : call.x(right, plain_order(2));
    id = batch_matmul(call, x, y, turn_a, turn_b, call.made());
  }
  if (bias != nullptr && call.node.attr_float("beta", 1) != 0)
    id = call.net.binary(OpKind::kAdd, id, call.x(*bias, plain_order(bias->view.rank())),
                         call.made());
  return one(call.result(id, View::plain(call.out_shape())));
}

Outcome fused_mat_mul(Call& call) {
  if (!call.has(0) || !call.has(1) || call.rank(0) < 2 || call.rank(1) < 2)
    return std::vector<Val>{};
  const Val a = call.node.attr_int("transA", 0) != 0 ? turned(call.in(0)) : call.in(0);
  const Val b = call.node.attr_int("transB", 0) != 0 ? turned(call.in(1)) : call.in(1);
  if (b.is_constant() && b.view.rank() == 2 && call.node.attr_int("transA", 0) == 0)
    return dense(call, 0, turned(b), nullptr, false);
  if (b.is_constant() && b.view.rank() == 2) {
    const Id id = fully_connected(call, call.x(a, plain_order(a.view.rank())), turned(b), nullptr,
                                  call.made(), a.view.rank() > 2);
    return one(call.result(id, View::plain(call.out_shape())));
  }
  return multiply(call, a, b, 0);
}

Val as_real(const Val& integers, Quant quant) {
  Val value = integers;
  value.element = ElementType::kFloat;
  value.quant = std::move(quant);
  return value;
}

// a, scale, zero, b, scale, zero, y scale, zero.
Outcome qlinear_mat_mul(Call& call) {
  if (call.count() < 8 || !call.knows(0)) return std::vector<Val>{};
  const size_t b_rank = call.rank(3);
  const auto quant = [&](size_t scale, int64_t axis) {
    Quant made = make_quant(call.in(scale), &call.in(scale + 1), axis, DataType::kUInt8);
    return made != nullptr ? made : nominal_quant(call.in(scale + 1));
  };
  const Quant a = quant(1, -1), b = quant(4, static_cast<int64_t>(b_rank) - 1), y = quant(6, -1);
  if (call.rank(0) < 2 || b_rank < 2) return std::vector<Val>{};
  call.quantise(y);
  const Val left = as_real(call.in(0), a), right = as_real(call.in(3), b);
  Tensor* tensor = left.is_constant() ? nullptr : &call.net.tensor(left.tensor);
  if (tensor != nullptr && tensor->quantization.empty())
    tensor->quantization = quantization_of(*a, 0);
  Id id = kNoTensor;
  const Made made{y->type, y};
  const Id x = call.x(left, plain_order(left.view.rank()));
  if (right.is_constant() && b_rank == 2)
    id = fully_connected(call, x, turned(right), nullptr, made, left.view.rank() > 2);
  else
    id = batch_matmul(call, x, call.x(right, plain_order(b_rank)), false, false, made);
  Val value = call.result(id, View::plain(call.out_shape()));
  value.quant = nullptr;
  return one(std::move(value));
}

Outcome mat_mul_integer(Call& call) {
  if (!call.has(0) || !call.has(1)) return std::vector<Val>{};
  const bool dynamic = call.in(0).role == Val::Role::kDynamic;
  EDGESAGE_ASSIGN_OR_RETURN(auto values, multiply(call, call.in(0), call.in(1), 0));
  if (values.empty() || !dynamic) return values;
  call.net.tensor(values.front().tensor).type = DataType::kFloat32;
  values.front().role = Val::Role::kDynamicSum;
  return values;
}

// Weights packed to a few bits in blocks: attributes K, N, bits.
Outcome mat_mul_nbits(Call& call) {
  const int64_t depth = call.node.attr_int("K", 0), units = call.node.attr_int("N", 0);
  const int64_t bits = call.node.attr_int("bits", 4);
  if (!call.has(0) || !call.has(1) || depth <= 0 || units <= 0 || !call.knows(0) ||
      call.rank(0) == 0 || call.shape(0).back() != depth)
    return std::vector<Val>{};
  const DataType type = bits == 4   ? DataType::kInt4
                        : bits == 2 ? DataType::kInt2
                        : bits == 8 ? DataType::kInt8
                                    : DataType::kUnknown;
  if (type == DataType::kUnknown) return std::vector<Val>{};
  const Id x = call.plain(0);
  const Id weights = call.net.absent({type, nullptr}, {units, depth});
  Tensor& tensor = call.net.tensor(weights);
  tensor.name = call.node.inputs[1];
  tensor.quantization.scale = {1.0F};
  tensor.quantization.zero_point = {0};
  Operator op;
  op.kind = OpKind::kFullyConnected;
  op.inputs = {x, weights, kNoTensor};
  op.set("keep_num_dims", static_cast<int64_t>(call.rank(0) > 2));
  op.set("fused_activation_function", int64_t{0});
  const Id id = call.net.add(std::move(op), call.made(), call.out_shape());
  return one(call.result(id, View::plain(call.out_shape())));
}

// One side of an Einsum: of each letter the dimension.
struct Term {
  std::string letters;
  Val value;
};

bool distinct(std::string_view letters) {
  std::string sorted(letters);
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

std::string without(std::string_view letters, std::string_view removed) {
  std::string kept;
  for (const char letter : letters)
    if (removed.find(letter) == std::string_view::npos) kept += letter;
  return kept;
}

std::string common(std::string_view a, std::string_view b) {
  std::string both;
  for (const char letter : a)
    if (b.find(letter) != std::string_view::npos) both += letter;
  return both;
}

std::vector<DimOrder> groups_of(const Term& term, std::string_view batch, std::string_view rows,
                                std::string_view columns) {
  std::vector<DimOrder> groups;
  const auto dim = [&](char letter) { return static_cast<int32_t>(term.letters.find(letter)); };
  for (const char letter : batch) groups.push_back({dim(letter)});
  for (const std::string_view part : {rows, columns}) {
    DimOrder merged;
    for (const char letter : part) merged.push_back(dim(letter));
    groups.push_back(std::move(merged));
  }
  return groups;
}

// Two terms as a product of matrices; letters that `kept` names stay.
std::optional<Term> contract(Call& call, const Term& a, const Term& b, std::string_view kept) {
  const std::string shared = common(a.letters, b.letters);
  const std::string batch = common(shared, kept), inner = without(shared, batch);
  const std::string rows = without(a.letters, shared), columns = without(b.letters, shared);
  if (without(rows, kept) != "" || without(columns, kept) != "") return std::nullopt;
  const Made made = call.made();
  const auto enter = [&](const Term& term, std::string_view first, std::string_view second) {
    const std::vector<DimOrder> groups = groups_of(term, batch, first, second);
    const Id id = call.net.stored(term.value, groups);
    return term.value.quant != nullptr && !call.quantised() ? call.net.dequantized(id) : id;
  };
  std::map<char, int64_t> sides;
  for (const Term* term : {&a, &b}) {
    const Shape shape = term->value.view.shape();
    for (size_t i = 0; i < term->letters.size(); ++i)
      sides[term->letters[i]] = std::max(sides[term->letters[i]], shape[i]);
  }
  Id id = kNoTensor;
  const Id x = enter(a, rows, inner);
  if (batch.empty() && b.value.is_constant()) {
    const Id w = enter(b, columns, inner);
    Operator op;
    op.kind = OpKind::kFullyConnected;
    op.inputs = {x, w, kNoTensor};
    op.set("fused_activation_function", int64_t{0});
    id = call.net.add(std::move(op), made, {call.net.shape(x)[0], call.net.shape(w)[0]});
  } else {
    id = batch_matmul(call, x, enter(b, inner, columns), false, false, made);
  }
  Term result;
  result.letters = batch + rows + columns;
  Shape shape;
  for (const char letter : result.letters) shape.push_back(sides[letter]);
  result.value = call.result(id, View::plain(shape));
  return result;
}

Outcome einsum(Call& call) {
  std::string equation;
  for (const char c : call.node.attr_string("equation", ""))
    if (c != ' ') equation += c;
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos || !call.knows(0))
    return std::vector<Val>{};
  const std::string out = equation.substr(arrow + 2);
  std::vector<Term> terms;
  std::string letters;
  for (size_t at = 0; at <= arrow; ++at) {
    if (at < arrow && equation[at] != ',') {
      letters += equation[at];
      continue;
    }
    const size_t i = terms.size();
    if (!call.has(i) || call.rank(i) != letters.size() || !distinct(letters))
      return std::vector<Val>{};
    terms.push_back({letters, call.in(i)});
    letters.clear();
  }
  if (terms.empty() || !distinct(out)) return std::vector<Val>{};
  Term all = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string kept = out;
    for (size_t later = i + 1; later < terms.size(); ++later) kept += terms[later].letters;
    auto joined = contract(call, all, terms[i], kept);
    if (!joined) return std::vector<Val>{};
    all = *std::move(joined);
  }
  // Letters that no output has are summed.
  std::vector<int64_t> axes;
  for (size_t i = 0; i < all.letters.size(); ++i)
    if (out.find(all.letters[i]) == std::string::npos) axes.push_back(static_cast<int64_t>(i));
  if (!axes.empty()) {
    const Id x = call.x(all.value, plain_order(all.letters.size()));
    const Id id = call.net.reduce(OpKind::kSum, x, axes, false, call.made());
    all.letters = common(all.letters, out);
    all.value = call.result(id, View::plain(call.net.shape(id)));
  }
  std::vector<int64_t> order;
  for (const char letter : out) {
    const size_t at = all.letters.find(letter);
    if (at == std::string::npos) return std::vector<Val>{};
    order.push_back(static_cast<int64_t>(at));
  }
  all.value.view = all.value.view.transposed(order);
  all.value.element = call.out_element();
  return one(std::move(all.value));
}

constexpr std::array kRules{
    NamedRule{"MatMul", mat_mul},
    NamedRule{"Gemm", gemm},
    NamedRule{"FusedGemm", gemm},
    NamedRule{"FusedMatMul", fused_mat_mul},
    NamedRule{"TransposeMatMul", fused_mat_mul},
    NamedRule{"QLinearMatMul", qlinear_mat_mul},
    NamedRule{"MatMulInteger", mat_mul_integer},
    NamedRule{"MatMulNBits", mat_mul_nbits},
    NamedRule{"Einsum", einsum},
};

}  // namespace

Id fully_connected(Call& call, Id x, const Val& weights, const Val* bias, const Made& made,
                   bool keep_dims) {
  Operator op;
  op.kind = OpKind::kFullyConnected;
  const Id w = call.x(weights, plain_order(2));
  Id b = kNoTensor;
  if (bias != nullptr) {
    Val flat = *bias;
    const bool integers = call.quantised();
    if (integers && flat.element != ElementType::kInt32 && flat.quant == nullptr)
      b = call.net.absent({DataType::kInt32, nullptr}, flat.view.shape());
    else
      b = call.net.stored(flat, plain_order(1));
    if (!integers && flat.quant != nullptr) b = call.net.dequantized(b);
  }
  op.inputs = {x, w, b};
  op.set("keep_num_dims", static_cast<int64_t>(keep_dims));
  op.set("fused_activation_function", int64_t{0});
  Shape out = call.net.shape(x);
  if (!keep_dims) {
    const int64_t depth = std::max<int64_t>(1, weights.view.shape()[1]);
    out = {elements(out) / depth, 0};
  }
  if (out.empty()) out.push_back(0);
  out.back() = weights.view.shape()[0];
  return call.net.add(std::move(op), made, std::move(out));
}

Id batch_matmul(Call& call, Id a, Id b, bool turn_a, bool turn_b, const Made& made) {
  const Shape left = call.net.shape(a), right = call.net.shape(b);
  Operator op;
  op.kind = OpKind::kBatchMatmul;
  op.inputs = {a, b};
  if (turn_a) op.set("adj_x", int64_t{1});
  if (turn_b) op.set("adj_y", int64_t{1});
  const size_t l = left.size(), r = right.size();
  auto batch = broadcast_shapes(std::span(left).first(l - 2), std::span(right).first(r - 2));
  Shape out = batch ? *std::move(batch) : Shape(left.begin(), left.end() - 2);
  out.push_back(turn_a ? left[l - 1] : left[l - 2]);
  out.push_back(turn_b ? right[r - 2] : right[r - 1]);
  return call.net.add(std::move(op), made, std::move(out));
}

std::span<const NamedRule> matrix_rules() { return kRules; }

}  // namespace edgesage::onnx::convert
