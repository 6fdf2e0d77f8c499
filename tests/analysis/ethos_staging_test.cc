// Where feature maps of U65 and U85 live: against figures worked out by hand.
#include "src/analysis/ethos_staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "src/analysis/ethos_cycles.h"
#include "src/graph/builder.h"

namespace edgesage {
namespace {

constexpr int64_t kLimit = 384 * 1024;

Graph chain(int64_t height, int64_t width, int64_t channels, int convolutions) {
  GraphBuilder net(GraphBuilder::Options{});
  auto x = net.input("x", {1, height, width, channels});
  for (int i = 0; i < convolutions; ++i)
    x = net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
  return *net.finish({x});
}

Lowering lowered(const Graph& graph, const char* target = "ethos-u65-512") {
  return lower(graph, *target_from_name(target));
}

EthosMaps maps_of(const Graph& graph, const Lowering& lowering) {
  return ethos_maps(graph, lowering, std::vector<uint8_t>(lowering.rows.size(), 0));
}

EthosCascades cascades_of(const Graph& graph, int64_t limit, int64_t weights = 0) {
  const Lowering lowering = lowered(graph);
  const CascadeWeights copied = [&](const EthosCascades&, size_t first, size_t last) {
    std::vector<int64_t> bytes(last - first + 1, 0);
    bytes.back() = weights;
    return bytes;
  };
  return ethos_cascades(lowering, maps_of(graph, lowering), copied, limit);
}

// Maps of 128 x 128 x 64 are 1 MiB. When the second makes s lines it reads s + 2, and the buffer
// holds 2 (s + 2) lines of 8 KiB: 22 lines fill 384 KiB.
TEST(EthosCascades, TakeAsManyLinesAsFit) {
  const EthosCascades two = cascades_of(chain(128, 128, 64, 2), kLimit);
  EXPECT_EQ(two.first_row, (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(two.lines, (std::vector<int64_t>{22, 22}));
  EXPECT_EQ(two.buffers[0], kLimit);
  EXPECT_EQ(std::accumulate(two.is_rolling.begin(), two.is_rolling.end(), 0), 1);
  // Weights that are copied are beside the buffer: four lines less.
  EXPECT_EQ(cascades_of(chain(128, 128, 64, 2), kLimit, 4 * 16384).lines[0], 18);
}

TEST(EthosCascades, DoNotFormWhereOneLineIsTooMuchOrTheWholeMapFits) {
  // Six lines of 256 KiB.
  EXPECT_EQ(cascades_of(chain(64, 4096, 64, 2), kLimit).lines, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(cascades_of(chain(32, 32, 64, 2), kLimit).lines, (std::vector<int64_t>{0, 0}));
}

// Maps of 160 x 160 x 72: one line takes 12.5 KiB, and with one line each all rolling
// buffers fit; with more they do not, and the cascade falls into several.
TEST(EthosCascades, FallIntoSeveralWhereThatMakesMoreLines) {
  const EthosCascades cascades = cascades_of(chain(160, 160, 72, 6), kLimit);
  EXPECT_GT(cascades.lines[0], 1);
  EXPECT_GT(cascades.first_row.back(), 0);
  for (size_t i = 0; i < cascades.buffers.size(); ++i) EXPECT_LE(cascades.buffers[i], kLimit);
}

TEST(EthosCascades, EndAtMapsOfTwoReaders) {
  GraphBuilder net(GraphBuilder::Options{});
  const auto x = net.input("x", {1, 128, 128, 64});
  const auto a = net.conv_2d(x, {.channels = 64, .kernel_h = 3, .kernel_w = 3});
  const auto b = net.conv_2d(a, {.channels = 64, .kernel_h = 3, .kernel_w = 3});
  const EthosCascades cascades = cascades_of(*net.finish({net.add(a, b)}), kLimit);
  EXPECT_EQ(*std::ranges::max_element(cascades.lines), 0);
}

TEST(EthosCascades, MoreMemoryMeansMoreLines) {
  const Graph graph = chain(128, 128, 64, 2);
  int64_t before = 0;
  for (int64_t limit = 64 * 1024; limit <= 1024 * 1024; limit += 32 * 1024) {
    const EthosCascades cascades = cascades_of(graph, limit);
    EXPECT_GE(cascades.lines[0], before) << limit;
    EXPECT_LE(cascades.buffers[0], limit);
    before = cascades.lines[0];
  }
  EXPECT_GT(before, 20);
}

std::vector<uint8_t> staged(const Graph& graph, int64_t limit) {
  const Lowering lowering = lowered(graph);
  const EthosMaps maps = maps_of(graph, lowering);
  const size_t rows = lowering.rows.size();
  const std::vector<EthosTraffic> elements(rows, {.read = {1, 1}, .written = 1});
  return ethos_places(lowering, maps, no_ethos_cascades(rows, maps.maps.size()), elements,
                      std::vector<EthosBuffering>(rows), limit)
      .staged;
}

TEST(EthosStaging, BordersStayInDramAndMapsBetweenRowsDoNot) {
  const Graph graph = chain(32, 32, 64, 3);  // maps of 64 KiB, two at a time
  EXPECT_EQ(std::ranges::count(staged(graph, kLimit), 1), 2);
  EXPECT_EQ(std::ranges::count(staged(graph, 128 * 1024 + 1), 1), 2);
}

TEST(EthosStaging, OneMapThatWaitsGoesBeforeManyThatDoNot) {
  GraphBuilder net(GraphBuilder::Options{});
  const auto x = net.input("x", {1, 32, 32, 64});
  const auto a = net.conv_2d(x, {.channels = 64, .kernel_h = 3, .kernel_w = 3});
  auto b = a;
  for (int i = 0; i < 5; ++i) b = net.conv_2d(b, {.channels = 64, .kernel_h = 3, .kernel_w = 3});
  const Graph graph = *net.finish({net.add(a, b)});
  const Lowering lowering = lowered(graph);
  const EthosMaps maps = maps_of(graph, lowering);
  const std::vector<uint8_t> both = staged(graph, 192 * 1024), two = staged(graph, 129 * 1024);
  const auto skipped = static_cast<size_t>(maps.rows[0].written);
  EXPECT_EQ(both[skipped], 1);
  EXPECT_EQ(two[skipped], 0);
  // The other operand of the sum goes with it.
  EXPECT_EQ(std::ranges::count(both, 1), std::ranges::count(two, 1) + 2);
}

// Maps of 128 KiB, of which each row needs two and only one has room: of three, the first and last.
TEST(EthosStaging, WhatIsReadLeastGoesFirst) {
  const Graph graph = chain(32, 32, 128, 4);
  const Lowering lowering = lowered(graph);
  const EthosMaps maps = maps_of(graph, lowering);
  std::vector<EthosTraffic> elements(4, {.read = {10, 0}, .written = 10});
  elements[2].read[0] = 1;
  const std::vector<uint8_t> kept =
      ethos_places(lowering, maps, no_ethos_cascades(4, maps.maps.size()), elements,
                   std::vector<EthosBuffering>(4), 160 * 1024)
          .staged;
  EXPECT_EQ(kept[static_cast<size_t>(maps.rows[0].written)], 1);
  EXPECT_EQ(kept[static_cast<size_t>(maps.rows[1].written)], 0);
  EXPECT_EQ(kept[static_cast<size_t>(maps.rows[2].written)], 1);
}

// Of a row between two others, on U65 of 12 bytes a cycle.
double dram_bytes(const Graph& graph) {
  return ethos_row_cycles(graph, lowered(graph)).at(2).dram * 12;
}

TEST(EthosStaging, RowsInsideACascadeReadOnlyTheirWeightsFromDram) {
  EXPECT_LT(dram_bytes(chain(128, 128, 64, 5)), 150 * 1024);  // weights, several times
  EXPECT_GT(dram_bytes(chain(64, 4096, 64, 5)), 2.0 * 64 * 4096 * 64);
  for (const RowCycles& c :
       ethos_row_cycles(chain(128, 128, 64, 5), lowered(chain(128, 128, 64, 5), "ethos-u85-512")))
    EXPECT_GT(c.sram, 128 * 128 * 64 / 32);
}

TEST(EthosStaging, AHundredThousandRowsTakeNoTime) {
  constexpr int32_t kRows = 100000;
  Graph graph;
  graph.subgraphs.resize(1);
  Lowering lowering;
  lowering.target = *target_from_name("ethos-u65-512");
  Tensor tensor;
  tensor.has_rank = true;
  tensor.shape = {1, 64, 64, 64};
  tensor.type = DataType::kInt8;
  graph.subgraphs[0].tensors.assign(kRows + 1, tensor);
  graph.subgraphs[0].inputs = {0};
  graph.subgraphs[0].outputs = {kRows};
  for (int32_t i = 0; i < kRows; ++i) {
    Row row;
    row.kind = i % 3 == 2 ? RowKind::kAdd : RowKind::kConv2D;
    row.placement = Placement::kNpu;
    row.ifm = row.ofm = {1, 64, 64, 64};
    row.kernel_h = row.kernel_w = 3;
    row.ifm_tensors = {i};
    if (i % 3 == 2) row.ifm_tensors.push_back(i / 2);  // from far away
    row.ofm_tensors = {i + 1};
    if (i > 0) row.inputs = {i - 1};
    lowering.rows.push_back(row);
  }
  const auto start = std::chrono::steady_clock::now();
  const EthosMaps maps = maps_of(graph, lowering);
  const EthosCascades cascades = ethos_cascades(lowering, maps, nullptr, kLimit);
  const std::vector<EthosTraffic> elements(kRows, {.read = {1, 1}, .written = 1});
  const std::vector<EthosBuffering> buffers(kRows);
  const std::vector<uint8_t> result =
      ethos_places(lowering, maps, cascades, elements, buffers, kLimit).staged;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(result.size(), maps.maps.size());
  EXPECT_LT(seconds.count(), 5);  // some tenths; quadratic would be minutes
}

}  // namespace
}  // namespace edgesage
