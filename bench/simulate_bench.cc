// Speed of virtual devices: rows priced a second.
//
//   simulate_bench --benchmark_filter=Chain       200 different rows on 8,000 devices
//   simulate_bench --benchmark_filter=Cells       15 cells with branches, equal ones priced once
//   simulate_bench --benchmark_filter=Decode      devices from their vectors
//   simulate_bench --benchmark_filter=Network     rows and segments of a graph
#include <benchmark/benchmark.h>

#include "src/graph/builder.h"
#include "src/simulate/simulate.h"

namespace edgesage::simulate {
namespace {

constexpr int32_t kDevices = 8000;

Graph finish(GraphBuilder& net, GraphBuilder::Id out) { return *net.finish({out}); }

// Blocks of a 1x1 and a depthwise convolution and an addition, no two alike.
Graph chain(int rows) {
  GraphBuilder net({.name = "chain", .count_only = false});
  auto x = net.input("x", {1, 32, 32, 8});
  int count = 0;
  for (int64_t channels = 8; count < rows; channels += 2, count += 4) {
    const auto wide = net.conv_2d(x, {.channels = channels, .activation = Activation::kRelu6});
    const int64_t kernel = channels % 4 == 0 ? 3 : 5;
    const auto deep = net.depthwise_conv_2d(wide, {.kernel_h = kernel, .kernel_w = kernel});
    x = net.add(net.conv_2d(deep, {.channels = channels, .kernel_h = 3, .kernel_w = 3}), wide);
  }
  return finish(net, x);
}

// As in spaces of cells: three stages of five equal cells with parallel branches.
Graph cells() {
  GraphBuilder net({.name = "cells"});
  auto x = net.input("x", {1, 32, 32, 3});
  x = net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3});
  for (int64_t channels = 16; channels <= 64; channels *= 2) {
    x = net.conv_2d(
        x, {.channels = channels, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
    for (int cell = 0; cell < 5; ++cell) {
      const auto a = net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
      const auto b = net.add(net.conv_2d(x, {.channels = channels}), a);
      const auto c = net.conv_2d(net.relu(b), {.channels = channels});
      x = net.add(net.add(c, a), x);
    }
  }
  return finish(net, net.fully_connected(net.mean(x, {1, 2}, false), {.units = 10}));
}

SimNetwork network_of(const Graph& graph) {
  return make_sim_network(graph, lower(graph, *target_from_name("generic")));
}

void price(benchmark::State& state, const Graph& graph) {
  const SimNetwork network = network_of(graph);
  const DeviceSet devices = DeviceSet::decode(draw_devices(1, 0, kDevices));
  SimWorkspace workspace;
  std::vector<float> out(kDevices);
  const auto quantity = static_cast<SimQuantity>(state.range(0));
  for (auto _ : state) {
    log_costs(network, devices, quantity, workspace, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["rows"] = network.rows();
  state.counters["unique"] = static_cast<double>(network.unique.size());
  state.counters["row prices/s"] = benchmark::Counter(
      static_cast<double>(network.rows()) * kDevices * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

void BM_Chain(benchmark::State& state) { price(state, chain(200)); }
void BM_Cells(benchmark::State& state) { price(state, cells()); }
BENCHMARK(BM_Chain)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Cells)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void BM_Decode(benchmark::State& state) {
  const std::vector<float> z = draw_devices(1, 0, 1000);
  for (auto _ : state) benchmark::DoNotOptimize(DeviceSet::decode(z).size());
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK(BM_Decode)->Unit(benchmark::kMillisecond);

void BM_Network(benchmark::State& state) {
  const Graph graph = chain(200);
  const Lowering lowering = lower(graph, *target_from_name("generic"));
  for (auto _ : state) benchmark::DoNotOptimize(make_sim_network(graph, lowering).rows());
}
BENCHMARK(BM_Network)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace edgesage::simulate

BENCHMARK_MAIN();
