// Speed of the kernels, in the shapes that a graph of 100 nodes gives them.
//
//   kernel_bench --benchmark_filter=Gemm/96    the core's peak: a product that stays in its caches
//   kernel_bench                               what a pass consists of, one by one
//
// EDGESAGE_TARGET forces an instruction set (see src/kernels/target.h).
#include <benchmark/benchmark.h>

#include <iostream>
#include <vector>

#include "src/base/rng.h"
#include "src/kernels/adam.h"
#include "src/kernels/gemm.h"
#include "src/kernels/layer_norm.h"
#include "src/kernels/segment.h"
#include "src/kernels/target.h"

namespace edgesage::kernels {
namespace {

AlignedFloats random_floats(int64_t count) {
  Rng rng(1);
  AlignedFloats values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

// A matrix that owns its numbers.
struct Numbers {
  Numbers(int64_t rows_in, int64_t cols_in)
      : values(random_floats(rows_in * cols_in)), rows(rows_in), cols(cols_in) {}

  [[nodiscard]] Matrix view() { return {values.data(), rows, cols, cols}; }

  AlignedFloats values;
  int64_t rows, cols;
};

void set_rate(benchmark::State& state, const char* name, int64_t count) {
  state.counters[name] =
      benchmark::Counter(static_cast<double>(count) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
  state.SetLabel(target_name());
}

// Arguments: rows, summed index, columns.
void BM_Gemm(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  Numbers a(m, k), b(k, n), bias(1, n), c(m, n);
  PackedMatrix packed;
  packed.pack(b.view());
  for (auto _ : state) {
    gemm(a.view(), packed, {.bias = bias.values.data(), .relu = true}, c.view());
    benchmark::ClobberMemory();
  }
  set_rate(state, "FLOP/s", 2 * m * k * n);
}
BENCHMARK(BM_Gemm)
    ->Args({96, 256, 192})  // the peak
    ->Args({100, 85, 64})   // encoder
    ->Args({100, 192, 64})  // layer
    ->Args({100, 64, 32})   // node head
    ->Args({100, 32, 2})    // its end
    ->Args({1, 145, 64})    // graph head
    ->Args({100, 85, 128})  // the same for 128 columns
    ->Args({100, 384, 128})
    ->Args({100, 128, 64})
    ->Args({100, 64, 2})
    ->Args({1, 273, 128})
    ->Args({3000, 192, 64});  // beyond the second-level cache

// With packing the right-hand side, as training does. Arguments: rows, inputs, outputs.
void BM_GemmOfWeightGradient(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  Numbers x(m, k), dy(m, n), dw(k, n);
  PackedMatrix packed;
  for (auto _ : state) {
    packed.pack(dy.view());
    gemm_transposed_accumulate(x.view(), packed, dw.view());
    benchmark::ClobberMemory();
  }
  set_rate(state, "FLOP/s", 2 * m * k * n);
}
BENCHMARK(BM_GemmOfWeightGradient)->Args({480, 192, 64})->Args({480, 384, 128});

// Every node reads the one before it, every fourth also one further back.
struct Chain {
  explicit Chain(int32_t nodes) {
    for (int32_t i = 0; i < nodes; ++i) {
      if (i > 0) index.push_back(i - 1);
      if (i >= 4 && i % 4 == 0) index.push_back(i - 4);
      offset.push_back(static_cast<int32_t>(index.size()));
    }
  }
  [[nodiscard]] Segments view() const { return {offset.data(), index.data()}; }

  std::vector<int32_t> offset{0};
  std::vector<int32_t> index;
};

// Arguments: nodes, columns.
template <class Kernel>
void run_segments(benchmark::State& state, Kernel kernel) {
  const Chain chain(static_cast<int32_t>(state.range(0)));
  Numbers h(state.range(0), state.range(1)), out(state.range(0), state.range(1));
  for (auto _ : state) {
    kernel(chain.view(), h.view(), out.view());
    benchmark::ClobberMemory();
  }
  set_rate(state, "nodes/s", state.range(0));
}

void BM_SegmentSum(benchmark::State& state) { run_segments(state, segment_sum); }
void BM_SegmentMean(benchmark::State& state) { run_segments(state, segment_mean); }
void BM_SegmentMaximum(benchmark::State& state) {
  std::vector<int32_t> first(static_cast<size_t>(state.range(0) * state.range(1)));
  run_segments(state, [&](const Segments& segments, ConstMatrix h, Matrix out) {
    segment_maximum(segments, h, out, first.data());
  });
}
BENCHMARK(BM_SegmentSum)->Args({100, 64})->Args({100, 128});
BENCHMARK(BM_SegmentMean)->Args({100, 64})->Args({100, 128});
BENCHMARK(BM_SegmentMaximum)->Args({100, 64})->Args({100, 128});

// With the residual, as in prediction. Arguments: nodes, columns.
void BM_LayerNorm(benchmark::State& state) {
  const int64_t rows = state.range(0), cols = state.range(1);
  Numbers z(rows, cols), residual(rows, cols), y(rows, cols), gain(1, cols), bias(1, cols);
  for (auto _ : state) {
    layer_norm_relu(z.view(), gain.values.data(), bias.values.data(), {},
                    {.factor = {}, .residual = residual.view()}, y.view());
    benchmark::ClobberMemory();
  }
  set_rate(state, "nodes/s", rows);
}
BENCHMARK(BM_LayerNorm)->Args({100, 64})->Args({100, 128});

// Argument: weights.
void BM_Adam(benchmark::State& state) {
  const int64_t count = state.range(0);
  Numbers parameters(1, count), gradient(1, count), first(1, count), second(1, count);
  for (float& value : second.values) value *= value;
  AdamStep step;
  for (auto _ : state) {
    adam(step, count, gradient.values.data(), first.values.data(), second.values.data(),
         parameters.values.data());
    ++step.step;
    benchmark::ClobberMemory();
  }
  set_rate(state, "weights/s", count);
}
BENCHMARK(BM_Adam)->Arg(50000);

}  // namespace
}  // namespace edgesage::kernels

int main(int argc, char** argv) {
  if (const auto chosen = edgesage::kernels::use_target_of_environment(); !chosen) {
    std::cerr << chosen.error().to_string() << '\n';
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
