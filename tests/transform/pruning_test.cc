// Pruned networks against masked ones, both run by LiteRT: published files and well-known networks.
//
// EDGESAGE_PRUNINGS sets how many prunings are drawn (1,000 for the figure in docs/search.md), and
// EDGESAGE_PRUNING_SIDE=0 builds the well-known networks in full size (default: images of 96).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/devices/run_model.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/reference_networks.h"
#include "src/spaces/space.h"
#include "src/transform/pruning_space.h"
#include "src/transform/weight_magnitude.h"
#include "tests/devices/open_worker.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {
namespace fs = std::filesystem;

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

PruningOptions all_genes() {
  return {.least_share = 0.2, .levels = 16, .side_shares = {0.5, 0.75}, .drop_blocks = true};
}

struct Network {
  std::string name;
  PruningSpace space;
};

bool is_convolutional(const Graph& graph) {
  return !graph.subgraphs.empty() &&
         std::ranges::any_of(graph.main().operators, [](const Operator& op) {
           return op.kind == OpKind::kConv2D || op.kind == OpKind::kDepthwiseConv2D;
         });
}

std::vector<Network> published_networks() {
  std::vector<Network> networks;
  for (const test::IndexedModel& model : test::indexed_models(*test::data_dir())) {
    if (model.kind != "tflite") continue;
    auto graph = read_model(model.path);
    if (!graph || !is_convolutional(*graph)) continue;
    auto space = PruningSpace::make(std::move(*graph), all_genes());
    // Of those with a single operator nothing can go.
    if (space)
      networks.push_back({model.file, std::move(*space)});
    else
      EXPECT_EQ(model.operators, 1) << model.file << ": " << space.error().message;
  }
  return networks;
}

std::vector<Network> reference_spaces() {
  const int64_t side = setting("EDGESAGE_PRUNING_SIDE", 96);
  std::vector<Network> networks;
  for (const ReferenceNetwork& info : reference_networks()) {
    const std::string code =
        side > 0 ? fmt::format("{}@{}", info.name, side) : std::string(info.name);
    auto space = PruningSpace::make(*build_reference(code), all_genes());
    EXPECT_TRUE(space) << code;
    networks.push_back({code, std::move(*space)});
  }
  return networks;
}

Genome random_genome(const PruningSpace& space, Rng& rng) {
  Genome genome = space.base();
  const double change = rng.uniform(0.1, 1.0);
  for (size_t i = 0; i < genome.size(); ++i) {
    const bool is_block = space.genes()[i].kind == PruningGene::Kind::kBlock;
    if (rng.chance(is_block ? change / 3 : change))
      genome[i] = static_cast<int32_t>(rng.integer(0, space.genes()[i].count() - 1));
  }
  return genome;
}

int64_t input_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const int32_t input : graph.main().inputs)
    bytes += graph.main().tensors[static_cast<size_t>(input)].byte_size().value_or(0);
  return bytes;
}

std::vector<std::byte> random_inputs(const Graph& graph, Rng& rng) {
  std::vector<std::byte> bytes;
  for (const int32_t input : graph.main().inputs) {
    const Tensor& tensor = graph.main().tensors[static_cast<size_t>(input)];
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      if (tensor.type == DataType::kFloat32) {
        const auto value = static_cast<float>(rng.normal());
        const auto* raw = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), raw, raw + sizeof value);
      } else {
        bytes.push_back(static_cast<std::byte>(rng.next() & 0xff));
      }
    }
  }
  return bytes;
}

// Filters of bytes under float activations, which the runtime quantises as it goes: by the largest
// of all channels, those included that count for nothing.
bool is_hybrid(const Graph& graph) {
  return std::ranges::any_of(graph.main().operators, [&](const Operator& op) {
    if (op.inputs.size() < 2 || op.inputs[0] < 0 || op.inputs[1] < 0) return false;
    const auto type = [&](size_t i) {
      return graph.main().tensors[static_cast<size_t>(op.inputs[i])].type;
    };
    return type(0) == DataType::kFloat32 && type(1) == DataType::kInt8;
  });
}

// The largest difference: of integers in their quanta, of floats in 1e-5 of the largest, or, where
// they are quantised on the way, 1e-2 of it.
double difference(const Graph& graph, std::span<const std::byte> a, std::span<const std::byte> b) {
  const double unit = is_hybrid(graph) ? 1e-2 : 1e-5;
  double worst = 0;
  size_t at = 0;
  for (const int32_t output : graph.main().outputs) {
    const Tensor& tensor = graph.main().tensors[static_cast<size_t>(output)];
    const auto count = static_cast<size_t>(tensor.element_count());
    if (tensor.type == DataType::kFloat32) {
      std::vector<float> x(count), y(count);
      std::memcpy(x.data(), a.data() + at, count * sizeof(float));
      std::memcpy(y.data(), b.data() + at, count * sizeof(float));
      float largest = 1e-6F;
      for (const float value : x) largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i < count; ++i)
        worst = std::max(worst, static_cast<double>(std::abs(x[i] - y[i]) / largest) / unit);
      at += count * sizeof(float);
      continue;
    }
    for (size_t i = 0; i < count; ++i)
      worst = std::max<double>(
          worst, std::abs(std::to_integer<int>(a[at + i]) - std::to_integer<int>(b[at + i])));
    at += count;
  }
  return worst;
}

class Pruning : public testing::Test {
 protected:
  void SetUp() override {
    EDGESAGE_REQUIRE(test::venv_python(), "no .venv; run ./dev setup");
    EDGESAGE_REQUIRE(test::data_dir(), "no models; set EDGESAGE_DATA_DIR");
    EDGESAGE_REQUIRE(fs::exists(test::binary_dir() / "workers/edgesage-worker-litert"),
                     "the worker is not built");
    worker_ = test::open_worker(test::shipped_device("host-litert"));
  }

