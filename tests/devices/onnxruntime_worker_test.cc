// The ONNX Runtime worker against ONNX Runtime itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>

#include "src/base/file.h"
#include "src/devices/measure.h"
#include "tests/devices/open_worker.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;

const char* const kSqueezenet = "onnx/26e4ac0e_light_squeezenet.onnx";
const char* const kInception = "onnx/57325ed4_light_inception_v1.onnx";

// What a script prints, in lines.
std::vector<std::string> python(const std::string& script) {
  const test::TempDir dir;
  std::ofstream(dir.path() / "script.py") << script;
  const std::string command =
      fmt::format("'{}' '{}'", test::venv_python()->string(), (dir.path() / "script.py").string());
  FILE* pipe = popen(command.c_str(), "r");
  std::vector<std::string> lines;
  char line[512];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    lines.emplace_back(line);
    while (!lines.back().empty() && lines.back().back() == '\n') lines.back().pop_back();
  }
  EXPECT_EQ(pclose(pipe), 0) << script;
  return lines;
}

class OnnxRuntimeWorker : public testing::Test {
 protected:
  void SetUp() override {
    EDGESAGE_REQUIRE(test::venv_python(), "no .venv; run ./dev setup");
    EDGESAGE_REQUIRE(test::data_dir(), "no models; set EDGESAGE_DATA_DIR");
    device_ = test::shipped_device("host-onnxruntime");
    worker_ = test::open_worker(device_);
  }
  fs::path published(const std::string& file) { return *test::data_dir() / "models/onnx" / file; }
  Result<Measurement> run(const fs::path& model, Json options = Json::object()) {
    return measure(worker_, device_, model,
                   {.options = std::move(options), .deadline = std::chrono::seconds(60)});
  }
  // Makes a model with the onnx package; `body` appends to `nodes`, `inputs`, `outputs`, `weights`.
  fs::path made(const std::string& name, const std::string& body) {
    const fs::path path = folder_.path() / name;
    python(fmt::format(R"(import onnx, numpy as np
from onnx import helper as h, TensorProto as t, numpy_helper as n
nodes, inputs, outputs, weights = [], [], [], []
def weight(name, *shape):
    weights.append(n.from_array(np.random.default_rng(1).standard_normal(shape).astype(np.float32), name))
{}
g = h.make_graph(nodes, 'g', inputs, outputs, weights)
onnx.save(h.make_model(g, opset_imports=[h.make_opsetid('', 17)], ir_version=9), '{}')
)",
                       body, path.string()));
    return path;
  }

  test::TempDir folder_;
  DeviceDescription device_;
  WorkerClient worker_{{}};
};

const Json kQuick = {
    {"bursts", 1}, {"min_runs", 1}, {"max_runs", 3}, {"min_time_ms", 0}, {"profile_runs", 3}};

double total_ms(const Measurement& measurement) {
  return std::accumulate(
      measurement.operators.begin(), measurement.operators.end(), 0.0,
      [](double sum, const OperatorMeasurement& op) { return sum + op.cycles * 1e-6; });
}

TEST_F(OnnxRuntimeWorker, AgreesWithTheRuntimeItselfWithinAFactorOfTwo) {
  const fs::path model = published(kSqueezenet);
  const auto lines = python(fmt::format(R"(import time, onnxruntime as o, numpy as np
s = o.SessionOptions(); s.intra_op_num_threads = 1
m = o.InferenceSession('{}', s, providers=['CPUExecutionProvider'])
x = {{i.name: np.random.rand(*i.shape).astype(np.float32) for i in m.get_inputs()}}
def once():
    a = time.process_time(); m.run(None, x); return time.process_time() - a
print(min(once() for _ in range(40)) * 1e3)
)",
                                        model.string()));
  ASSERT_EQ(lines.size(), 1u);
  const double expected = std::stod(lines[0]);
  const auto measurement = run(model);
  ASSERT_TRUE(measurement) << measurement.error().to_string();
  ASSERT_TRUE(measurement->error.empty()) << measurement->error;
  EXPECT_GT(measurement->quantities.at("latency_ms"), expected / 2);
  EXPECT_LT(measurement->quantities.at("latency_ms"), expected * 2);
}

