// Odd but readable models from public bug reports: what is said of them, and what it costs. Each
// test is named by the report's id; its comment says which kind of fault the file stands for.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/app/inspect.h"
#include "src/base/file.h"
#include "src/io/model_file.h"
#include "src/lower/control_flow.h"
#include "tests/io/odd_files.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

constexpr const char* kTargets[] = {"", "ethos-u55-128", "ethos-u85-256", "litert-xnnpack",
                                    "generic"};

// Inspected with every kind of target; the answer is that of the last one.
Result<Inspection> inspect_odd(const std::string& file, const ReadOptions& read = {},
                               bool strict = false) {
  const test::TempDir dir;
  const std::filesystem::path path = dir.path() / (file + ".tflite");
  EDGESAGE_RETURN_IF_ERROR(write_file(path, test::odd_file(file)));
  Result<Inspection> last;
  for (const char* target : kTargets) {
    app::InspectOptions options{{path.string()}, target, read, strict};
    last = app::inspect(options).front().result;
    if (!last) return last;
  }
  return last;
}

Inspection described(const std::string& file, const ReadOptions& read = {}) {
  auto inspection = inspect_odd(file, read);
  EXPECT_TRUE(inspection) << file << ": " << inspection.error().to_string();
  return inspection ? *std::move(inspection) : Inspection{};
}

Error refusal(const std::string& file, const ReadOptions& read = {}, bool strict = false) {
  const auto inspection = inspect_odd(file, read, strict);
  EXPECT_FALSE(inspection) << file;
  return inspection ? Error{} : inspection.error();
}

bool mentions(const std::vector<std::string>& texts, std::string_view word) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.find(word) != std::string::npos; });
}

testing::AssertionResult says(const Inspection& model, std::string_view word) {
  if (mentions(model.warnings, word)) return testing::AssertionSuccess();
  auto failure = testing::AssertionFailure() << "no warning with \"" << word << "\" among";
  for (const std::string& warning : model.warnings) failure << "\n  " << warning;
  return failure;
}

// Sizes that the file leaves open: named, with what is used instead and how to say another; the
// size given goes through the whole graph.
TEST(TfliteHostile, T01_OpenSizes) {
  const Inspection as_is = described("T01_open_sizes");
  EXPECT_EQ(as_is.macs, 12);
  EXPECT_TRUE(says(as_is, "[1,-1,-1,3]; all figures are for [1,1,1,3]: --shape image:1x1x1x3"));
  const Inspection sized = described("T01_open_sizes", {.shapes = {{"image", {1, 8, 8, 3}}}});
  EXPECT_EQ(sized.macs, 8 * 8 * 12);
  EXPECT_EQ(sized.memory.activations_bytes, 8 * 8 * 7);
  EXPECT_FALSE(mentions(sized.warnings, "open"));
  EXPECT_EQ(described("T01_open_sizes", {.batch = 5}).macs, 5 * 12);
  const Error unknown = refusal("T01_open_sizes", {.shapes = {{"picture", {1, 8, 8, 3}}}});
  EXPECT_EQ(unknown.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.message.find("image"), std::string::npos);
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{8, 8, 3}, {1, 0, 8, 3}, {1, -1, 8, 3}, {1, 1 << 30, 1 << 30, 3}})
    EXPECT_EQ(refusal("T01_open_sizes", {.shapes = {{"image", shape}}}).code,
              ErrorCode::kInvalidArgument);
}

// A constant of the file that holds for its own batch alone: explained, refused under --strict; one
// that stretches follows.
TEST(TfliteHostile, T02_ConstantTargets) {
  const Inspection model = described("T02_constant_target", {.batch = 8});
  EXPECT_TRUE(says(model, "operator 0 (RESHAPE): at the shapes given, [8,4,4,2] cannot become"));
  EXPECT_EQ(model.macs, 8 * 96);
  EXPECT_EQ(refusal("T02_constant_target", {.batch = 8}, true).code, ErrorCode::kUnsupported);
  EXPECT_TRUE(inspect_odd("T02_constant_target", {}, true));
  EXPECT_TRUE(inspect_odd("T02_stretching_target", {.batch = 8}, true));
  EXPECT_EQ(described("T02_stretching_target", {.batch = 8}).macs, 8 * 96);
}

