// Reading files: an ONNX network of 100 operators from memory; networks of 100 operators with 10 MB
// and with 1 GB of weights, whose weights are holes on the disk, with the page faults of a reading
// and the pages of the file that the system has read for it.
//
//   read_bench --benchmark_filter=Read
//   read_bench --benchmark_filter=with_file/.*Onnx    beside the control, which only maps and
//   touches read_bench --write=FILE                a network of 100 operators, .onnx or .tflite
//   read_bench --time=FILE [--seconds=S] [--tables]   the least microseconds of a reading
//   (compare_readers.py)
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/app/inspect.h"
#include "src/base/file.h"
#include "src/io/model_file.h"
#include "src/io/onnx/read.h"
#include "tests/io/onnx_test_support.h"
#include "tests/io/sparse_files.h"

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

// What is done with a file anew each time; whether it succeeded.
bool read_it(const std::string& path) { return read_model(path).has_value(); }
bool inspect_it(const std::string& path) {
  return app::inspect({{path}, {}, {}, false}).front().result.has_value();
}

// The control: what a reading would take for the file alone if it touched the mapping: the pages
// that are in the cache after it. A larger file needs a page table for every 2 MiB with a page in
// them.
bool touch_it(const std::string& path) {
  const auto file = MappedFile::open(path, ErrorCode::kBadModel);
  if (!file) return false;
  static size_t size = 0;
  static std::vector<size_t> pages;
  if (size != (*file)->bytes().size()) {
    size = (*file)->bytes().size();
    if (!read_it(path)) return false;
    pages = test::cached_pages(path);
  }
  unsigned sum = 0;
  for (const size_t page : pages) sum += std::to_integer<unsigned>((*file)->bytes()[page]);
  benchmark::DoNotOptimize(sum);
  return true;
}

void with_file(benchmark::State& state, bool (*run)(const std::string&), const char* name,
               Status (*write)(const std::filesystem::path&, int64_t)) {
  const auto path = std::filesystem::temp_directory_path() / name;
  if (!write(path, state.range(0) * 1'000'000)) return state.SkipWithError("cannot be written");
  if (!run(path)) return state.SkipWithError("cannot be read");
  const int64_t before = page_faults();
  for (auto _ : state) {
    if (!run(path)) return state.SkipWithError("cannot be read");
  }
  state.counters["faults"] =
      static_cast<double>(page_faults() - before) / static_cast<double>(state.iterations());
  state.counters["pages"] = static_cast<double>(test::cached_pages(path).size());
  std::filesystem::remove(path);
}
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(10)->Arg(1'000)->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(with_file, ReadOnnx, read_it, "edgesage_bench.onnx", test::write_sparse_onnx)
    ->Apply(sizes);
BENCHMARK_CAPTURE(with_file, ReadTflite, read_it, "edgesage_bench.tflite",
                  test::write_sparse_tflite)
    ->Apply(sizes);
BENCHMARK_CAPTURE(with_file, TouchOnnx, touch_it, "edgesage_bench.onnx", test::write_sparse_onnx)
    ->Apply(sizes);
BENCHMARK_CAPTURE(with_file, InspectOnnx, inspect_it, "edgesage_bench.onnx",
                  test::write_sparse_onnx)
    ->Apply(sizes);
BENCHMARK_CAPTURE(with_file, InspectTflite, inspect_it, "edgesage_bench.tflite",
                  test::write_sparse_tflite)
    ->Apply(sizes);

// Opened and read: into a Graph, or an ONNX file no further than into the tables of its messages.
Status read_once(const std::filesystem::path& path, bool tables) {
  if (!tables) {
    const auto graph = read_model(path);
    return graph ? Status{} : tl::unexpected<Error>(graph.error());
  }
  EDGESAGE_ASSIGN_OR_RETURN(const OpenFile open, OpenFile::open(path, ErrorCode::kBadModel));
  EDGESAGE_ASSIGN_OR_RETURN(const auto file, open.map());
  const auto model = onnx::read_onnx(file, path.string(), {}, &open);
  return model ? Status{} : tl::unexpected<Error>(model.error());
}

// The least processor time of a reading of the file, in microseconds.
Status time_file(const std::filesystem::path& path, double seconds, bool tables) {
  const auto now = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  timespec start{}, end{};
  double best = std::numeric_limits<double>::infinity();
  for (const double until = now() + seconds; now() < until || std::isinf(best);) {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    EDGESAGE_RETURN_IF_ERROR(read_once(path, tables));
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    best = std::min(best, static_cast<double>(end.tv_sec - start.tv_sec) * 1e6 +
                              static_cast<double>(end.tv_nsec - start.tv_nsec) / 1e3);
  }
  fmt::print("{:.2f}\n", best);
  return {};
}

int run(int argc, char** argv) {
  double seconds = 0.2;
  bool tables = false;
  std::optional<Status> done;
  std::string timed;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string value(argument.substr(std::min(argument.find('=') + 1, argument.size())));
    if (argument == "--tables") tables = true;
    if (argument.starts_with("--seconds=")) seconds = std::stod(value);
    if (argument.starts_with("--write="))
      done = value.ends_with(".tflite") ? test::write_sparse_tflite(value, 50'000)
                                        : write_file(value, network(16'384).bytes());
    if (argument.starts_with("--time=")) timed = value;
  }
  if (!timed.empty()) done = time_file(timed, seconds, tables);
  if (done) {
    if (!*done) std::cerr << done->error().to_string() << '\n';
    return *done ? 0 : static_cast<int>(done->error().code);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) { return edgesage::run(argc, argv); }