TEST_F(OnnxRuntimeWorker, RecordsSamplesAndProtocol) {
  const auto measurement = run(published(kSqueezenet));
  ASSERT_TRUE(measurement && measurement->error.empty());
  EXPECT_EQ(measurement->statistic, "min");
  EXPECT_GE(measurement->samples_ms.size(), 10u);
  EXPECT_LE(measurement->samples_ms.size(), 1000u);
  const auto& quantities = measurement->quantities;
  EXPECT_EQ(quantities.at("latency_ms"),
            *std::min_element(measurement->samples_ms.begin(), measurement->samples_ms.end()));
  EXPECT_GT(quantities.at("load_ms"), 0);
  EXPECT_GT(quantities.at("first_latency_ms"), 0);
  // The largest result, 64 maps of 111 x 111 numbers, lives beside the 3 x 224 x 224 of the input.
  EXPECT_GT(quantities.at("arena_peak_bytes"), 64 * 111 * 111 * 4);
  EXPECT_GE(quantities.at("arena_held_bytes"), quantities.at("arena_peak_bytes"));
  EXPECT_EQ(quantities.count("rss_growth_bytes") + measurement->missing.count("rss_growth_bytes"),
            1u);
  for (const char* key : {"warm_up_runs", "runs", "affinity", "noise", "invocations_per_sample",
                          "execution_mode", "operators", "inputs"})
    EXPECT_EQ(measurement->protocol.count(key), 1u) << key;
  EXPECT_EQ(measurement->protocol.at("clock"), "CLOCK_PROCESS_CPUTIME_ID");
  EXPECT_EQ(measurement->protocol.at("threads"), "1");
  EXPECT_EQ(measurement->protocol.at("graph_optimization"), "all");
  EXPECT_EQ(measurement->protocol.at("execution_provider"), "CPUExecutionProvider");
  EXPECT_EQ(measurement->protocol.at("input_shapes"), "data_0:1x3x224x224");
  EXPECT_EQ(measurement->environment.count("cpu_model"), 1u);
  EXPECT_EQ(measurement->host_fingerprint.size(), 16u);
  EXPECT_EQ(measurement->runtime, "onnxruntime");
}

// Kernels are timed by the wall clock, the whole by the processor's: on a busy machine they differ.
TEST_F(OnnxRuntimeWorker, OperatorsAddUpToTheLatency) {
  for (const char* file : {kSqueezenet, kInception}) {
    const auto measurement = run(published(file), {{"profile_runs", 100}});
    ASSERT_TRUE(measurement && measurement->error.empty()) << file;
    EXPECT_EQ(measurement->operator_unit, "ns");
    const double latency = measurement->quantities.at("latency_ms");
    EXPECT_GT(total_ms(*measurement), 0.7 * latency) << file;
    EXPECT_LT(total_ms(*measurement), 1.5 * latency) << file;
  }
}

// Each convolution of Squeezenet is followed by its activation, which the runtime fuses; its
// weights are made by nodes that it computes when it loads the model.
TEST_F(OnnxRuntimeWorker, GivesTimeToTheNodesThatAKernelComputes) {
  const auto lines =
      python(fmt::format("import onnx\nfor n in onnx.load('{}').graph.node: print(n.op_type)\n",
                         published(kSqueezenet).string()));
  const auto measurement = run(published(kSqueezenet), kQuick);
  ASSERT_TRUE(measurement && measurement->error.empty());
  const auto& operators = measurement->operators;
  ASSERT_GE(operators.size(), lines.size()) << "every node of the file has an entry";
  double added = 0;
  for (size_t i = lines.size(); i < operators.size(); ++i) added += operators[i].cycles * 1e-6;
  EXPECT_LT(added, 0.1 * total_ms(*measurement)) << "kernels that the runtime added";
  for (size_t i = 0; i < lines.size(); ++i) {
    SCOPED_TRACE(fmt::format("node {} {}", i, lines[i]));
    ASSERT_EQ(operators[i].index, static_cast<int32_t>(i));
    if (lines[i] == "ConstantOfShape") {
      EXPECT_EQ(operators[i].placement_reason, "computed once, when the model is loaded");
      EXPECT_EQ(operators[i].placement, "");
    } else if (lines[i] == "Relu" || lines[i] == "Dropout") {
      EXPECT_EQ(operators[i].cycles, 0);
      EXPECT_EQ(operators[i].placement_reason.rfind("computed with Conv", 0), 0u);
      EXPECT_EQ(operators[i].placement, "cpu");
    } else {
      EXPECT_GT(operators[i].cycles, 0);
      EXPECT_EQ(operators[i].placement, "cpu");
    }
  }
}

