// Scratch sizes against a table that CMSIS-NN's own functions computed (cmsis_nn_sizes.csv: its
// sources built once for each kind of core, 120 random windows each), and what an arena makes of
// them.
#include "src/analysis/cmsis_nn.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "src/analysis/tflm_arena.h"
#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/graph/builder.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

using cmsis_nn::Core;
using cmsis_nn::Window;

Core core_of(const std::string& name) {
  if (name == "mve") return Core::kMve;
  return name == "dsp" ? Core::kDsp : Core::kPlain;
}

TEST(CmsisNn, SizesAreThoseOfItsOwnFunctions) {
  const auto text =
      read_text(test::source_dir() / "tests/analysis/cmsis_nn_sizes.csv", ErrorCode::kInternal);
  ASSERT_TRUE(text) << text.error().to_string();
  std::vector<std::string> lines = split(*text, '\n');
  const std::vector<std::string> columns = split(lines.front(), ',');
  int compared = 0;
  for (size_t l = 1; l < lines.size() && !lines[l].empty(); ++l) {
    const std::vector<std::string> cells = split(lines[l], ',');
    ASSERT_EQ(cells.size(), columns.size()) << l;
    std::map<std::string, int64_t> at;
    for (size_t c = 1; c < cells.size(); ++c) at[columns[c]] = std::stoll(cells[c]);
    const Core core = core_of(cells[0]);
    Window window;
    window.batch = at["batch"];
    window.in_h = at["in_h"];
    window.in_w = at["in_w"];
    window.in_c = window.filter_c = at["in_c"];
    window.filter_h = at["filter_h"];
    window.filter_w = at["filter_w"];
    window.out_w = at["out_w"];
    window.out_c = at["out_c"];
    window.stride_w = at["stride_w"];
    window.stride_h = at["stride_h"];
    window.dilation_w = window.dilation_h = at["dilation"];
    window.pad_w = at["pad_w"];
    window.pad_h = at["pad_h"];
    Window depthwise = window;
    depthwise.filter_c = window.out_c;
    const std::map<std::string, int64_t> ours = {
        {"convolution_s8", convolution_s8(core, window)},
        {"convolution_s16", convolution_s16(core, window)},
        {"depthwise_s8", depthwise_s8(core, depthwise)},
        {"depthwise_s4", depthwise_s4(core, depthwise)},
        {"transposed_s8", transposed_convolution_s8(core, window)},
        {"reversed_s8", reversed_filter_s8(window)},
        {"fully_connected_s8", fully_connected_s8(core, window.out_c)},
        {"average_pool", average_pool(core, window.in_c)},
        {"svdf_s8", svdf_s8(core, window.out_c)}};
    for (const auto& [name, bytes] : ours) {
      EXPECT_EQ(bytes, at[name]) << name << ": " << lines[l];
      ++compared;
    }
  }
  EXPECT_EQ(compared, 3 * 120 * 9);
}

TEST(CmsisNn, ShapesBeyondAnyMemoryDoNotOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  Window window;
  window.in_c = window.filter_c = window.filter_w = window.filter_h = window.out_c = kHuge;
  for (const Core core : {Core::kPlain, Core::kDsp, Core::kMve}) {
    EXPECT_GT(convolution_s8(core, window), 0);
    EXPECT_GT(convolution_s16(core, window), 0);
    EXPECT_GE(depthwise_s8(core, window), 0);
    EXPECT_GE(fully_connected_s8(core, kHuge), 0);
  }
}

// A 3x3 convolution unfolds two columns of 3 x 3 x 4 16-bit numbers; Helium four of 48 bytes.
TEST(CmsisNn, TheArenaHasTheBuffersAndTheLargerStructures) {
  GraphBuilder::Options options;
  options.type = DataType::kInt8;
  GraphBuilder net(options);
  const auto x = net.input("x", {1, 8, 8, 4});
  const Graph graph =
      net.finish({net.conv_2d(x, {.channels = 16, .kernel_h = 3, .kernel_w = 3})}).value();
  const TflmArena reference = tflm_arena(graph, {}).value();
  for (const auto& [kernels, bytes] : {std::pair{TflmKernels::kCmsisNnPlain, int64_t{144}},
                                       {TflmKernels::kCmsisNnDsp, int64_t{144}},
                                       {TflmKernels::kCmsisNnMve, int64_t{192}}}) {
    const TflmArena arena = tflm_arena(graph, {TflmAbi::k32, kernels}).value();
    EXPECT_EQ(arena.activations_bytes, reference.activations_bytes);
    EXPECT_EQ(arena.scratch_bytes, bytes);
    // A handle of the buffer, and its number in the kernel's data; both may lie in gaps, which end
    // at multiples of 16.
    EXPECT_GE(arena.runtime_bytes, reference.runtime_bytes);
    EXPECT_LE(arena.runtime_bytes, reference.runtime_bytes + 32);
  }
  EXPECT_EQ(tflm_arena(graph, {TflmAbi::k64, TflmKernels::kCmsisNnDsp}).error().code,
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace edgesage