// The operator's code is in either of two fields; the larger counts.
TEST(TfliteHostile, T03_CodesOfTwoFields) {
  EXPECT_EQ(described("T03_old_field").operators[0].code, 3);
  EXPECT_EQ(described("T03_new_field").operators[0].code, 150);
  EXPECT_EQ(described("T03_only_new").operators[0].code, 3);
  EXPECT_EQ(described("T03_both_absent").operators[0].kind, "ADD");
}

// Nothing to compute; vectors that are absent rather than empty; an input that is the output.
TEST(TfliteHostile, T09_NoOperators) {
  const Inspection model = described("T09_no_operators");
  EXPECT_EQ(model.macs, 0);
  EXPECT_TRUE(says(model, "nothing is computed"));
}

// Subgraphs that nothing refers to are not part of what runs.
TEST(TfliteHostile, T10_UnreferencedSubgraph) {
  const Inspection model = described("T10_empty_second");
  EXPECT_EQ(model.macs, 4 * 4 * 12);
  EXPECT_EQ(model.operators.size(), 1U);
  EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
}

// Operators that work by their effect and have no results.
TEST(TfliteHostile, T11_OperatorsWithoutResults) {
  const Inspection model = described("T11_no_outputs");
  ASSERT_EQ(model.operators.size(), 2U);
  EXPECT_TRUE(says(model, "CALL_ONCE"));
  EXPECT_EQ(model.macs, 0);
}

// Loops count their body as often as it runs, once with a warning where nobody says how often;
// branches count the larger side; a subgraph inside itself is found and stops nothing.
TEST(TfliteHostile, T12_ControlFlow) {
  constexpr int64_t kBody = 4 * 4 * 9;
  const Inspection once = described("T12_loop");
  EXPECT_EQ(once.macs, kBody);
  EXPECT_TRUE(says(once, "--trip-count"));
  const Inspection often = described("T12_loop", {.trip_count = 100});
  EXPECT_EQ(often.macs, 100 * kBody);
  ASSERT_TRUE(often.target.has_value());
  int64_t of_rows = 0;
  for (const InspectedRow& row : often.target->rows) {
    EXPECT_EQ(row.op, 0);
    of_rows += row.macs * row.repeat;
  }
  EXPECT_EQ(of_rows, often.macs);
  const Inspection nested = described("T12_nested", {.trip_count = 7});
  EXPECT_EQ(nested.macs, 7 * kBody);
  EXPECT_TRUE(says(nested, "the larger branch counts"));
  const Inspection recursive = described("T12_recursive", {.trip_count = 3});
  EXPECT_EQ(recursive.macs, 3 * kBody);
  EXPECT_TRUE(says(recursive, "contains itself"));
  EXPECT_EQ(refusal("T12_recursive", {}, true).code, ErrorCode::kUnsupported);
  EXPECT_TRUE(inspect_odd("T12_loop", {}, true));
}

// Composites cost what their decomposition does; results that nobody reads are said.
TEST(TfliteHostile, T13_Composites) {
  const Inspection model = described("T13_composites");
  EXPECT_EQ(model.macs, 2 * 4 * 4 * 9);
  EXPECT_EQ(model.operators[1].macs, 4 * 4 * 9);
  EXPECT_TRUE(says(model, "nothing reads the results of operator 1"));
}

// Elements of less than a byte are packed, the last byte not full.
TEST(TfliteHostile, T14_PackedWeights) {
  const Inspection model = described("T14_int4");
  EXPECT_EQ(model.parameters, 9);
  EXPECT_EQ(model.weights_bytes, 5);
  EXPECT_EQ(model.macs, 4 * 4 * 9);
}

