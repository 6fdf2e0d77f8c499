#include "src/learn/residual_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "src/base/rng.h"
#include "src/learn/evaluation_log.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

std::vector<double> somewhere(Rng& rng) {
  std::vector<double> where;
  for (int i = 0; i < 6; ++i) where.push_back(rng.uniform(0.25, 1));
  return where;
}

TEST(ResidualModel, LearnsALevelAndASlope) {
  const auto truth = [](const std::vector<double>& where) { return 0.08 + 0.1 * where[0]; };
  Rng rng(1);
  ResidualModel model;
  EXPECT_EQ(model.at(somewhere(rng), 0.1).deviation, 0.1);
  for (int i = 0; i < 30; ++i) {
    const auto where = somewhere(rng);
    model.add(where, truth(where));
  }
  double before = 0, after = 0;
  for (int i = 0; i < 100; ++i) {
    const auto where = somewhere(rng);
    const ResidualAnswer answer = model.at(where, 0.1);
    before += std::abs(truth(where)) / 100;
    after += std::abs(truth(where) - answer.log_factor) / 100;
    EXPECT_LT(answer.deviation, 0.1);
  }
  EXPECT_LT(after, before / 8);
}

TEST(ResidualModel, KnowsWhatWasMeasured) {
  Rng rng(2);
  ResidualModel model;
  const auto where = somewhere(rng);
  model.add(where, 0.2);
  EXPECT_NEAR(model.at(where, 0.1).log_factor, 0.2, 1e-3);
  EXPECT_LT(model.at(where, 0.1).deviation, 0.01);
}

TEST(ResidualModel, ComesBackFromJson) {
  Rng rng(3);
  ResidualModel model;
  for (int i = 0; i < 5; ++i) model.add(somewhere(rng), rng.uniform(-0.1, 0.1));
  const ResidualModel same = ResidualModel::from_json(Json::parse(to_text(model.to_json())));
  const auto where = somewhere(rng);
  EXPECT_EQ(same.at(where, 0.1).log_factor, model.at(where, 0.1).log_factor);
  EXPECT_EQ(ResidualModel::from_json(Json::parse("{\"a\":1}")).size(), 0U);
  EXPECT_EQ(ResidualModel::from_json(Json::parse("[{\"where\":3}]")).size(), 0U);
}

TEST(EvaluationLog, KeepsAnswersAndPassesOverALineThatWasCutOff) {
  const test::TempDir dir;
  const auto file = dir.path() / "log.jsonl";
  {
    auto log = EvaluationLog::open(file, "a network on a device");
    ASSERT_TRUE(log);
    ASSERT_TRUE(log->add("64-32", {{"latency_ms", 1.5}}));
  }
  std::ofstream(file, std::ios::app) << "{\"key\":\"64-16\",\"ans";
  const auto log = EvaluationLog::open(file, "a network on a device");
  ASSERT_TRUE(log);
  EXPECT_EQ(log->size(), 1U);
  EXPECT_EQ(json_number(*log->find("64-32"), "latency_ms", 0), 1.5);
  EXPECT_FALSE(log->find("64-16"));
  EXPECT_EQ(EvaluationLog::open(file, "another").error().code, ErrorCode::kBadStore);
  std::ofstream(file) << "no json\n";
  EXPECT_EQ(EvaluationLog::open(file, "another").error().code, ErrorCode::kBadStore);
}

}  // namespace
}  // namespace edgesage
