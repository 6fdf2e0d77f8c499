#include "src/kernels/segment.h"

#include <algorithm>
#include <numeric>

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

struct Lists {
  std::vector<int32_t> offset{0};
  std::vector<int32_t> index;

  // Nodes without neighbours and neighbours named twice both occur.
  Lists(Rng& rng, int64_t nodes, int64_t sources) {
    for (int64_t i = 0; i < nodes; ++i) {
      for (int64_t count = rng.integer(0, 4); count > 0; --count)
        index.push_back(static_cast<int32_t>(rng.integer(0, sources - 1)));
      offset.push_back(static_cast<int32_t>(index.size()));
    }
  }
  [[nodiscard]] Segments view() const { return {offset.data(), index.data()}; }
  [[nodiscard]] int64_t degree(int64_t i) const {
    return offset[static_cast<size_t>(i) + 1] - offset[static_cast<size_t>(i)];
  }
  [[nodiscard]] int64_t neighbour(int64_t i, int64_t which) const {
    return index[static_cast<size_t>(offset[static_cast<size_t>(i)] + which)];
  }
};

struct Expected {
  double sum = 0, magnitude = 0, maximum = 0;
  int32_t first = -1;
};

Expected expected_of(const Lists& lists, TestMatrix& h, int64_t node, int64_t column) {
  Expected result;
  for (int64_t e = 0; e < lists.degree(node); ++e) {
    const auto neighbour = static_cast<int32_t>(lists.neighbour(node, e));
    const double value = h.at(neighbour, column);
    result.sum += value;
    result.magnitude += std::abs(value);
    if (result.first < 0 || value > result.maximum) {
      result.maximum = value;
      result.first = neighbour;
    }
  }
  return result;
}

TEST(Segments, SumsMeansAndMaximaEqualThoseInDouble) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t nodes = random_size(rng, 40), width = random_size(rng, 150);
    const Lists lists(rng, nodes, nodes);
    TestMatrix h(rng, nodes, width), sums(nodes, width, 2, 5.0f), means = sums, maxima = sums;
    std::vector<int32_t> first(static_cast<size_t>(nodes * width), 7);
    segment_sum(lists.view(), h.view(), sums.view());
    segment_mean(lists.view(), h.view(), means.view());
    segment_maximum(lists.view(), h.view(), maxima.view(), first.data());
    EXPECT_TRUE(sums.gaps_untouched() && means.gaps_untouched() && maxima.gaps_untouched());
    for (int64_t i = 0; i < nodes; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const Expected expected = expected_of(lists, h, i, j);
        const auto count = static_cast<double>(std::max<int64_t>(1, lists.degree(i)));
        const std::string where = "node " + std::to_string(i);
        expect_close(sums.at(i, j), expected.sum, expected.magnitude, where);
        expect_close(means.at(i, j), expected.sum / count, expected.magnitude, where);
        EXPECT_EQ(maxima.at(i, j), expected.maximum) << where;
        EXPECT_EQ(first[static_cast<size_t>(i * width + j)], expected.first) << where;
      }
    }
  });
}

TEST(Segments, WithoutAnIndexNeighboursAreTheRowsThemselves) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t nodes = random_size(rng, 60), width = random_size(rng, 150);
    const auto cut = static_cast<int32_t>(rng.integer(0, nodes));
    const std::vector<int32_t> offset{0, cut, cut, static_cast<int32_t>(nodes)};
    std::vector<int32_t> index(static_cast<size_t>(nodes));
    std::iota(index.begin(), index.end(), 0);
    TestMatrix h(rng, nodes, width), out(3, width, 0, 1.0f), listed = out;
    std::vector<int32_t> first(static_cast<size_t>(3 * width)), listed_first = first;
    segment_mean({offset.data(), nullptr}, h.view(), out.view());
    segment_mean({offset.data(), index.data()}, h.view(), listed.view());
    EXPECT_EQ(out.values, listed.values);
    segment_maximum({offset.data(), nullptr}, h.view(), out.view(), first.data());
    segment_maximum({offset.data(), index.data()}, h.view(), listed.view(), listed_first.data());
    EXPECT_EQ(out.values, listed.values);
    EXPECT_EQ(first, listed_first);
  });
}

TEST(Segments, MaximumOfEqualValuesIsTheFirst) {
  for_each_target_and_seed([](Rng&) {
    TestMatrix h(5, 21, 0, 3.0f), out(1, 21, 0, 0.0f);
    const std::vector<int32_t> offset{0, 3}, index{2, 4, 1};
    std::vector<int32_t> first(21, 9);
    segment_maximum({offset.data(), index.data()}, h.view(), out.view(), first.data());
    for (const int32_t row : first) EXPECT_EQ(row, 2);
  });
}

TEST(Segments, BackwardOfTheMeanIsTheTranspose) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t nodes = random_size(rng, 40), width = random_size(rng, 70);
    const Lists lists(rng, nodes, nodes);
    TestMatrix dout(rng, nodes, width), dh(rng, nodes, width);
    std::vector<double> expected(static_cast<size_t>(nodes * width));
    std::vector<double> magnitude(expected.size());
    const auto at = [&](int64_t i, int64_t j) { return static_cast<size_t>(i * width + j); };
    for (int64_t i = 0; i < nodes; ++i)
      for (int64_t j = 0; j < width; ++j) {
        expected[at(i, j)] += dh.at(i, j);
        magnitude[at(i, j)] += std::abs(dh.at(i, j));
        for (int64_t e = 0; e < lists.degree(i); ++e) {
          const double term = dout.at(i, j) / static_cast<double>(lists.degree(i));
          expected[at(lists.neighbour(i, e), j)] += term;
          magnitude[at(lists.neighbour(i, e), j)] += std::abs(term);
        }
      }
    segment_mean_backward(lists.view(), dout.view(), dh.view());
    EXPECT_TRUE(dh.gaps_untouched());
    for (int64_t i = 0; i < nodes; ++i)
      for (int64_t j = 0; j < width; ++j)
        expect_close(dh.at(i, j), expected[at(i, j)], magnitude[at(i, j)],
                     "node " + std::to_string(i));
  });
}

}  // namespace
}  // namespace edgesage::kernels
