#include "src/lower/ethos_decompositions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "src/lower/ethos_memory_rows.h"
#include "src/lower/ethos_steps.h"
#include "src/lower/operator_shapes.h"

namespace edgesage::ethos {
void lower_mean(RowBuilder& builder, int32_t index) {
  // A depthwise convolution with made-up weights sums, a multiplication divides. Its kernel has at
  // most 64 x 64 taps; larger windows are summed in bands.
  constexpr int64_t kMostTaps = 4096;
  const Row whole = builder.make(index, RowKind::kReduce, Placement::kNpu);
  const Tensor* input = input_tensor(builder.subgraph(), builder.op(index), 0);
  const auto axes = reduction_axes(builder.graph(), builder.subgraph(), builder.op(index));
  if (input == nullptr || !axes) {
    builder.add(whole);
    return;
  }
  const auto rank = static_cast<int64_t>(input->shape.size());
  const auto reduces = [&](int64_t from_end) {
    return std::ranges::find(*axes, rank - from_end) != axes->end();
  };
  Shape4 ifm = whole.ifm;
  // Over depth: the tensor is seen with its depth as width (another dimension is 1).
  if (reduces(1)) ifm = {ifm.n, saturating_product(std::array{ifm.h, ifm.w}), ifm.c, 1};
  const bool over_h = reduces(1) ? reduces(2) || reduces(3) : reduces(3);
  const bool over_w = reduces(1) || reduces(2);
  const int64_t kernel_w = over_w ? ifm.w : 1, kernel_h = over_h ? ifm.h : 1;
  const Shape4 ofm{ifm.n, over_h ? 1 : ifm.h, over_w ? 1 : ifm.w, ifm.c};
  const int64_t band = std::max<int64_t>(kMostTaps / std::max<int64_t>(kernel_w, 1), 1);
  const int64_t bands = over_h ? std::max<int64_t>((kernel_h + band - 1) / band, 1) : 1;
  std::vector<int32_t> sums;
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t rows = over_h ? std::min(band, kernel_h - i * band) : 1;
    Row sum = opening(whole, RowKind::kDepthwiseConv2D,
                      {ifm.n, over_h ? rows : ifm.h, ifm.w, ifm.c}, ofm);
    sum.kernel_h = to_int32(rows);
    sum.kernel_w = to_int32(kernel_w);
    sum.groups = std::max<int64_t>(ifm.c, 1);
    sum.invented_weights = true;
    sum.ofm_type = DataType::kInt32;
    sums.push_back(builder.add(std::move(sum)));
  }
  int32_t total = sums.front();
  for (size_t i = 1; i < sums.size(); ++i)
    total = builder.add_inner(whole, RowKind::kAdd, ofm, ofm, {total, sums[i]});
  builder.add(closing(whole, RowKind::kMul, ofm, {total}));
}

void lower_reduction(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kReduce, Placement::kNpu);
  const OpKind kind = builder.op(index).kind;
  const auto axes = reduction_axes(builder.graph(), builder.subgraph(), builder.op(index));
  const Tensor* input = input_tensor(builder.subgraph(), builder.op(index), 0);
  const bool over_depth = axes && input != nullptr && !axes->empty() &&
                          axes->back() + 1 == static_cast<int64_t>(input->shape.size());
  if (kind == OpKind::kSum && !over_depth) {
    const int32_t turned = builder.add(opening(whole, RowKind::kTranspose, whole.ifm, whole.ifm));
    builder.add(closing(whole, RowKind::kReduce, whole.ifm, {turned}));
    return;
  }
  const bool negated = kind == OpKind::kReduceMin && !is_u85(builder);
  const bool in_two = axes && axes->size() > 1;
  if (!negated && !in_two) {
    builder.add(whole);
    return;
  }
  int32_t last = -1;
  const RowKind first = negated ? RowKind::kSub : RowKind::kReduce;
  const Shape4 middle = negated ? whole.ifm : Shape4{1, 1, whole.ifm.w, whole.ifm.c};
  last = builder.add(opening(whole, first, whole.ifm, middle));
  if (negated) last = builder.add_inner(whole, RowKind::kReduce, whole.ifm, whole.ofm, {last});
  builder.add(closing(whole, negated ? RowKind::kSub : RowKind::kReduce,
                      negated ? whole.ofm : middle, {last}));
}

