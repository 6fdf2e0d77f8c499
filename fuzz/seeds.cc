// `seeds DIR`: what fuzzing starts from, DIR/<target>/: small real structures by our own writers.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/base/zstd.h"
#include "src/graph/builder.h"
#include "src/io/tflite_writer.h"
#include "src/learn/label_file.h"
#include "src/store/store.h"
#include "tests/io/onnx_test_support.h"
#include "tests/predict/sample_predictor.h"
#include "tests/store/samples.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& name, std::span<const std::byte> bytes) {
    fs::create_directories(folder_ / target);
    if (const Status status = write_file(folder_ / target / name, bytes); !status)
      std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  }
  void add(const std::string& target, const std::string& name, std::string_view text) {
    add(target, name, std::as_bytes(std::span(text)));
  }

 private:
  fs::path folder_;
};

// Most kinds that have options or shapes of their own.
Graph small_network(DataType type) {
  GraphBuilder net({.name = "small", .type = type, .fill = {}, .seed = 1});
  auto x = net.input("image", {1, 8, 8, 2});
  x = net.conv_2d(x, {.channels = 4, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
  x = net.depthwise_conv_2d(x, {.kernel_h = 3, .kernel_w = 3});
  x = net.pad(x, {0, 0, 1, 1, 1, 1, 0, 0});
  const auto parts = net.split(x, 2);
  x = net.concatenation(parts, 3);
  x = net.hard_swish(net.add(x, net.relu(x)));
  x = net.resize_nearest(x, 4, 4, Corners::kPlain);
  x = net.max_pool(x, {.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2});
  x = net.mean(x, {1, 2}, false);
  x = net.softmax(net.fully_connected(x, {.units = 3}));
  return *net.finish({net.reshape(x, {3, 1})});
}

// A loop whose body has a convolution, a branch and a call, beside a custom operator.
Graph control_flow() {
  Graph graph = small_network(DataType::kInt8);
  Subgraph body = graph.main();
  Subgraph condition;
  condition.tensors.resize(2);
  condition.tensors[1].type = DataType::kBool;
  condition.inputs = {0};
  condition.outputs = {1};
  Operator less;
  less.kind = OpKind::kLess;
  less.inputs = {0, 0};
  less.outputs = {1};
  condition.operators = {less};
  graph.subgraphs.push_back(body);
  graph.subgraphs.push_back(condition);
  Operator loop;
  loop.kind = OpKind::kWhile;
  loop.inputs = loop.outputs = {0};
  loop.attributes = {{"cond_subgraph_index", int64_t{2}}, {"body_subgraph_index", int64_t{1}}};
  Operator branch;
  branch.kind = OpKind::kIf;
  branch.inputs = branch.outputs = {0};
  branch.attributes = {{"then_subgraph_index", int64_t{1}}, {"else_subgraph_index", int64_t{2}}};
  Operator once;
  once.kind = OpKind::kCallOnce;
  once.attributes = {{"init_subgraph_index", int64_t{2}}};
  Operator custom;
  custom.kind = OpKind::kCustom;
  custom.custom_code = "TFLite_Detection_PostProcess";
  custom.inputs = custom.outputs = {0};
  custom.custom_options.resize(12);
  for (Operator* op : {&loop, &branch, &once, &custom}) graph.main().operators.push_back(*op);
  graph.signatures = {{"serve", 0, {{"in", graph.main().inputs[0]}}, {}}};
  return graph;
}

std::vector<LabelRow> sample_labels() {
  std::vector<LabelRow> rows;
  Rng rng(7);
  for (int i = 0; i < 3; ++i) {
    const Measurement m = test::sample_measurement(rng, "host-litert", i);
    rows.push_back({.name = fmt::format("mobile-classifier/1/{}", i),
                    .graph_hash = fmt::format("g1-{}", i),
                    .device = m.device,
                    .runtime = m.runtime,
                    .runtime_version = m.runtime_version,
                    .host_fingerprint = m.host_fingerprint,
                    .statistic = m.statistic,
                    .repeats = 2,
                    .cpu_operators = m.cpu_operators,
                    .quantities = m.quantities,
                    .operator_unit = i == 0 ? "" : m.operator_unit,
                    .operators = m.operators});
  }
  return rows;
}

void add_store(Seeds& seeds, const fs::path& scratch) {
  const fs::path path = scratch / "seed.db";
  fs::remove(path);
  {
    auto store = Store::open(path, StoreMode::kWrite);
    if (!store) return;
    Rng rng(3);
    for (int i = 0; i < 2; ++i) {
      const auto network = store->add_network(test::sample_network(i));
      if (!network) return;
      (void)store->add_measurement(*network, test::sample_measurement(rng, "host-litert", 2));
      (void)store->add_file(*network, std::as_bytes(std::span("model bytes")));
    }
  }
  if (const auto bytes = read_text(path, ErrorCode::kBadStore)) seeds.add("store", "two", *bytes);
  fs::remove(path);
}

// A classifier in float, as exporters write them: named dimensions, constants in both places, a
// shape that is computed.
test::OnnxModel onnx_classifier() {
  using enum onnx::ElementType;
  using test::attr;
  const std::vector<float> weights(4 * 3 * 3 * 3, 0.5F);
  test::OnnxGraph graph("classifier");
  graph.input("x", kFloat, test::OnnxDims{"N", 3, 8, 8})
      .initializer(test::onnx_floats("w", {4, 3, 3, 3}, weights))
      .initializer(test::onnx_floats("scale", {4}, {1, 2, 3, 4}))
      .initializer(test::onnx_floats("dense", {64, 2}, std::vector<float>(128)))
      .initializer(test::onnx_int64s("minus", {1}, {-1}))
      .node("Conv", {"x", "w"}, {"c"}, {attr("pads", {1, 1, 1, 1}), attr("strides", {1, 1})})
      .node("BatchNormalization", {"c", "scale", "scale", "scale", "scale"}, {"b"})
      .node("Relu", {"b"}, {"r"})
      .node("MaxPool", {"r"}, {"p"}, {attr("kernel_shape", {2, 2}), attr("strides", {2, 2})})
      .node("Shape", {"p"}, {"shape"})
      .node("Constant", {}, {"first"}, {attr("value_ints", {0})})
      .node("Gather", {"shape", "first"}, {"batch"}, {attr("axis", 0)})
      .node("Concat", {"batch", "minus"}, {"target"}, {attr("axis", 0)})
      .node("Reshape", {"p", "target"}, {"flat"})
      .node("Gemm", {"flat", "dense"}, {"y"}, {attr("alpha", 1.0F)})
      .node("Softmax", {"y"}, {"z"}, {attr("axis", -1)})
      .value_info("c", kFloat, test::OnnxDims{"N", 4, 8, 8})
      .output("z", kFloat, test::OnnxDims{"N", 2});
  return test::OnnxModel(graph).metadata("author", "x");
}

// Bodies that capture names, a function with an attribute, quantisation, an operator of others.
test::OnnxModel onnx_control_flow() {
  using enum onnx::ElementType;
  using test::attr;
  test::OnnxGraph body("body");
  body.input("i", kInt64, test::OnnxDims{})
      .input("go", kBool, test::OnnxDims{})
      .input("state", kFloat, test::OnnxDims{1, 4})
      .node("Add", {"state", "x"}, {"next"})
      .node("Identity", {"go"}, {"again"})
      .output("again")
      .output("next");
  test::OnnxGraph yes("yes"), no("no");
  yes.node("Double", {"last"}, {"t"}, {attr("alpha", 2.0F)}, {.domain = "local"}).output("t");
  no.node("Neg", {"last"}, {"n"}).output("n");
  test::OnnxGraph graph("control");
  graph.input("x", kFloat, test::OnnxDims{1, 4})
      .initializer(test::onnx_int64s("trips", {}, {3}))
      .initializer(test::onnx_floats("s", {}, {0.1F}))
      .initializer(test::onnx_int32s("zero", kInt8, {}, {0}))
      .initializer(test::onnx_external("kept", kFloat, {4}, {{"location", "w.bin"}}))
      .node("Loop", {"trips", "", "x"}, {"last"}, {attr("body", body)})
      .node("Greater", {"s", "s"}, {"which"})
      .node("If", {"which"}, {"chosen"}, {attr("then_branch", yes), attr("else_branch", no)})
      .node("QuantizeLinear", {"chosen", "s", "zero"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "zero"}, {"f"})
      .node("Gelu", {"f"}, {"g"}, {}, {.domain = "com.microsoft"})
      .node("Mul", {"g", "kept"}, {"y"})
      .output("y", kFloat, test::OnnxDims{1, 4});
  test::OnnxFunction twice("local", "Double", {"a"}, {"b"});
  twice.attribute("alpha")
      .node("Add", {"a", "a"}, {"c"})
      .node("LeakyRelu", {"c"}, {"b"},
            {test::attr_reference("alpha", "alpha", onnx::Attribute::Kind::kFloat)})
      .opset("", 17);
  return test::OnnxModel(graph).opset("local", 1).function(twice);
}

constexpr std::string_view kNcnn = R"(7767517
12 13
Input data 0 1 data 0=32 1=32 2=3
Convolution conv 1 1 data a 0=8 1=3 3=2 4=1 5=1 6=216
Split split 1 2 a b c
ConvolutionDepthWise dw 1 1 b d 0=8 1=3 4=1 6=72 7=8
BinaryOp add 2 1 d c e 0=0
Pooling pool 1 1 e f 0=1 4=1
Reshape shape 1 1 f g 0=-1
InnerProduct fc 1 1 g h 0=10 1=1 2=80
Concat cat 2 1 h h2 i 0=0
HardSwish act 1 1 i j
Softmax soft 1 1 j k
Interp up 1 1 c l 0=2 1=2.0 2=2.0
)";

constexpr std::string_view kLabelImport =
    "code,other,ms\n"
    "0-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8,x,1.5\n"
    "\n"
    "\"2-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8\",\"a \"\"b\"\"\",2e-1\n";

constexpr std::string_view kWorker =
    R"({"hello":{"protocol":"1.1","worker":"w","runtime":"r","runtime_version":"1","devices":["d"],"quantities":["latency_ms"],"beat_ms":500}})"
    "\n"
    R"({"beat":1})"
    "\n"
    R"({"id":1,"answer":{"device":"d","runtime":"r","runtime_version":"1","quantities":{"latency_ms":1.5,"energy_mj":null},"missing":{"energy_mj":"none"},"statistic":"min","samples_ms":[1.5,2],"operators":[{"index":0,"cost":3,"macs":4,"placement":"npu"}],"operator_unit":"ns","protocol":{"runs":3},"environment":{"a":"b"}}})"
    "\n"
    R"({"id":1,"error":{"code":"bad_model","message":"no"}})"
    "\n";

constexpr std::string_view kBenchmark =
    R"(INFO: count=50 first=1810 curr=1650 min=1600 max=1900 avg=1702.5 std=45 p5=1610 median=1700 p95=1890
INFO: Inference timings in us: Init: 5685, First inference: 18535, Warmup (avg): 14462.3, Inference (avg): 14575.2
INFO: Overall peak memory footprint (MB) via periodic monitoring: 12.1
============================== Run Order ==============================
	             [node type]	  [first]	 [avg ms]	     [%]	  [cdf%]	  [mem KB]	[times called]	[Name]
	                 CONV_2D	    0.000	    4.269	  0.107%	  0.107%	     0.000	        0	[a;b]:0
	                 SOFTMAX	    4.270	    2.150	  0.054%	  0.161%	     0.000	        1	[c]:1

============================== Top by Computation Time ==============================
)";

