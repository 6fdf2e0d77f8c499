#include "src/nn/model.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/kernels/kernel_test.h"
#include "tests/nn/random_batch.h"
#include "tests/nn/reference_network.h"

namespace edgesage::nn {
namespace {

Model random_model(const ModelConfig& config, Rng& rng) {
  Model model = *Model::create(config);
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  for (float& value : parameters) value += static_cast<float>(0.2 * rng.normal());
  EXPECT_TRUE(model.set_parameters(parameters));
  return model;
}

struct Fixture {
  explicit Fixture(uint64_t seed, RandomBatchOptions options = {.graphs = 5, .max_nodes = 30})
      : rng(seed), model(random_model(config, rng)), batch(random_batch(config, options, rng)) {}

  ModelConfig config = small_config();
  Rng rng;
  Model model;
  Batch batch;
  Workspace workspace;
};

TEST(Model, AgreesWithTheNaiveNetworkInDouble) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Fixture f(seed);
    ASSERT_TRUE(validate(f.batch, f.config));
    const Outputs& out = f.model.predict(f.batch, f.workspace);
    const ReferenceOutputs expected =
        ReferenceNetwork(f.config, f.model.parameter_table())
            .run({f.model.parameters().begin(), f.model.parameters().end()}, f.batch);
    const size_t quantities = f.config.quantities.size();
    for (size_t i = 0; i < out.totals.size(); ++i) {
      const size_t g = i / quantities, q = i % quantities;
      EXPECT_NEAR(out.totals[i], expected.totals[g][q], 1e-5 * expected.totals[g][q]);
      EXPECT_NEAR(out.overhead[i], expected.overhead[g][q], 1e-5 * expected.overhead[g][q]);
      EXPECT_NEAR(out.log_factor[i], expected.log_factor[g][q], 1e-5);
    }
    for (size_t i = 0; i < out.op_costs.size(); ++i) {
      const double cost = expected.op_costs[i / quantities][i % quantities];
      EXPECT_NEAR(out.op_costs[i], cost, 1e-4 * cost + 1e-9);
    }
    for (size_t i = 0; i < out.node_costs.size(); ++i) {
      const double cost = expected.node_costs[i / quantities][i % quantities];
      EXPECT_NEAR(out.node_costs[i], cost, 1e-4 * cost + 1e-9);
    }
  }
}

TEST(Model, OperatorsAndOverheadAddUpToTheTotal) {
  Fixture f(11, {.graphs = 8, .max_nodes = 200, .min_nodes = 0});
  const Outputs& out = f.model.predict(f.batch, f.workspace);
  const auto quantities = static_cast<size_t>(f.config.quantity_count());
  for (size_t g = 0; g < 8; ++g) {
    for (size_t q = 0; q < quantities; ++q) {
      double sum = out.overhead[g * quantities + q];
      EXPECT_GE(sum, 0.0);
      for (int32_t op = f.batch.op_graph_offset[g]; op < f.batch.op_graph_offset[g + 1]; ++op)
        sum += out.op_costs[static_cast<size_t>(op) * quantities + q];
      const double total = out.totals[g * quantities + q];
      EXPECT_NEAR(sum, total, 1e-9 * total);
    }
  }
}

TEST(Model, FreshModelAnswersWithThePrior) {
  const ModelConfig config = small_config();
  Rng rng(3);
  const Batch batch = random_batch(config, {.graphs = 1, .max_nodes = 20, .min_nodes = 20}, rng);
  Workspace workspace;
  const Outputs& out = (*Model::create(config)).predict(batch, workspace);
  double sum = 0;
  for (size_t i = 0; i < 20; ++i) sum += std::exp(double{batch.log_prior[i * 4]});
  EXPECT_NEAR(out.totals[0] - out.overhead[0], sum, 1e-6 * sum);
  EXPECT_EQ(out.log_factor[0], 0.0);
  EXPECT_LT(out.overhead[0], 0.02 * config.quantities[0].overhead_scale);
}

