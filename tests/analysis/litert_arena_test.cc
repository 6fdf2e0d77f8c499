#include "src/analysis/litert_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "src/analysis/litert_savings.h"
#include "src/analysis/liveness.h"
#include "src/graph/builder.h"

// Every address is compared with the runtime's in tests/cli/arena_test.py; here is what holds
// without it.
namespace edgesage {
namespace {

const LiteRtBlock* block_of(const LiteRtArena& arena, int32_t tensor) {
  const auto found = std::ranges::find(arena.blocks, tensor, &LiteRtBlock::tensor);
  return found == arena.blocks.end() ? nullptr : &*found;
}

const LiteRtBlock* scratch_of(const LiteRtArena& arena, int32_t op) {
  const auto found = std::ranges::find(arena.blocks, op, &LiteRtBlock::op);
  return found == arena.blocks.end() ? nullptr : &*found;
}

GraphBuilder int8_builder() {
  GraphBuilder::Options options;
  options.type = DataType::kInt8;
  return GraphBuilder(options);
}

TEST(LiteRtArena, AConvolutionWithAWindowUnfoldsItsInput) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto y = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3});
  const Graph graph = net.finish({net.conv_2d(y, {.channels = 8})}).value();
  const LiteRtArena arena = LiteRtPlanner(graph).plan();
  ASSERT_NE(scratch_of(arena, 0), nullptr);
  EXPECT_EQ(scratch_of(arena, 0)->purpose, "im2col");
  EXPECT_EQ(scratch_of(arena, 0)->bytes, 8 * 8 * 3 * 3 * 4);
  EXPECT_EQ(scratch_of(arena, 1), nullptr) << "1x1 with stride 1 reads its input as it is";
  // Input first, for it is always there; then the largest.
  EXPECT_EQ(arena.arena_bytes, 256 + 2304 + 1024);
  EXPECT_EQ(arena.activations_bytes, 256 + 1024 + 512);
  EXPECT_EQ(arena.total_bytes(), arena.arena_bytes);
}

TEST(LiteRtArena, AnAdditionWritesOverAnInputThatNobodyElseReads) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto a = net.conv_2d(x, {.channels = 16});
  const auto b = net.conv_2d(x, {.channels = 16});
  const auto sum = net.add(a, b);
  const Graph graph = net.finish({net.conv_2d(sum, {.channels = 2})}).value();
  const LiteRtArena arena = LiteRtPlanner(graph).plan();
  const auto* block = block_of(arena, sum);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->shares, a);
  EXPECT_EQ(block->offset, block_of(arena, a)->offset);
}

TEST(LiteRtArena, AReadTwiceInputIsNotWrittenOver) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto a = net.conv_2d(x, {.channels = 16});
  const auto sum = net.add(a, a);
  const Graph graph = net.finish({net.conv_2d(sum, {.channels = 2})}).value();
  const LiteRtArena arena = LiteRtPlanner(graph).plan();
  EXPECT_EQ(block_of(arena, sum)->shares, kNoTensor);
}

TEST(LiteRtArena, AReshapeOfAGraphInputHasAPlaceOfItsOwn) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto flat = net.reshape(x, {1, 256});
  const Graph graph = net.finish({net.fully_connected(flat, {.units = 3})}).value();
  const LiteRtArena arena = LiteRtPlanner(graph).plan();
  EXPECT_EQ(block_of(arena, flat)->shares, kNoTensor);
  EXPECT_EQ(arena.arena_bytes, 256 + 256 + 3);
}

TEST(LiteRtArena, AnOutputThatNobodyReadsStaysToTheEnd) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto unused = net.conv_2d(x, {.channels = 16});
  auto y = net.conv_2d(x, {.channels = 8});
  for (int i = 0; i < 3; ++i) y = net.conv_2d(y, {.channels = 8});
  const Graph graph = net.finish({y}).value();
  const LiteRtArena arena = LiteRtPlanner(graph).plan();
  EXPECT_EQ(block_of(arena, unused)->last, static_cast<int32_t>(graph.main().operators.size()) - 1);
}

TEST(LiteRtArena, ConstantsAreNotInIt) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 64});
  const Graph graph = net.finish({net.fully_connected(x, {.units = 1000})}).value();
  EXPECT_EQ(LiteRtPlanner(graph).plan().total_bytes(), 64 + 1000);
}

TEST(LiteRtArena, AnUnknownKernelIsNamed) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  Tensor tensor;
  tensor.type = DataType::kInt8;
  tensor.shape = {100};
  subgraph.tensors = {tensor, tensor};
  Operator op;
  op.kind = OpKind::kCustom;
  op.custom_code = "Mine";
  op.inputs = {0};
  op.outputs = {1};
  subgraph.operators = {op};
  subgraph.inputs = {0};
  subgraph.outputs = {1};
  const LiteRtPlanner planner(graph);
  EXPECT_EQ(planner.plan().arena_bytes, 128 + 100);
  ASSERT_EQ(planner.memory().not_counted.size(), 1U);
  EXPECT_NE(planner.memory().not_counted[0].find("CUSTOM"), std::string::npos);
}

