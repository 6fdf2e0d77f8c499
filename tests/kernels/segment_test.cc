#include "src/kernels/segment.h"

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

TEST(SegmentMean, EqualsMeansInDouble) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t nodes = random_size(rng, 40), width = random_size(rng, 70);
    const Lists lists(rng, nodes, nodes);
    TestMatrix h(rng, nodes, width), out(nodes, width, 2, 5.0f);
    segment_mean(lists.view(), h.view(), out.view());
    EXPECT_TRUE(out.gaps_untouched());
    for (int64_t i = 0; i < nodes; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t e = 0; e < lists.degree(i); ++e) {
          sum += h.at(lists.neighbour(i, e), j);
          magnitude += std::abs(h.at(lists.neighbour(i, e), j));
        }
        const double expected =
            lists.degree(i) == 0 ? 0 : sum / static_cast<double>(lists.degree(i));
        expect_close(out.at(i, j), expected, magnitude, "node " + std::to_string(i));
      }
    }
  });
}

TEST(SegmentMean, BackwardIsTheTranspose) {
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
