// The same network as ONNX, written as PyTorch exports it, and as TFLite: the same operators, MACs
// and rows.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/base/file.h"
#include "src/graph/op_registry.h"
#include "src/graph/validate.h"
#include "src/io/tflite_writer.h"
#include "src/lower/rows.h"
#include "src/lower/target.h"
#include "src/spaces/space.h"
#include "tests/io/onnx_convert_support.h"
#include "tests/io/onnx_of_graph.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

std::string describe(const Shape4& shape) {
  return fmt::format("{}x{}x{}x{}", shape.n, shape.h, shape.w, shape.c);
}

// Everything of a row that a device or a feature sees, tensor numbers apart.
std::vector<std::string> describe_rows(const Graph& graph, const Lowering& lowering) {
  std::vector<std::string> lines;
  const std::vector<RowCost> costs = row_costs(graph, lowering);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    const Row& row = lowering.rows[i];
    lines.push_back(fmt::format(
        "{} {} {} {} {} -> {} k{}x{} s{}x{} d{}x{} p{},{},{},{} g{} {} {} {} act {} | {} {} {} {} "
        "| {}",
        row_kind_name(row.kind), op_name(row.op_kind), placement_name(row.placement),
        describe(row.ifm), row.has_ifm2 ? describe(row.ifm2) : "", describe(row.ofm), row.kernel_h,
        row.kernel_w, row.stride_h, row.stride_w, row.dilation_h, row.dilation_w, row.pad_top,
        row.pad_left, row.pad_bottom, row.pad_right, row.groups, type_name(row.ifm_type),
        type_name(row.ofm_type), type_name(row.weights_type), op_name(row.activation),
        costs[i].macs, costs[i].ifm_bytes, costs[i].ofm_bytes, costs[i].weights_bytes,
        fmt::join(row.inputs, ",")));
  }
  return lines;
}

void expect_same_rows(const Graph& ours, const Graph& original) {
  for (const char* name : {"ethos-u55-256", "litert-xnnpack", "generic"}) {
    const Target target = target_from_name(name).value();
    const auto expected = describe_rows(original, lower(original, target));
    const auto found = describe_rows(ours, lower(ours, target));
    for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
      ASSERT_EQ(found[i], expected[i]) << name << ", row " << i;
    ASSERT_EQ(found.size(), expected.size())
        << name << "\n"
        << fmt::format("{}", fmt::join(found.size() > expected.size() ? found : expected, "\n"));
  }
}

// A depthwise convolution of one channel is a convolution; ONNX has no other name for it.
Graph with_one_name(const Graph& graph) {
  Graph result = graph;
  for (Operator& op : result.main().operators) {
    if (op.kind != OpKind::kDepthwiseConv2D) continue;
    Tensor& filter = result.main().tensors[static_cast<size_t>(op.inputs[1])];
    if (op.attr_int("depth_multiplier", 1) != filter.shape[3]) continue;
    op.kind = OpKind::kConv2D;
    filter.shape = {filter.shape[3], filter.shape[1], filter.shape[2], 1};
    filter.quantization.axis = 0;
  }
  return result;
}

class SameNetwork : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(SameNetwork, GivesTheRowsThatItGivesAsTflite) {
  const auto [space, int8] = GetParam();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const NetworkName name{space, 1, seed};
    SCOPED_TRACE(name.to_string());
    Graph original = build_network(name).value();
    if (!int8) original = test::float_network(original);
    const Result<Graph> ours = test::read_onnx_graph(test::onnx_of_graph(original));
    ASSERT_TRUE(ours) << ours.error().to_string();
    const Status valid = validate(*ours);
    ASSERT_TRUE(valid) << valid.error().to_string();
    const GraphTotals totals = graph_totals(*ours), expected = graph_totals(original);
    EXPECT_EQ(totals.macs, expected.macs);
    ASSERT_NO_FATAL_FAILURE(expect_same_rows(*ours, with_one_name(original)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, SameNetwork,
    testing::Combine(testing::Values("mobile-classifier", "residual-classifier", "keyword-sound",
                                     "super-resolution", "segmentation", "detection"),
                     testing::Bool()),
    [](const auto& instance) {
      std::string name;
      for (const char letter : std::string(std::get<0>(instance.param)))
        if (letter != '-') name += letter;
      return name + (std::get<1>(instance.param) ? "Int8" : "Float");
    });

// The order of dimensions, proven by numbers: ONNX Runtime on the written ONNX file, LiteRT on the
// network that it was written from and on the Graph that was read back from it.
TEST(SameNetworkRuns, ToTheSameNumbersInOnnxRuntimeAndLiteRt) {
  EDGESAGE_REQUIRE(test::venv_python(), "ONNX Runtime and LiteRT in .venv; run ./dev setup");
  const test::TempDir folder;
  int read_back = 0;
  for (const char* space : {"mobile-classifier", "residual-classifier", "keyword-sound",
                            "super-resolution", "segmentation", "detection"}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Graph original = test::float_network(build_network({space, 1, seed}).value());
      const auto onnx = test::onnx_of_graph(original);
      const auto write = [&](const std::string& end, const std::vector<std::byte>& bytes) {
        EXPECT_TRUE(write_file(folder.path() / fmt::format("{}-{}.{}", space, seed, end), bytes));
      };
      write("onnx", onnx);
      write("original.tflite", write_tflite(original).value());
      const Graph ours = test::read_onnx_graph(onnx).value();
      const bool whole = std::ranges::all_of(ours.main().tensors, [&](const Tensor& tensor) {
        return !tensor.is_constant() || !ours.constant(tensor).empty();
      });
      // Large filters whose order changes have no bytes.
      if (!whole) continue;
      ++read_back;
      write("read.tflite", write_tflite(ours).value());
    }
  }
  const std::string command =
      fmt::format("'{}' '{}' '{}' > '{}'", test::venv_python()->string(),
                  (test::source_dir() / "tests" / "io" / "onnx_runtimes.py").string(),
                  folder.path().string(), (folder.path() / "output.txt").string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::istringstream lines(
      read_text(folder.path() / "output.txt", ErrorCode::kInternal).value_or(""));
  std::string name;
  int compared = 0;
  for (double difference = 0; lines >> name >> difference; ++compared)
    EXPECT_LT(difference, 1e-4) << name;
  fmt::print("{} files compared, {} of them read back from ONNX\n", compared, read_back);
  EXPECT_EQ(compared, 18 + read_back);
  EXPECT_GE(read_back, 3);
}

}  // namespace
}  // namespace edgesage
