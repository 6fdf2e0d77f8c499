// Costs from a genome against the whole way: build, write, read, predict.
#include "src/learn/predictor_evaluator.h"

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

class PredictorEvaluatorTest : public testing::TestWithParam<const char*> {
 protected:
  static const Predictor& predictor() {
    static const Predictor kPredictor =
        *Predictor::load(test::source_dir() / "predictors/ethos-u55-256.edgesage");
    return kPredictor;
  }
  static PruningSpace space() {
    return *PruningSpace::make(*build_network(*NetworkName::parse(GetParam())),
                               {.side_shares = {0.5, 0.75}});
  }
  static std::vector<Genome> genomes(const PruningSpace& space) {
    std::vector<Genome> all{space.base()};
    Rng rng(4);
    for (int i = 0; i < 6; ++i) {
      Genome genome = space.base();
      for (size_t g = 0; g < genome.size(); ++g)
        if (rng.chance(i < 3 ? 0.03 : 0.7))
          genome[g] = static_cast<int32_t>(rng.integer(0, space.genes()[g].count() - 1));
      all.push_back(std::move(genome));
    }
    return all;
  }
};

TEST_P(PredictorEvaluatorTest, SaysWhatPredictSaysOfTheFile) {
  const PruningSpace space = PredictorEvaluatorTest::space();
  PredictorEvaluator costs(predictor(), {.threads = 2, .intervals = true, .operators = true});
  ASSERT_TRUE(costs.prepare(space));
  const std::vector<Genome> asked = genomes(space);
  const auto answers = costs.evaluate(asked);
  ASSERT_TRUE(answers);
  const test::TempDir dir;
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto file = dir.path() / "pruned.tflite";
    ASSERT_TRUE(write_file(file, *write_tflite(*space.build(asked[i]))));
    const Prediction expected = predictor().predict(*read_model(file), "pruned", {});
    const search::Costs& said = (*answers)[i].value();
    const std::string what = space.describe(asked[i]);
    EXPECT_NEAR(*said.latency_ms / expected.latency_ms->value, 1, 2e-6) << what;
    EXPECT_NEAR(*said.peak_ram_bytes / expected.peak_ram_bytes->value, 1, 2e-6) << what;
    EXPECT_NEAR(said.half_width, std::log(expected.latency_ms->hi / expected.latency_ms->value),
                1e-5)
        << what;
    EXPECT_EQ(said.weights_bytes, expected.weights_bytes) << what;
    EXPECT_EQ(said.operator_latency_ms.size(), expected.operators.size()) << what;
  }
}

TEST_P(PredictorEvaluatorTest, DoesNotDependOnThreadsOrOrder) {
  const PruningSpace space = PredictorEvaluatorTest::space();
  std::vector<Genome> asked = genomes(space);
  PredictorEvaluator one(predictor(), {.threads = 1}), three(predictor(), {.threads = 3});
  ASSERT_TRUE(one.prepare(space) && three.prepare(space));
  const auto a = one.evaluate(asked);
  std::reverse(asked.begin(), asked.end());
  const auto b = three.evaluate(asked);
  for (size_t i = 0; i < asked.size(); ++i)
    EXPECT_EQ(*(*a)[i]->latency_ms, *(*b)[asked.size() - 1 - i]->latency_ms);
}

INSTANTIATE_TEST_SUITE_P(Networks, PredictorEvaluatorTest,
                         testing::Values("reference/mobilenet-v2@64", "reference/resnet50@64",
                                         "reference/densenet169@32", "reference/inception-v3@96",
                                         "residual-classifier/1/11"));

}  // namespace
}  // namespace edgesage
