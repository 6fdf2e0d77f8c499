#include "src/io/tflite_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <numeric>

#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "tests/io/tflite_test_support.h"
#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;
using test::read_bytes;

// "code:count;..." in the order of the codes, as index.csv has it.
std::string opset(const Graph& graph) {
  std::map<int, int> counts;
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Operator& op : subgraph.operators) ++counts[static_cast<int>(op.kind)];
  std::string text;
  for (const auto& [code, count] : counts)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ";", code, count);
  return text;
}

TEST(TfliteReader, CountsOfPublishedModelsAreThoseOfTheIndex) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  const auto models = test::tflite_models(*test::data_dir());
  EXPECT_EQ(models.size(), 144U);
  for (const test::IndexedModel& model : models) {
    SCOPED_TRACE(model.file);
    const auto graph = read_model(model.path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    size_t tensors = 0;
    size_t operators = 0;
    for (const Subgraph& subgraph : graph->subgraphs) {
      tensors += subgraph.tensors.size();
      operators += subgraph.operators.size();
    }
    EXPECT_EQ(std::ssize(graph->subgraphs), model.subgraphs);
    EXPECT_EQ(static_cast<int64_t>(tensors), model.tensors);
    EXPECT_EQ(static_cast<int64_t>(operators), model.operators);
    EXPECT_EQ(opset(*graph), model.opset);
  }
}

TEST(TfliteReader, ModelWithoutSubgraphsIsReadWithAWarning) {
  const auto graph = read_bytes(*write_tflite(Graph{}));
  ASSERT_TRUE(graph);
  EXPECT_TRUE(graph->subgraphs.empty());
  ASSERT_EQ(graph->warnings.size(), 1U);
  EXPECT_NE(graph->warnings[0].find("no subgraphs"), std::string::npos);
}

TEST(TfliteReader, ConstantsAreMappedNotCopied) {
  const test::TempDir dir;
  const std::filesystem::path path = dir.path() / "m";
  ASSERT_TRUE(write_file(path, *write_tflite(test::small_convolution())));
  auto file = MappedFile::open(path, ErrorCode::kBadModel);
  ASSERT_TRUE(file);
  const std::weak_ptr<const MappedFile> mapping = *file;
  auto graph = read_tflite(std::move(*file), "m");
  ASSERT_TRUE(graph);
  EXPECT_FALSE(mapping.expired());
  const std::span<const std::byte> map = mapping.lock()->bytes();
  const std::span<const std::byte> data = graph->constant(graph->main().tensors[1]);
  EXPECT_GE(data.data(), map.data());
  EXPECT_LE(data.data() + data.size(), map.data() + map.size());
  graph->own_buffers();
  EXPECT_TRUE(mapping.expired());
  EXPECT_EQ(test::first_difference(test::small_convolution(), *graph), "");
}

// Models that no honest writer makes.
struct RawOperator {
  int8_t old_code = 0;
  int32_t code = 0;
  tflite::BuiltinOptions options_type = tflite::BuiltinOptions::NONE;
  std::string custom_code;
};

std::vector<std::byte> finish(fb::FlatBufferBuilder& builder, fb::Offset<tflite::Model> model) {
  tflite::FinishModelBuffer(builder, model);
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {data, data + builder.GetSize()};
}

std::vector<std::byte> model_of_one_operator(const RawOperator& raw) {
  fb::FlatBufferBuilder builder;
  fb::Offset<fb::String> name;
  if (!raw.custom_code.empty()) name = builder.CreateString(raw.custom_code);
  const auto code = tflite::CreateOperatorCode(builder, raw.old_code, name, 1,
                                               static_cast<tflite::BuiltinOperator>(raw.code));
  const auto codes = builder.CreateVector(std::vector{code});
  const auto tensor = tflite::CreateTensor(builder);
  const auto tensors = builder.CreateVector(std::vector{tensor});
  fb::Offset<void> options;
  if (raw.options_type != tflite::BuiltinOptions::NONE)
    options = tflite::CreatePool2DOptions(builder, tflite::Padding::VALID, 2, 2, 3, 3).Union();
  const auto op = tflite::CreateOperator(builder, 0, 0, 0, raw.options_type, options);
  const auto operators = builder.CreateVector(std::vector{op});
  const auto subgraph = tflite::CreateSubGraph(builder, tensors, 0, 0, operators);
  const auto subgraphs = builder.CreateVector(std::vector{subgraph});
  return finish(builder, tflite::CreateModel(builder, 3, codes, subgraphs));
}

