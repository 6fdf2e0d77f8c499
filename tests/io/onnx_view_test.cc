// The algebra of orders, against moving the elements for real.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "src/io/onnx/convert_view.h"

namespace edgesage::onnx::convert {
namespace {

using Elements = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

Elements numbered(const Shape& shape) {
  Elements elements(static_cast<size_t>(count(shape)));
  std::iota(elements.begin(), elements.end(), 0);
  return elements;
}

Elements transposed(const Elements& elements, const Shape& shape,
                    const std::vector<int64_t>& order) {
  std::vector<int64_t> stride(shape.size(), 1), index(shape.size(), 0);
  for (size_t i = shape.size(); i-- > 1;) stride[i - 1] = stride[i] * shape[i];
  Elements result;
  for (size_t n = 0; n < elements.size(); ++n) {
    int64_t at = 0;
    for (size_t d = 0; d < order.size(); ++d)
      at += index[d] * stride[static_cast<size_t>(order[d])];
    result.push_back(elements[static_cast<size_t>(at)]);
    for (size_t d = order.size(); d-- > 0;) {
      if (++index[d] < shape[static_cast<size_t>(order[d])]) break;
      index[d] = 0;
    }
  }
  return result;
}

Shape permuted(const Shape& shape, const std::vector<int64_t>& order) {
  Shape result;
  for (const int64_t d : order) result.push_back(shape[static_cast<size_t>(d)]);
  return result;
}

// A random walk of transpositions and reshapes, done to the elements and to a view of them; then
// the view is brought into ONNX's order.
TEST(OnnxView, MovesGiveWhatOnnxComputes) {
  std::mt19937 random(4);
  int reshaped = 0, refused = 0, moved = 0;
  for (int round = 0; round < 20000; ++round) {
    Shape shape;
    const int rank = 1 + static_cast<int>(random() % 5);
    constexpr int64_t kSides[] = {1, 1, 2, 3, 4, 6};
    for (int i = 0; i < rank; ++i) shape.push_back(kSides[random() % 6]);
    const DimOrder order =
        random() % 2 == 0 ? image_order(shape.size()) : plain_order(shape.size());
    View view(shape, order);
    const Shape stored = view.stored_shape(order);
    // `memory` holds at each stored place the number of the ONNX element.
    std::vector<int64_t> real_order;
    for (const int32_t d : order)
      if (d != kNoDim) real_order.push_back(d);
    const Elements memory = transposed(numbered(shape), shape, real_order);
    Elements expected = numbered(shape);
    for (int step = 0; step < 4; ++step) {
      if (random() % 2 == 0) {
        std::vector<int64_t> turn(shape.size());
        std::iota(turn.begin(), turn.end(), 0);
        std::shuffle(turn.begin(), turn.end(), random);
        view = view.transposed(turn);
        expected = transposed(expected, shape, turn);
        shape = permuted(shape, turn);
      } else {
        Shape next;
        for (int64_t left = count(shape); next.size() < 5 && left > 1;) {
          constexpr int64_t kFactors[] = {2, 3, 4, 6, 1};
          const int64_t factor = kFactors[random() % 5];
          if (left % factor != 0) continue;
          next.push_back(factor);
          left /= factor;
        }
        const int64_t made = count(next);
        next.push_back(count(shape) / made);
        const auto result = view.reshaped(next);
        (result ? reshaped : refused)++;
        if (!result) continue;
        view = *result;
        shape = next;
      }
      ASSERT_EQ(view.shape(), shape);
    }
    const View::Move move = view.plan_move(stored, plain_order(shape.size()));
    Shape now = move.split.empty() ? stored : move.split;
    ASSERT_EQ(count(now), count(stored));
    Elements elements = memory;
    if (!move.permutation.empty()) {
      elements = transposed(elements, now, move.permutation);
      now = permuted(now, move.permutation);
      ++moved;
    }
    if (!move.target.empty()) now = move.target;
    if (count(shape) > 1) {
      ASSERT_EQ(now, shape);
    }
    ASSERT_EQ(elements, expected);
    if (const auto found = view.order_in(stored)) {
      ASSERT_EQ(view.stored_shape(*found), stored);
    }
  }
  EXPECT_GT(reshaped, 5000);
  EXPECT_GT(refused, 100);
  EXPECT_GT(moved, 5000);
}

TEST(OnnxView, TransposingThereAndBackMovesNothing) {
  const View image({1, 3, 8, 8}, image_order(4));
  const View rows = image.transposed(std::vector<int64_t>{0, 2, 3, 1});
  const View::Move move = rows.plan_move({1, 8, 8, 3}, plain_order(4));
  EXPECT_TRUE(move.split.empty() && move.permutation.empty() && move.target.empty());
}

TEST(OnnxView, AnImageOfOnePixelIsAVector) {
  const View pixel({1, 64, 1, 1}, image_order(4));
  const auto vector = pixel.reshaped({1, 64});
  ASSERT_TRUE(vector);
  const View::Move move = vector->plan_move({1, 1, 1, 64}, plain_order(2));
  EXPECT_TRUE(move.permutation.empty());
  EXPECT_EQ(move.target, (Shape{1, 64}));
}

TEST(OnnxView, OneTransposeIsOneMove) {
  const View::Move move = View::plain({1, 3, 8, 8}).plan_move({1, 3, 8, 8}, image_order(4));
  EXPECT_TRUE(move.split.empty() && move.target.empty());
  EXPECT_EQ(move.permutation, (std::vector<int64_t>{0, 2, 3, 1}));
}

// Heads of attention: what a sequence is reshaped and transposed to.
TEST(OnnxView, SplittingHeadsIsOneReshapeAndOneTranspose) {
  const auto heads = View::plain({1, 10, 24}).reshaped({1, 10, 4, 6});
  ASSERT_TRUE(heads);
  const View turned = heads->transposed(std::vector<int64_t>{0, 2, 1, 3});
  const View::Move move = turned.plan_move({1, 10, 24}, plain_order(4));
  EXPECT_EQ(move.split, (Shape{1, 10, 4, 6}));
  EXPECT_EQ(move.permutation, (std::vector<int64_t>{0, 2, 1, 3}));
  EXPECT_TRUE(move.target.empty());
}

// Sides that overflow, are 0, or line up with nothing are no crash.
TEST(OnnxView, UglySidesAreRefusedNotComputed) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const View huge({1, 3, kHuge, kHuge}, image_order(4));
  EXPECT_EQ(huge.shape(), (Shape{1, 3, kHuge, kHuge}));
  const auto flat = huge.reshaped({3, INT64_MAX});
  EXPECT_TRUE(!flat || flat->rank() == 2);
  const View empty({1, 3, 0, 8}, image_order(4));
  EXPECT_EQ(empty.shape(), (Shape{1, 3, 0, 8}));
  EXPECT_FALSE(empty.reshaped({24, 0}));
  EXPECT_FALSE(View({2, 3, 4}, {0, 2, 1}).reshaped({4, 6}));
  EXPECT_FALSE(View::plain({2, 3}).order_in({3, 3}));
}

}  // namespace
}  // namespace edgesage::onnx::convert