void lower_arg_max(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kArgMax, Placement::kNpu);
  if (is_u85(builder)) {
    builder.add(whole);
    return;
  }
  // Value and index share 16 bits; the maximum over depth is taken, a table drops the value, and
  // the index is widened.
  const Shape4 one{whole.ifm.n, whole.ifm.h, whole.ifm.w, 1};
  Row joined = opening(whole, RowKind::kDepthwiseConv2D, whole.ifm, whole.ifm);
  joined.invented_weights = true;
  joined.groups = std::max<int64_t>(whole.ifm.c, 1);
  joined.ofm_type = DataType::kInt16;
  const int32_t joined_row = builder.add(std::move(joined));
  const int64_t pixels = saturating_product(std::array{whole.ifm.h, whole.ifm.w});
  const int32_t maximum =
      builder.add_inner(whole, RowKind::kMaxPool, {whole.ifm.n, 1, pixels, whole.ifm.c},
                        {whole.ifm.n, 1, pixels, 1}, {joined_row});
  builder.row(maximum).kernel_w = to_int32(whole.ifm.c);
  builder.row(maximum).ifm_type = builder.row(maximum).ofm_type = DataType::kInt16;
  int32_t last = builder.add_inner(whole, RowKind::kLut, one, one, {maximum});
  builder.row(last).fills_bricks = true;
  builder.row(last).ifm_type = builder.row(last).ofm_type = DataType::kInt16;
  if (whole.ofm_type == DataType::kInt64) {
    last = builder.add_inner(whole, RowKind::kAdd, one, one, {last});
    builder.row(last).fills_bricks = true;
  }
  Row widened = closing(whole, RowKind::kAdd, one, {last});
  widened.ofm = one;
  builder.add(std::move(widened));
}

void lower_resize(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kResize, Placement::kNpu);
  const Operator& op = builder.op(index);
  const bool stretched = whole.ifm.h == 1 && whole.ifm.w == 1;
  if (is_u85(builder) || stretched || whole.ifm == whole.ofm) {
    builder.add(whole);
    return;
  }
  const bool halves = op.kind == OpKind::kResizeBilinear && op.attr_int("half_pixel_centers", 0);
  if (halves) {  // with its edges repeated; four depthwise convolutions make the four phases
    const Shape4 in = whole.ifm;
    const Shape4 border{in.n, in.h + 2, in.w + 2, in.c};
    const Shape4 phase_shape{in.n, 2 * in.h - 1, 2 * in.w - 1, in.c};
    const int32_t padded = builder.add(opening(whole, RowKind::kCopy, in, border));
    for (int i = 0; i < 4; ++i) {
      Row phase = closing(whole, RowKind::kDepthwiseConv2D, phase_shape, {padded});
      phase.ifm_type = whole.ifm_type;
      phase.ofm = phase_shape;
      phase.kernel_h = phase.kernel_w = 2;
      phase.groups = std::max<int64_t>(whole.ifm.c, 1);
      phase.invented_weights = true;
      builder.add(std::move(phase));
    }
    return;
  }
  // Doubled again and again; the last step interpolates.
  Shape4 at = whole.ifm;
  int32_t last = -1;
  while (at.h * 4 <= whole.ofm.h + 3 && at.w * 4 <= whole.ofm.w + 3) {
    Shape4 next = at;
    next.h = at.h * 2;
    next.w = at.w * 2;
    if (last < 0) {
      last = builder.add(opening(whole, RowKind::kResize, at, next));
    } else {
      last = builder.add_inner(whole, RowKind::kResize, at, next, {last});
      builder.row(last).ifm_type = builder.row(last).ofm_type = whole.ifm_type;
    }
    at = next;
  }
  Row final_row = last < 0 ? whole : closing(whole, RowKind::kResize, at, {last});
  final_row.ifm_type = whole.ifm_type;
  if (op.kind == OpKind::kResizeBilinear) {  // an average over as many pixels as the scale
    const auto scale = [](int64_t from, int64_t to) {
      return from <= 1 ? 1
                       : static_cast<int32_t>(std::clamp<int64_t>((to + from / 2) / from, 1, 8));
    };
    final_row.kernel_h = scale(whole.ifm.h, whole.ofm.h);
    final_row.kernel_w = scale(whole.ifm.w, whole.ofm.w);
  }
  builder.add(std::move(final_row));
}

