#include "src/analysis/row_costs.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "src/graph/builder.h"
#include "src/io/model_file.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

// One operator on tensors of given shapes; constants have a buffer of their own.
class OneOperator {
 public:
  explicit OneOperator(OpKind kind) {
    graph_.subgraphs.emplace_back();
    op_.kind = kind;
  }
  OneOperator& input(std::vector<int64_t> shape, DataType type = DataType::kInt8) {
    op_.inputs.push_back(add(std::move(shape), type));
    return *this;
  }
  OneOperator& constant(std::vector<int64_t> shape, DataType type = DataType::kInt8) {
    op_.inputs.push_back(add(std::move(shape), type));
    Tensor& tensor = graph_.main().tensors.back();
    tensor.buffer = static_cast<int32_t>(graph_.buffers.size());
    graph_.buffers.push_back(
        make_buffer(std::vector<std::byte>(static_cast<size_t>(tensor.byte_size().value_or(0)))));
    return *this;
  }
  OneOperator& output(std::vector<int64_t> shape) {
    op_.outputs.push_back(add(std::move(shape), DataType::kInt8));
    return *this;
  }
  OneOperator& set(std::string_view name, int64_t value) {
    op_.set(name, value);
    return *this;
  }
  Graph graph() {
    graph_.main().operators.push_back(op_);
    return std::move(graph_);
  }
  int64_t macs() { return operator_macs(graph()).at(0); }

 private:
  int32_t add(std::vector<int64_t> shape, DataType type) {
    Tensor tensor;
    tensor.shape = std::move(shape);
    tensor.type = type;
    graph_.main().tensors.push_back(tensor);
    return static_cast<int32_t>(graph_.main().tensors.size()) - 1;
  }
  Graph graph_;
  Operator op_;
};

TEST(OperatorMacs, ConvolutionsCountTapsOfEachOutput) {
  EXPECT_EQ(OneOperator(OpKind::kConv2D)
                .input({2, 10, 12, 8})
                .constant({16, 3, 5, 8})
                .constant({16}, DataType::kInt32)
                .output({2, 5, 6, 16})
                .macs(),
            2 * 5 * 6 * 16 * 3 * 5 * 8);
  // Four groups: each output sees a quarter of the channels.
  EXPECT_EQ(OneOperator(OpKind::kConv2D)
                .input({1, 10, 10, 8})
                .constant({16, 3, 3, 2})
                .output({1, 10, 10, 16})
                .macs(),
            100 * 16 * 9 * 2);
  EXPECT_EQ(OneOperator(OpKind::kDepthwiseConv2D)
                .input({1, 10, 10, 8})
                .constant({1, 3, 3, 16})
                .output({1, 10, 10, 16})
                .macs(),
            100 * 16 * 9);
  EXPECT_EQ(OneOperator(OpKind::kTransposeConv)
                .constant({4}, DataType::kInt32)
                .constant({16, 3, 3, 8})
                .input({1, 10, 10, 8})
                .output({1, 20, 20, 16})
                .macs(),
            100 * 8 * 9 * 16);
  EXPECT_EQ(OneOperator(OpKind::kConv3D)
                .input({1, 4, 10, 10, 8})
                .constant({2, 3, 3, 8, 16})
                .output({1, 4, 10, 10, 16})
                .macs(),
            4 * 100 * 16 * 2 * 9 * 8);
}

TEST(OperatorMacs, MatricesCountRowsTimesColumnsTimesDepth) {
  EXPECT_EQ(OneOperator(OpKind::kFullyConnected)
                .input({3, 4, 32})
                .constant({10, 32})
                .output({3, 4, 10})
                .macs(),
            12 * 10 * 32);
  EXPECT_EQ(OneOperator(OpKind::kBatchMatmul)
                .input({2, 7, 32})
                .input({2, 32, 5})
                .output({2, 7, 5})
                .macs(),
            2 * 7 * 5 * 32);
  EXPECT_EQ(OneOperator(OpKind::kBatchMatmul)
                .input({2, 32, 7})
                .input({2, 32, 5})
                .output({2, 7, 5})
                .set("adj_x", 1)
                .macs(),
            2 * 7 * 5 * 32);
}

TEST(OperatorMacs, RecurrentCellsCountTheirMatricesOnceAStep) {
  OneOperator lstm(OpKind::kUnidirectionalSequenceLstm);
  lstm.input({2, 9, 10});  // batch, steps, features
  for (int gate = 0; gate < 4; ++gate) lstm.constant({20, 10});
  for (int gate = 0; gate < 4; ++gate) lstm.constant({20, 20});
  for (int gate = 0; gate < 4; ++gate) lstm.constant({20}, DataType::kInt32);
  EXPECT_EQ(lstm.output({2, 9, 20}).macs(), 2 * 9 * 4 * (20 * 10 + 20 * 20));
}

