// What is remembered from candidate to candidate against the whole way: build the network, lower
// it, extract its features.
#include "src/learn/pruned_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "src/base/rng.h"
#include "src/features/extract.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

const std::vector<Quantity> kQuantities{Quantity::kLatencyMs, Quantity::kSramBytes,
                                        Quantity::kEnergyMj, Quantity::kDramBytes};

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_equal(const GraphTensors& a, const GraphTensors& b, const std::string& what) {
  EXPECT_TRUE(equal_bits(a.x, b.x)) << what;
  EXPECT_TRUE(equal_bits(a.globals, b.globals)) << what;
  EXPECT_TRUE(equal_bits(a.log_prior, b.log_prior)) << what;
  EXPECT_EQ(a.kind, b.kind) << what;
  EXPECT_EQ(a.op, b.op) << what;
  EXPECT_EQ(a.producers.offset, b.producers.offset) << what;
  EXPECT_EQ(a.producers.index, b.producers.index) << what;
  EXPECT_EQ(a.consumers.offset, b.consumers.offset) << what;
  EXPECT_EQ(a.consumers.index, b.consumers.index) << what;
}

// Some near the one before, some anywhere.
std::vector<Genome> walk(const PruningSpace& space, int count) {
  Rng rng(3);
  std::vector<Genome> all{space.base()};
  while (static_cast<int>(all.size()) < count) {
    Genome genome = all.back();
    const double share = rng.chance(0.5) ? 0.05 : 0.7;
    for (size_t g = 0; g < genome.size(); ++g)
      if (rng.chance(share))
        genome[g] = static_cast<int32_t>(rng.integer(0, space.genes()[g].count() - 1));
    all.push_back(std::move(genome));
  }
  return all;
}

class PrunedReaderTest : public testing::TestWithParam<const char*> {};

TEST_P(PrunedReaderTest, IsTheWholeEvaluationToTheBitOnEveryTarget) {
  const PruningSpace space = *PruningSpace::make(*build_network(*NetworkName::parse(GetParam())),
                                                 {.side_shares = {0.5, 0.75}});
  std::vector<Target> targets;
  std::vector<std::unique_ptr<PrunedReader>> readers;
  for (const std::string& name : target_names()) {
    targets.push_back(*target_from_name(name));
    readers.push_back(std::make_unique<PrunedReader>(space, targets.back(), kQuantities));
  }
  for (const Genome& genome : walk(space, 8)) {
    const Graph built = *space.build(genome);
    for (size_t t = 0; t < targets.size(); ++t) {
      const auto read = readers[t]->read(genome);
      ASSERT_TRUE(read) << read.error().to_string();
      expect_equal(read->tensors, extract_features(built, lower(built, targets[t]), kQuantities),
                   targets[t].name + ", " + space.describe(genome));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, PrunedReaderTest,
                         testing::Values("reference/mobilenet-v2@64", "reference/resnet50@64",
                                         "reference/densenet169@32", "reference/inception-v3@96",
                                         "reference/efficientnet-lite0@64",
                                         "residual-classifier/1/11", "segmentation/1/5"));

TEST(PrunedReader, RefusesWhatIsNoGenome) {
  const PruningSpace space =
      *PruningSpace::make(*build_network(*NetworkName::parse("residual-classifier/1/11")), {});
  PrunedReader reader(space, *target_from_name("generic"), kQuantities);
  EXPECT_FALSE(reader.read({1}));
  Genome beyond = space.base();
  ++beyond.front();
  EXPECT_FALSE(reader.read(beyond));
  EXPECT_TRUE(reader.read(space.base()));
}

}  // namespace
}  // namespace edgesage