void lower_mat_mul(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kMatMul, Placement::kNpu);
  const Tensor* right = input_tensor(builder.subgraph(), builder.op(index), 1);
  const Shape4 shape = right != nullptr ? to_shape4(*right) : Shape4{};
  Row turned = opening(whole, RowKind::kTranspose, shape, shape);
  turned.weights = turned.bias = kNoTensor;
  const std::vector<int32_t>& inputs = builder.op(index).inputs;
  turned.ifm_tensors.clear();
  if (right != nullptr && !right->is_constant()) turned.ifm_tensors.push_back(inputs[1]);
  const int32_t turned_row = builder.add(std::move(turned));
  Row product = whole;
  product.ifm2 = shape;
  product.has_ifm2 = true;
  if (inputs.size() > 1 && inputs[0] != inputs[1]) std::erase(product.ifm_tensors, inputs[1]);
  if (right == nullptr || !right->is_constant()) product.weights = kNoTensor;
  product.inputs = {turned_row};
  builder.add(std::move(product));
}

void lower_squared_difference(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kMul, Placement::kNpu);
  std::vector<int32_t> operands;
  for (const Shape4& shape : {whole.ifm2, whole.ifm}) {
    Row copied = opening(whole, RowKind::kCopy, shape, shape);
    copied.ofm_type = DataType::kInt32;
    std::erase_if(copied.ifm_tensors, [&](int32_t t) {
      return to_shape4(builder.subgraph().tensors[static_cast<size_t>(t)]) != shape;
    });
    const int32_t copied_row = builder.add(std::move(copied));
    operands.push_back(builder.add_inner(whole, RowKind::kMul, shape, shape, {copied_row}));
  }
  int32_t last = builder.add_inner(whole, RowKind::kSub, whole.ofm, whole.ofm, operands);
  builder.row(last).has_ifm2 = true;
  builder.row(last).ifm2 = whole.ofm;
  last = builder.add_inner(whole, RowKind::kMul, whole.ofm, whole.ofm, {last});
  builder.row(last).has_ifm2 = true;
  builder.row(last).ifm2 = whole.ofm;
  if (!is_u85(builder)) last = add_spread(builder, whole, whole.ofm, {last});
  builder.add(closing(whole, RowKind::kMul, whole.ofm, {last}));
}

void lower_transpose(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kTranspose, Placement::kNpu);
  const Tensor* order = input_tensor(builder.subgraph(), builder.op(index), 1);
  const auto axes = order != nullptr ? constant_ints(builder.graph(), *order) : std::nullopt;
  // Two axes are swapped at a time on U55 and U65; rotating all three takes two rows.
  size_t moved = 0;
  for (size_t i = 0; axes && i < axes->size(); ++i)
    if ((*axes)[i] != static_cast<int64_t>(i)) ++moved;
  if (is_u85(builder) || moved <= 2) {
    builder.add(whole);
    return;
  }
  const int32_t first = builder.add(opening(whole, RowKind::kTranspose, whole.ifm, whole.ifm));
  Row second = closing(whole, RowKind::kTranspose, whole.ifm, {first});
  second.ifm_type = whole.ifm_type;
  builder.add(std::move(second));
}

void lower_depthwise(RowBuilder& builder, int32_t index) {
  Row row = builder.make(index, RowKind::kDepthwiseConv2D, Placement::kNpu);
  absorb_padding(builder, row);
  // One input channel that is multiplied is an ordinary convolution.
  if (row.ifm.c == 1 && row.ofm.c > 1) {
    row.kind = RowKind::kConv2D;
    row.groups = 1;
  }
  const bool interleaved = row.kind == RowKind::kDepthwiseConv2D && row.ofm.c > row.ifm.c;
  if (!interleaved) {
    builder.add(std::move(row));
    return;
  }
  const Row whole = row;
  Row products = whole;
  products.ofm_tensors.clear();
  const int32_t products_row = builder.add(std::move(products));
  Row sorted = closing(whole, RowKind::kTranspose, whole.ofm, {products_row});
  sorted.ifm_type = whole.ofm_type;
  sorted.activation = OpKind::kUnknown;
  builder.add(std::move(sorted));
}

