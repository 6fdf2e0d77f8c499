// Advice is worth what its own rewritten model is predicted to cost.
#include "src/app/advise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "src/app/advise_rewrites.h"
#include "src/app/match_operators.h"
#include "src/base/file.h"
#include "src/graph/builder.h"
#include "src/graph/validate.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/space.h"
#include "src/transform/refit.h"
#include "tests/support/run_program.h"
#include "tests/support/test_paths.h"

namespace edgesage::app {
namespace {

Context context_here() {
  Context context;
  context.places.source_dir = test::source_dir();
  context.device_directories = {test::source_dir() / "devices"};
  context.predictor_directories = {test::source_dir() / "predictors"};
  return context;
}

constexpr const char* kDevice = "ethos-u55-256";

class Advise : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "edgesage-advise";
    std::filesystem::create_directories(folder_ / "out");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path network(const std::string& name) {
    const auto parsed = NetworkName::parse(name);
    const auto graph = build_network(*parsed, {});
    const auto bytes = write_tflite(*graph);
    const std::filesystem::path file = folder_ / "model.tflite";
    EXPECT_TRUE(write_file(file, *bytes));
    return file;
  }

  std::filesystem::path folder_;
};

TEST_F(Advise, EveryGainIsThatOfTheModelItWrites) {
  int64_t told = 0;
  for (const char* name : {"mobile-classifier/1/3", "mobile-classifier/1/8", "keyword-sound/1/5",
                           "residual-classifier/1/2"}) {
    AdviseRequest request;
    request.predict.models = {network(name).string()};
    request.predict.devices = {kDevice};
    request.folder = folder_ / "out";
    const auto report = advise(context_here(), request);
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_GT(report->tried, 0);
    PredictRequest again;
    again.devices = {kDevice};
    for (const Advice& advice : report->advice) {
      ++told;
      again.models = {advice.file};
      const auto answers = predict_models(context_here(), again);
      ASSERT_TRUE(answers);
      ASSERT_TRUE(answers->front().result) << answers->front().result.error().to_string();
      const Prediction& prediction = *answers->front().result;
      EXPECT_EQ(advice.after.latency_ms, prediction.latency_ms->value) << advice.what;
      EXPECT_EQ(advice.after.peak_ram_bytes, prediction.peak_ram_bytes->value);
      EXPECT_EQ(advice.after.macs, prediction.macs);
      if (advice.topic == "memory") {
        EXPECT_LT(*advice.after.peak_ram_bytes, *report->before.peak_ram_bytes);
      } else if (advice.after.fallbacks == report->before.fallbacks) {
        EXPECT_LT(*advice.latency_change_ms(report->before), 0) << advice.what;
      }
    }
  }
  EXPECT_GT(told, 3);
}

TEST_F(Advise, FindsAWidthJustAboveAStep) {
  // The machine works in blocks of output channels.
  GraphBuilder net({.name = "stepped"});
  const auto image = net.input("image", {1, 32, 32, 32});
  const auto wide = net.conv_2d(image, {.channels = 33, .kernel_h = 3, .kernel_w = 3});
  const auto last = net.conv_2d(wide, {.channels = 32});
  const Graph graph = net.finish({last}).value();
  const auto bytes = write_tflite(graph);
  ASSERT_TRUE(bytes);
  const std::filesystem::path file = folder_ / "stepped.tflite";
  ASSERT_TRUE(write_file(file, *bytes));
  AdviseRequest request;
  request.predict.models = {file.string()};
  request.predict.devices = {kDevice};
  const auto report = advise(context_here(), request);
  ASSERT_TRUE(report) << report.error().to_string();
  bool found = false;
  for (const Advice& advice : report->advice)
    found = found || (advice.topic == "channels" &&
                      advice.what.find("32 channels instead of 33") != std::string::npos);
  EXPECT_TRUE(found);
}

Graph decoder(int64_t stride, DataType type) {
  GraphBuilder net({.name = "decoder", .type = type});
  auto x = net.conv_2d(net.input("image", {1, 8, 8, 16}), {.channels = 16});
  x = net.transpose_conv(
      x, {.channels = 8, .kernel = 4, .stride = stride, .activation = Activation::kRelu});
  x = net.transpose_conv(x, {.channels = 4, .kernel = 2, .stride = 2, .padding = Padding::kValid});
  return net.finish({x}).value();
}

TEST_F(Advise, TransposedConvolutionsBecomeAResizeAndAConvolutionThatRun) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    const Graph before = decoder(2, type);
    const std::vector<Rewrite> rewrites = operator_rewrites(before, {});
    ASSERT_EQ(rewrites.size(), 1u);
    EXPECT_NE(rewrites[0].what.find("(TRANSPOSE_CONV): RESIZE_NEAREST_NEIGHBOR and CONV_2D"),
              std::string::npos);
    Result<Graph> after = rewrites[0].make();
    ASSERT_TRUE(after) << after.error().to_string();
    remove_unused(*after);
    ASSERT_TRUE(validate(*after)) << validate(*after).error().to_string();
    std::vector<OpKind> kinds;
    for (const Operator& op : after->main().operators) kinds.push_back(op.kind);
    EXPECT_EQ(kinds,
              (std::vector<OpKind>{OpKind::kConv2D, OpKind::kResizeNearestNeighbor, OpKind::kConv2D,
                                   OpKind::kResizeNearestNeighbor, OpKind::kConv2D}));
    const auto shape_of = [](const Graph& graph) {
      return graph.main().tensors[static_cast<size_t>(graph.main().outputs[0])].shape;
    };
    EXPECT_EQ(shape_of(*after), shape_of(before));
    const auto bytes = write_tflite(*after);
    ASSERT_TRUE(bytes);
    ASSERT_TRUE(
        write_file(folder_ / "out" / (type == DataType::kInt8 ? "a.tflite" : "b.tflite"), *bytes));
  }
  EDGESAGE_REQUIRE(test::venv_python(), "LiteRT in .venv; run ./dev setup");
  const std::filesystem::path script = test::source_dir() / "tests/transform/run_litert.py";
  const test::ProgramOutcome run = test::run_program(
      fmt::format("'{}' '{}' '{}' 2> '{}'", test::venv_python()->string(), script.string(),
                  (folder_ / "out").string(), (folder_ / "errors.txt").string()));
  EXPECT_EQ(run.output, "a.tflite ok\nb.tflite ok\n");
}

