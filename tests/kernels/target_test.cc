#include "src/kernels/target.h"

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

TEST(KernelTarget, ForcedTargetIsTheOneThatRuns) {
  const std::string chosen = target_name();
  ASSERT_FALSE(targets_to_test().empty());
  for (const int64_t target : targets_to_test()) {
    const ForcedTarget forced(target);
    EXPECT_STREQ(target_name(), hwy::TargetName(target));
  }
  EXPECT_EQ(target_name(), chosen);
}

TEST(KernelTarget, ChosenTargetIsTheBestThatTheCpuHas) {
  // Better instruction sets have lower bits.
  EXPECT_STREQ(target_name(), hwy::TargetName(targets_to_test().front()));
}

}  // namespace
}  // namespace edgesage::kernels