TEST(LiteRtArena, StringsAndEmptyGraphsAreNoFault) {
  Graph graph;
  EXPECT_EQ(LiteRtPlanner(graph).plan().total_bytes(), 0);
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  EXPECT_EQ(LiteRtPlanner(graph).plan().total_bytes(), 0);
  Tensor tensor;
  tensor.type = DataType::kString;
  tensor.shape = {3};
  subgraph.tensors = {tensor};
  subgraph.inputs = subgraph.outputs = {0};
  const LiteRtPlanner planner(graph);
  EXPECT_EQ(planner.plan().total_bytes(), 0);
  EXPECT_FALSE(planner.memory().not_counted.empty());
}

TEST(LiteRtArena, WithoutKernelBuffersItHoldsAtLeastWhatIsAlive) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    GraphBuilder net = int8_builder();
    Rng rng(seed);
    auto x = net.input("x", {1, 16, 16, 3});
    auto skip = x;
    for (int64_t i = rng.integer(2, 12); i > 0; --i) {
      x = net.conv_2d(x, {.channels = rng.integer(1, 40), .kernel_h = 3, .kernel_w = 3});
      if (rng.chance(0.3) && net.shape(x) == net.shape(skip)) x = net.add(x, skip);
      if (rng.chance(0.5)) skip = x;
    }
    const Graph graph = net.finish({x}).value();
    const LiteRtArena arena = LiteRtPlanner(graph).plan();
    EXPECT_GE(arena.arena_bytes, liveness(graph).peak_bytes);
    EXPECT_GE(arena.arena_bytes, arena.activations_bytes);
    const ArenaPeak peak = arena_peak(arena, graph.main().operators.size());
    EXPECT_LE(peak.live_bytes, arena.arena_bytes);
    EXPECT_GE(peak.step, 0);
  }
}

// Two branches that grow before they shrink: one after the other is better than side by side.
TEST(LiteRtSavings, FindsABetterOrder) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 16, 16, 4});
  std::vector<GraphBuilder::Id> wide, narrow;
  for (int i = 0; i < 3; ++i) wide.push_back(net.conv_2d(x, {.channels = 64}));
  for (const auto branch : wide) narrow.push_back(net.conv_2d(branch, {.channels = 2}));
  const Graph graph = net.finish({net.concatenation(narrow, 3)}).value();
  const LiteRtPlanner planner(graph);
  const LiteRtArena arena = planner.plan();
  const auto savings = litert_savings(graph, planner, arena);
  const auto order = std::ranges::find_if(
      savings, [](const LiteRtSaving& saving) { return !saving.order.empty(); });
  ASSERT_NE(order, savings.end());
  EXPECT_LT(order->arena_bytes, arena.arena_bytes / 2);
  EXPECT_EQ(planner.plan({.order = order->order}).arena_bytes, order->arena_bytes);
  std::vector<int32_t> sorted = order->order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<int32_t>(i));
}

TEST(LiteRtSavings, EveryLineIsAPlanThatCanBeMadeAgain) {
  GraphBuilder net = int8_builder();
  auto x = net.input("x", {1, 32, 32, 3});
  x = net.conv_2d(x, {.channels = 8, .kernel_h = 3, .kernel_w = 3});
  x = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
  const Graph graph = net.finish({x}).value();
  const LiteRtPlanner planner(graph);
  const LiteRtArena arena = planner.plan();
  const auto savings = litert_savings(graph, planner, arena);
  ASSERT_FALSE(savings.empty());
  for (const LiteRtSaving& saving : savings) {
    EXPECT_LT(saving.arena_bytes, arena.arena_bytes);
    if (!saving.order.empty()) continue;
    LiteRtChange change;
    if (saving.block.tensor != kNoTensor)
      change.without_tensor = saving.block.tensor;
    else
      change.without_scratch_of = saving.block.op;
    EXPECT_EQ(planner.plan(change).arena_bytes, saving.arena_bytes);
  }
}

TEST(LiteRtArena, AHundredThousandOperatorsInAChainAreQuick) {
  Graph graph;
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  constexpr int32_t kOperators = 100'000;
  for (int32_t i = 0; i <= kOperators; ++i) {
    Tensor tensor;
    tensor.type = DataType::kInt8;
    tensor.shape = {64 + i % 5};
    subgraph.tensors.push_back(tensor);
  }
  for (int32_t i = 0; i < kOperators; ++i) {
    Operator op;
    op.kind = OpKind::kRelu;
    op.inputs = {i};
    op.outputs = {i + 1};
    subgraph.operators.push_back(op);
  }
  subgraph.inputs = {0};
  subgraph.outputs = {kOperators};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(LiteRtPlanner(graph).plan().arena_bytes, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace edgesage
