// A device in the loop of a search: several workers, one answer.
#include "src/learn/device_evaluator.h"

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/base/text.h"
#include "src/spaces/space.h"
#include "tests/devices/fake_device.h"

namespace edgesage {
namespace {

// Of workers that answer after times of their own, by the size of the file.
class DeviceEvaluatorTest : public testing::Test {
 protected:
  DeviceEvaluator evaluator(size_t workers, EvaluationLog* shared = nullptr) {
    std::vector<WorkerClient> clients;
    for (size_t i = 0; i < workers; ++i) clients.emplace_back(device_.command);
    DeviceEvaluator made(std::move(clients), device_.description, {},
                         *EvaluationLog::open(log(), "a test"), dir_.path(), shared);
    EXPECT_TRUE(made.prepare(space_));
    return made;
  }
  std::vector<Genome> genomes(int count) const {
    Rng rng(7);
    std::vector<Genome> all;
    for (int i = 0; i < count; ++i) {
      Genome genome;
      for (const PruningGene& gene : space_.genes())
        genome.push_back(static_cast<int32_t>(rng.integer(0, gene.count() - 1)));
      all.push_back(std::move(genome));
    }
    all.push_back(all.front());  // once more
    return all;
  }
  std::filesystem::path log() const { return dir_.path() / "measured.jsonl"; }
  size_t logged() const {
    return split(*read_text(log(), ErrorCode::kBadStore), '\n').size() - 2;  // identity, last end
  }

  test::TempDir dir_;
  test::FakeDevice device_{"by_size"};
  PruningSpace space_ =
      *PruningSpace::make(*build_network(*NetworkName::parse("residual-classifier/1/11")), {});
};

std::vector<std::string> texts(const std::vector<Result<search::Costs>>& answers) {
  std::vector<std::string> all;
  for (const auto& answer : answers)
    all.push_back(answer ? std::to_string(*answer->latency_ms) + " " + std::to_string(answer->macs)
                         : answer.error().to_string());
  return all;
}

TEST_F(DeviceEvaluatorTest, AnswersDoNotDependOnTheNumberOfWorkers) {
  const std::vector<Genome> asked = genomes(40);
  std::vector<std::vector<std::string>> said;
  for (const size_t workers : {1, 3}) {
    std::filesystem::remove(log());
    DeviceEvaluator costs = evaluator(workers);
    const auto answers = costs.evaluate(asked);
    ASSERT_TRUE(answers) << answers.error().to_string();
    ASSERT_EQ(answers->size(), asked.size());
    said.push_back(texts(*answers));
    EXPECT_LE(costs.runs(), 40);  // equal ones once
    EXPECT_EQ(static_cast<size_t>(costs.runs()), logged());
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0].front(), said[0].back());
}

TEST_F(DeviceEvaluatorTest, WhatIsKnownIsNotMeasuredAgain) {
  const std::vector<Genome> asked = genomes(12);
  const std::span<const Genome> some(asked.data(), 5);
  DeviceEvaluator first = evaluator(3);
  const auto before = first.evaluate(some);
  ASSERT_TRUE(before);
  DeviceEvaluator resumed = evaluator(2);
  const auto answers = resumed.evaluate(asked);
  ASSERT_TRUE(answers);
  EXPECT_EQ(first.runs() + resumed.runs(), static_cast<int64_t>(logged()));
  std::vector<std::string> said = texts(*answers);
  said.resize(some.size());
  EXPECT_EQ(said, texts(*before));
  EXPECT_EQ(evaluator(1).evaluate(asked)->size(), asked.size());
  const int64_t runs = resumed.runs();
  ASSERT_TRUE(resumed.measure_again(some, 1));
  EXPECT_EQ(resumed.runs(), runs + 5);
}

TEST_F(DeviceEvaluatorTest, SearchesShareAnswersToTheSameFile) {
  const std::vector<Genome> asked = genomes(12);
  const std::filesystem::path file = dir_.path() / "answers.jsonl";
  EvaluationLog shared = *EvaluationLog::open(file, "a test");
  const auto before = evaluator(3, &shared).evaluate(asked);
  ASSERT_TRUE(before);
  std::filesystem::remove(log());  // another search
  DeviceEvaluator other = evaluator(2, &shared);
  const auto answers = other.evaluate(asked);
  ASSERT_TRUE(answers);
  EXPECT_EQ(texts(*answers), texts(*before));
  EXPECT_EQ(other.runs(), 0);
  EXPECT_GT(logged(), 0U);  // its own log says what it asked
  ASSERT_TRUE(other.measure_again({asked.data(), 3}, 1));
  EXPECT_EQ(other.runs(), 3);  // anew is anew
  std::filesystem::remove(log());
  EvaluationLog reopened = *EvaluationLog::open(file, "a test");
  DeviceEvaluator later = evaluator(1, &reopened);
  ASSERT_TRUE(later.evaluate(asked));
  EXPECT_EQ(later.runs(), 0);
}

TEST_F(DeviceEvaluatorTest, ADeviceThatIsNotThereEndsTheSearch) {
  std::vector<WorkerClient> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(std::vector<std::string>{"/nothing/here"});
  DeviceEvaluator costs(std::move(clients), device_.description, {}, EvaluationLog(), dir_.path());
  ASSERT_TRUE(costs.prepare(space_));
  const auto answers = costs.evaluate(genomes(8));
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, ErrorCode::kDeviceFailed);
  EXPECT_EQ(costs.runs(), 0);
}

TEST(WorkersOf, OneWhereAMachineIsBehindThem) {
  DeviceDescription device;
  device.name = "a device";
  device.worker = {"/bin/true"};
  EXPECT_EQ(workers_of(device, {}, 3)->size(), 3U);
  device.exclusive = true;
  EXPECT_EQ(workers_of(device, {}, 3)->size(), 1U);
}

}  // namespace
}  // namespace edgesage