// Networks compiled for one accelerator are one operator that cannot be seen into.
TEST(TfliteHostile, T17_CompiledForTheEdgeTpu) {
  const Inspection model = described("T17_edge_tpu");
  EXPECT_TRUE(says(model, "compiled for the Edge TPU"));
  EXPECT_EQ(model.operators[0].macs, std::nullopt);
  EXPECT_EQ(refusal("T17_edge_tpu", {}, true).code, ErrorCode::kUnsupported);
}

TEST(TfliteHostile, T18_CompiledByVela) {
  const Inspection model = described("T18_vela");
  EXPECT_TRUE(says(model, "already compiled by Vela 3.11.0"));
  EXPECT_EQ(refusal("T18_vela", {}, true).code, ErrorCode::kUnsupported);
}

// Custom operators that runtimes bring along; their results' shapes follow from their options.
TEST(TfliteHostile, T19_KnownCustomOperators) {
  const Inspection model = described("T19_detection");
  EXPECT_EQ(model.operators[0].outputs[0].shape, (std::vector<int64_t>{1, 10, 4}));
  EXPECT_EQ(model.operators[0].outputs[3].shape, (std::vector<int64_t>{1}));
  EXPECT_EQ(model.operators[0].macs, 0);
  EXPECT_TRUE(says(model, "known kernel"));
  EXPECT_TRUE(inspect_odd("T19_detection", {}, true));
}

// Operators of TensorFlow itself count as the builtin that computes the same.
TEST(TfliteHostile, T20_FlexOperators) {
  const Inspection model = described("T20_flex");
  EXPECT_EQ(model.operators[0].macs, 8 * 8 * 5 * 3 * 3 * 2);
  EXPECT_EQ(model.operators[1].macs, 0);
  EXPECT_EQ(model.operators[2].macs, std::nullopt);
  EXPECT_TRUE(says(model, "FlexConv2D is TensorFlow's operator Conv2D"));
  EXPECT_EQ(model.unsupported.size(), 1U);
  EXPECT_TRUE(mentions(model.unsupported, "FlexMystery"));
}

// Constants behind an operator that only unpacks them, once, when the model is loaded.
TEST(TfliteHostile, T22_HalfPrecisionWeights) {
  for (const char* target : {"litert-xnnpack", "generic"}) {
    const test::TempDir dir;
    const std::string path = (dir.path() / "m.tflite").string();
    ASSERT_TRUE(write_file(path, test::odd_file("T22_half_weights")));
    const auto model = app::inspect({{path}, target, {}, false}).front().result;
    ASSERT_TRUE(model) << model.error().to_string();
    EXPECT_EQ(model->macs, 4 * 4 * 12);
    EXPECT_EQ(model->weights_bytes, 12 * 2);
    EXPECT_EQ(model->parameters, 12);
    EXPECT_EQ(model->operators[0].placement, "folded");
    ASSERT_EQ(model->target->rows.size(), 1U) << target;
    EXPECT_EQ(model->target->rows[0].weights_bytes, 12 * 2);
  }
}

// No shape, a scalar, no elements, none in the middle.
TEST(TfliteHostile, T23_DegenerateShapes) {
  EXPECT_TRUE(says(described("T23_null"), "no shape"));
  EXPECT_EQ(described("T23_scalar").memory.activations_bytes, 2 * 4);
  EXPECT_EQ(described("T23_empty").memory.activations_bytes, 0);
}

TEST(TfliteHostile, T24_ResultsOfNoElements) {
  const Inspection model = described("T24_hollow");
  EXPECT_EQ(model.memory.activations_bytes, 0);
  EXPECT_EQ(model.operators[0].outputs[0].bytes, 0);
}

// Elements without a fixed size: accepted, and left out of the memory aloud.
TEST(TfliteHostile, T25_Strings) {
  const Inspection model = described("T25_strings");
  EXPECT_TRUE(says(model, "no fixed size"));
  EXPECT_EQ(model.operators[0].inputs[0].bytes, std::nullopt);
  EXPECT_EQ(model.memory.unknown.size(), 2U);
}

