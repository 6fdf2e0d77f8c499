#include "src/analysis/tflm_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "src/analysis/tflm_kernels.h"
#include "src/analysis/tflm_lifetimes.h"
#include "src/graph/builder.h"

// Every byte is compared with the runtime's own record in tests/cli/arena_test.py; here is what
// holds without it.
namespace edgesage {
namespace {

GraphBuilder int8_builder() {
  GraphBuilder::Options options;
  options.type = DataType::kInt8;
  return GraphBuilder(options);
}

Graph two_convolutions() {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 8, 8, 4});
  const auto y = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3});
  return net.finish({net.conv_2d(y, {.channels = 8})}).value();
}

// Operators of one kind in a chain, of tensors of `bytes` each.
Graph chain(OpKind kind, int32_t length, int64_t bytes, DataType type = DataType::kInt8) {
  Graph graph;
  graph.format = "tflite";
  Subgraph& subgraph = graph.subgraphs.emplace_back();
  for (int32_t i = 0; i <= length; ++i) {
    Tensor& tensor = subgraph.tensors.emplace_back();
    tensor.type = type;
    tensor.shape = {1, bytes};
  }
  for (int32_t i = 0; i < length; ++i) {
    Operator& op = subgraph.operators.emplace_back();
    op.kind = kind;
    op.inputs = {i};
    op.outputs = {i + 1};
  }
  subgraph.inputs = {0};
  subgraph.outputs = {length};
  return graph;
}

std::string refusal(const Graph& graph) {
  const auto arena = tflm_arena(graph, {TflmAbi::k32});
  return arena ? "" : arena.error().to_string();
}

TEST(TflmArena, ActivationsAreWhatLivesAtOnce) {
  const TflmArena arena = tflm_arena(two_convolutions(), {TflmAbi::k32}).value();
  EXPECT_EQ(arena.activations_bytes, 8 * 8 * (16 + 8));
  EXPECT_EQ(arena.scratch_bytes, 0) << "the reference kernels do not unfold";
  EXPECT_EQ(arena.total_bytes, arena.activations_bytes + arena.runtime_bytes);
}

TEST(TflmArena, AllocationsAddUpToTheTail) {
  for (const TflmAbi abi : {TflmAbi::k32, TflmAbi::k64}) {
    const TflmArena arena = tflm_arena(two_convolutions(), {abi}).value();
    int64_t used = 0, requested = 0;
    for (const TflmAllocation& one : arena.allocations) {
      used += one.used_bytes;
      requested += one.requested_bytes;
    }
    EXPECT_EQ(used, arena.runtime_bytes);
    EXPECT_LE(requested, used);
    EXPECT_EQ(arena.allocations[0].name, "TfLiteEvalTensor data");
    EXPECT_EQ(arena.allocations[0].requested_bytes, 7 * (abi == TflmAbi::k64 ? 24 : 12));
  }
}

// Added up by hand from the structures of a 32-bit build, each rounded as the allocator does.
TEST(TflmArena, TheTailOfOneActivationOn32Bits) {
  const TflmArena arena = tflm_arena(chain(OpKind::kRelu, 1, 100), {TflmAbi::k32}).value();
  EXPECT_EQ(arena.activations_bytes, 2 * 112);
  // Allocators 36 + 44 + 36 + 8, subgraph 8, tensors 2 x 12, node 32: 188. Kernel's data 28, which
  // ends at 224 (a multiple of 16). Input: pointer to 240, tensor to 272; output: to 288, 320.
  EXPECT_EQ(arena.runtime_bytes, 320);
}

TEST(TflmArena, PointersOfFourBytesNeedLess) {
  const TflmArena small = tflm_arena(two_convolutions(), {TflmAbi::k32}).value();
  const TflmArena large = tflm_arena(two_convolutions(), {TflmAbi::k64}).value();
  EXPECT_LT(small.runtime_bytes, large.runtime_bytes);
  EXPECT_EQ(small.activations_bytes, large.activations_bytes);
}

TEST(TflmArena, BuffersThatLiveTogetherDoNotOverlap) {
  const TflmArena arena = tflm_arena(two_convolutions(), {TflmAbi::k32}).value();
  for (const TflmBuffer& a : arena.buffers) {
    EXPECT_EQ(a.offset % 16, 0);
    for (const TflmBuffer& b : arena.buffers) {
      if (&a == &b || a.first_step > b.last_step || b.first_step > a.last_step) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    }
  }
}

TEST(TflmArena, ScratchBuffersLiveWhileTheirOperatorRuns) {
  GraphBuilder net = int8_builder();
  const auto x = net.input("x", {1, 4, 4, 8});
  const Graph graph = net.finish({net.transpose_conv(x, {.channels = 8})}).value();
  const TflmArena arena = tflm_arena(graph, {TflmAbi::k32}).value();
  const auto scratch = std::ranges::find(arena.buffers, kNoTensor, &TflmBuffer::tensor);
  ASSERT_NE(scratch, arena.buffers.end());
  EXPECT_EQ(scratch->bytes, 4 * 8 * 8 * 8) << "32-bit sums of the whole output";
  EXPECT_EQ(scratch->first_step, scratch->last_step);
  EXPECT_EQ(arena.scratch_bytes, scratch->bytes);
}

