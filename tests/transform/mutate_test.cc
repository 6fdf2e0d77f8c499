#include "src/transform/mutate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/graph/shape_inference.h"
#include "src/graph/validate.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/space.h"
#include "src/transform/blocks.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

Graph network(const char* name) { return build_network(*NetworkName::parse(name)).value(); }

// Every operator fits its inputs by the shape rules.
void expect_shapes_fit(const Graph& graph, const std::string& what) {
  for (const Operator& op : graph.main().operators) {
    if (!has_shape_rule(op.kind)) continue;
    const auto shapes = infer_shapes(graph, graph.main(), op);
    if (!shapes && shapes.error().code == ErrorCode::kUnsupported) continue;
    ASSERT_TRUE(shapes) << what << ": " << shapes.error().to_string();
    for (size_t i = 0; i < shapes->size(); ++i)
      ASSERT_EQ((*shapes)[i], graph.main().tensors[static_cast<size_t>(op.outputs[i])].shape)
          << what;
  }
}

TEST(Mutate, TheSameSeedGivesTheSameBytesAndOthersOtherGraphs) {
  const Graph graph = network("mobile-classifier/1/5");
  std::set<std::string> hashes{graph_hash(graph)};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Mutation once = mutate(graph, seed).value(), again = mutate(graph, seed).value();
    EXPECT_EQ(write_tflite(once.graph).value(), write_tflite(again.graph).value());
    EXPECT_FALSE(once.changes.empty());
    hashes.insert(graph_hash(once.graph));
  }
  EXPECT_GE(hashes.size(), 19u);
}

TEST(Mutate, ThreeHundredOfTheSpacesAreValidAndFitTheShapeRules) {
  int made = 0;
  std::map<std::string, int> kinds;
  for (const SpaceInfo& space : all_spaces())
    for (uint64_t network_seed = 1; network_seed <= 5; ++network_seed) {
      const Graph graph = build_network(newest_network(space.name, network_seed).value()).value();
      for (uint64_t seed = 0; seed < 10; ++seed) {
        const auto mutation = mutate(graph, seed);
        ASSERT_TRUE(mutation) << graph.description << ": " << mutation.error().to_string();
        const std::string what = fmt::format("{} mutated by {}", graph.description, seed);
        const Status valid = validate(mutation->graph);
        ASSERT_TRUE(valid) << what << ": " << valid.error().to_string();
        expect_shapes_fit(mutation->graph, what);
        ASSERT_TRUE(write_tflite(mutation->graph)) << what;
        for (const std::string& change : mutation->changes)
          ++kinds[change.substr(0, change.find(' '))];
        ++made;
      }
    }
  EXPECT_GE(made, 300);
  // Widths, resolution, kernels, blocks, activations.
  for (const char* kind : {"widths", "input", "operator", "a", "RELU"}) EXPECT_GT(kinds[kind], 10);
}

