// Published ONNX files as Graphs: all of them convert, and their MACs are those of an independent
// count over the shapes that the onnx package infers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/base/file.h"
#include "src/graph/op_registry.h"
#include "src/graph/validate.h"
#include "src/io/model_file.h"
#include "src/lower/rows.h"
#include "tests/io/onnx_test_support.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

TEST(OnnxConvert, EveryPublishedFileGivesAGraphThatHoldsTogether) {
  const std::vector<fs::path> files = test::published_onnx_files();
  EDGESAGE_REQUIRE(!files.empty(), "the published ONNX files are not here");
  const Target target = target_from_name("litert-xnnpack").value();
  int graphs = 0, with_unknown = 0;
  std::map<std::string, int> unknown, refused;
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.string());
    const Result<Graph> graph = read_model(path);
    if (!graph) {
      ++refused[graph.error().message];
      EXPECT_NE(graph.error().code, ErrorCode::kInternal) << graph.error().to_string();
      continue;
    }
    ++graphs;
    const Status valid = validate(*graph);
    EXPECT_TRUE(valid) << valid.error().to_string();
    EXPECT_EQ(lower(*graph, target).operators.size(), graph->main().operators.size());
    bool any = false;
    for (const Subgraph& subgraph : graph->subgraphs)
      for (const Operator& op : subgraph.operators)
        if (op.kind == OpKind::kCustom) {
          ++unknown[op.custom_code];
          any = true;
        }
    with_unknown += any;
  }
  fmt::print("{} of {} files give a graph; {} of them have operators without a counterpart:\n",
             graphs, files.size(), with_unknown);
  for (const auto& [kind, count] : unknown) fmt::print("  {} {}\n", kind, count);
  for (const auto& [message, count] : refused) fmt::print("  refused: {} ({})\n", message, count);
  EXPECT_GE(graphs, static_cast<int>(files.size()) * 99 / 100);
}

TEST(OnnxConvert, MacsAreThoseOfAnIndependentCount) {
  const std::vector<fs::path> files = test::published_onnx_files();
  EDGESAGE_REQUIRE(!files.empty() && test::venv_python(), "the onnx package and files");
  const test::TempDir folder;
  std::string list;
  for (const fs::path& path : files) list += fmt::format("'{}' ", path.string());
  ASSERT_TRUE(write_file(folder.path() / "list", std::as_bytes(std::span(list))));
  const std::string command =
      fmt::format("xargs '{}' '{}' < '{}' > '{}'", test::venv_python()->string(),
                  (test::source_dir() / "tests" / "io" / "onnx_macs.py").string(),
                  (folder.path() / "list").string(), (folder.path() / "macs").string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto text = read_text(folder.path() / "macs", ErrorCode::kInternal);
  ASSERT_TRUE(text);
  int compared = 0, nodes = 0;
  std::string lines = *text;
  // xargs may start the script several times: one object a line.
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const nlohmann::json answers = nlohmann::json::parse(lines.substr(begin, end - begin));
    begin = end + 1;
    for (const auto& [path, answer] : answers.items()) {
      if (answer["macs"].is_null() || answer["counted"] == 0) continue;
      const Result<Graph> graph = read_model(path);
      ASSERT_TRUE(graph) << graph.error().to_string();
      EXPECT_EQ(graph_totals(*graph).macs, answer["macs"].get<int64_t>()) << path;
      ++compared;
      nodes += answer["counted"].get<int>();
    }
  }
  fmt::print("MACs of {} files with {} nodes that multiply compared\n", compared, nodes);
  EXPECT_GT(compared, 80);
  EXPECT_GT(nodes, 150);
}

}  // namespace
}  // namespace edgesage