// Two branches of which one has 64 times the work of the other, listed last to first. Several nodes
// of one name are refused by the runtime.
TEST_F(OnnxRuntimeWorker, KnowsNodesWithoutNamesAndInAnyOrder) {
  for (const char* name : {"", "same"}) {
    const fs::path model = made("branches.onnx", fmt::format(R"(weight('w', 512, 512)
weight('v', 64, 64)
inputs += [h.make_tensor_value_info('x', t.FLOAT, [64, 512]), h.make_tensor_value_info('y', t.FLOAT, [64, 64])]
outputs += [h.make_tensor_value_info('a2', t.FLOAT, [64, 512]), h.make_tensor_value_info('b', t.FLOAT, [64, 64])]
nodes += [h.make_node('Relu', ['a'], ['a2']), h.make_node('MatMul', ['y', 'v'], ['b']),
          h.make_node('MatMul', ['x', 'w'], ['a'])]
for node in nodes: node.name = '{}'
)",
                                                             name));
    const auto measurement = run(model, {{"profile_runs", 50}});
    ASSERT_TRUE(measurement);
    if (*name != '\0') {
      EXPECT_NE(measurement->error.find("same node name"), std::string::npos) << measurement->error;
      continue;
    }
    ASSERT_TRUE(measurement->error.empty()) << measurement->error;
    ASSERT_EQ(measurement->operators.size(), 3u);
    EXPECT_GT(measurement->operators[2].cycles, 4 * measurement->operators[1].cycles);
    EXPECT_GT(measurement->operators[2].cycles, measurement->operators[0].cycles);
  }
}

// A quantised convolution as tools write it, with its scales around it, is one kernel.
TEST_F(OnnxRuntimeWorker, CountsAQuantisedConvolutionAsOne) {
  const fs::path model = made("qdq.onnx", R"(
weights += [n.from_array(np.float32(0.02), 's'), n.from_array(np.int8(0), 'z'),
            n.from_array(np.random.default_rng(1).integers(-127, 128, (32, 16, 3, 3)).astype(np.int8), 'w')]
inputs.append(h.make_tensor_value_info('x', t.FLOAT, [1, 16, 32, 32]))
outputs.append(h.make_tensor_value_info('y', t.FLOAT, [1, 32, 30, 30]))
nodes += [h.make_node('QuantizeLinear', ['x', 's', 'z'], ['xq']),
          h.make_node('DequantizeLinear', ['xq', 's', 'z'], ['xd']),
          h.make_node('DequantizeLinear', ['w', 's', 'z'], ['wd']),
          h.make_node('Conv', ['xd', 'wd'], ['c']),
          h.make_node('QuantizeLinear', ['c', 's', 'z'], ['cq']),
          h.make_node('DequantizeLinear', ['cq', 's', 'z'], ['y'])]
)");
  const auto measurement = run(model, kQuick);
  ASSERT_TRUE(measurement && measurement->error.empty()) << measurement->error;
  const auto& operators = measurement->operators;
  ASSERT_GE(operators.size(), 6u);
  for (const size_t timed : {0u, 3u, 5u}) {
    EXPECT_EQ(operators[timed].placement_reason, "") << timed;
    EXPECT_EQ(operators[timed].placement, "cpu") << timed;
  }
  for (const size_t member : {1u, 4u}) {
    EXPECT_EQ(operators[member].cycles, 0);
    EXPECT_EQ(operators[member].placement_reason, "computed with Conv c") << member;
  }
}

TEST_F(OnnxRuntimeWorker, FeedsOpenDimensionsAsAskedOrWithOne) {
  const fs::path model = made("open.onnx", R"(weight('w', 64, 64)
inputs.append(h.make_tensor_value_info('a:x', t.FLOAT, ['batch', 'rows', 64]))
outputs.append(h.make_tensor_value_info('y', t.FLOAT, ['batch', 'rows', 64]))
nodes.append(h.make_node('MatMul', ['a:x', 'w'], ['y']))
)");
  const std::pair<Json, const char*> cases[] = {{Json::object(), "a:x:1x1x64"},
                                                {{{"dimensions", "batch:2,rows:3"}}, "a:x:2x3x64"},
                                                {{{"shapes", "a:x:4x5x64"}}, "a:x:4x5x64"}};
  for (const auto& [options, shape] : cases) {
    Json asked = kQuick;
    asked.update(options);
    const auto measurement = run(model, asked);
    ASSERT_TRUE(measurement && measurement->error.empty()) << shape;
    EXPECT_EQ(measurement->protocol.at("input_shapes"), shape);
  }
}

TEST_F(OnnxRuntimeWorker, RefusesOptionsThatItDoesNotKnow) {
  const Json wrong[] = {{{"thread", 1}},
                        {{"threads", 0}},
                        {{"threads", 1.5}},
                        {{"optimization", "most"}},
                        {{"clock", 1}},
                        {{"cores", "0,1000"}},
                        {{"cores", ""}},
                        {{"cores", "1-0"}},
                        {{"cpu", 1000}},
                        {{"shapes", "data_0"}},
                        {{"shapes", "nobody:1x2"}},
                        {{"shapes", "data_0:1x3x8x8"}},
                        {{"dimensions", "batch:1x2"}},
                        {{"dimensions", "nobody:1"}}};
  for (const Json& options : wrong) {
    const auto refused = run(published(kSqueezenet), options);
    ASSERT_FALSE(refused) << options;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << options;
  }
}

