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

TEST(KernelTarget, TheSwitchForcesEachTargetByName) {
  const std::vector<std::string> names = target_names();
  EXPECT_EQ(names.size(), targets_to_test().size());
  for (const std::string& name : names) {
    ASSERT_TRUE(use_target(name));
    EXPECT_EQ(target_name(), name);
    EXPECT_EQ(target_names(), names);
  }
  ASSERT_TRUE(use_target(""));
  EXPECT_EQ(target_name(), names.front());
}

TEST(KernelTarget, TheSwitchOfTheEnvironmentForcesOne) {
  const std::string last = target_names().back();
  ASSERT_EQ(setenv("EDGESAGE_TARGET", last.c_str(), 1), 0);
  ASSERT_TRUE(use_target_of_environment());
  EXPECT_EQ(target_name(), last);
  ASSERT_EQ(unsetenv("EDGESAGE_TARGET"), 0);
  ASSERT_TRUE(use_target_of_environment());
  EXPECT_EQ(target_name(), last) << "without the variable nothing changes";
  ASSERT_TRUE(use_target(""));
}

TEST(KernelTarget, AnUnknownOneIsRefusedWithThoseThatThereAre) {
  const Status refused = use_target("AVX9");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().to_string().find(target_names().front()), std::string::npos);
  EXPECT_EQ(target_name(), target_names().front());
}

}  // namespace
}  // namespace edgesage::kernels