TEST(TfliteReader, OperatorCodeIsTheLargerOfTheTwoFields) {
  const std::tuple<int8_t, int32_t, OpKind> cases[] = {
      {int8_t{3}, 0, OpKind::kConv2D}, {int8_t{127}, 150, OpKind::kGelu},
      {int8_t{0}, 3, OpKind::kConv2D}, {int8_t{0}, 0, OpKind::kAdd},
      {int8_t{3}, 3, OpKind::kConv2D}, {int8_t{127}, 209, OpKind::kStablehloCase}};
  for (const auto& [old_code, code, kind] : cases) {
    const auto graph = read_bytes(model_of_one_operator({old_code, code}));
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->main().operators[0].kind, kind);
    EXPECT_EQ(graph->main().operators[0].custom_code, "");
  }
}

// What only the file's bytes know must not make another graph of it: it would have another hash
// than the file that is written of it.
TEST(TfliteReader, NamesOfBuiltinOperatorsArePassedOver) {
  RawOperator named{3, 3};
  named.custom_code = "TFLite_Detection_PostProcess";
  const auto graph = read_bytes(model_of_one_operator(named));
  const auto plain = read_bytes(model_of_one_operator({3, 3}));
  ASSERT_TRUE(graph && plain);
  EXPECT_EQ(graph->main().operators[0].custom_code, "");
  EXPECT_EQ(graph_hash(*graph), graph_hash(*plain));
  const auto again = read_bytes(*write_tflite(*graph));
  ASSERT_TRUE(again);
  EXPECT_EQ(graph_hash(*graph), graph_hash(*again));
  named.code = 32;
  EXPECT_EQ(read_bytes(model_of_one_operator(named))->main().operators[0].custom_code,
            named.custom_code);
}

TEST(TfliteReader, OperatorNewerThanThisVersionIsKeptAndNamed) {
  const auto graph =
      read_bytes(model_of_one_operator({127, 4711, tflite::BuiltinOptions::Pool2DOptions}));
  ASSERT_TRUE(graph);
  const Operator& op = graph->main().operators[0];
  EXPECT_EQ(op.kind, OpKind::kUnknown);
  EXPECT_EQ(op.custom_code, "BUILTIN_4711");
  EXPECT_TRUE(op.has_unknown_options);
  ASSERT_FALSE(graph->warnings.empty());
  EXPECT_NE(graph->warnings[0].find("4711"), std::string::npos);
}

TEST(TfliteReader, OptionsNewerThanThisVersionAreMarked) {
  const auto graph = read_bytes(model_of_one_operator({3, 3, tflite::BuiltinOptions{200}}));
  ASSERT_TRUE(graph);
  EXPECT_TRUE(graph->main().operators[0].has_unknown_options);
  EXPECT_FALSE(write_tflite(*graph));
}

TEST(TfliteReader, OptionsOfAnotherOperatorArePassedOverWithAWarning) {
  const auto graph =
      read_bytes(model_of_one_operator({3, 3, tflite::BuiltinOptions::Pool2DOptions}));
  ASSERT_TRUE(graph);
  const Operator& op = graph->main().operators[0];
  EXPECT_TRUE(op.attributes.empty());
  EXPECT_TRUE(op.omits_options);
  EXPECT_FALSE(op.has_unknown_options);
  ASSERT_EQ(graph->warnings.size(), 1U);
  EXPECT_NE(graph->warnings[0].find("Pool2DOptions"), std::string::npos);
}

TEST(TfliteReader, AbsentVectorsAreEmptyAndAbsentOptionsAreRemembered) {
  const auto graph = read_bytes(model_of_one_operator({}));
  ASSERT_TRUE(graph);
  const Operator& op = graph->main().operators[0];
  EXPECT_TRUE(op.inputs.empty() && op.outputs.empty() && op.attributes.empty());
  EXPECT_TRUE(op.omits_options);
  EXPECT_TRUE(graph->main().inputs.empty() && graph->buffers.empty());
  EXPECT_FALSE(graph->main().tensors[0].has_rank);
  EXPECT_FALSE(graph->main().tensors[0].is_constant());
}

