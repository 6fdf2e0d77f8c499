// Damaged and malicious files: an error that names the place or a graph whose every index holds,
// and never a crash (the sanitizers watch).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/io/flatbuffer_damage.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "tests/io/tflite_test_support.h"
#include "tflite_generated.h"

namespace edgesage {
namespace {

namespace fb = flatbuffers;
using test::read_bytes;

// What users of a graph rely on without looking.
void expect_sound(const Graph& graph) {
  const auto is_tensor = [](const Subgraph& subgraph, int32_t index, bool optional) {
    return (optional && index == kNoTensor) ||
           (index >= 0 && static_cast<size_t>(index) < subgraph.tensors.size());
  };
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators)
      for (const auto* operands : {&op.inputs, &op.outputs, &op.intermediates})
        for (const int32_t index : *operands) ASSERT_TRUE(is_tensor(subgraph, index, true));
    for (const auto* ends : {&subgraph.inputs, &subgraph.outputs})
      for (const int32_t index : *ends) ASSERT_TRUE(is_tensor(subgraph, index, false));
    for (const Tensor& tensor : subgraph.tensors) {
      if (!tensor.is_constant()) continue;
      ASSERT_LT(static_cast<size_t>(tensor.buffer), graph.buffers.size());
      for (const std::byte byte : graph.constant(tensor)) ASSERT_LE(byte, std::byte{255});
    }
  }
  for (const Signature& signature : graph.signatures)
    ASSERT_LT(static_cast<size_t>(signature.subgraph), graph.subgraphs.size());
  for (const Metadata& entry : graph.metadata)
    ASSERT_LT(static_cast<size_t>(entry.buffer), graph.buffers.size());
}

// Reads, and writes what could be read: neither may crash.
void try_bytes(const std::filesystem::path& scratch, std::span<const std::byte> bytes) {
  ASSERT_TRUE(write_file(scratch, bytes));
  const auto graph = read_model(scratch);
  if (graph) {
    expect_sound(*graph);
    (void)write_tflite(*graph);
  } else {
    EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
    EXPECT_FALSE(graph.error().message.empty());
    EXPECT_EQ(graph.error().to_string().find('\n'), std::string::npos);
  }
}

std::vector<std::byte> small_real_file() {
  if (!test::data_dir()) return {};
  return test::file_bytes(*test::data_dir() / "models" /
                          "tflite/LiteRT/21e5f092_multi_signature_model.tflite");
}

TEST(TfliteHostile, EightBytesAreTruncated) {
  const auto graph = read_bytes(std::string_view("\x18\0\0\0TFL3", 8));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
  EXPECT_NE(graph.error().message.find("byte 24"), std::string::npos) << graph.error().message;
  EXPECT_NE(graph.error().message.find("8 bytes"), std::string::npos) << graph.error().message;
}

TEST(TfliteHostile, EveryTruncationNamesAnOffset) {
  const std::vector<std::byte> whole = small_real_file();
  EDGESAGE_REQUIRE(!whole.empty(), "the model files are not here (EDGESAGE_DATA_DIR)");
  const test::TempDir dir;
  size_t readable = 0;
  for (size_t length = 8; length < whole.size(); ++length) {
    ASSERT_TRUE(write_file(dir.path() / "m", std::span(whole).first(length)));
    const auto graph = read_model(dir.path() / "m");
    if (graph) {  // only bytes that nothing refers to were cut
      expect_sound(*graph);
      ++readable;
      continue;
    }
    EXPECT_NE(graph.error().message.find("byte"), std::string::npos) << graph.error().message;
  }
  EXPECT_LT(readable, 16U);
}

TEST(TfliteHostile, TruncatedRealFilesAreRefused) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  const test::TempDir dir;
  for (const test::IndexedModel& model : test::tflite_models(*test::data_dir())) {
    const std::vector<std::byte> whole = test::file_bytes(model.path);
    for (const size_t length : {whole.size() / 100, whole.size() / 2, whole.size() - 84})
      try_bytes(dir.path() / "m", std::span(whole).first(std::min(length, whole.size())));
  }
}

