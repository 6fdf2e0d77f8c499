// Counts allocations, so it is a program of its own.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "src/nn/model.h"
#include "src/nn/stepper.h"
#include "tests/nn/random_batch.h"

namespace {
std::atomic<int64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
  return memory;
}

// Out of line, or the compiler takes the pair of new and free for a mistake.
[[gnu::noinline]] void release(void* memory) { std::free(memory); }
}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace edgesage::nn {
namespace {

TEST(Allocation, PredictionAllocatesNothingOnceTheWorkspaceHasGrown) {
  const ModelConfig config = small_config();
  Rng rng(1);
  Model model = *Model::create(config);
  const Batch large = random_batch(config, {.graphs = 4, .max_nodes = 50, .min_nodes = 50}, rng);
  const Batch small = random_batch(config, {.graphs = 3, .max_nodes = 20}, rng);
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    model.set_precision(precision);
    Workspace workspace;
    model.predict(large, workspace);
    const int64_t before = allocations;
    model.predict(small, workspace);
    model.predict(large, workspace);
    EXPECT_EQ(allocations, before);
  }
}

TEST(Allocation, DrawingGraphsIntoABatchAllocatesNothingOnceItHasGrown) {
  const ModelConfig config = small_config();
  Rng rng(2);
  const Batch data = random_batch(config, {.graphs = 6, .max_nodes = 20}, rng);
  Batch batch;
  for (int32_t g = 0; g < 6; ++g) append_graph(data, g, batch);
  const int64_t before = allocations;
  for (int round = 0; round < 3; ++round) {
    batch.clear();
    for (int32_t g = 5; g >= 0; --g) append_graph(data, g, batch);
  }
  EXPECT_EQ(allocations, before);
}

TEST(Allocation, TrainingStepAllocatesNothingOnceBuffersHaveGrown) {
  ModelConfig config = small_config();
  config.dropout = 0.1;
  Rng rng(3);
  const Model model = *Model::create(config);
  const Batch data = random_batch(config, {.graphs = 8, .max_nodes = 20}, rng);
  const TrainOptions options{.threads = 1};
  const BatchSource source(data);
  Stepper stepper(model, source, options);
  const std::vector<int32_t> graphs{0, 1, 2, 3, 4, 5, 6, 7};
  stepper.step(graphs, 1e-3);
  const int64_t before = allocations;
  stepper.step(graphs, 1e-3);
  stepper.step(std::span(graphs).first(3), 1e-3);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace edgesage::nn