TEST(OperatorMacs, PoolingElementwiseAndUnknownOperatorsAddNothing) {
  EXPECT_EQ(OneOperator(OpKind::kAdd).input({1, 8}).input({1, 8}).output({1, 8}).macs(), 0);
  EXPECT_EQ(OneOperator(OpKind::kMean).input({1, 8, 8, 8}).output({1, 8}).macs(), 0);
  EXPECT_EQ(OneOperator(OpKind::kUnknown).input({1, 8}).output({1, 8}).macs(), 0);
  EXPECT_TRUE(operator_macs(Graph()).empty());
}

TEST(OperatorMacs, BodiesOfLoopsCountOnceAndRecursionEnds) {
  Graph graph = OneOperator(OpKind::kWhile).input({1, 8}).output({1, 8}).graph();
  Graph body =
      OneOperator(OpKind::kFullyConnected).input({1, 8}).constant({4, 8}).output({1, 4}).graph();
  graph.subgraphs.push_back(body.subgraphs[0]);
  graph.buffers = body.buffers;
  Operator& loop = graph.main().operators[0];
  loop.set("body_subgraph_index", int64_t{1});
  EXPECT_EQ(operator_macs(graph).at(0), 32);
  Operator again = loop;  // the body contains the loop itself
  graph.subgraphs[1].operators.push_back(again);
  EXPECT_EQ(operator_macs(graph).at(0), 32);
  loop.set("cond_subgraph_index", int64_t{7});  // not there
  EXPECT_EQ(operator_macs(graph).at(0), 32);
}

TEST(GraphTotals, ABufferUsedTwiceCountsOnceInWeightsAndTwiceInMacs) {
  Graph graph =
      OneOperator(OpKind::kFullyConnected).input({1, 8}).constant({8, 8}).output({1, 8}).graph();
  Operator second = graph.main().operators[0];
  graph.main().operators.push_back(second);
  const GraphTotals totals = graph_totals(graph);
  EXPECT_EQ(totals.macs, 128);
  EXPECT_EQ(totals.parameters, 64);
  EXPECT_EQ(totals.weights_bytes, 64);
}

TEST(GraphTotals, FourBitWeightsCountAsStoredAndShapesAreNoParameters) {
  const GraphTotals totals = graph_totals(OneOperator(OpKind::kFullyConnected)
                                              .input({1, 8})
                                              .constant({5, 8}, DataType::kInt4)
                                              .output({1, 5})
                                              .graph());
  EXPECT_EQ(totals.parameters, 40);
  EXPECT_EQ(totals.weights_bytes, 20);
  const GraphTotals shape = graph_totals(OneOperator(OpKind::kReshape)
                                             .input({1, 8})
                                             .constant({2}, DataType::kInt32)
                                             .output({2, 4})
                                             .graph());
  EXPECT_EQ(shape.parameters, 0);
  EXPECT_EQ(shape.weights_bytes, 8);
}

TEST(GraphTotals, MlperfTinyHasItsPublishedMacs) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  // Vela's count less its pooling; the first is also the figure of the benchmark's authors.
  const std::map<std::string, int64_t> expected = {
      {"2d6dd487", 12501632}, {"361fa1b1", 264192}, {"618aeb15", 2656768}, {"f0b01141", 7489664}};
  int seen = 0;
  for (const test::IndexedModel& model : test::indexed_models(*test::data_dir())) {
    const auto found = expected.find(model.path.filename().string().substr(0, 8));
    if (found == expected.end()) continue;
    const Result<Graph> graph = read_model(model.path);
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph_totals(*graph).macs, found->second) << model.file;
    ++seen;
  }
  EXPECT_EQ(seen, 4);
}

TEST(RowCosts, RowsOfOneOperatorEachCarryTheirShare) {
  GraphBuilder::Options options;
  options.type = DataType::kInt8;
  GraphBuilder net(options);
  auto x = net.input("x", {1, 16, 16, 8});
  x = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3});
  const auto y = net.conv_2d(x, {.channels = 16});
  const auto z = net.add(x, y);
  Result<Graph> graph = net.finish({z});
  ASSERT_TRUE(graph);
  for (const std::string& name : target_names()) {
    const Lowering lowering = lower(*graph, *target_from_name(name));
    const std::vector<RowCost> costs = row_costs(*graph, lowering);
    ASSERT_EQ(costs.size(), 3U);
    EXPECT_EQ(costs[0].macs, 256 * 16 * 72);
    EXPECT_EQ(costs[0].weights_bytes, 16 * 72 + 16 * 4);
    EXPECT_EQ(costs[0].ifm_bytes, 256 * 8);
    EXPECT_EQ(costs[0].ofm_bytes, 256 * 16);
    EXPECT_EQ(costs[2].ifm_bytes, 2 * 256 * 16);  // both operands
    EXPECT_EQ(costs[2].macs, 0);
    EXPECT_GT(costs[0].intensity(), 1.0);
    EXPECT_EQ(costs[2].intensity(), 0.0);
  }
}

}  // namespace
}  // namespace edgesage