// Time-boxed: as many seeded mutants as fit, at least 200.
TEST(TfliteHostile, FlippedBytesDoNotCrash) {
  const std::vector<std::byte> hand_made = *write_tflite(test::small_convolution());
  std::vector<std::vector<std::byte>> sources = {hand_made};
  if (test::data_dir()) {
    const auto models = test::tflite_models(*test::data_dir());
    for (size_t i = 1; i < models.size(); i += 2) {  // odd rows may be mutated
      std::vector<std::byte> bytes = test::file_bytes(models[i].path);
      if (bytes.size() < 20'000) sources.push_back(std::move(bytes));
    }
  }
  const test::TempDir dir;
  Rng rng(99, "flips");
  const auto start = std::chrono::steady_clock::now();
  int mutants = 0;
  while (mutants < 200 || std::chrono::steady_clock::now() - start < std::chrono::seconds(2)) {
    std::vector<std::byte> bytes = rng.pick(sources);
    const int64_t flips = rng.integer(1, 6);
    for (int64_t i = 0; i < flips; ++i) {
      const auto at = static_cast<size_t>(rng.integer(8, std::ssize(bytes) - 1));
      const int64_t choice = rng.integer(0, 3);
      const int64_t value = choice == 0 ? 255 : choice == 1 ? 0 : rng.integer(0, 255);
      bytes[at] = static_cast<std::byte>(value);
    }
    try_bytes(dir.path() / "m", bytes);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "mutant " << mutants;
      break;
    }
    ++mutants;
  }
  fmt::print("{} mutants of {} files\n", mutants, sources.size());
}

// A model of one conv-like operator in which one thing is wrong.
struct Plan {
  uint32_t opcode_index = 0;
  int32_t input = 0;
  int32_t output = 1;
  int32_t graph_input = 0;
  int32_t graph_output = 1;
  uint32_t buffer = 0;
  uint32_t metadata_buffer = 0;
  uint32_t signature_subgraph = 0;
  uint32_t signature_tensor = 1;
  int32_t cond_subgraph = 0;
  int32_t body_subgraph = 0;
  int32_t code = static_cast<int32_t>(OpKind::kWhile);
  int32_t quantized_dimension = 0;
  size_t scales = 1;
  size_t constant_bytes = 4;
  int32_t block_scales = 0;
};

std::vector<std::byte> build(const Plan& plan) {
  fb::FlatBufferBuilder b;
  const auto empty = tflite::CreateBuffer(b);
  const auto data = b.CreateVector(std::vector<uint8_t>(plan.constant_bytes, 1));
  const auto full = tflite::CreateBuffer(b, data);
  const auto buffers = b.CreateVector(std::vector{empty, full});
  const auto code =
      tflite::CreateOperatorCode(b, static_cast<int8_t>(std::clamp(plan.code, -128, 127)), 0, 1,
                                 static_cast<tflite::BuiltinOperator>(plan.code));
  const auto codes = b.CreateVector(std::vector{code});
  const auto scale = b.CreateVector(std::vector<float>(plan.scales, 0.5F));
  const auto blocks = tflite::CreateBlockwiseQuantization(b, plan.block_scales, 0, 32);
  const auto quantization = tflite::CreateQuantizationParameters(
      b, 0, 0, scale, 0, tflite::QuantizationDetails::BlockwiseQuantization, blocks.Union(),
      plan.quantized_dimension);
  const auto shape = b.CreateVector(std::vector<int32_t>{4});
  const auto constant =
      tflite::CreateTensor(b, shape, tflite::TensorType::INT8, plan.buffer, 0, quantization);
  const auto plain = tflite::CreateTensor(b, shape, tflite::TensorType::INT8);
  const auto tensors = b.CreateVector(std::vector{plain, plain, constant});
  const auto inputs = b.CreateVector(std::vector<int32_t>{plan.input});
  const auto outputs = b.CreateVector(std::vector<int32_t>{plan.output});
  const auto loop = tflite::CreateWhileOptions(b, plan.cond_subgraph, plan.body_subgraph);
  const auto op = tflite::CreateOperator(b, plan.opcode_index, inputs, outputs,
                                         tflite::BuiltinOptions::WhileOptions, loop.Union());
  const auto operators = b.CreateVector(std::vector{op});
  const auto ins = b.CreateVector(std::vector<int32_t>{plan.graph_input});
  const auto outs = b.CreateVector(std::vector<int32_t>{plan.graph_output});
  const auto subgraph = tflite::CreateSubGraph(b, tensors, ins, outs, operators);
  const auto subgraphs = b.CreateVector(std::vector{subgraph});
  const auto metadata_entry = tflite::CreateMetadata(b, 0, plan.metadata_buffer);
  const auto metadata = b.CreateVector(std::vector{metadata_entry});
  const auto port = tflite::CreateTensorMap(b, 0, plan.signature_tensor);
  const auto ports = b.CreateVector(std::vector{port});
  const auto signature = tflite::CreateSignatureDef(b, ports, 0, 0, 0, plan.signature_subgraph);
  const auto signatures = b.CreateVector(std::vector{signature});
  tflite::FinishModelBuffer(
      b, tflite::CreateModel(b, 3, codes, subgraphs, 0, buffers, 0, metadata, signatures));
  const auto* bytes = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
  return {bytes, bytes + b.GetSize()};
}