// Like models over 2 GB: bytes of constants and of custom options behind the FlatBuffer.
std::vector<std::byte> model_with_data_outside(uint64_t offset, uint64_t size, bool custom) {
  fb::FlatBufferBuilder builder;
  const auto empty = tflite::CreateBuffer(builder);
  const auto outside = tflite::CreateBuffer(builder, 0, custom ? 1 : offset, custom ? 1 : size);
  const auto buffers = builder.CreateVector(std::vector{empty, outside});
  const auto shape = builder.CreateVector(std::vector<int32_t>{static_cast<int32_t>(size)});
  const auto tensor = tflite::CreateTensor(builder, shape, tflite::TensorType::INT8, 1);
  const auto tensors = builder.CreateVector(std::vector{tensor});
  const auto name = builder.CreateString("opaque");
  const auto code =
      tflite::CreateOperatorCode(builder, 32, name, 1, tflite::BuiltinOperator::CUSTOM);
  const auto codes = builder.CreateVector(std::vector{code});
  tflite::OperatorBuilder op_builder(builder);
  if (custom) {
    op_builder.add_large_custom_options_offset(offset);
    op_builder.add_large_custom_options_size(size);
  }
  const auto op = op_builder.Finish();
  const auto operators = builder.CreateVector(std::vector{op});
  const auto subgraph = tflite::CreateSubGraph(builder, tensors, 0, 0, operators);
  const auto subgraphs = builder.CreateVector(std::vector{subgraph});
  return finish(builder, tflite::CreateModel(builder, 3, codes, subgraphs, 0, buffers));
}

std::vector<std::byte> with_tail(std::vector<std::byte> bytes, std::string_view tail) {
  const auto added = std::as_bytes(std::span(tail));
  bytes.insert(bytes.end(), added.begin(), added.end());
  return bytes;
}

TEST(TfliteReader, BuffersByOffsetAreFoundBehindTheFlatBuffer) {
  const size_t at = model_with_data_outside(1000, 4, false).size();
  const auto graph = read_bytes(with_tail(model_with_data_outside(at, 4, false), "data"));
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto data = graph->constant(graph->main().tensors[0]);
  ASSERT_EQ(data.size(), 4U);
  EXPECT_EQ(data[0], std::byte{'d'});
  const auto inside = read_bytes(*write_tflite(*graph));
  ASSERT_TRUE(inside);
  EXPECT_EQ(test::first_difference(*graph, *inside), "");
}

TEST(TfliteReader, CustomOptionsByOffsetAreFoundBehindTheFlatBuffer) {
  const size_t at = model_with_data_outside(1000, 4, true).size();
  const auto graph = read_bytes(with_tail(model_with_data_outside(at, 4, true), "data"));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->main().operators[0].custom_options.size(), 4U);
  EXPECT_FALSE(graph->main().tensors[0].is_constant()) << "offset 1 is a placeholder";
}

TEST(TfliteReader, RangesBeyondTheFileAreRefusedWithTheirPlace) {
  for (const bool custom : {false, true}) {
    for (const auto& [offset, size] : {std::pair<uint64_t, uint64_t>{100, 1 << 20},
                                       {1 << 20, 1},
                                       {UINT64_MAX, 2},
                                       {2, UINT64_MAX}}) {
      const auto graph = read_bytes(model_with_data_outside(offset, size, custom));
      ASSERT_FALSE(graph);
      EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
      EXPECT_NE(graph.error().where.find(custom ? "operator 0" : "buffer 1"), std::string::npos);
    }
  }
}

std::vector<std::byte> model_with_external_data(int32_t elements, bool is_input) {
  fb::FlatBufferBuilder builder;
  const auto shape = builder.CreateVector(std::vector<int32_t>{elements});
  tflite::TensorBuilder tensor_builder(builder);
  tensor_builder.add_shape(shape);
  tensor_builder.add_external_buffer(1);
  const auto tensor = tensor_builder.Finish();
  const auto tensors = builder.CreateVector(std::vector{tensor});
  const auto inputs = builder.CreateVector(std::vector<int32_t>(is_input ? 1 : 0, 0));
  const auto subgraph = tflite::CreateSubGraph(builder, tensors, inputs);
  const auto subgraphs = builder.CreateVector(std::vector{subgraph});
  return finish(builder, tflite::CreateModel(builder, 3, 0, subgraphs));
}

