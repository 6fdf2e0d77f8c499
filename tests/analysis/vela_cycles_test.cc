// Cycles of rows that small graphs provoke, against Vela's own for the whole network.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/ethos_cycles.h"
#include "src/base/file.h"
#include "src/graph/builder.h"
#include "src/io/tflite_writer.h"
#include "src/lower/rows.h"
#include "tests/lower/built_graph.h"
#include "tests/lower/oracle.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

using Named = std::pair<std::string, Graph>;

double cycles_of(const Graph& graph, const Target& target) {
  double sum = 0;
  for (const RowCycles& row : ethos_row_cycles(graph, lower(graph, target)))
    sum += std::max({row.npu, row.sram, row.dram, row.flash});
  return sum;
}

void expect_cycles_of_vela(const std::vector<Named>& graphs, double tolerance,
                           const std::string& device = "ethos-u55-256") {
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  const Target target = *target_from_name(device);
  const test::TempDir folder;
  std::vector<std::string> arguments = {device};
  for (const auto& [name, graph] : graphs) {
    arguments.push_back((folder.path() / (name + ".tflite")).string());
    const Result<std::vector<std::byte>> bytes = write_tflite(graph);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    ASSERT_TRUE(write_file(arguments.back(), *bytes));
  }
  const Json vela = test::run_oracle("lower/vela_placement.py", arguments);
  ASSERT_TRUE(vela.is_object());
  for (size_t i = 0; i < graphs.size(); ++i) {
    const auto& [name, graph] = graphs[i];
    double theirs = 0;
    for (const Json& row : vela[arguments[i + 1]]["rows"]) theirs += row[1].get<double>();
    const double ours = cycles_of(graph, target);
    fmt::print("{}: {:.0f} cycles, Vela {:.0f}\n", name, ours, theirs);
    EXPECT_NEAR(ours / theirs, 1.0, tolerance) << name;
  }
}

TEST(VelaCycles, SlopesAndConstantsOfEachChannelAreReadFromSlowMemory) {
  std::vector<Named> graphs;
  for (const int64_t channels : {4, 16, 32, 72}) {
    GraphBuilder net(int8_net());
    auto x = net.input("x", {1, 48, 40, 8});
    x = net.prelu(net.conv_2d(x, {.channels = channels}));
    graphs.emplace_back(fmt::format("prelu{}", channels),
                        finish(net, {net.conv_2d(x, {.channels = 16})}));
    GraphBuilder other(int8_net());
    x = other.conv_2d(other.input("x", {1, 48, 40, 8}), {.channels = channels});
    x = other.scale_and_shift(x);
    graphs.emplace_back(fmt::format("shift{}", channels),
                        finish(other, {other.conv_2d(x, {.channels = 16})}));
  }
  expect_cycles_of_vela(graphs, 0.2);
}

TEST(VelaCycles, TheStepsOfASoftmaxAtEveryPixel) {
  std::vector<Named> graphs;
  for (const int64_t channels : {2, 5, 21}) {
    GraphBuilder net(int8_net());
    auto x = net.conv_2d(net.input("x", {1, 64, 48, 8}), {.channels = channels});
    graphs.emplace_back(fmt::format("map{}", channels), finish(net, {net.softmax(x)}));
  }
  expect_cycles_of_vela(graphs, 0.05);
}

TEST(VelaCycles, EvenDilationsHalveTheFilledKernel) {
  std::vector<Named> graphs;
  for (const int64_t dilation : {3, 4, 6, 12}) {
    GraphBuilder net(int8_net());
    auto x = net.conv_2d(net.input("x", {1, 24, 24, 16}), {.channels = 64});
    x = net.conv_2d(x, {.channels = 64,
                        .kernel_h = 3,
                        .kernel_w = 3,
                        .dilation_h = dilation,
                        .dilation_w = dilation});
    graphs.emplace_back(fmt::format("dilated{}", dilation), finish(net, {x}));
  }
  expect_cycles_of_vela(graphs, 0.2);
}