constexpr std::string_view kBenchmarkCsv =
    "============================== Run Order ==============================\n"
    "node type, first, avg_ms, %, cdf%, mem KB, times called, name\n"
    "CONV_2D, 0.000, 4.269, 0.107%, 0.107%, 0.000, 1, a;b:0\n";

// Small published files, where they are installed: they have operators that ours do not.
void add_published(Seeds& seeds) {
  constexpr uintmax_t kMostBytes = 8192;
  for (const fs::path& path : test::published_onnx_files()) {
    std::error_code unreadable;
    if (fs::file_size(path, unreadable) > kMostBytes || unreadable) continue;
    if (const auto bytes = read_text(path, ErrorCode::kBadModel))
      seeds.add("onnx", path.parent_path().filename().string() + path.stem().string(), *bytes);
  }
}

int write_all(const fs::path& folder) {
  Seeds seeds(folder);
  for (const DataType type : {DataType::kInt8, DataType::kFloat32})
    seeds.add("tflite", std::string(type_name(type)), *write_tflite(small_network(type)));
  if (const auto bytes = write_tflite(control_flow())) seeds.add("tflite", "control", *bytes);
  seeds.add("ncnn", "all", kNcnn);
  seeds.add("onnx", "classifier", onnx_classifier().bytes());
  seeds.add("onnx", "control", onnx_control_flow().bytes());
  add_published(seeds);
  seeds.add("file_kind", "lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
  seeds.add("file_kind", "onnx",
            std::string_view("\x08\x08\x3a\x04\x12\x02\x61\x62\x42\x02\x10\x0d"));
  seeds.add("file_kind", "html", "<!DOCTYPE html><html>");
  seeds.add("file_kind", "ncnn", kNcnn.substr(0, 40));
  PredictorData tiny = test::lively_predictor(1, 4, 1);
  seeds.add("predictor", "tiny", encode_predictor(tiny));
  const std::string csv = labels_to_csv(sample_labels());
  seeds.add("labels", "plain", csv);
  seeds.add("labels", "packed", zstd_compress(std::as_bytes(std::span(csv)), 3));
  add_store(seeds, folder);
  seeds.add("label_import", "three", kLabelImport);
  seeds.add("worker", "session", kWorker);
  seeds.add("device_output", "table", kBenchmark);
  seeds.add("device_output", "csv", kBenchmarkCsv);
  seeds.add("device_output", "json", R"({"runs":[{"ms":[1.5,2e3]}]})");
  seeds.add("device_output", "plain", "time: 3.5 ms\ntime: 12 us\n");
  for (const auto& entry : fs::recursive_directory_iterator(fs::path("devices")))
    if (entry.path().extension() == ".toml")
      if (const auto text = read_text(entry.path(), ErrorCode::kInvalidArgument))
        seeds.add("device_toml", entry.path().stem().string(), *text);
  return 0;
}

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds DIR (from the source's folder)\n");
    return 2;
  }
  return edgesage::write_all(argv[1]);
}
