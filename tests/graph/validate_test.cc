#include "src/graph/validate.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/builder.h"
#include "src/io/model_file.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

// CONV_2D, RELU, ADD.
Graph small_net() {
  GraphBuilder net({.name = "small", .fill = {}});
  const GraphBuilder::Id x = net.input("image", {1, 8, 8, 3});
  const GraphBuilder::Id y = net.conv_2d(x, {.channels = 3, .kernel_h = 3, .kernel_w = 3});
  return net.finish({net.add(x, net.relu(y))}).value();
}

struct Broken {
  const char* what;
  std::function<void(Graph&)> change;
  const char* where;
  const char* message;
};

TEST(Validate, NamesThePlaceOfEachFault) {
  ASSERT_TRUE(validate(small_net()));
  const std::vector<Broken> cases{
      {"input beyond tensors", [](Graph& g) { g.main().inputs = {99}; }, "subgraph 0", "tensor 99"},
      {"negative output", [](Graph& g) { g.main().outputs = {-1}; }, "subgraph 0", "tensor -1"},
      {"operand beyond tensors", [](Graph& g) { g.main().operators[1].inputs[0] = 77; },
       "operator 1 (RELU)", "tensor 77"},
      {"operand below -1", [](Graph& g) { g.main().operators[1].inputs[0] = -2; },
       "operator 1 (RELU)", "tensor -2"},
      {"two producers",
       [](Graph& g) { g.main().operators[1].outputs = g.main().operators[0].outputs; },
       "operator 1 (RELU)", "which operator 0 makes"},
      {"writes a constant",
       [](Graph& g) { g.main().operators[1].outputs = {g.main().operators[0].inputs[1]}; },
       "operator 1 (RELU)", "constant"},
      {"wrong order", [](Graph& g) { std::swap(g.main().operators[0], g.main().operators[1]); },
       "operator 0 (RELU)", "before any operator"},
      {"too few inputs", [](Graph& g) { g.main().operators[2].inputs.pop_back(); },
       "operator 2 (ADD)", "1 inputs; 2 are allowed"},
      {"no output", [](Graph& g) { g.main().operators[1].outputs.clear(); }, "operator 1 (RELU)",
       "0 outputs"},
      {"short constant",
       [](Graph& g) {
         const auto filter = static_cast<size_t>(g.main().operators[0].inputs[1]);
         g.main().tensors[filter].shape[0] = 4;
       },
       "tensor 1", "81 bytes for a constant whose shape and type need 108"},
      {"buffer beyond buffers",
       [](Graph& g) {
         const auto filter = static_cast<size_t>(g.main().operators[0].inputs[1]);
         g.main().tensors[filter].buffer = 55;
       },
       "tensor 1", "buffer 55"},
      {"output without producer", [](Graph& g) { g.main().operators.pop_back(); }, "subgraph 0",
       "made by no operator"},
      {"no subgraph", [](Graph& g) { g.subgraphs.clear(); }, "", "no subgraph"},
  };
  for (const Broken& broken : cases) {
    Graph graph = small_net();
    broken.change(graph);
    const Status status = validate(graph);
    ASSERT_FALSE(status) << broken.what;
    EXPECT_EQ(status.error().code, ErrorCode::kBadModel);
    EXPECT_NE(status.error().where.find(broken.where), std::string::npos)
        << broken.what << ": " << status.error().to_string();
    EXPECT_NE(status.error().message.find(broken.message), std::string::npos)
        << broken.what << ": " << status.error().to_string();
  }
}

TEST(Validate, TakesOptionalInputsAndVariables) {
  Graph graph = small_net();
  graph.main().operators[0].inputs[2] = kNoTensor;
  EXPECT_TRUE(validate(graph));
  const auto state = static_cast<int32_t>(graph.main().tensors.size());
  graph.main().tensors.emplace_back().is_variable = true;
  graph.main().operators[1].inputs[0] = state;
  EXPECT_TRUE(validate(graph));
}

TEST(Validate, AcceptsTheModelsThatOthersPublishedButThree) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data, "models of others; set EDGESAGE_DATA_DIR");
  // Made by their publishers to be odd.
  const std::map<std::string, std::string> odd{
      {"tflite/LiteRT/9a567fc4_blockwise_quantized.tflite", "before any operator makes it"},
      {"tflite/LiteRT/e6b3b3e8_0_subgraphs.bin", "no subgraph"},
      {"tflite/LiteRT/bd9ef310_add_shared_tensors.bin", "writes tensor 1 (input)"},
  };
  int accepted = 0;
  for (const test::IndexedModel& model : test::indexed_models(*data)) {
    if (model.kind != "tflite") continue;
    const Result<Graph> graph = read_model(model.path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    const Status status = validate(*graph);
    const std::string error = status ? "" : status.error().to_string();
    if (const auto expected = odd.find(model.file); expected != odd.end()) {
      EXPECT_NE(error.find(expected->second), std::string::npos) << model.file << ": " << error;
      continue;
    }
    EXPECT_TRUE(status) << model.file << ": " << error;
    ++accepted;
  }
  EXPECT_EQ(accepted, 141);
}

}  // namespace
}  // namespace edgesage