// Every element type of the format has its size; one that does not exist is said and refused under
// --strict.
TEST(TfliteHostile, T26_ElementTypes) {
  const Inspection model = described("T26_types");
  const auto bytes_of = [&](DataType type) {
    return model.operators[0].inputs[static_cast<size_t>(type)].bytes;
  };
  EXPECT_EQ(bytes_of(DataType::kComplex64), 24);
  EXPECT_EQ(bytes_of(DataType::kUInt32), 12);
  EXPECT_EQ(bytes_of(DataType::kUInt16), 6);
  EXPECT_EQ(bytes_of(DataType::kBFloat16), 6);
  EXPECT_EQ(bytes_of(DataType::kInt4), 2);
  EXPECT_EQ(bytes_of(DataType::kResource), std::nullopt);
  EXPECT_EQ(bytes_of(DataType::kVariant), std::nullopt);
  EXPECT_TRUE(inspect_odd("T26_types", {}, true));
  EXPECT_TRUE(says(described("T26_unknown_type"), "element type"));
  EXPECT_EQ(refusal("T26_unknown_type", {}, true).code, ErrorCode::kUnsupported);
}

// Operands that are left out or come twice, options that are absent: the schema's defaults hold.
TEST(TfliteHostile, T28_LeftOutAndRepeatedOperands) {
  const Inspection model = described("T28_left_out");
  EXPECT_EQ(model.operators[0].inputs[2].index, -1);
  EXPECT_EQ(model.macs, 4 * 4 * 12);
  EXPECT_TRUE(model.warnings.empty()) << model.warnings.front();
}

// Shapes that cannot be: said with the operator, refused under --strict, never an assertion.
TEST(TfliteHostile, T29_ImpossibleShapes) {
  for (const char* file : {"T29_reshape", "T29_concatenation", "T29_split"}) {
    EXPECT_TRUE(says(described(file), "subgraph 0, operator 0")) << file;
    EXPECT_EQ(refusal(file, {}, true).code, ErrorCode::kUnsupported) << file;
  }
}

// A size in another order of dimensions than the model's is a clash with the weights, not 0 MACs.
TEST(TfliteHostile, T31_DimensionsInAnotherOrder) {
  EXPECT_EQ(described("T31_channels_first").macs, 8 * 8 * 12);
  EXPECT_EQ(described("T31_channels_first", {.shapes = {{"image", {1, 3, 4, 4}}}}).macs,
            4 * 4 * 12);
  const Error clash = refusal("T31_channels_first", {.shapes = {{"image", {1, 8, 8, 3}}}});
  EXPECT_EQ(clash.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(clash.to_string().find("operator 1 (CONV_2D)"), std::string::npos) << clash.to_string();
}

// What no runtime can prepare is refused when it is read, with the operator.
TEST(TfliteHostile, T32_WeightsThatDoNotFit) {
  const Error error = refusal("T32_wrong_product");
  EXPECT_EQ(error.code, ErrorCode::kBadModel);
  EXPECT_NE(error.to_string().find("operator 0 (FULLY_CONNECTED): weights [3,7]"),
            std::string::npos)
      << error.to_string();
}

// A model with several entries: the first, or the one that is named.
TEST(TfliteHostile, SignatureChoosesTheEntry) {
  const Inspection first = described("entries");
  EXPECT_EQ(first.macs, 4 * 4 * 12);
  EXPECT_TRUE(says(first, "--signature takes one: large"));
  const Inspection large = described("entries", {.signature = "large"});
  EXPECT_EQ(large.macs, 8 * 8 * 12);
  EXPECT_TRUE(large.warnings.empty());
  const Error unknown = refusal("entries", {.signature = "middle"});
  EXPECT_EQ(unknown.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.message.find("small, large"), std::string::npos);
}

// The published models fit their own shapes: nothing is refused or said that is not so.
TEST(TfliteHostile, PublishedModelsHaveNoShapeClash) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  int read = 0;
  for (const test::IndexedModel& model : test::indexed_models(*test::data_dir())) {
    if (model.kind != "tflite") continue;
    const auto graph = read_model(model.path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    for (const std::string& text : graph->unsupported) ADD_FAILURE() << model.file << ": " << text;
    ++read;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace edgesage