  Result<RunOutputs> run(const Graph& graph, std::span<const std::byte> inputs) {
    const fs::path file = dir_.path() / "model.tflite";
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, write_tflite(graph));
    EDGESAGE_RETURN_IF_ERROR(write_file(file, bytes));
    return run_model(worker_, file, inputs);
  }

  // One pruning: it runs, and equals the masked network. The difference.
  double prune(const Network& network, Rng& rng) {
    const Genome genome = random_genome(network.space, rng);
    const std::string what = network.name + ": " + network.space.describe(genome);
    const auto pruned = network.space.build(genome);
    const auto masked = network.space.build_masked(genome);
    EXPECT_TRUE(pruned && masked) << what;
    if (!pruned || !masked) return 1e9;
    EXPECT_TRUE(validate(*pruned)) << what;
    EXPECT_EQ(input_bytes(*pruned), input_bytes(*masked)) << what;
    const std::vector<std::byte> inputs = random_inputs(*pruned, rng);
    const auto of_pruned = run(*pruned, inputs);
    const auto of_masked = run(*masked, inputs);
    EXPECT_TRUE(of_pruned) << what << (of_pruned ? "" : of_pruned.error().to_string());
    EXPECT_TRUE(of_masked) << what << (of_masked ? "" : of_masked.error().to_string());
    if (!of_pruned || !of_masked || of_pruned->bytes.size() != of_masked->bytes.size()) return 1e9;
    return difference(*pruned, of_pruned->bytes, of_masked->bytes);
  }

  void check(const std::vector<Network>& networks, int64_t prunings) {
    std::map<std::string, double> worst;
    std::map<std::string, int64_t> exact;
    std::map<std::string, int64_t> count;
    for (int64_t i = 0; i < prunings; ++i) {
      const Network& network = networks[static_cast<size_t>(i) % networks.size()];
      Rng rng(static_cast<uint64_t>(i), "prunings");
      const double off = prune(network, rng);
      EXPECT_LE(off, 1.0) << network.name << ", pruning " << i;
      worst[network.name] = std::max(worst[network.name], off);
      if (off == 0) ++exact[network.name];
      ++count[network.name];
    }
    for (const auto& [name, off] : worst)
      fmt::print("{}: {} prunings, {} exact, at most {:.3f} off\n", name, count[name], exact[name],
                 off);
  }

  test::TempDir dir_;
  WorkerClient worker_{{}};
};

TEST_F(Pruning, OfPublishedFilesEqualsMaskingThem) {
  const std::vector<Network> networks = published_networks();
  ASSERT_GE(networks.size(), 7U);
  const auto count = static_cast<int64_t>(networks.size());
  check(networks, std::max(setting("EDGESAGE_PRUNINGS", 0) / 2, 4 * count));
}

TEST_F(Pruning, OfWellKnownNetworksEqualsMaskingThem) {
  check(reference_spaces(), std::max<int64_t>(setting("EDGESAGE_PRUNINGS", 0) / 2, 5));
}

TEST_F(Pruning, OfNothingIsTheOriginal) {
  for (const Network& network : published_networks()) {
    const auto same = network.space.build(network.space.base());
    ASSERT_TRUE(same) << network.name;
    EXPECT_EQ(graph_hash(*same), graph_hash(network.space.graph())) << network.name;
    EXPECT_EQ(*write_tflite(*same), *write_tflite(network.space.graph())) << network.name;
  }
}

TEST_F(Pruning, KeepsTheShareOfMagnitudeThatItSays) {
  for (const Network& network : published_networks()) {
    const KeptMagnitude kept(network.space);
    Genome genome = network.space.base();
    EXPECT_DOUBLE_EQ(kept(genome), 1.0) << network.name;
    Rng rng(3, network.name);
    double before = 1.0;
    for (int step = 0; step < 40; ++step) {
      const auto gene =
          static_cast<size_t>(rng.integer(0, static_cast<int64_t>(genome.size()) - 1));
      genome[gene] = std::max(0, genome[gene] - 1);
      const double now = kept(genome);
      EXPECT_LE(now, before + 1e-12) << network.name;
      EXPECT_GT(now, 0) << network.name;
      before = now;
    }
  }
}

TEST(PruningSpace, RefusesGenomesThatAreNone) {
  const auto space = PruningSpace::make(*build_reference("mobilenet-v2@64", false), {});
  ASSERT_TRUE(space);
  Genome genome = space->base();
  genome.front() = space->genes().front().count();
  EXPECT_EQ(space->build(genome).error().code, ErrorCode::kInvalidArgument);
  genome.pop_back();
  EXPECT_EQ(space->build(genome).error().code, ErrorCode::kInvalidArgument);
}

TEST(PruningSpace, FindsEveryResidualBlockOfResNet50) {
  const auto space = PruningSpace::make(*build_reference("resnet50", false), {});
  ASSERT_TRUE(space);
  // 16 blocks, of which the first of each of four stages has a projection and cannot go.
  EXPECT_EQ(space->blocks().size(), 12U);
  // Two inner widths a block, one a stage for what is added, and the first convolution.
  const auto widths = std::ranges::count_if(space->genes(), [](const PruningGene& gene) {
    return gene.kind == PruningGene::Kind::kWidth;
  });
  EXPECT_EQ(widths, 2 * 16 + 4 + 1);
}

}  // namespace
}  // namespace edgesage