TEST_F(OnnxRuntimeWorker, ThreadsCoresAndLevelAreWhatWasAsked) {
  Json options = kQuick;
  options.update({{"threads", 2}, {"cores", "0"}, {"optimization", "none"}});
  const auto measurement = run(published(kSqueezenet), options);
  ASSERT_TRUE(measurement && measurement->error.empty());
  EXPECT_EQ(measurement->protocol.at("threads"), "2");
  EXPECT_EQ(measurement->protocol.at("affinity"), "0");
  EXPECT_EQ(measurement->protocol.at("clock"), "CLOCK_MONOTONIC");
  EXPECT_EQ(measurement->protocol.at("graph_optimization"), "none");
  const auto fused = [](const OperatorMeasurement& op) {
    return op.placement_reason.rfind("computed with", 0) == 0;
  };
  EXPECT_TRUE(std::none_of(measurement->operators.begin(), measurement->operators.end(), fused));
}

TEST_F(OnnxRuntimeWorker, AModelThatCannotBePreparedCostsOneAnswer) {
  const std::string good = read_text(published(kSqueezenet), ErrorCode::kInternal).value();
  const std::pair<const char*, std::string> files[] = {
      {"empty", ""}, {"text", "hello"}, {"cut", good.substr(0, good.size() / 2)}};
  for (const auto& [name, bytes] : files) {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    const auto measurement = run(folder_.path() / name);
    ASSERT_TRUE(measurement) << name;
    EXPECT_NE(measurement->error.find("ONNX Runtime cannot load it"), std::string::npos)
        << measurement->error;
  }
  EXPECT_NE(run(folder_.path() / "absent")->error.find("no such file"), std::string::npos);
  // An operator that nobody has, and a division of the shapes that cannot be.
  const char* const declared = R"(
inputs.append(h.make_tensor_value_info('x', t.FLOAT, [2, 3]))
outputs.append(h.make_tensor_value_info('y', t.FLOAT, None))
)";
  const auto unknown =
      run(made("unknown.onnx",
               fmt::format("{}nodes.append(h.make_node('Nobody', ['x'], ['y']))", declared)));
  EXPECT_NE(unknown->error.find("Nobody"), std::string::npos) << unknown->error;
  const auto reshape = run(made("reshape.onnx", fmt::format(R"({}
inputs.append(h.make_tensor_value_info('s', t.INT64, [1]))
nodes.append(h.make_node('Reshape', ['x', 's'], ['y'])))",
                                                            declared)));
  EXPECT_NE(reshape->error.find("cannot run it"), std::string::npos) << reshape->error;
  EXPECT_TRUE(run(published(kSqueezenet), kQuick)->error.empty());
}

TEST_F(OnnxRuntimeWorker, ReadsWeightsThatLieBesideTheFile) {
  const fs::path model = made("inside.onnx", R"(weight('w', 64, 64)
inputs.append(h.make_tensor_value_info('x', t.FLOAT, [1, 64]))
outputs.append(h.make_tensor_value_info('y', t.FLOAT, [1, 64]))
nodes.append(h.make_node('MatMul', ['x', 'w'], ['y']))
)");
  const fs::path outside = folder_.path() / "outside.onnx";
  python(
      fmt::format("import onnx\nonnx.save(onnx.load('{}'), '{}', save_as_external_data=True,\n"
                  "          location='weights.bin', size_threshold=0)\n",
                  model.string(), outside.string()));
  const auto measurement = run(outside, kQuick);
  ASSERT_TRUE(measurement && measurement->error.empty()) << measurement->error;
  ASSERT_EQ(measurement->operators.size(), 1u) << measurement->protocol.at("operators");
}

// A published file may even crash the runtime: it costs one answer, whatever happens.
TEST_F(OnnxRuntimeWorker, AnswersPublishedFiles) {
  int answered = 0, failed = 0, without_operators = 0, tried = 0;
  for (const test::IndexedModel& model : test::indexed_models(*test::data_dir())) {
    if (model.kind != "onnx" || ++tried % 4 != 0) continue;
    const auto measurement = run(model.path, kQuick);
    ASSERT_TRUE(measurement) << model.file << ": " << measurement.error().to_string();
    measurement->error.empty() ? ++answered : ++failed;
    if (measurement->error.empty() && measurement->operators.empty()) ++without_operators;
  }
  RecordProperty("failed", failed);
  EXPECT_GT(answered, 40);
  EXPECT_EQ(without_operators, 0);
}

}  // namespace
}  // namespace edgesage
