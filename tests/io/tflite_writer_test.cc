#include "src/io/tflite_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "tests/io/tflite_test_support.h"

namespace edgesage {
namespace {

using test::first_difference;
using test::read_bytes;
using test::small_convolution;

// Where in the file a constant's bytes stand.
size_t position(std::span<const std::byte> file, std::span<const std::byte> data) {
  return static_cast<size_t>(std::search(file.begin(), file.end(), data.begin(), data.end()) -
                             file.begin());
}

TEST(TfliteWriter, HandMadeGraphReadsBackTheSame) {
  const Graph graph = small_convolution();
  const auto bytes = write_tflite(graph);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  const auto back = read_bytes(*bytes);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(first_difference(graph, *back), "");
  EXPECT_EQ(back->format, "tflite");
  EXPECT_TRUE(back->warnings.empty());
}

TEST(TfliteWriter, PublishedModelsSurviveReadOwnUnmapWriteRead) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  for (const test::IndexedModel& model : test::tflite_models(*test::data_dir())) {
    SCOPED_TRACE(model.file);
    auto graph = read_model(model.path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    graph->own_buffers();
    const auto plain = write_tflite(*graph);
    ASSERT_TRUE(plain) << plain.error().to_string();
    const auto same = read_bytes(*plain);
    ASSERT_TRUE(same) << same.error().to_string();
    EXPECT_EQ(first_difference(*graph, *same), "");
    const auto shuffled = write_tflite(*graph, {.keep_names = false, .shuffle_buffers = 7});
    ASSERT_TRUE(shuffled) << shuffled.error().to_string();
    const auto nameless = read_bytes(*shuffled);
    ASSERT_TRUE(nameless) << nameless.error().to_string();
    EXPECT_EQ(first_difference(*graph, *nameless, {.names = false}), "");
    for (const Subgraph& subgraph : nameless->subgraphs)
      for (const Tensor& tensor : subgraph.tensors) EXPECT_EQ(tensor.name, "");
  }
}

TEST(TfliteWriter, SameGraphGivesSameBytes) {
  const Graph graph = small_convolution();
  EXPECT_EQ(*write_tflite(graph), *write_tflite(graph));
  const TfliteWriteOptions seeded{.keep_names = true, .shuffle_buffers = 3};
  EXPECT_EQ(*write_tflite(graph, seeded), *write_tflite(graph, seeded));
}

TEST(TfliteWriter, ConstantsAreAlignedAndBufferZeroIsEmpty) {
  const Graph graph = small_convolution();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto bytes = write_tflite(graph, {.keep_names = seed % 2 == 0, .shuffle_buffers = seed});
    ASSERT_TRUE(bytes);
    for (const Buffer& buffer : graph.buffers) {
      const size_t at = position(*bytes, buffer.data);
      ASSERT_LT(at, bytes->size());
      EXPECT_EQ(at % 16, 0U);
    }
    const auto back = read_bytes(*bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->buffers.size(), 3U);
    EXPECT_TRUE(back->buffers.front().data.empty());
  }
}

TEST(TfliteWriter, SharedConstantsStaySharedAndUnusedOnesGo) {
  Graph graph = small_convolution();
  graph.buffers.push_back(make_buffer({}));
  graph.buffers.push_back(make_buffer(std::as_bytes(std::span("never referred to"))));
  graph.main().tensors.push_back(graph.main().tensors[1]);
  const auto back = read_bytes(*write_tflite(graph));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->main().tensors[4].buffer, back->main().tensors[1].buffer);
  EXPECT_EQ(back->buffers.size(), 3U);
}

TEST(TfliteWriter, ConstantsWithoutElementsStayConstants) {
  Graph graph = small_convolution();
  graph.buffers.push_back(make_buffer({}));
  Tensor scalar_shape;
  scalar_shape.type = DataType::kInt32;
  scalar_shape.shape = {0};
  scalar_shape.buffer = 2;
  graph.main().tensors.push_back(scalar_shape);
  const auto back = read_bytes(*write_tflite(graph));
  ASSERT_TRUE(back);
  EXPECT_EQ(first_difference(graph, *back), "");
  EXPECT_EQ(constant_ints(*back, back->main().tensors[4]), std::vector<int64_t>{});
}