TEST(Model, OrderOfNodesDoesNotMatter) {
  Fixture f(12, {.graphs = 1, .max_nodes = 40, .min_nodes = 40});
  const auto nodes = static_cast<size_t>(f.batch.nodes());
  std::vector<int32_t> order(nodes), place(nodes);
  std::iota(order.begin(), order.end(), 0);
  f.rng.shuffle(order);
  for (size_t i = 0; i < nodes; ++i) place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  Batch permuted = f.batch;
  const auto copy_rows = [&](const auto& from, size_t width, auto& to) {
    for (size_t i = 0; i < nodes; ++i)
      std::copy_n(from.begin() + order[i] * static_cast<int64_t>(width), width,
                  to.begin() + static_cast<int64_t>(i * width));
  };
  copy_rows(f.batch.x, 5, permuted.x);
  copy_rows(f.batch.kind, 1, permuted.kind);
  copy_rows(f.batch.node_op, 1, permuted.node_op);
  copy_rows(f.batch.log_prior, 4, permuted.log_prior);
  for (const auto& [from, to] : {std::pair{&f.batch.producers, &permuted.producers},
                                 std::pair{&f.batch.consumers, &permuted.consumers}}) {
    *to = Csr{};
    for (const int32_t node : order) {
      const auto n = static_cast<size_t>(node);
      for (int32_t e = from->offset[n]; e < from->offset[n + 1]; ++e)
        to->index.push_back(place[static_cast<size_t>(from->index[static_cast<size_t>(e)])]);
      to->offset.push_back(static_cast<int32_t>(to->index.size()));
    }
  }
  ASSERT_TRUE(validate(permuted, f.config));
  const Outputs before = f.model.predict(f.batch, f.workspace);
  const Outputs& after = f.model.predict(permuted, f.workspace);
  for (size_t q = 0; q < 3; ++q) {
    EXPECT_NEAR(after.totals[q], before.totals[q], 1e-5 * before.totals[q]);
    for (size_t i = 0; i < nodes; ++i) {
      const double cost = before.node_costs[static_cast<size_t>(order[i]) * 3 + q];
      EXPECT_NEAR(after.node_costs[i * 3 + q], cost, 1e-4 * cost + 1e-12);
    }
  }
}

TEST(Model, BatchedGraphsEqualSingleOnesBitForBit) {
  Fixture f(13, {.graphs = 6, .max_nodes = 25, .min_nodes = 0});
  const Outputs together = f.model.predict(f.batch, f.workspace);
  Batch single;
  for (int32_t g = 0; g < f.batch.graphs(); ++g) {
    single.clear();
    append_graph(f.batch, g, single);
    ASSERT_TRUE(validate(single, f.config));
    const Outputs& alone = f.model.predict(single, f.workspace);
    for (size_t q = 0; q < 3; ++q)
      EXPECT_EQ(alone.totals[q], together.totals[static_cast<size_t>(g) * 3 + q]);
    const auto first = static_cast<size_t>(f.batch.graph_offset[static_cast<size_t>(g)]) * 3;
    for (size_t i = 0; i < alone.node_costs.size(); ++i)
      EXPECT_EQ(alone.node_costs[i], together.node_costs[first + i]);
  }
}

TEST(Model, PredictionEqualsThePassThatKeepsEverythingBitForBit) {
  for (const int32_t nodes : {1, 47, 48, 49, 100, 150}) {
    Fixture f(30, {.graphs = 2, .max_nodes = nodes, .min_nodes = nodes});
    const Outputs predicted = f.model.predict(f.batch, f.workspace);
    Workspace keeping;
    forward(f.model.network(), f.batch, {}, keeping);
    EXPECT_EQ(predicted.totals, keeping.outputs.totals);
    EXPECT_EQ(predicted.node_costs, keeping.outputs.node_costs);
    EXPECT_EQ(predicted.embedding, keeping.outputs.embedding);
  }
}

TEST(Model, FreeNodesCostExactlyNothing) {
  Fixture f(14, {.graphs = 3, .max_nodes = 20, .free_share = 0.5});
  const Outputs& out = f.model.predict(f.batch, f.workspace);
  for (size_t i = 0; i < f.batch.kind.size(); ++i)
    for (size_t q = 0; q < 3; ++q) {
      const bool free = std::isinf(f.batch.log_prior[i * 4]);
      EXPECT_EQ(out.node_costs[i * 3 + q] == 0.0, free) << "node " << i;
    }
}

TEST(Model, EmptyGraphCostsItsOverhead) {
  Fixture f(15, {.graphs = 1, .max_nodes = 0, .min_nodes = 0});
  ASSERT_TRUE(validate(f.batch, f.config));
  const Outputs& out = f.model.predict(f.batch, f.workspace);
  EXPECT_GT(out.totals[0], 0.0);
  EXPECT_EQ(out.totals[0], out.overhead[0]);
  EXPECT_EQ(out.totals[2], 0.0);  // a quantity without overhead
}

TEST(Model, NoGraphsGiveNoResults) {
  Fixture f(16, {.graphs = 0});
  ASSERT_TRUE(validate(f.batch, f.config));
  EXPECT_TRUE(f.model.predict(f.batch, f.workspace).totals.empty());
}