TEST(TfliteReader, ExternalDataOfNoElementsMakeAConstantOnlyOfWhatNobodyGives) {
  for (const bool is_input : {false, true}) {
    const auto graph = read_bytes(model_with_external_data(0, is_input));
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph->main().tensors[0].is_constant(), !is_input);
    const auto again = read_bytes(*write_tflite(*graph));
    ASSERT_TRUE(again);
    EXPECT_EQ(graph_hash(*graph), graph_hash(*again));
  }
}

TEST(TfliteReader, ExternalDataIsAConstantWithoutBytes) {
  const auto graph = read_bytes(model_with_external_data(8, false));
  ASSERT_TRUE(graph);
  EXPECT_TRUE(graph->main().tensors[0].is_constant());
  EXPECT_TRUE(graph->constant(graph->main().tensors[0]).empty());
  ASSERT_EQ(graph->warnings.size(), 1U);
  EXPECT_NE(graph->warnings[0].find("another file"), std::string::npos);
  EXPECT_FALSE(write_tflite(*graph));
}

TEST(TfliteReader, ShapesAreToldApart) {
  Graph graph = test::small_convolution();
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, std::vector<int64_t>{0}, std::vector<int64_t>{1, 0, 3, 4}}) {
    Tensor tensor;
    tensor.shape = shape;
    graph.main().tensors.push_back(tensor);
  }
  Tensor unknown;
  unknown.has_rank = false;
  graph.main().tensors.push_back(unknown);
  const auto back = read_bytes(*write_tflite(graph));
  ASSERT_TRUE(back);
  const auto& tensors = back->main().tensors;
  EXPECT_TRUE(tensors[4].has_rank && tensors[4].element_count() == 1);
  EXPECT_TRUE(tensors[5].has_rank && tensors[5].element_count() == 0);
  EXPECT_EQ(tensors[6].shape, (std::vector<int64_t>{1, 0, 3, 4}));
  EXPECT_FALSE(tensors[7].has_rank);
}

TEST(TfliteReader, HundredThousandOperatorsAreNotTooMany) {
  constexpr int32_t kOperators = 100'000;
  Graph graph = test::small_convolution();
  Subgraph& subgraph = graph.main();
  const Tensor activation = subgraph.tensors[3];
  for (int32_t i = 0; i < kOperators; ++i) {
    Operator op;
    op.kind = OpKind::kMaxPool2D;
    op.inputs = {static_cast<int32_t>(subgraph.tensors.size()) - 1};
    op.outputs = {static_cast<int32_t>(subgraph.tensors.size())};
    op.attributes = {{"stride_w", int64_t{1}}, {"filter_width", int64_t{1 + i % 3}}};
    subgraph.operators.push_back(op);
    subgraph.tensors.push_back(activation);
  }
  const auto back = read_bytes(*write_tflite(graph));
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(test::first_difference(graph, *back), "");
}

TEST(TfliteReader, OneMegabyteTakesWellUnderAMillisecond) {
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
  GTEST_SKIP() << "timed in optimised builds only";
#endif
  Graph graph = test::small_convolution();
  const std::vector<std::byte> weights(10'000);
  for (int i = 0; i < 100; ++i) {  // 100 layers of 10 kB
    Tensor tensor = graph.main().tensors[1];
    tensor.shape = {100, 1, 1, 100};
    tensor.quantization.scale.assign(100, 0.5F);
    tensor.quantization.zero_point.assign(100, 0);
    tensor.buffer = static_cast<int32_t>(graph.buffers.size());
    graph.buffers.push_back(make_buffer(weights));
    graph.main().tensors.push_back(tensor);
    graph.main().operators.push_back(graph.main().operators[0]);
  }
  const test::TempDir dir;
  const std::filesystem::path path = dir.path() / "m";
  ASSERT_TRUE(write_file(path, *write_tflite(graph)));
  double best_ms = 1e9;
  for (int run = 0; run < 50; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const auto back = read_model(path);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(back);
    best_ms = std::min(best_ms, taken.count());
  }
  fmt::print("1 MB model read in {:.3f} ms\n", best_ms);
  EXPECT_LT(best_ms, 1.0);
}

}  // namespace
}  // namespace edgesage