namespace {

bool keeps_scale(const RowBuilder& builder, const Operator& op) {
  const Tensor* in = input_tensor(builder.subgraph(), op, 0);
  const Tensor* out = output_tensor(builder.subgraph(), op, 0);
  return in != nullptr && out != nullptr && in->quantization.scale == out->quantization.scale &&
         in->quantization.zero_point == out->quantization.zero_point;
}

struct Slopes {
  double least = 0, most = 0;
};

template <class T>
std::optional<Slopes> slopes_of(std::span<const std::byte> bytes,
                                const Quantization& quantization) {
  if (bytes.size() < sizeof(T) || quantization.scale.empty()) return std::nullopt;
  const int64_t zero = quantization.zero_point.empty() ? 0 : quantization.zero_point.front();
  int64_t least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::min();
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    least = std::min<int64_t>(least, value);
    most = std::max<int64_t>(most, value);
  }
  const auto scale = static_cast<double>(quantization.scale.front());
  return Slopes{static_cast<double>(least - zero) * scale,
                static_cast<double>(most - zero) * scale};
}

// Of a PRELU; nullopt where they are not constant or not at hand.
std::optional<Slopes> slopes_of(const RowBuilder& builder, const Operator& op) {
  const Tensor* alpha = input_tensor(builder.subgraph(), op, 1);
  if (alpha == nullptr || !alpha->is_constant()) return std::nullopt;
  const std::span<const std::byte> bytes = builder.graph().constant(*alpha);
  switch (alpha->type) {
    case DataType::kInt8:
      return slopes_of<int8_t>(bytes, alpha->quantization);
    case DataType::kUInt8:
      return slopes_of<uint8_t>(bytes, alpha->quantization);
    case DataType::kInt16:
      return slopes_of<int16_t>(bytes, alpha->quantization);
    default:
      return std::nullopt;
  }
}

}  // namespace

void lower_leaky_relu(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kActivation, Placement::kNpu);
  if (is_u85(builder) || keeps_scale(builder, builder.op(index))) {
    builder.add(whole);
    return;
  }
  const int32_t small = builder.add(opening(whole, RowKind::kMul, whole.ifm, whole.ofm));
  builder.row(small).fills_bricks = true;
  const int32_t large = builder.add(opening(whole, RowKind::kMul, whole.ifm, whole.ofm));
  Row maximum = closing(whole, RowKind::kMinMax, whole.ofm, {small, large});
  maximum.ifm_type = whole.ofm_type;
  builder.add(std::move(maximum));
}

bool has_one_slope(const RowBuilder& builder, int32_t index) {
  const std::optional<Slopes> slopes = slopes_of(builder, builder.op(index));
  return slopes && slopes->least == slopes->most;
}

void lower_prelu(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kActivation, Placement::kNpu);
  const Operator& op = builder.op(index);
  const Tensor* alpha = input_tensor(builder.subgraph(), op, 1);
  const std::optional<Slopes> slopes = slopes_of(builder, op);
  const auto scaled_by_slopes = [&](Row row) {
    row.has_ifm2 = true;
    row.ifm2 = alpha != nullptr ? to_shape4(*alpha) : Shape4{};
    row.ifm2_constant = alpha != nullptr && alpha->is_constant();
    return builder.add(std::move(row));
  };
  Row last = closing(whole, RowKind::kMinMax, whole.ofm, {});
  last.ifm_type = whole.ofm_type;
  last.has_ifm2 = true;
  last.ifm2 = whole.ofm;
  // Slopes below one: the larger of the input and the scaled input.
  const bool maximum = alpha != nullptr && alpha->is_constant() && (!slopes || slopes->most < 1);
  if (maximum) {
    if (keeps_scale(builder, op))
      last.ifm_tensors = whole.ifm_tensors;
    else {
      last.inputs.push_back(builder.add(opening(whole, RowKind::kMul, whole.ifm, whole.ofm)));
      builder.row(last.inputs.back()).fills_bricks = true;
    }
    last.inputs.push_back(scaled_by_slopes(opening(whole, RowKind::kMul, whole.ifm, whole.ofm)));
  } else {  // both signs apart, then their sum
    const int32_t negative = builder.add(opening(whole, RowKind::kMinMax, whole.ifm, whole.ifm));
    Row product = opening(whole, RowKind::kMul, whole.ifm, whole.ofm);
    std::erase_if(product.ifm_tensors, [&](int32_t t) { return t == op.inputs.front(); });
    product.inputs = {negative};
    last.inputs.push_back(scaled_by_slopes(std::move(product)));
    last.inputs.push_back(builder.add(opening(whole, RowKind::kActivation, whole.ifm, whole.ofm)));
    last.kind = RowKind::kAdd;
  }
  builder.add(std::move(last));
}

}  // namespace edgesage::ethos
