// From a file to the answer, stage by stage, and what a prediction costs in the other ways to ask.
//
//   predict_bench --benchmark_filter=File         each stage over real files and a generated one
//   predict_bench --benchmark_filter=Graph        one call, a batch, a local change
//   predict_bench --benchmark_filter=Operators    graphs of 10,000 and 100,000 operators
//
// EDGESAGE_DATA_DIR names the folder with models/; files that are not there are left out. The
// predictor is the shipped one of ethos-u55-256, all members; the argument --predictor=FILE names
// another.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "src/analysis/liveness.h"
#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"
#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/features/extract.h"
#include "src/io/tflite_reader.h"
#include "src/io/tflite_writer.h"
#include "src/predict/incremental_prediction.h"
#include "src/predict/predictor.h"
#include "src/predict/range.h"
#include "src/spaces/space.h"
#include "tests/predict/large_graphs.h"
#include "tests/predict/random_tensors.h"

namespace edgesage {
namespace {

constexpr const char* kFiles[] = {
    "tiny/618aeb15_kws_ref_model.tflite",
    "tiny/9643512e_str_ww_ref_model.tflite",
    "tiny/2d6dd487_pretrainedResnet_quant.tflite",
    "tiny/361fa1b1_model_ToyCar_quant_fullint_micro_intio.tflite",
    "tiny/f0b01141_vww_96_int8.tflite",
    "tflite-micro/212acb58_keyword_scrambled.tflite",
    "tflite-micro/1eb5f968_conv13.tflite",
    "LiteRT/63ad3e24_static_w8_a16_quantized_attn_vec_einsum.tflite",
};

struct Case {
  std::string name;
  std::function<std::filesystem::path()> path;  // makes the file where it has to be made
};

std::shared_ptr<const MappedFile> map(const std::filesystem::path& path) {
  return *MappedFile::open(path, ErrorCode::kBadModel);
}

void set_label(benchmark::State& state, const Graph& graph, const std::filesystem::path& path) {
  state.SetLabel(std::to_string(std::filesystem::file_size(path)) + " bytes, " +
                 std::to_string(graph.main().operators.size()) + " operators");
}

void add_stage(const std::string& stage, const Case& file,
               const std::function<void(const Graph&, const std::function<bool()>&)>& run) {
  benchmark::RegisterBenchmark(("File/" + file.name + "/" + stage).c_str(),
                               [file, run](benchmark::State& state) {
                                 const Graph graph = *read_tflite(map(file.path()), file.name);
                                 set_label(state, graph, file.path());
                                 run(graph, [&] { return state.KeepRunning(); });
                               })
      ->Unit(benchmark::kMicrosecond);
}

GraphTensors random_graph(const Predictor& predictor, int32_t nodes, Rng& rng) {
  GraphTensors tensors = test::random_tensors(nodes, rng);
  tensors.quantities = static_cast<int32_t>(predictor.quantities().size());
  tensors.log_prior.resize(static_cast<size_t>(nodes) * predictor.quantities().size());
  return tensors;
}

// Another node each time, and back again.
void change_one_node(const Predictor& predictor, int32_t nodes, benchmark::State& state) {
  Rng rng(1);
  GraphTensors tensors = random_graph(predictor, nodes, rng);
  IncrementalPrediction incremental(predictor, tensors);
  int64_t recomputed = 0;
  int32_t node = 0;
  for (auto _ : state) {
    node = (node + 37) % nodes;
    tensors.x[static_cast<size_t>(node * tensors.features)] += 0.125F;
    benchmark::DoNotOptimize(&incremental.update(tensors));
    recomputed += incremental.recomputed_nodes();
  }
  state.counters["recomputed"] =
      static_cast<double>(recomputed) / static_cast<double>(state.iterations());
}

void answer_large(const Predictor& predictor, test::LargeGraph shape, int32_t operators,
                  benchmark::State& state) {
  const auto path = std::filesystem::temp_directory_path() / "edgesage_bench_large.tflite";
  const auto bytes = write_tflite(test::large_graph(shape, operators));
  if (!bytes || !write_file(path, *bytes)) return state.SkipWithError("cannot be written");
  for (auto _ : state) {
    PredictWorkspace workspace;
    const Graph graph = *read_tflite(map(path), "large");
    benchmark::DoNotOptimize(predictor.predict(graph, "large", {}, workspace));
  }
  std::filesystem::remove(path);
}

using Going = const std::function<bool()>&;

void add_file(const Predictor& predictor, const Case& file) {
  benchmark::RegisterBenchmark(("File/" + file.name + "/read").c_str(),
                               [file](benchmark::State& state) {
                                 const auto path = file.path();
                                 for (auto _ : state) {
                                   const auto graph = read_tflite(map(path), file.name);
                                   benchmark::DoNotOptimize(graph.has_value());
                                 }
                               })
      ->Unit(benchmark::kMicrosecond);
  add_stage("lower", file, [&predictor](const Graph& graph, Going going) {
    while (going()) benchmark::DoNotOptimize(lower(graph, predictor.target()));
  });
  add_stage("costs_and_liveness", file, [&predictor](const Graph& graph, Going going) {
    const Lowering lowering = lower(graph, predictor.target());
    while (going()) {
      benchmark::DoNotOptimize(row_costs(graph, lowering));
      benchmark::DoNotOptimize(liveness(graph, lowering));
    }
  });
  add_stage("weight_statistics", file, [](const Graph& graph, Going going) {
    while (going())
      for (const Tensor& tensor : graph.main().tensors)
        if (tensor.is_constant()) benchmark::DoNotOptimize(weight_stats(graph, tensor));
  });
  add_stage("features", file, [&predictor](const Graph& graph, Going going) {
    const Lowering lowering = lower(graph, predictor.target());
    while (going())
      benchmark::DoNotOptimize(extract_features(graph, lowering, predictor.quantities()));
  });
  add_stage("range", file, [&predictor](const Graph& graph, Going going) {
    const Lowering lowering = lower(graph, predictor.target());
    const GraphTensors tensors = extract_features(graph, lowering, predictor.quantities());
    while (going())
      benchmark::DoNotOptimize(
          judge_range(predictor.data().range, operator_signatures(graph), tensors, {}));
  });
  add_stage("forward", file, [&predictor](const Graph& graph, Going going) {
    const Lowering lowering = lower(graph, predictor.target());
    const GraphTensors tensors = extract_features(graph, lowering, predictor.quantities());
    PredictWorkspace workspace;
    while (going()) benchmark::DoNotOptimize(&predictor.estimate(tensors, workspace));
  });
  add_stage("answer", file, [&predictor, file](const Graph&, Going going) {
    PredictWorkspace workspace;
    const auto path = file.path();
    while (going()) {
      const Graph graph = *read_tflite(map(path), file.name);
      benchmark::DoNotOptimize(predictor.predict(graph, file.name, {}, workspace));
    }
  });
}

// Random graphs, as the numbers that a network reads: the time does not depend on what they mean.
void add_graphs(const Predictor& predictor) {
  constexpr int kGraphs = 64;
  Rng rng(1);
  static std::vector<GraphTensors> graphs;
  for (int i = 0; i < kGraphs; ++i) graphs.push_back(random_graph(predictor, 30, rng));
  const auto per_graph = [](benchmark::State& state) {
    state.counters["graphs/s"] = benchmark::Counter(
        kGraphs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  };
  benchmark::RegisterBenchmark("Graph/30_nodes/single", [&, per_graph](benchmark::State& state) {
    PredictWorkspace workspace;
    for (auto _ : state)
      for (const GraphTensors& tensors : graphs)
        benchmark::DoNotOptimize(&predictor.estimate(tensors, workspace));
    per_graph(state);
  })->UseRealTime();
  for (const int threads : {1, 2})
    benchmark::RegisterBenchmark(
        ("Graph/30_nodes/batch/threads:" + std::to_string(threads)).c_str(),
        [&, per_graph, threads](benchmark::State& state) {
          for (auto _ : state) benchmark::DoNotOptimize(predictor.estimate_batch(graphs, threads));
          per_graph(state);
        })
        ->UseRealTime();
  for (const int32_t nodes : {100, 300, 1000}) {
    const std::string name = "Graph/" + std::to_string(nodes) + "_nodes/";
    benchmark::RegisterBenchmark((name + "full").c_str(), [&, nodes](benchmark::State& state) {
      Rng own(1);
      const GraphTensors tensors = random_graph(predictor, nodes, own);
      PredictWorkspace workspace;
      for (auto _ : state) benchmark::DoNotOptimize(&predictor.estimate(tensors, workspace));
    })->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark((name + "one_changed").c_str(), [&,
                                                                  nodes](benchmark::State& state) {
      change_one_node(predictor, nodes, state);
    })->Unit(benchmark::kMicrosecond);
  }
}

// The whole way of large graphs, from a file in memory, and its peak of memory.
void add_operators(const Predictor& predictor) {
  for (const test::LargeGraph shape : test::kLargeGraphs)
    for (const int32_t operators : {10'000, 100'000})
      benchmark::RegisterBenchmark(
          ("Operators/" + std::string(test::name_of(shape)) + "/" + std::to_string(operators))
              .c_str(),
          [&predictor, shape, operators](benchmark::State& state) {
            answer_large(predictor, shape, operators, state);
          })
          ->Unit(benchmark::kMillisecond);
}

std::string stem(const std::string& file) {
  const size_t from = file.find('_') + 1;
  return file.substr(from, file.rfind('.') - from);
}

// The first sampled network of about a megabyte, written once beside the other temporary files.
std::filesystem::path megabyte_network() {
  static const std::filesystem::path file = [] {
    const auto path = std::filesystem::temp_directory_path() / "edgesage_bench_1mb.tflite";
    for (int seed = 1;; ++seed) {
      const std::string name = "mobile-classifier/1/" + std::to_string(seed);
      const std::vector<std::byte> bytes = *write_tflite(*build_network(*NetworkName::parse(name)));
      if (bytes.size() > 950'000 && bytes.size() < 1'100'000 && write_file(path, bytes)) break;
    }
    return path;
  }();
  return file;
}

std::vector<Case> find_files() {
  std::vector<Case> files;
  const char* data = std::getenv("EDGESAGE_DATA_DIR");
  for (const char* file : kFiles) {
    if (data == nullptr) break;
    const auto path = std::filesystem::path(data) / "models" / "tflite" / file;
    if (std::filesystem::exists(path)) files.push_back({stem(file), [path] { return path; }});
  }
  files.push_back({"generated_1mb", megabyte_network});
  return files;
}

int run(int argc, char** argv) {
  std::filesystem::path file = EDGESAGE_PREDICTOR;
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--predictor=", 12) == 0) file = argv[i] + 12;
  const Result<Predictor> predictor = Predictor::load(file);
  if (!predictor) {
    std::cerr << predictor.error().to_string() << '\n';
    return static_cast<int>(predictor.error().code);
  }
  for (const Case& one : find_files()) add_file(*predictor, one);
  add_graphs(*predictor);
  add_operators(*predictor);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) { return edgesage::run(argc, argv); }