struct BadIndex {
  const char* name;
  const char* place;
  void (*spoil)(Plan&);
};

constexpr BadIndex kBadIndexes[] = {
    {"OperatorCode", "subgraph 0, operator 0: opcode_index is 1",
     [](Plan& p) { p.opcode_index = 1; }},
    {"HugeOperatorCode", "operator 0", [](Plan& p) { p.opcode_index = UINT32_MAX; }},
    {"Input", "subgraph 0, operator 0, input 0: is tensor 3", [](Plan& p) { p.input = 3; }},
    {"NegativeInput", "input 0: is tensor -2", [](Plan& p) { p.input = -2; }},
    {"Output", "operator 0, output 0", [](Plan& p) { p.output = INT32_MAX; }},
    {"GraphInput", "subgraph 0, input 0: is tensor -1", [](Plan& p) { p.graph_input = -1; }},
    {"GraphOutput", "subgraph 0, output 0: is tensor 3", [](Plan& p) { p.graph_output = 3; }},
    {"Buffer", "subgraph 0, tensor 2, buffer: is 2", [](Plan& p) { p.buffer = 2; }},
    {"ShortConstant", "tensor 2, buffer: buffer 1 has 3 bytes",
     [](Plan& p) {
       p.buffer = 1;
       p.constant_bytes = 3;
     }},
    {"MetadataBuffer", "metadata 0: is buffer 2", [](Plan& p) { p.metadata_buffer = 2; }},
    {"SignatureSubgraph", "signature 0: is subgraph 1", [](Plan& p) { p.signature_subgraph = 1; }},
    {"SignatureTensor", "signature 0, input: '' is tensor 3",
     [](Plan& p) { p.signature_tensor = 3; }},
    {"CondSubgraph", "operator 0, cond_subgraph_index: is subgraph 1",
     [](Plan& p) { p.cond_subgraph = 1; }},
    {"BodySubgraph", "operator 0, body_subgraph_index: is subgraph -1",
     [](Plan& p) { p.body_subgraph = -1; }},
    {"NegativeCode", "operator code 0: is -5", [](Plan& p) { p.code = -5; }},
    {"Axis", "tensor 2, quantized_dimension: is 1",
     [](Plan& p) {
       p.scales = 4;
       p.quantized_dimension = 1;
     }},
    {"Channels", "tensor 2, scale: has 3 values for 4 channels", [](Plan& p) { p.scales = 3; }},
    {"BlockScales", "tensor 2, block scales: is tensor 7", [](Plan& p) { p.block_scales = 7; }},
};