// Published int8 convolutional files.
std::vector<fs::path> convolutional_files() {
  std::vector<fs::path> files;
  const auto data = test::data_dir();
  if (!data) return files;
  for (const auto& entry : fs::recursive_directory_iterator(*data / "models" / "tflite")) {
    if (!entry.is_regular_file()) continue;
    const auto graph = read_model(entry.path());
    if (!graph || graph->subgraphs.empty()) continue;
    for (const Operator& op : graph->main().operators) {
      if (op.kind != OpKind::kConv2D && op.kind != OpKind::kDepthwiseConv2D) continue;
      const int32_t output = op.outputs.empty() ? kNoTensor : op.outputs[0];
      if (output >= 0 && graph->main().tensors[static_cast<size_t>(output)].type == DataType::kInt8)
        files.push_back(entry.path());
      break;
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Runs every file of a folder in LiteRT; the lines that it could not run.
std::string failures_in_litert(const fs::path& folder) {
  const fs::path log = folder / "output.txt";
  const std::string command =
      fmt::format("'{}' '{}' '{}' > '{}' 2> '{}'", test::venv_python()->string(),
                  (test::source_dir() / "tests" / "transform" / "run_litert.py").string(),
                  folder.string(), log.string(), (folder / "errors.txt").string());
  EXPECT_EQ(std::system(command.c_str()), 0)
      << read_text(folder / "errors.txt", ErrorCode::kInternal).value_or("");
  std::istringstream lines(read_text(log, ErrorCode::kInternal).value_or(""));
  std::string failed;
  for (std::string line; std::getline(lines, line);)
    if (!line.ends_with(" ok")) failed += line + '\n';
  return failed;
}

TEST(Mutate, MutationsOfPublishedFilesAreValidAndRun) {
  const std::vector<fs::path> files = convolutional_files();
  EDGESAGE_REQUIRE(!files.empty(), "the published models are not there");
  EDGESAGE_REQUIRE(test::venv_python(), "LiteRT in .venv; run ./dev setup");
  const uint64_t each = (300 + files.size() - 1) / files.size();
  const test::TempDir folder;
  int made = 0, unchanged = 0;
  for (const fs::path& file : files) {
    const Graph graph = read_model(file).value();
    for (uint64_t seed = 0; seed < each; ++seed) {
      const auto mutation = mutate(graph, seed);
      if (!mutation) {
        EXPECT_EQ(mutation.error().code, ErrorCode::kUnsupported);
        ++unchanged;
        continue;
      }
      const std::string what = fmt::format("{} mutated by {}", file.filename().string(), seed);
      ASSERT_TRUE(validate(mutation->graph)) << what;
      expect_shapes_fit(mutation->graph, what);
      const auto bytes = write_tflite(mutation->graph);
      ASSERT_TRUE(bytes) << what << ": " << bytes.error().to_string();
      if (seed < 12) {
        ASSERT_TRUE(write_file(folder.path() / fmt::format("{:04}.tflite", made), *bytes));
      }
      ++made;
    }
  }
  EXPECT_GE(made, 200);
  EXPECT_LT(unchanged, made);
  EXPECT_EQ(failures_in_litert(folder.path()), "");
}

TEST(Mutate, MutationsOfTheSpacesRun) {
  EDGESAGE_REQUIRE(test::venv_python(), "LiteRT in .venv; run ./dev setup");
  const test::TempDir folder;
  for (const SpaceInfo& space : all_spaces()) {
    const Graph graph = build_network(newest_network(space.name, 77).value()).value();
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Mutation mutation = mutate(graph, seed).value();
      ASSERT_TRUE(write_file(folder.path() / fmt::format("{}-{}.tflite", space.name, seed),
                             write_tflite(mutation.graph).value()));
    }
  }
  EXPECT_EQ(failures_in_litert(folder.path()), "");
}

TEST(Blocks, DroppingWhatWasRepeatedGivesTheGraphBack) {
  const Graph graph = build_network({"ofa-mobilenet-v3", 1, 3}).value();
  const std::vector<Block> blocks = shape_keeping_blocks(graph);
  ASSERT_GE(blocks.size(), 5u);
  for (const Block& block : blocks) {
    Graph twice = graph;
    repeat_block(twice, block);
    EXPECT_TRUE(validate(twice));
    EXPECT_EQ(twice.main().operators.size(),
              graph.main().operators.size() + block.operators.size());
    bool found = false;
    for (const Block& other : shape_keeping_blocks(twice)) {
      if (other.input != block.output || other.operators.size() != block.operators.size()) continue;
      Graph back = twice;
      drop_block(back, other);
      found = found || graph_hash(back) == graph_hash(graph);
    }
    EXPECT_TRUE(found);
  }
}

TEST(Mutate, AGraphWithoutAnythingToChangeSaysSo) {
  Graph graph;
  EXPECT_EQ(mutate(graph, 1).error().code, ErrorCode::kUnsupported);
  graph.subgraphs.resize(1);
  graph.main().tensors.resize(2);
  graph.main().tensors[0].shape = graph.main().tensors[1].shape = {};  // scalars
  graph.main().inputs = {0};
  graph.main().outputs = {1};
  Operator op;
  op.kind = OpKind::kLogistic;
  op.inputs = {0};
  op.outputs = {1};
  graph.main().operators.push_back(op);
  const auto mutation = mutate(graph, 1);
  ASSERT_FALSE(mutation);
  EXPECT_EQ(mutation.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace edgesage
