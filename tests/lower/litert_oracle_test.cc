// What XNNPACK takes, and the partitions, against LiteRT itself on published files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/lower/rows.h"
#include "tests/lower/oracle.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

TEST(LitertOracle, DelegatesWhatTheRuntimeDelegates) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "ai-edge-litert is not installed (./dev setup)");
  const Json runtime = test::run_oracle("lower/litert_partitions.py", test::tflite_paths());
  ASSERT_TRUE(runtime.is_object());
  int same = 0, all = 0, files = 0, same_count = 0;
  for (const auto& [path, answer] : runtime.items()) {
    const Result<Graph> graph = read_model(path);
    if (answer.is_null() || !graph || graph->subgraphs.empty()) continue;
    const Lowering lowering = lower(*graph, *target_from_name("litert-xnnpack"));
    ASSERT_EQ(answer.size(), lowering.operators.size()) << path;
    int last = -1;
    for (size_t i = 0; i < lowering.operators.size(); ++i) {
      const int partition = answer[i].get<int>();
      last = std::max(last, partition);
      const OperatorPlacement& ours = lowering.operators[i];
      if (ours.placement == Placement::kFolded) continue;
      const bool delegated = ours.placement == Placement::kDelegate;
      ++all;
      if (delegated == (partition >= 0))
        ++same;
      else
        fmt::print("{} operator {} ({}): LiteRT {}, we {} {}\n", path, i,
                   op_name(graph->main().operators[i].kind),
                   partition >= 0 ? "delegates" : "does not", delegated ? "do" : "do not",
                   ours.reason);
    }
    ++files;
    if (last + 1 == lowering.partitions) ++same_count;
  }
  fmt::print("{} of {} operators, {} of {} partition counts as LiteRT\n", same, all, same_count,
             files);
  EXPECT_GT(all, 300);
  EXPECT_GE(same, all * 97 / 100);
  EXPECT_GE(same_count, files * 97 / 100);
}

}  // namespace
}  // namespace edgesage