TEST(TfliteWriter, EveryKindOfOperatorKeepsItsCode) {
  Graph graph = small_convolution();
  graph.main().operators.clear();
  for (const OpInfo& info : op_table()) {
    for (int copy = 0; copy < 2; ++copy) {
      Operator& op = graph.main().operators.emplace_back();
      op.kind = info.kind;
      op.inputs = {0, kNoTensor};
      op.outputs = {3};
      op.version = 2;
      if (op.kind == OpKind::kCustom) op.custom_code = copy == 0 ? "first" : "second";
    }
  }
  const auto back = read_bytes(*write_tflite(graph));
  ASSERT_TRUE(back) << back.error().to_string();
  ASSERT_EQ(back->main().operators.size(), 420U);
  for (size_t i = 0; i < 420; ++i) {
    EXPECT_EQ(back->main().operators[i].kind, graph.main().operators[i].kind) << i;
    EXPECT_EQ(back->main().operators[i].custom_code, graph.main().operators[i].custom_code) << i;
  }
}

TEST(TfliteWriter, RareTensorFieldsSurvive) {
  Graph graph = small_convolution();
  std::vector<Tensor>& tensors = graph.main().tensors;
  tensors[0].shape_signature = {-1, 4, 4, 2};
  tensors[0].quantization.min = {-1.0F};
  tensors[0].quantization.max = {2.0F};
  Tensor variant;
  variant.type = DataType::kVariant;
  variant.shape = {};
  variant.variant_tensors.resize(2);
  variant.variant_tensors[0].shape = {2, 3};
  variant.variant_tensors[1].type = DataType::kInt64;
  variant.variant_tensors[1].has_rank = false;
  Tensor variable;
  variable.shape = {5};
  variable.is_variable = true;
  Tensor unranked;
  unranked.has_rank = false;
  Tensor blocks;
  blocks.type = DataType::kInt4;
  blocks.shape = {32};
  blocks.quantization.block_scales = 2;
  blocks.quantization.block_size = 32;
  blocks.quantization.block_shape = {1, 32};
  Tensor axes = blocks;
  axes.quantization.block_shape.clear();
  axes.quantization.block_axes = {0, 1};
  axes.quantization.block_zero_points = 1;
  Tensor custom;
  custom.shape = {1};
  custom.quantization.custom = {std::byte{1}, std::byte{255}};
  Tensor sparse;
  sparse.type = DataType::kInt8;
  sparse.shape = {4, 4};
  sparse.buffer = 0;
  sparse.sparsity = Sparsity{{0, 1},
                             {},
                             {{false, 4, {}, {}, 0, 0},
                              {true, 4, {0, 2, 5, 5, 6}, {0, 300}, 1, 2},
                              {true, 2, {0, 70000}, {1}, 4, 1}}};
  for (Tensor* tensor : {&variant, &variable, &unranked, &blocks, &axes, &custom, &sparse})
    tensors.push_back(*tensor);
  const auto bytes = write_tflite(graph);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  const auto back = read_bytes(*bytes);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(first_difference(graph, *back), "");
}

TEST(TfliteWriter, SignaturesMetadataAndCustomOptionsSurvive) {
  Graph graph = small_convolution();
  graph.buffers.push_back(make_buffer(std::as_bytes(std::span("1.5.0"))));
  graph.metadata = {{"min_runtime_version", 2}};
  graph.signatures = {{"serving_default", 0, {{"image", 0}}, {{"classes", 3}}}};
  Operator& op = graph.main().operators.emplace_back();
  op.kind = OpKind::kCustom;
  op.custom_code = "ethos-u";
  op.custom_options = {std::byte{7}, std::byte{0}, std::byte{9}};
  op.mutating_variable_inputs = {0, 1};
  op.inputs = {0, kNoTensor};
  op.outputs = {3};
  op.intermediates = {1, kNoTensor};
  const auto back = read_bytes(*write_tflite(graph, {.keep_names = false, .shuffle_buffers = 11}));
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(first_difference(graph, *back, {.names = false}), "");
}

struct Refusal {
  const char* name;
  ErrorCode code;
  const char* says;
  void (*spoil)(Graph&);
};

class TfliteWriterRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(TfliteWriterRefusal, NamesThePlace) {
  Graph graph = small_convolution();
  GetParam().spoil(graph);
  const auto bytes = write_tflite(graph);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, GetParam().code);
  EXPECT_NE(bytes.error().to_string().find(GetParam().says), std::string::npos)
      << bytes.error().to_string();
}