TEST(VelaCycles, U85ReadsThinInputsInShortBurstsFromDram) {
  std::vector<Named> graphs;
  for (const int64_t channels : {3, 8}) {
    GraphBuilder net(int8_net());
    auto x = net.input("x", {1, 64, 64, channels});
    x = net.conv_2d(x, {.channels = 48, .kernel_h = 5, .kernel_w = 5});
    x = net.conv_2d(x, {.channels = 32, .kernel_h = 3, .kernel_w = 3});
    graphs.emplace_back(fmt::format("thin{}", channels), finish(net, {x}));
  }
  expect_cycles_of_vela(graphs, 0.05, "ethos-u85-512");
}

// Cascades, slices of weights and maps that find no room, as the compiler's scheduler has them.
TEST(VelaCycles, WhatTheSchedulerDecidesOnU65AndU85) {
  std::vector<Named> graphs;
  for (const int64_t channels : {24, 96}) {
    GraphBuilder net(int8_net());
    auto x = net.conv_2d(net.input("x", {1, 128, 128, 3}),
                         {.channels = channels, .kernel_h = 3, .kernel_w = 3});
    x = net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3});
    for (int i = 0; i < 3; ++i) {
      x = net.conv_2d(
          x, {.channels = channels, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
      x = net.add(x, net.conv_2d(x, {.channels = channels, .kernel_h = 3, .kernel_w = 3}));
    }
    graphs.emplace_back(fmt::format("cascade{}", channels), finish(net, {x}));
  }
  expect_cycles_of_vela(graphs, 0.05, "ethos-u65-512");
  expect_cycles_of_vela(graphs, 0.2, "ethos-u85-512");
}

TEST(VelaCycles, MatricesOfU65GoThroughDram) {
  std::vector<Named> graphs;
  for (const int64_t rows : {25, 48}) {
    GraphBuilder net(int8_net());
    const auto left = net.input("left", {1, rows, 24});
    const auto right = net.input("right", {1, 24, rows});
    graphs.emplace_back(fmt::format("matrix{}", rows),
                        finish(net, {net.batch_matmul(left, right, false)}));
  }
  expect_cycles_of_vela(graphs, 0.15, "ethos-u65-512");
}

TEST(VelaCycles, MatricesAreMultipliedAColumnAtATime) {
  std::vector<Named> graphs;
  for (const auto& [rows, depth, columns] :
       {std::array<int64_t, 3>{32, 40, 32}, {64, 64, 24}, {97, 97, 16}, {128, 128, 64}}) {
    GraphBuilder net(int8_net());
    const auto left = net.input("left", {1, rows, depth});
    const auto right = net.input("right", {1, depth, columns});
    graphs.emplace_back(fmt::format("matrix{}x{}x{}", rows, depth, columns),
                        finish(net, {net.batch_matmul(left, right, false)}));
  }
  expect_cycles_of_vela(graphs, 0.1);
}

TEST(VelaCycles, ABatchOfVectorsIsAnArea) {
  std::vector<Named> graphs;
  for (const int64_t batch : {12, 37, 128}) {
    GraphBuilder net(int8_net());
    auto x = net.fully_connected(net.input("x", {batch, 64}), {.units = 192});
    graphs.emplace_back(fmt::format("batch{}", batch),
                        finish(net, {net.fully_connected(x, {.units = 64})}));
  }
  expect_cycles_of_vela(graphs, 0.2);
}

TEST(VelaCycles, ThinInputsAreReadByWords) {
  std::vector<Named> graphs;
  for (const int64_t channels : {1, 3, 5}) {
    GraphBuilder net(int8_net());
    auto x = net.input("x", {1, 128, 128, channels});
    x = net.conv_2d(x,
                    {.channels = 16, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2});
    graphs.emplace_back(fmt::format("thin{}", channels), finish(net, {x}));
  }
  expect_cycles_of_vela(graphs, 0.1);
}

TEST(VelaCycles, SoftmaxOfTheLargestMapRunsOnTheNpu) {
  GraphBuilder net(int8_net());
  auto x = net.conv_2d(net.input("x", {1, 256, 256, 8}), {.channels = 3});
  std::vector<Named> graphs;
  graphs.emplace_back("largest", finish(net, {net.softmax(x)}));
  expect_cycles_of_vela(graphs, 0.05);
}

}  // namespace
}  // namespace edgesage
