// Predictions do not depend on the machine that makes them: the shipped predictor on every
// instruction set that this CPU has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "src/io/model_file.h"
#include "src/kernels/target.h"
#include "src/predict/predictor.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr double kAgreement = 1e-5;  // relative

Predictor shipped() {
  return *Predictor::load(test::source_dir() / "predictors" / "ethos-u55-256.edgesage");
}

struct Named {
  std::string name;
  Graph graph;
};

std::vector<Prediction> predictions(const std::vector<Named>& networks) {
  // Loaded on the instruction set in hand, as a user of such a machine would.
  const Predictor predictor = shipped();
  std::vector<Prediction> answers;
  for (const Named& network : networks)
    answers.push_back(predictor.predict(network.graph, network.name, {}));
  return answers;
}

void expect_same(const std::optional<Interval>& actual, const std::optional<Interval>& expected) {
  ASSERT_EQ(actual.has_value(), expected.has_value());
  if (!expected) return;
  EXPECT_NEAR(actual->value, expected->value, kAgreement * expected->value);
  EXPECT_NEAR(actual->lo, expected->lo, kAgreement * expected->lo);
  EXPECT_NEAR(actual->hi, expected->hi, kAgreement * expected->hi);
}

void expect_same(const Prediction& actual, const Prediction& expected) {
  expect_same(actual.latency_ms, expected.latency_ms);
  expect_same(actual.peak_ram_bytes, expected.peak_ram_bytes);
  EXPECT_EQ(actual.in_range, expected.in_range);
  EXPECT_NEAR(actual.overhead_ms, expected.overhead_ms, kAgreement * expected.overhead_ms);
  ASSERT_EQ(actual.operators.size(), expected.operators.size());
  for (size_t i = 0; i < expected.operators.size(); ++i) {
    const auto &a = actual.operators[i].latency_ms, &b = expected.operators[i].latency_ms;
    ASSERT_EQ(a.has_value(), b.has_value());
    if (b) {
      EXPECT_NEAR(*a, *b, kAgreement * *b) << "operator " << i << " " << expected.operators[i].kind;
    }
  }
}

void expect_agreement(const std::vector<Named>& networks) {
  const std::vector<std::string> targets = kernels::target_names();
  const std::vector<Prediction> expected = predictions(networks);
  for (const std::string& target : targets) {
    ASSERT_TRUE(kernels::use_target(target));
    const std::vector<Prediction> actual = predictions(networks);
    for (size_t i = 0; i < networks.size(); ++i) {
      SCOPED_TRACE(target + ", " + networks[i].name);
      expect_same(actual[i], expected[i]);
    }
  }
  ASSERT_TRUE(kernels::use_target(""));
}

TEST(InstructionSets, AgreeOnGeneratedNetworks) {
  std::vector<Named> networks;
  for (const char* space : {"keyword-sound/1/", "mobile-classifier/1/"})
    for (int seed = 1; seed <= 8; ++seed) {
      const std::string name = space + std::to_string(seed);
      networks.push_back({name, *build_network(*NetworkName::parse(name))});
    }
  expect_agreement(networks);
}

TEST(InstructionSets, AgreeOnPublishedModels) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data.has_value(), "published models are not here (EDGESAGE_DATA_DIR)");
  std::vector<Named> networks;
  size_t priced = 0;
  for (const test::IndexedModel& model : test::indexed_models(*data)) {
    const bool tiny = model.file.find("/tiny/") != std::string::npos;
    if (model.kind != "tflite" || (!tiny && model.row % 8 != 0)) continue;
    auto graph = read_model(model.path);
    if (graph) networks.push_back({model.file, std::move(*graph)});
  }
  const Predictor predictor = shipped();
  for (const Named& network : networks)
    priced += predictor.predict(network.graph, network.name, {}).latency_ms ? 1 : 0;
  EXPECT_GE(priced, 8u) << "of " << networks.size() << " models";
  expect_agreement(networks);
}

}  // namespace
}  // namespace edgesage
