// The network against PyTorch: the same network written as PyTorch modules and differentiated by
// its autograd, layer by layer, head by head and loss by loss; then a whole training run.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/kernels/kernel_test.h"
#include "tests/nn/golden_file.h"

namespace edgesage::nn {
namespace {

const std::vector<Golden>& cases() {
  static const std::vector<Golden> all = [] {
    std::vector<Golden> list;
    const Json file = read_golden_file("cases.json.zst");
    for (const Json& item : file.at("cases")) list.push_back(golden_from(item));
    return list;
  }();
  return all;
}

// Of the largest magnitude of the field: a cost that is a millionth of the others is as exact as
// they are only in their sum.
template <class T>
void expect_field(const Golden& golden, const char* field, const std::vector<T>& actual,
                  double relative) {
  const std::vector<double> expected = doubles_of(golden.json.at(field));
  ASSERT_EQ(actual.size(), expected.size()) << field;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(double{actual[i]}, expected[i], relative * largest) << field << " " << i;
}

// Each number relative to itself.
void expect_each(const Golden& golden, const char* field, const std::vector<double>& actual,
                 double relative) {
  const std::vector<double> expected = doubles_of(golden.json.at(field));
  ASSERT_EQ(actual.size(), expected.size()) << field;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], relative * std::abs(expected[i])) << field << " " << i;
}

void for_each_target(const std::function<void()>& body) {
  for (const int64_t target : kernels::targets_to_test()) {
    SCOPED_TRACE(std::string("target ") + hwy::TargetName(target));
    const kernels::ForcedTarget forced(target);
    body();
  }
}

TEST(Golden, CoversEveryReadOutHeadAndLoss) {
  ASSERT_GE(cases().size(), 14u);
  bool sum = false, max = false, both = false, nodes_of_sum = false, nodes_of_max = false;
  for (const Golden& golden : cases()) {
    for (const Quantity& quantity : golden.config.quantities) {
      sum |= quantity.read_out == ReadOut::kSum;
      max |= quantity.read_out == ReadOut::kMax;
      both |= quantity.read_out == ReadOut::kMaxPlusSum;
      nodes_of_sum |= quantity.node_labels && quantity.read_out == ReadOut::kSum;
      nodes_of_max |= quantity.node_labels && quantity.read_out == ReadOut::kMax;
    }
  }
  EXPECT_TRUE(sum && max && both && nodes_of_sum && nodes_of_max);
}

TEST(Golden, ForwardEqualsPyTorch) {
  for_each_target([] {
    for (const Golden& golden : cases()) {
      SCOPED_TRACE(golden.name);
      Workspace workspace;
      const Outputs& out = golden.model.predict(golden.batch, workspace);
      expect_field(golden, "embedding", out.embedding, 1e-5);
      expect_each(golden, "totals", out.totals, 1e-5);
      expect_each(golden, "overhead", out.overhead, 1e-5);
      expect_field(golden, "log_factor", out.log_factor, 1e-5);
      expect_each(golden, "node_levels", out.node_levels, 1e-5);
      expect_field(golden, "node_costs", out.node_costs, 1e-5);
      expect_field(golden, "op_costs", out.op_costs, 1e-5);
    }
  });
}

TEST(Golden, LossAndGradientOfEverySliceEqualPyTorch) {
  for_each_target([] {
    for (const Golden& golden : cases()) {
      SCOPED_TRACE(golden.name);
      std::vector<float> gradient(golden.model.parameters().size());
      const double loss = loss_and_gradient(golden.model, golden.batch, golden.loss, gradient);
      const double expected_loss = golden.json.at("loss");
      EXPECT_NEAR(loss, expected_loss, 1e-5 * expected_loss);
      const std::vector<double> expected = parameters_of(golden.json.at("gradient"), golden.model);
      for (const ParameterSlice& slice : golden.model.parameter_table())
        EXPECT_LE(relative_distance(slice, gradient, expected), 1e-4)
            << slice.name
            << "; PyTorch in float32: " << golden.json.at("float32_error").at(slice.name);
    }
  });
}

// One step an epoch on all graphs, so that neither run draws an order.
TEST(Golden, TrainingRunFollowsPyTorchStepByStep) {
  const Golden golden = golden_from(read_golden_file("training.json.zst"));
  const Json& settings = golden.json.at("options");
  std::vector<int32_t> graphs;
  for (int32_t g = 0; g < golden.batch.graphs(); ++g) graphs.push_back(g);
  TrainOptions options{.epochs = settings.at("epochs"),
                       .batch_graphs = golden.batch.graphs(),
                       .learning_rate = settings.at("learning_rate"),
                       .warm_up = settings.at("warm_up"),
                       .weight_decay = settings.at("weight_decay"),
                       .clip_norm = settings.at("clip_norm"),
                       .average_decay = settings.at("average_decay"),
                       .loss = golden.loss};
  const std::vector<double> expected = doubles_of(golden.json.at("losses"));
  ASSERT_LT(expected.back(), 0.5 * expected.front()) << "the run should teach something";
  for_each_target([&] {
    Model model = golden.model;
    std::vector<double> losses;
    const auto report = train(model, golden.batch, graphs, options,
                              [&](const EpochReport& epoch) { losses.push_back(epoch.loss); });
    ASSERT_TRUE(report) << report.error().to_string();
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t step = 0; step < losses.size(); ++step)
      EXPECT_NEAR(losses[step], expected[step], 1e-3 * expected[step]) << "step " << step;
    const std::vector<double> weights = parameters_of(golden.json.at("final_weights"), model);
    for (const ParameterSlice& slice : model.parameter_table())
      EXPECT_LE(relative_distance(slice, model.parameters(), weights), 1e-3) << slice.name;
  });
}

}  // namespace
}  // namespace edgesage::nn