class TfliteBadIndex : public testing::TestWithParam<BadIndex> {};

TEST_P(TfliteBadIndex, IsRefusedWithItsPlace) {
  Plan plan;
  ASSERT_TRUE(read_bytes(build(plan))) << read_bytes(build(plan)).error().to_string();
  GetParam().spoil(plan);
  const auto graph = read_bytes(build(plan));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
  EXPECT_NE(graph.error().to_string().find(GetParam().place), std::string::npos)
      << graph.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(All, TfliteBadIndex, testing::ValuesIn(kBadIndexes),
                         [](const auto& test_info) { return std::string(test_info.param.name); });

// 60,000 tables of 8 bytes that all share one vector of 60,000 numbers would unfold to 14 GB.
TEST(TfliteHostile, SharedVectorsDoNotUnfoldIntoGigabytes) {
  constexpr size_t kMany = 60'000;
  fb::FlatBufferBuilder b;
  const auto code = tflite::CreateOperatorCode(b);
  const auto codes = b.CreateVector(std::vector{code});
  const auto tensor = tflite::CreateTensor(b);
  const auto tensors = b.CreateVector(std::vector{tensor});
  const auto inputs = b.CreateVector(std::vector<int32_t>(kMany, 0));
  const auto op = tflite::CreateOperator(b, 0, inputs);
  const auto operators = b.CreateVector(std::vector(kMany, op));
  const auto subgraph = tflite::CreateSubGraph(b, tensors, 0, 0, operators);
  const auto subgraphs = b.CreateVector(std::vector{subgraph});
  tflite::FinishModelBuffer(b, tflite::CreateModel(b, 3, codes, subgraphs));
  const auto graph = read_bytes(std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize())));
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("shares its data"), std::string::npos)
      << graph.error().to_string();
}

TEST(TfliteHostile, MisalignedVectorIsRefused) {
  std::vector<std::byte> bytes = *write_tflite(test::small_convolution());
  // The root offset is read first of all; a root that is off by two cannot be aligned.
  bytes[0] = static_cast<std::byte>(static_cast<int>(bytes[0]) ^ 2);
  const auto graph = read_bytes(bytes);
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("aligned"), std::string::npos) << graph.error().message;
}

// Moves the target of an offset field by 4 bytes.
void shift_target(const fb::Table& table, fb::voffset_t slot) {
  auto* at = const_cast<uint8_t*>(table.GetAddressOf(slot));
  fb::WriteScalar(at, fb::ReadScalar<fb::uoffset_t>(at) + 4);
}

// The library's verifier lets these two pass: it looks at where the length stands.
TEST(TfliteHostile, MisalignedLongVectorsAreRefused) {
  Graph graph = test::small_convolution();
  Operator& slice = graph.main().operators.emplace_back();
  slice.kind = OpKind::kStablehloSlice;
  slice.attributes = {{"start_indices", std::vector<int64_t>{0, 0}}};
  const std::vector<std::byte> whole = *write_tflite(graph);
  for (const bool in_options : {false, true}) {
    std::vector<std::byte> bytes = whole;
    const auto& subgraph = *tflite::GetModel(bytes.data())->subgraphs()->Get(0);
    if (in_options)
      shift_target(
          *static_cast<const fb::Table*>(subgraph.operators()->Get(1)->builtin_options_2()),
          tflite::StablehloSliceOptions::VT_START_INDICES);
    else
      shift_target(reinterpret_cast<const fb::Table&>(*subgraph.tensors()->Get(0)->quantization()),
                   tflite::QuantizationParameters::VT_ZERO_POINT);
    const auto back = read_bytes(bytes);
    ASSERT_FALSE(back);
    EXPECT_NE(
        back.error().to_string().find(in_options ? "operator 1, start_indices" : "zero_point"),
        std::string::npos)
        << back.error().to_string();
    EXPECT_NE(back.error().message.find("aligned to 8"), std::string::npos);
  }
}

}  // namespace
}  // namespace edgesage