const Refusal kRefusals[] = {
    {"UnknownOptions", ErrorCode::kUnsupported, "operator 0 (CONV_2D)",
     [](Graph& g) { g.main().operators[0].has_unknown_options = true; }},
    {"UnknownKind", ErrorCode::kUnsupported, "operator 0 (UNKNOWN)",
     [](Graph& g) { g.main().operators[0].kind = OpKind::kUnknown; }},
    {"UnknownType", ErrorCode::kUnsupported, "tensor 0",
     [](Graph& g) { g.main().tensors[0].type = DataType::kUnknown; }},
    {"InputIndex", ErrorCode::kInvalidArgument, "names tensor 4",
     [](Graph& g) { g.main().operators[0].inputs[1] = 4; }},
    {"GraphInput", ErrorCode::kInvalidArgument, "subgraph 0, inputs",
     [](Graph& g) { g.main().inputs[0] = -1; }},
    {"BufferIndex", ErrorCode::kInvalidArgument, "names buffer 9",
     [](Graph& g) { g.main().tensors[1].buffer = 9; }},
    {"ShortConstant", ErrorCode::kInvalidArgument, "shape and type need 600",
     [](Graph& g) {
       g.main().tensors[1].shape = {300, 1, 1, 2};
     }},
    {"ConstantWithoutData", ErrorCode::kUnsupported, "tensor 2",
     [](Graph& g) { g.buffers[1] = {}; }},
    {"HugeDimension", ErrorCode::kInvalidArgument, "shape: 4294967296",
     [](Graph& g) { g.main().tensors[0].shape[1] = int64_t{1} << 32; }},
    {"AttributeName", ErrorCode::kInvalidArgument, "stride_x",
     [](Graph& g) { g.main().operators[0].set("stride_x", int64_t{1}); }},
    {"AttributeOfKindWithoutOptions", ErrorCode::kInvalidArgument, "'padding'",
     [](Graph& g) { g.main().operators[0].kind = OpKind::kRelu; }},
    {"AttributeType", ErrorCode::kInvalidArgument, "padding",
     [](Graph& g) { g.main().operators[0].set("padding", std::string("SAME")); }},
    {"AttributeRange", ErrorCode::kInvalidArgument, "padding",
     [](Graph& g) { g.main().operators[0].set("padding", int64_t{200}); }},
    {"AttributeTwice", ErrorCode::kInvalidArgument, "twice",
     [](Graph& g) {
       g.main().operators[0].attributes.push_back({"padding", int64_t{0}});
     }},
    {"SignatureSubgraph", ErrorCode::kInvalidArgument, "subgraph 1",
     [](Graph& g) {
       g.signatures = {{"key", 1, {}, {}}};
     }},
    {"SignatureTensor", ErrorCode::kInvalidArgument, "'port'",
     [](Graph& g) {
       g.signatures = {{"key", 0, {{"port", -1}}, {}}};
     }},
    {"BlockScales", ErrorCode::kInvalidArgument, "block scales",
     [](Graph& g) { g.main().tensors[0].quantization.block_scales = 77; }},
    {"SparseWidth", ErrorCode::kInvalidArgument, "3",
     [](Graph& g) {
       g.main().tensors[1].sparsity = Sparsity{{}, {}, {{true, 1, {0}, {0}, 3, 1}}};
     }},
};
INSTANTIATE_TEST_SUITE_P(All, TfliteWriterRefusal, testing::ValuesIn(kRefusals),
                         [](const auto& test_info) { return std::string(test_info.param.name); });

TEST(TfliteWriter, RefusesMoreThanTwoGigabytes) {
  Graph graph = small_convolution();
  const auto chunk = std::make_shared<std::vector<std::byte>>(1 << 20);
  for (int i = 0; i < 2100; ++i) {  // one piece of memory under many names
    Tensor tensor;
    tensor.type = DataType::kInt8;
    tensor.shape = {1 << 20};
    tensor.buffer = static_cast<int32_t>(graph.buffers.size());
    graph.buffers.push_back({*chunk, chunk});
    graph.main().tensors.push_back(tensor);
  }
  const auto bytes = write_tflite(graph);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(bytes.error().message.find("2 GB"), std::string::npos);
}

TEST(TfliteWriter, WritesAGraphWithoutSubgraphs) {
  const auto back = read_bytes(*write_tflite(Graph{}));
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_TRUE(back->subgraphs.empty());
}

}  // namespace
}  // namespace edgesage