TEST(TflmArena, VariablesAreAtTheTail) {
  Graph graph = chain(OpKind::kRelu, 2, 1000);
  const int64_t before = tflm_arena(graph, {TflmAbi::k32})->runtime_bytes;
  Tensor state = graph.main().tensors[0];
  state.is_variable = true;
  graph.main().tensors.push_back(state);
  EXPECT_GE(tflm_arena(graph, {TflmAbi::k32})->runtime_bytes, before + 1000);
}

TEST(TflmArena, RefusalsNameTheOperatorAndWhatIsWrong) {
  EXPECT_NE(refusal(chain(OpKind::kTile, 3, 16)).find("operator 0 (TILE)"), std::string::npos);
  EXPECT_NE(refusal(chain(OpKind::kRelu, 1, 16, DataType::kUInt8)).find("does not take uint8"),
            std::string::npos);
  EXPECT_NE(refusal(chain(OpKind::kReshape, 1, 16, DataType::kString)).find("string"),
            std::string::npos);
  EXPECT_NE(refusal(chain(OpKind::kConv2D, 1, 16)).find("operator 0 (CONV_2D)"), std::string::npos);
  Graph open = chain(OpKind::kRelu, 1, 16);
  open.main().tensors[1].shape = {-1, 16};
  EXPECT_NE(refusal(open).find("no fixed shape"), std::string::npos);
  Graph custom = chain(OpKind::kCustom, 1, 16);
  custom.main().operators[0].custom_code = "MyOp";
  // Everything but what its kernel takes for itself is known.
  const TflmArena known = tflm_arena(custom, {TflmAbi::k32}).value();
  ASSERT_EQ(known.not_counted.size(), 1);
  EXPECT_NE(known.not_counted[0].find("operator 0 (MyOp)"), std::string::npos);
  EXPECT_EQ(known.activations_bytes, 32);
  EXPECT_GT(known.runtime_bytes, 0);
  EXPECT_NE(refusal(Graph{}).find("no subgraphs"), std::string::npos);
  EXPECT_NE(refusal(chain(OpKind::kRelu, 1, int64_t{1} << 40)).find("2 GB"), std::string::npos);
}

// Every kind of the table, with no operands at all and with operands that make no sense.
TEST(TflmArena, NonsenseIsRefusedNotRead) {
  for (int code = 0; code < 250; ++code) {
    const auto kind = static_cast<OpKind>(code);
    for (const size_t operands : {0, 1, 3, 24}) {
      Graph graph = chain(kind, 1, 4);
      Operator& op = graph.main().operators[0];
      op.inputs.assign(operands, 0);
      (void)tflm_arena(graph, {TflmAbi::k32});
      op.inputs.assign(operands, kNoTensor);
      op.outputs.clear();
      (void)tflm_arena(graph, {TflmAbi::k64});
      graph.main().tensors[0].shape.clear();
      op.inputs.assign(operands, 0);
      (void)tflm_arena(graph, {TflmAbi::k64});
    }
  }
}

TEST(TflmLifetimes, SubgraphsOfControlFlowAreStepsOfTheirCaller) {
  Graph graph = chain(OpKind::kRelu, 3, 16);
  graph.subgraphs.push_back(chain(OpKind::kRelu, 2, 16).main());
  Operator& call = graph.main().operators[1];
  call.kind = OpKind::kIf;
  call.set("then_subgraph_index", int64_t{1});
  call.set("else_subgraph_index", int64_t{1});
  const TflmLifetimes lifetimes = tflm_lifetimes(graph).value();
  // Steps: 1, then 2 with two entries of one and two operators each (3 to 8), then 9.
  EXPECT_EQ(lifetimes.steps, 10);
  EXPECT_EQ(lifetimes.operators[0][1].first, 2);
  EXPECT_EQ(lifetimes.operators[0][1].last, 8);
  EXPECT_EQ(lifetimes.tensors[1][0].first, 3);
  EXPECT_EQ(lifetimes.tensors[1][0].last, 7);
}

TEST(TflmLifetimes, SubgraphsThatCallEachOtherAreRefused) {
  Graph graph = chain(OpKind::kCallOnce, 2, 16);
  graph.main().operators[0].set("init_subgraph_index", int64_t{0});
  EXPECT_EQ(tflm_lifetimes(graph).error().code, ErrorCode::kUnsupported);
}

TEST(TflmArena, AHundredThousandOperatorsTakeLinearTime) {
  const Graph graph = chain(OpKind::kRelu, 100'000, 16);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(tflm_arena(graph, {TflmAbi::k32}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace edgesage
