// The closed-form estimates: against Vela on published networks, and as functions of what matters.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/analysis/cpu_nanoseconds.h"
#include "src/analysis/ethos_blocks.h"
#include "src/analysis/ethos_cycles.h"
#include "src/graph/builder.h"
#include "src/io/model_file.h"
#include "tests/lower/oracle.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

double total_cycles(const Graph& graph, std::string_view target) {
  double total = 0;
  for (const RowCycles& c : ethos_row_cycles(graph, lower(graph, *target_from_name(target))))
    total += std::max({c.npu, c.sram, c.dram, c.flash});
  return total;
}

double total_ns(const Graph& graph) {
  const auto ns = cpu_row_ns(graph, lower(graph, *target_from_name("litert-xnnpack")));
  return std::accumulate(ns.begin(), ns.end(), 0.0);
}

struct Layer {
  int64_t size = 28, channels = 64, filters = 64, kernel = 3;
  DataType type = DataType::kInt8;
};

Graph convolution(const Layer& layer) {
  GraphBuilder::Options options;
  options.type = layer.type;
  GraphBuilder net(options);
  const auto x = net.input("x", {1, layer.size, layer.size, layer.channels});
  return *net.finish({net.conv_2d(
      x, {.channels = layer.filters, .kernel_h = layer.kernel, .kernel_w = layer.kernel})});
}

Graph depthwise(int64_t kernel) {
  GraphBuilder net(GraphBuilder::Options{});
  const auto x = net.input("x", {1, 28, 28, 64});
  return *net.finish({net.depthwise_conv_2d(x, {.kernel_h = kernel, .kernel_w = kernel})});
}

TEST(EthosCycles, AreWithinATenthOfVelaOnMlperfTiny) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  for (const char* target : {"ethos-u55-256", "ethos-u55-64"}) {
    std::vector<std::string> arguments = {target};
    for (const std::string& path : test::tflite_paths())
      if (path.find("/tiny/") != std::string::npos && path.find("float") == std::string::npos)
        arguments.push_back(path);
    const Json vela = test::run_oracle("lower/vela_placement.py", arguments);
    ASSERT_TRUE(vela.is_object());
    ASSERT_EQ(vela.size(), 5U);
    for (const auto& [path, answer] : vela.items()) {
      const Result<Graph> graph = read_model(path);
      ASSERT_TRUE(graph);
      const auto theirs = answer["cycles"].get<double>();
      const double ours = total_cycles(*graph, target);
      fmt::print("{} {}: Vela {:.0f} cycles, estimate {:+.1f} %\n", target, path, theirs,
                 100 * (ours / theirs - 1));
      EXPECT_NEAR(ours / theirs, 1.0, 0.1) << path;
    }
  }
}

TEST(EthosCycles, SmallerArraysAreSlowerAndLargerLayersTakeLonger) {
  const Graph graph = convolution({});
  EXPECT_GT(total_cycles(graph, "ethos-u55-32"), 3 * total_cycles(graph, "ethos-u55-128"));
  EXPECT_GT(total_cycles(graph, "ethos-u55-64"), 2 * total_cycles(graph, "ethos-u55-256"));
  EXPECT_GT(total_cycles(convolution({.filters = 128}), "ethos-u55-256"),
            1.5 * total_cycles(graph, "ethos-u55-256"));
  EXPECT_GT(total_cycles(convolution({.size = 56}), "ethos-u55-256"),
            3 * total_cycles(graph, "ethos-u55-256"));
}

double array_cycles(const Graph& graph) {
  return ethos_row_cycles(graph, lower(graph, *target_from_name("ethos-u55-256"))).at(0).npu;
}

TEST(EthosCycles, ChannelsAreRoundedUpToEight) {
  const double nine = array_cycles(convolution({.filters = 9}));
  const double sixteen = array_cycles(convolution({.filters = 16}));
  EXPECT_GT(nine / sixteen, 0.85);  // though 9/16 of the multiplications
  EXPECT_LT(array_cycles(convolution({.filters = 8})), 0.75 * nine);
}

TEST(EthosCycles, WhatTheNpuDoesNotRunCostsNothing) {
  for (const RowCycles& c : ethos_row_cycles(
           convolution({.type = DataType::kFloat32}),
           lower(convolution({.type = DataType::kFloat32}), *target_from_name("ethos-u55-256"))))
    EXPECT_EQ(c.npu + c.sram + c.dram + c.flash, 0);
}

TEST(EthosBlocks, FitSharedMemoryAndMatchTheCompilersChoice) {
  // Vela 5.2, --verbose-schedule, ethos-u55-256: a 3x3 convolution of 16x16x32.
  const EthosArray array = ethos_array(*target_from_name("ethos-u55-256"));
  const EthosBlock block = choose_ethos_block(array, EthosKernel::kDense, {1, 16, 16, 32},
                                              {1, 16, 16, 32}, 3, 3, 1, 1, 8);
  EXPECT_EQ(std::tuple(block.h, block.w, block.c), std::tuple(8, 16, 16));
  EXPECT_EQ(std::tuple(block.ifm_h, block.ifm_w, block.ifm_c), std::tuple(10, 18, 32));
  EXPECT_FALSE(block.part_kernel);
  const EthosBlock pool = choose_ethos_block(array, EthosKernel::kPooling, {1, 16, 16, 32},
                                             {1, 16, 16, 32}, 3, 3, 1, 1, 8);
  EXPECT_EQ(std::tuple(pool.h, pool.w, pool.c), std::tuple(14, 14, 16));
}

TEST(CpuNanoseconds, MoreThanTwentyFiveTapsOfADepthwiseConvolutionFallOffACliff) {
  EXPECT_LT(total_ns(depthwise(5)), 4 * total_ns(depthwise(3)));
  EXPECT_GT(total_ns(depthwise(7)), 10 * total_ns(depthwise(5)));
}

TEST(CpuNanoseconds, FloatsCostMoreThanBytes) {
  EXPECT_GT(total_ns(convolution({.type = DataType::kFloat32})), 2 * total_ns(convolution({})));
}

TEST(CpuNanoseconds, RowsOfOtherTargetsHaveNone) {
  const Graph graph = convolution({});
  for (const double ns : cpu_row_ns(graph, lower(graph, *target_from_name("ethos-u55-256"))))
    EXPECT_EQ(ns, 0);
}

}  // namespace
}  // namespace edgesage
