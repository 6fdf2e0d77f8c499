// What every kernel test needs: each instruction set of this CPU in turn, random shapes and values,
// and a comparison with sums in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "src/base/rng.h"
#include "src/kernels/matrix.h"

namespace edgesage::kernels {

// Runs the kernels on one instruction set until the end of the scope.
class ForcedTarget {
 public:
  explicit ForcedTarget(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ~ForcedTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

// Instruction sets that were built and that this CPU has.
std::vector<int64_t> targets_to_test();

// 12 rounds of `body` on every instruction set, with seeds 1 to 12 (from EDGESAGE_TEST_SEED on if
// that is set). A failure names the instruction set and the seed.
void for_each_target_and_seed(const std::function<void(Rng&)>& body);

// 1, odd, or up to `limit`.
int64_t random_size(Rng& rng, int64_t limit);

// A matrix with a stride larger than its columns; the gaps hold NaN, and must keep it.
struct TestMatrix {
  TestMatrix(Rng& rng, int64_t rows, int64_t cols, double scale = 1.0);
  TestMatrix(int64_t rows, int64_t cols, int64_t gap, float value);

  [[nodiscard]] Matrix view() { return {values.data(), rows, cols, stride}; }
  [[nodiscard]] float& at(int64_t i, int64_t j) {
    return values[static_cast<size_t>(i * stride + j)];
  }
  [[nodiscard]] bool gaps_untouched() const;

  int64_t rows, cols, stride;
  std::vector<float> values;
};

std::vector<float> random_floats(Rng& rng, int64_t count, double scale = 1.0);

// |actual - expected| within `relative` of `magnitude` (the sum of absolute terms, at least 1e-3).
void expect_close(double actual, double expected, double magnitude, const std::string& where,
                  double relative = 2e-6);

}  // namespace edgesage::kernels
