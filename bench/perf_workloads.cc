// Fixed workloads whose instructions `./dev perf-check` counts.
//
//   perf_workloads NAME [INSTRUCTION_SET]
//
// Each does the same work in every run, on one thread, from inputs that it makes itself, so that a
// count changes only with the program. They print a number that depends on all of the work, and the
// instruction set of the kernels on stderr. A workload that must do something else gets a new name:
// counts are compared by name.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/features/extract.h"
#include "src/graph/graph_hash.h"
#include "src/io/tflite_reader.h"
#include "src/io/tflite_writer.h"
#include "src/kernels/target.h"
#include "src/learn/label_file.h"
#include "src/nn/trainer.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

Graph network(const std::string& name) { return *build_network(*NetworkName::parse(name)); }

// A temporary file of this process.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const std::byte> bytes)
      : path_(std::filesystem::temp_directory_path() /
              ("edgesage_perf_" + std::to_string(checksum64(bytes)))) {
    if (!write_file(path_, bytes)) path_.clear();
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// From the bytes of a .tflite to the numbers that a network reads.
double features() {
  constexpr Quantity kQuantities[] = {Quantity::kLatencyMs, Quantity::kSramBytes};
  const Target target = *target_from_name("ethos-u55-256");
  double sum = 0;
  for (const char* name : {"keyword-sound/1/2", "mobile-classifier/1/2"}) {
    const TemporaryFile file(*write_tflite(network(name)));
    for (int i = 0; i < 60; ++i) {
      const Graph graph = *read_tflite(*MappedFile::open(file.path(), ErrorCode::kBadModel), name);
      const GraphTensors tensors = extract_features(graph, lower(graph, target), kQuantities);
      sum = std::accumulate(tensors.x.begin(), tensors.x.end(), sum);
    }
  }
  return sum;
}

nn::ModelConfig config_of(int32_t hidden) {
  nn::ModelConfig config;
  config.features = 64;
  config.kinds = 40;
  config.globals = 16;
  config.hidden = hidden;
  config.quantities = {{"latency_ms", nn::ReadOut::kSum, true, 1.0},
                       {"sram_bytes", nn::ReadOut::kMax, true, 1.0}};
  return config;
}

std::vector<float> normals(int64_t count, Rng& rng) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

// Edges of chains in which every fourth node is also read by the one after the next.
void append_edges(int32_t nodes, nn::Batch& batch) {
  const int32_t first = batch.nodes();
  const auto end = [](nn::Csr& csr) {
    csr.offset.push_back(static_cast<int32_t>(csr.index.size()));
  };
  for (int32_t i = 0; i < nodes; ++i) {
    if (i > 0) batch.producers.index.push_back(first + i - 1);
    if (i > 1 && i % 4 == 2) batch.producers.index.push_back(first + i - 2);
    if (i + 1 < nodes) batch.consumers.index.push_back(first + i + 1);
    if (i + 2 < nodes && i % 4 == 0) batch.consumers.index.push_back(first + i + 2);
    end(batch.producers);
    end(batch.consumers);
  }
}

nn::Batch chains(const nn::ModelConfig& config, int32_t graphs, int32_t nodes) {
  nn::Batch batch;
  batch.features = config.features;
  batch.globals_width = config.globals;
  batch.columns = config.columns();
  batch.quantities = config.quantity_count();
  for (int32_t g = 0; g < graphs; ++g) {
    append_edges(nodes, batch);
    batch.graph_offset.push_back((g + 1) * nodes);
    batch.op_graph_offset.push_back((g + 1) * nodes);
  }
  Rng rng(1);
  const int32_t all = graphs * nodes;
  batch.x = normals(int64_t{all} * config.features, rng);
  batch.log_prior = normals(int64_t{all} * batch.columns, rng);
  batch.globals = normals(int64_t{graphs} * config.globals, rng);
  batch.log_total = normals(int64_t{graphs} * batch.quantities, rng);
  for (int32_t i = 0; i < all; ++i) {
    batch.kind.push_back(i % config.kinds);
    batch.node_op.push_back(i);
    for (int32_t q = 0; q < batch.quantities; ++q)
      batch.op_label.push_back(static_cast<float>(rng.log_uniform(0.1, 10)));
  }
  return batch;
}

// One graph of 100 nodes again and again.
double forward() {
  double sum = 0;
  for (const int32_t hidden : {64, 128}) {
    const nn::ModelConfig config = config_of(hidden);
    const nn::Model model = *nn::Model::create(config);
    const nn::Batch batch = chains(config, 1, 100);
    nn::Workspace workspace;
    for (int i = 0; i < 40; ++i) sum += model.predict(batch, workspace).totals[0];
  }
  return sum;
}

double training() {
  const nn::ModelConfig config = config_of(64);
  const nn::Batch data = chains(config, 64, 40);
  std::vector<int32_t> graphs(64);
  std::iota(graphs.begin(), graphs.end(), 0);
  nn::Model model = *nn::Model::create(config);
  return nn::train(model, data, graphs, {.epochs = 3, .batch_graphs = 16, .threads = 1})->loss;
}

// Sampling, building and both hashes.
double spaces() {
  size_t sum = 0;
  for (const char* space : {"keyword-sound/1/", "mobile-classifier/1/"})
    for (int seed = 1; seed <= 4; ++seed) {
      const Graph graph = network(space + std::to_string(seed));
      for (const std::string& hash : {graph_hash(graph), weights_hash(graph)})
        sum = std::accumulate(hash.begin(), hash.end(), sum);
    }
  return static_cast<double>(sum);
}

LabelRow label_row(int64_t number, Rng& rng) {
  LabelRow row;
  row.name = "mobile-classifier/1/" + std::to_string(number);
  row.graph_hash = "g1-" + std::to_string(number);
  row.device = "ethos-u55-256";
  row.runtime = "vela";
  row.runtime_version = "5.2.0";
  row.statistic = "estimate";
  for (const char* quantity : {"latency_ms", "sram_bytes", "original_weights_bytes"})
    row.quantities[quantity] = rng.log_uniform(0.1, 1e6);
  row.operator_unit = "cycles";
  for (int32_t i = 0; i < 60; ++i)
    row.operators.push_back({.index = i,
                             .cycles = static_cast<double>(rng.integer(0, 1'000'000)),
                             .macs = rng.integer(0, 10'000'000),
                             .working_bytes = static_cast<double>(rng.integer(0, 1 << 20)),
                             .placement = "npu"});
  return row;
}

// A label file to text and back.
double labels() {
  Rng rng(1);
  std::vector<LabelRow> rows;
  for (int64_t i = 0; i < 600; ++i) rows.push_back(label_row(i, rng));
  double sum = 0;
  for (int round = 0; round < 3; ++round) {
    rows = *labels_from_csv(labels_to_csv(rows), "perf");
    for (const LabelRow& row : rows) sum += row.quantities.at("latency_ms");
  }
  return sum;
}

struct Workload {
  std::string_view name;
  double (*run)();
};

constexpr Workload kWorkloads[] = {{"features", features},
                                   {"forward", forward},
                                   {"training", training},
                                   {"spaces", spaces},
                                   {"labels", labels}};

int run(std::span<const std::string_view> arguments) {
  if (arguments.size() > 1) {
    if (const Status forced = kernels::use_target(arguments[1]); !forced) {
      fmt::print(stderr, "{}\n", forced.error().to_string());
      return 2;
    }
  }
  for (const Workload& workload : kWorkloads) {
    if (arguments.empty()) fmt::print("{}\n", workload.name);
    if (arguments.empty() || arguments[0] != workload.name) continue;
    fmt::print(stderr, "{}\n", kernels::target_name());
    fmt::print("{:.17g}\n", workload.run());
    return 0;
  }
  return arguments.empty() ? 0 : 2;
}

}  // namespace
}  // namespace edgesage

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  return edgesage::run(arguments);
}
