// Reading ONNX files: a network of 100 operators from memory and from the disk, and the same graph
// with 10 MB and with 1 GB of weights, with the pages of memory that each reading touches. The same
// of .tflite files, whose weights are a hole on the disk.
//
//   read_bench --benchmark_filter=Read
//   read_bench --write=FILE      the 100-operator file, to time other readers with
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/io/model_file.h"
#include "src/io/onnx/read.h"
#include "tests/io/odd_files.h"
#include "tests/io/onnx_test_support.h"

namespace edgesage {
namespace {

using enum onnx::ElementType;
using test::attr;

// 50 convolutions with `weight_bytes` each, and their activations, as exporters write them.
test::OnnxModel network(int64_t weight_bytes) {
  test::OnnxGraph graph("network");
  graph.input("v0", kFloat, test::OnnxDims{"N", 64, 56, 56});
  const std::vector<int64_t> dims = {weight_bytes / 256, 64, 1, 1};
  const std::string weights(static_cast<size_t>(dims[0]) * 256, '\0');
  for (int i = 0; i < 50; ++i) {
    const std::string input = fmt::format("v{}", i);
    const std::string output = fmt::format("v{}", i + 1);
    const std::string middle = fmt::format("conv{}", i);
    const std::string weight = fmt::format("layers.{}.weight", i);
    graph.initializer(test::onnx_raw(weight, kFloat, dims, weights))
        .node("Conv", {input, weight}, {middle},
              {attr("dilations", {1, 1}), attr("group", 1), attr("kernel_shape", {1, 1}),
               attr("pads", {0, 0, 0, 0}), attr("strides", {1, 1})},
              {.name = fmt::format("/layers.{}/Conv", i)})
        .value_info(middle, kFloat, test::OnnxDims{"N", dims[0], 56, 56})
        .node("Relu", {middle}, {output}, {}, {.name = fmt::format("/layers.{}/Relu", i)});
  }
  graph.output("v50", kFloat, test::OnnxDims{"N", dims[0], 56, 56});
  return test::OnnxModel(graph);
}

void read_memory(benchmark::State& state) {
  const std::vector<std::byte> bytes = network(16'384).bytes();
  for (auto _ : state) {
    const auto model = onnx::read_onnx(bytes, nullptr, "network");
    benchmark::DoNotOptimize(model.has_value());
  }
  state.SetLabel(fmt::format("{} bytes, 100 operators", bytes.size()));
}
BENCHMARK(read_memory)->Name("Read/100_operators/memory")->Unit(benchmark::kMicrosecond);

int64_t page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Opened, mapped and read anew each time.
void read_file(benchmark::State& state) {
  const auto path = std::filesystem::temp_directory_path() / "edgesage_bench.onnx";
  if (!write_file(path, network(state.range(0) * 1'000'000 / 50).bytes()))
    return state.SkipWithError("cannot be written");
  const int64_t before = page_faults();
  for (auto _ : state) {
    const auto model =
        onnx::read_onnx(*MappedFile::open(path, ErrorCode::kBadModel), path.string());
    benchmark::DoNotOptimize(model.has_value());
  }
  state.counters["pages"] =
      static_cast<double>(page_faults() - before) / static_cast<double>(state.iterations());
  std::filesystem::remove(path);
}
BENCHMARK(read_file)
    ->Name("Read/100_operators/megabytes")
    ->Arg(1)
    ->Arg(10)
    ->Arg(1'000)
    ->Unit(benchmark::kMicrosecond);

void read_tflite_file(benchmark::State& state) {
  const int64_t weights = state.range(0) * 1'000'000;
  const auto path = std::filesystem::temp_directory_path() / "edgesage_bench.tflite";
  if (!write_file(path, test::with_outside_weights(weights)))
    return state.SkipWithError("cannot be written");
  std::filesystem::resize_file(path, 4096 + static_cast<uintmax_t>(weights));
  const int64_t before = page_faults();
  for (auto _ : state) {
    const auto graph = read_model(path);
    benchmark::DoNotOptimize(graph.has_value());
  }
  state.counters["pages"] =
      static_cast<double>(page_faults() - before) / static_cast<double>(state.iterations());
  std::filesystem::remove(path);
}
BENCHMARK(read_tflite_file)
    ->Name("ReadTflite/megabytes")
    ->Arg(10)
    ->Arg(1'000)
    ->Unit(benchmark::kMicrosecond);

int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--write=", 8) != 0) continue;
    const Status written = write_file(argv[i] + 8, network(16'384).bytes());
    if (!written) std::cerr << written.error().to_string() << '\n';
    return written ? 0 : static_cast<int>(written.error().code);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) { return edgesage::run(argc, argv); }
