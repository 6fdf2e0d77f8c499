#include "tests/kernels/kernel_test.h"

#include <algorithm>
#include <limits>

namespace edgesage::kernels {

std::vector<int64_t> targets_to_test() { return hwy::SupportedAndGeneratedTargets(); }

void for_each_target_and_seed(const std::function<void(Rng&)>& body) {
  const char* fixed = std::getenv("EDGESAGE_TEST_SEED");
  const uint64_t first = fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : 1;
  for (const int64_t target : targets_to_test()) {
    const ForcedTarget forced(target);
    for (uint64_t round = 0; round < 12; ++round) {
      SCOPED_TRACE(std::string("target ") + hwy::TargetName(target) +
                   ", EDGESAGE_TEST_SEED=" + std::to_string(first + round));
      Rng rng(first + round);
      body(rng);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

int64_t random_size(Rng& rng, int64_t limit) {
  if (rng.chance(0.15)) return 1;
  return rng.integer(1, limit);
}

TestMatrix::TestMatrix(Rng& rng, int64_t rows_in, int64_t cols_in, double scale)
    : TestMatrix(rows_in, cols_in, rng.integer(0, 5), 0.0f) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) at(i, j) = static_cast<float>(scale * rng.normal());
}

TestMatrix::TestMatrix(int64_t rows_in, int64_t cols_in, int64_t gap, float value)
    : rows(rows_in),
      cols(cols_in),
      stride(cols_in + gap),
      values(static_cast<size_t>(rows_in * stride), std::numeric_limits<float>::quiet_NaN()) {
  for (int64_t i = 0; i < rows; ++i) std::fill_n(values.begin() + i * stride, cols, value);
}

bool TestMatrix::gaps_untouched() const {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = cols; j < stride; ++j)
      if (!std::isnan(values[static_cast<size_t>(i * stride + j)])) return false;
  return true;
}

std::vector<float> random_floats(Rng& rng, int64_t count, double scale) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(scale * rng.normal());
  return values;
}

void expect_close(double actual, double expected, double magnitude, const std::string& where,
                  double relative) {
  EXPECT_NEAR(actual, expected, relative * std::max(magnitude, 1e-3)) << where;
}

}  // namespace edgesage::kernels
