#include "src/lower/target.h"

#include <gtest/gtest.h>

namespace edgesage {
namespace {

TEST(Target, EveryListedNameGivesATargetOfThatName) {
  ASSERT_EQ(target_names().size(), 14U);
  for (const std::string& name : target_names()) {
    const Result<Target> target = target_from_name(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->name, name);
    EXPECT_EQ(target->is_ethos(), name.starts_with("ethos"));
    const std::string size = std::to_string(target->macs_per_cycle);
    EXPECT_EQ(name.ends_with(size), target->is_ethos()) << name;
  }
}

TEST(Target, UnknownNameIsAnArgumentErrorThatListsAndSuggests) {
  const Result<Target> target = target_from_name("litert-xnpack");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(target.error().message.find("ethos-u55-256"), std::string::npos);
  EXPECT_NE(target.error().message.find("did you mean 'litert-xnnpack'"), std::string::npos);
  EXPECT_FALSE(target_from_name(""));
}

}  // namespace
}  // namespace edgesage
