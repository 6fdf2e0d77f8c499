#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/lower/ethos_decompositions.h"
#include "src/lower/ethos_steps.h"
#include "src/lower/operator_shapes.h"

namespace edgesage::ethos {
namespace {

bool is_8_bit(DataType type) { return type == DataType::kInt8 || type == DataType::kUInt8; }

struct SoftmaxRows {
  Shape4 all, one;  // every element; one value a softmax
  int32_t exponentials = -1;
  int32_t summands = -1;
};

// Maximum, difference from it, exponential by table.
SoftmaxRows add_exponentials(RowBuilder& builder, const Row& whole) {
  SoftmaxRows rows;
  const int64_t lines = saturating_product(std::array{whole.ifm.n, whole.ifm.h});
  const int64_t count = saturating_product(std::array{lines, whole.ifm.w});
  rows.all = {1, lines, whole.ifm.w, whole.ifm.c};
  rows.one = {1, lines, whole.ifm.w, 1};
  Row maximum = opening(whole, RowKind::kMaxPool, {1, 1, count, whole.ifm.c}, {1, 1, count, 1});
  maximum.kernel_w = to_int32(whole.ifm.c);
  const int32_t max_row = builder.add(std::move(maximum));
  Row difference = opening(whole, RowKind::kSub, rows.all, rows.all);
  difference.ifm2 = rows.one;
  difference.has_ifm2 = true;
  difference.ofm_type = DataType::kInt32;
  difference.inputs = {max_row};
  if (is_8_bit(whole.ifm_type)) {
    difference.activation = OpKind::kExp;
    rows.exponentials = builder.add(std::move(difference));
    rows.summands =
        builder.add_inner(whole, RowKind::kShift, rows.all, rows.all, {rows.exponentials});
    return rows;
  }
  const int32_t difference_row = builder.add(std::move(difference));
  const int32_t scaled =
      builder.add_inner(whole, RowKind::kMul, rows.all, rows.all, {difference_row});
  rows.exponentials = builder.add_inner(whole, RowKind::kAdd, rows.all, rows.all, {scaled});
  builder.row(rows.exponentials).activation = OpKind::kExp;
  rows.summands = rows.exponentials;
  return rows;
}

// The reciprocal of a softmax's sum, in 32-bit steps on one value a softmax.
class Reciprocal {
 public:
  Reciprocal(RowBuilder& builder, const Row& whole, Shape4 one)
      : builder_(builder), whole_(whole), one_(one) {}

  // From the count of leading zeros: half the denominator, a first estimate, three Newton steps.
  int32_t of_8_bits(int32_t zeros) {
    const int32_t half = brick(step(RowKind::kSub, step(RowKind::kSub, zeros)));
    const int32_t shifted = step(RowKind::kShift, half, half);
    int32_t estimate = brick(step(RowKind::kAdd, brick(step(RowKind::kMul, shifted))));
    for (int i = 0; i < 3; ++i) {
      const int32_t product = brick(step(RowKind::kMul, estimate, half));
      const int32_t error = step(RowKind::kSub, product);
      const int32_t change = brick(step(RowKind::kMul, estimate, error));
      const int32_t scaled = brick(step(RowKind::kMul, change));
      estimate = step(RowKind::kAdd, estimate, scaled);
      if (i < 2) brick(estimate);
    }
    return estimate;
  }

  int32_t of_16_bits(int32_t zeros) {
    int32_t last = step(RowKind::kSub, zeros);
    for (const RowKind kind : {RowKind::kShift, RowKind::kSub}) last = step(kind, last);
    last = step(RowKind::kShift, last, last);
    for (const RowKind kind : {RowKind::kShift, RowKind::kSub}) last = step(kind, last);
    return last;
  }

  int32_t step(RowKind kind, int32_t operand) {
    return builder_.add_inner(whole_, kind, one_, one_, {operand});
  }

 private:
  // Combines two results. Of a single softmax this does not show in the traffic of maps.
  int32_t step(RowKind kind, int32_t first, int32_t second) {
    std::vector<int32_t> inputs = {std::min(first, second)};
    if (first != second) inputs.push_back(std::max(first, second));
    const int32_t row = builder_.add_inner(whole_, kind, one_, one_, std::move(inputs));
    if (one_.elements() > 1) {
      builder_.row(row).has_ifm2 = true;
      builder_.row(row).ifm2 = one_;
    }
    return row;
  }

  int32_t brick(int32_t row) {
    builder_.row(row).fills_bricks = one_.elements() > 1;
    return row;
  }

  RowBuilder& builder_;
  const Row& whole_;
  Shape4 one_;
};

}  // namespace

void lower_softmax(RowBuilder& builder, int32_t index) {
  const Row whole = builder.make(index, RowKind::kSoftmax, Placement::kNpu);
  const bool narrow = is_8_bit(whole.ifm_type);
  const SoftmaxRows rows = add_exponentials(builder, whole);
  const Shape4 one = rows.one;
  const bool single = one.elements() <= 1;
  const int32_t sum = builder.add_inner(whole, RowKind::kReduce, rows.all, one, {rows.summands});
  const int32_t zeros = builder.add_inner(whole, RowKind::kShift, one, one, {sum});
  Reciprocal reciprocal(builder, whole, one);
  int32_t last = narrow ? reciprocal.of_8_bits(zeros) : reciprocal.of_16_bits(zeros);
  const auto read_two = [&](int32_t row, const Shape4& second) {
    if (single) return;
    builder.row(row).has_ifm2 = true;
    builder.row(row).ifm2 = second;
  };
  if (narrow && single) {
    last = reciprocal.step(RowKind::kMul, last);
  } else {
    last = builder.add_inner(whole, RowKind::kMul, rows.all, rows.all, {rows.exponentials, last});
    read_two(last, one);
  }
  // The shift is one value a softmax; U55 and U65 spread it by an addition first.
  if (!is_u85(builder)) last = add_spread(builder, whole, rows.all, {rows.exponentials, last});
  read_two(builder.add(closing(whole, RowKind::kShift, rows.all, {zeros, last})), rows.all);
}

}  // namespace edgesage::ethos