TEST(Model, SmoothMaximumLiesBetweenMaximumAndNormBound) {
  Fixture f(17, {.graphs = 1, .max_nodes = 50, .min_nodes = 50});
  const Outputs& out = f.model.predict(f.batch, f.workspace);
  double largest = 0;
  for (size_t i = 0; i < 50; ++i) largest = std::max(largest, out.node_levels[i * 4 + 1]);
  const double value = out.totals[1] - out.overhead[1];
  EXPECT_GE(value, largest * (1 - 1e-12));
  EXPECT_LE(value, largest * std::pow(50.0, 1 / f.config.max_power));
}

TEST(Model, HugeAndTinyPriorsStayFinite) {
  Fixture f(18);
  for (size_t i = 0; i < f.batch.log_prior.size(); ++i)
    f.batch.log_prior[i] = i % 2 == 0 ? 60.0f : -60.0f;
  for (const double total : f.model.predict(f.batch, f.workspace).totals)
    EXPECT_TRUE(std::isfinite(total));
}

TEST(Model, Bfloat16WeightsChangeTheAnswerALittleAndNothingElse) {
  for (uint64_t seed = 40; seed < 45; ++seed) {
    Fixture f(seed, {.graphs = 5, .max_nodes = 120, .min_nodes = 1});
    const Outputs exact = f.model.predict(f.batch, f.workspace);
    f.model.set_precision(Precision::kBfloat16);
    const Outputs rounded = f.model.predict(f.batch, f.workspace);
    EXPECT_NE(rounded.totals, exact.totals);
    for (size_t i = 0; i < exact.totals.size(); ++i)
      EXPECT_NEAR(rounded.totals[i], exact.totals[i], 0.05 * exact.totals[i]);
    ASSERT_TRUE(f.model.set_parameters(f.model.parameters()));
    EXPECT_EQ(f.model.predict(f.batch, f.workspace).totals, rounded.totals);
    f.model.set_precision(Precision::kFloat32);
    EXPECT_EQ(f.model.predict(f.batch, f.workspace).totals, exact.totals);
  }
}

TEST(Model, InstructionSetsAgree) {
  Fixture f(20);
  const Outputs expected = f.model.predict(f.batch, f.workspace);
  for (const int64_t target : kernels::targets_to_test()) {
    const kernels::ForcedTarget forced(target);
    const Outputs& out = f.model.predict(f.batch, f.workspace);
    for (size_t i = 0; i < out.totals.size(); ++i)
      EXPECT_NEAR(out.totals[i], expected.totals[i], 1e-5 * expected.totals[i])
          << hwy::TargetName(target);
  }
}

TEST(Model, ParameterTableCoversTheParametersOnceWithUniqueNames) {
  const Model model = *Model::create(small_config());
  std::set<std::string> names;
  int64_t next = 0;
  for (const ParameterSlice& slice : model.parameter_table()) {
    EXPECT_TRUE(names.insert(slice.name).second) << slice.name;
    EXPECT_EQ(slice.offset, next);
    next += slice.size();
  }
  EXPECT_EQ(next, static_cast<int64_t>(model.parameters().size()));
}

TEST(Model, ParametersMoveAModelToAnother) {
  Fixture f(19);
  Model other = *Model::create(f.config);
  ASSERT_TRUE(other.set_parameters(f.model.parameters()));
  Workspace workspace;
  EXPECT_EQ(other.predict(f.batch, workspace).totals, f.model.predict(f.batch, f.workspace).totals);
}

TEST(Model, RefusesParametersOfAnotherSizeOrNotFinite) {
  Model model = *Model::create(small_config());
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  parameters.back() = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(model.set_parameters(parameters));
  parameters.pop_back();
  EXPECT_FALSE(model.set_parameters(parameters));
}

TEST(Model, RefusesConfigurationsThatCannotBe) {
  const auto refused = [](auto change) {
    ModelConfig config = small_config();
    change(config);
    const auto model = Model::create(config);
    return !model && model.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](ModelConfig& c) { c.features = 0; }));
  EXPECT_TRUE(refused([](ModelConfig& c) { c.hidden = 1; }));
  EXPECT_TRUE(refused([](ModelConfig& c) { c.layers = 0; }));
  EXPECT_TRUE(refused([](ModelConfig& c) { c.dropout = 1.0; }));
  EXPECT_TRUE(refused([](ModelConfig& c) { c.quantities.clear(); }));
  EXPECT_TRUE(refused([](ModelConfig& c) {
    c.quantities[1].read_out = ReadOut::kMaxPlusSum;
    c.quantities[1].node_labels = true;
  }));
  EXPECT_TRUE(refused([](ModelConfig& c) { c.quantities[0].overhead_scale = -1; }));
  EXPECT_TRUE(refused([](ModelConfig& c) { c.max_power = std::nan(""); }));
}

}  // namespace
}  // namespace edgesage::nn
