// Speed of the network: prediction and training.
//
//   nn_bench --benchmark_filter=Predict     one graph; arguments: hidden, nodes. FLOP/s counts the
//                                           products of the textbook network, heads included
//   nn_bench --benchmark_filter=Train       graphs of 60 nodes; arguments: hidden, threads
//
// EDGESAGE_TARGET forces an instruction set (see src/kernels/target.h).
#include <benchmark/benchmark.h>

#include <iostream>
#include <numeric>

#include "src/base/rng.h"
#include "src/kernels/target.h"
#include "src/nn/model.h"
#include "src/nn/trainer.h"

namespace edgesage {
namespace {

nn::ModelConfig config_of(int64_t hidden) {
  nn::ModelConfig config;
  config.features = 69;
  config.kinds = 40;
  config.globals = 16;
  config.hidden = static_cast<int32_t>(hidden);
  config.quantities = {{"latency_ms", nn::ReadOut::kSum, true, 1.0},
                       {"sram_bytes", nn::ReadOut::kMax, false, 1.0}};
  return config;
}

// Stands for a trained one: no weight is zero, as those of a fresh model's heads are.
nn::Model trained_model(const nn::ModelConfig& config) {
  nn::Model model = *nn::Model::create(config);
  std::vector<float> parameters(model.parameters().begin(), model.parameters().end());
  Rng rng(2);
  for (float& value : parameters) value += static_cast<float>(0.05 * rng.normal());
  if (!model.set_parameters(parameters)) std::abort();
  return model;
}

// A chain with a skip every fourth node.
void append_chain(const nn::ModelConfig& config, int32_t nodes, Rng& rng, nn::Batch& batch) {
  const int32_t first = batch.nodes();
  for (int32_t i = 0; i < nodes; ++i) {
    if (i > 0) batch.producers.index.push_back(first + i - 1);
    if (i >= 4 && i % 4 == 0) batch.producers.index.push_back(first + i - 4);
    if (i + 1 < nodes) batch.consumers.index.push_back(first + i + 1);
    if (i % 4 == 0 && i + 4 < nodes) batch.consumers.index.push_back(first + i + 4);
    batch.producers.offset.push_back(static_cast<int32_t>(batch.producers.index.size()));
    batch.consumers.offset.push_back(static_cast<int32_t>(batch.consumers.index.size()));
    batch.kind.push_back(static_cast<int32_t>(rng.integer(0, config.kinds - 1)));
    batch.node_op.push_back(first + i);
    for (int32_t j = 0; j < config.features; ++j)
      batch.x.push_back(static_cast<float>(rng.normal()));
    for (int32_t c = 0; c < config.columns(); ++c)
      batch.log_prior.push_back(static_cast<float>(rng.normal()));
    for (int32_t q = 0; q < config.quantity_count(); ++q)
      batch.op_label.push_back(static_cast<float>(rng.log_uniform(0.1, 10)));
  }
  for (int32_t j = 0; j < config.globals; ++j)
    batch.globals.push_back(static_cast<float>(rng.normal()));
  for (int32_t q = 0; q < config.quantity_count(); ++q)
    batch.log_total.push_back(static_cast<float>(rng.normal()));
  batch.graph_offset.push_back(first + nodes);
  batch.op_graph_offset.push_back(first + nodes);
}

nn::Batch chains(const nn::ModelConfig& config, int32_t graphs, int32_t nodes) {
  nn::Batch batch;
  batch.features = config.features;
  batch.globals_width = config.globals;
  batch.columns = config.columns();
  batch.quantities = config.quantity_count();
  Rng rng(1);
  for (int32_t g = 0; g < graphs; ++g) append_chain(config, nodes, rng, batch);
  return batch;
}

void set_nodes(benchmark::State& state, int64_t nodes) {
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

// Of one pass over a graph, multiplications and additions counted apart.
double product_flops(const nn::ModelConfig& config, int64_t nodes) {
  const int64_t hidden = config.hidden, half = config.node_hidden();
  const int64_t encoder = (int64_t{config.features} + config.embedding) * hidden;
  const int64_t layers = config.layers * 3 * hidden * hidden;
  const int64_t node_head = half * (hidden + config.columns());
  const int64_t graph_head = hidden * (config.pooled() + 2 * int64_t{config.quantity_count()});
  return 2.0 * static_cast<double>(nodes * (encoder + layers + node_head) + graph_head);
}

void run_predict(benchmark::State& state, nn::Precision precision) {
  const nn::ModelConfig config = config_of(state.range(0));
  nn::Model model = trained_model(config);
  model.set_precision(precision);
  const nn::Batch batch = chains(config, 1, static_cast<int32_t>(state.range(1)));
  nn::Workspace workspace;
  for (auto _ : state) benchmark::DoNotOptimize(model.predict(batch, workspace).totals.data());
  set_nodes(state, batch.nodes());
  state.counters["FLOP/s"] = benchmark::Counter(
      product_flops(config, batch.nodes()) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
  state.SetLabel(kernels::target_name());
}
void BM_Predict(benchmark::State& state) { run_predict(state, nn::Precision::kFloat32); }
void BM_PredictBfloat16(benchmark::State& state) { run_predict(state, nn::Precision::kBfloat16); }
BENCHMARK(BM_Predict)
    ->ArgsProduct({{64, 96, 128}, {30, 100, 300, 3000, 100000}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PredictBfloat16)
    ->ArgsProduct({{64, 96, 128}, {30, 100, 300, 3000, 100000}})
    ->Unit(benchmark::kMicrosecond);

void BM_TrainEpoch(benchmark::State& state) {
  const nn::ModelConfig config = config_of(state.range(0));
  const nn::Batch data = chains(config, 512, 60);
  std::vector<int32_t> graphs(512);
  std::iota(graphs.begin(), graphs.end(), 0);
  nn::Model model = *nn::Model::create(config);
  const nn::TrainOptions options{.epochs = 1, .threads = static_cast<int>(state.range(1))};
  for (auto _ : state) {
    if (!nn::train(model, data, graphs, options)) state.SkipWithError("training failed");
  }
  set_nodes(state, data.nodes());
}
BENCHMARK(BM_TrainEpoch)
    ->ArgsProduct({{64, 128}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) {
  if (const auto chosen = edgesage::kernels::use_target_of_environment(); !chosen) {
    std::cerr << chosen.error().to_string() << '\n';
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