TEST_F(Advise, ATransposedConvolutionThatFallsBackGetsAReplacement) {
  // The NPU takes strides up to 2.
  const auto bytes = write_tflite(decoder(4, DataType::kInt8));
  const std::filesystem::path file = folder_ / "decoder.tflite";
  ASSERT_TRUE(write_file(file, *bytes));
  AdviseRequest request;
  request.predict.models = {file.string()};
  request.predict.devices = {kDevice};
  const auto report = advise(context_here(), request);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GT(report->before.fallbacks, 0);
  const auto advice = std::ranges::find_if(report->advice, [](const Advice& one) {
    return one.what.find("RESIZE_NEAREST_NEIGHBOR and CONV_2D") != std::string::npos;
  });
  ASSERT_NE(advice, report->advice.end());
  EXPECT_EQ(advice->after.fallbacks, 0);
  EXPECT_EQ(report->notes, std::vector<std::string>());
}

TEST_F(Advise, MoreThanOneModelOrDeviceIsAUsageError) {
  AdviseRequest request;
  request.predict.models = {"a", "b"};
  request.predict.devices = {kDevice};
  EXPECT_EQ(advise(context_here(), request).error().code, ErrorCode::kInvalidArgument);
  request.predict.models = {"a"};
  request.predict.devices = {};
  EXPECT_EQ(advise(context_here(), request).error().code, ErrorCode::kInvalidArgument);
}

InspectedOperator op_of(const std::string& kind, int64_t width, const std::string& name = "") {
  InspectedOperator op;
  op.kind = kind;
  op.name = name;
  op.outputs.push_back({.index = 0, .name = name, .type = "int8", .shape = {1, 8, 8, width}});
  return op;
}

TEST(MatchOperators, PairsInOrderAndByLikeness) {
  const std::vector<InspectedOperator> a = {op_of("CONV_2D", 8), op_of("CONV_2D", 16),
                                            op_of("ADD", 16), op_of("CONV_2D", 32)};
  const std::vector<InspectedOperator> b = {op_of("CONV_2D", 8), op_of("ADD", 16),
                                            op_of("CONV_2D", 32), op_of("SOFTMAX", 32)};
  const std::vector<std::pair<int32_t, int32_t>> expected = {
      {0, 0}, {1, -1}, {2, 1}, {3, 2}, {-1, 3}};
  EXPECT_EQ(match_operators(a, b), expected);
}

TEST(MatchOperators, EveryOperatorComesOnceAndNeverWithAnotherKind) {
  // Against a plain recursion would be slow; these are the promises that any alignment keeps.
  uint64_t state = 7;
  const auto next = [&](uint64_t most) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % most;
  };
  constexpr const char* kKinds[] = {"CONV_2D", "ADD", "RELU"};
  for (int round = 0; round < 50; ++round) {
    std::vector<InspectedOperator> a, b;
    for (uint64_t i = next(30); i > 0; --i) a.push_back(op_of(kKinds[next(3)], 8 << next(2)));
    for (uint64_t i = next(30); i > 0; --i) b.push_back(op_of(kKinds[next(3)], 8 << next(2)));
    int32_t last_a = -1, last_b = -1;
    for (const auto& [i, j] : match_operators(a, b)) {
      if (i >= 0) {
        EXPECT_EQ(i, ++last_a);
      }
      if (j >= 0) {
        EXPECT_EQ(j, ++last_b);
      }
      if (i >= 0 && j >= 0) {
        EXPECT_EQ(a[static_cast<size_t>(i)].kind, b[static_cast<size_t>(j)].kind);
      }
    }
    EXPECT_EQ(last_a + 1, std::ssize(a));
    EXPECT_EQ(last_b + 1, std::ssize(b));
  }
}

}  // namespace
}  // namespace edgesage::app
