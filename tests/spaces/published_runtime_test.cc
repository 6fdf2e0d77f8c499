// Networks of published spaces in the runtimes they are meant for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/published.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

void write_network(const fs::path& folder, const std::string& file, std::string_view space,
                   std::string_view code, const PublishedOptions& options) {
  const PublishedNetwork network = build_published(space, code, options).value();
  const auto bytes = write_tflite(network.graph);
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  ASSERT_TRUE(write_file(folder / (file + ".tflite"), *bytes));
}

std::string run_script(const char* script, const fs::path& folder) {
  const fs::path log = folder / "output.txt";
  const std::string command =
      fmt::format("'{}' '{}' '{}' > '{}' 2> '{}'", test::venv_python()->string(),
                  (test::source_dir() / "tests" / "spaces" / script).string(), folder.string(),
                  log.string(), (folder / "errors.txt").string());
  EXPECT_EQ(std::system(command.c_str()), 0)
      << read_text(folder / "errors.txt", ErrorCode::kInternal).value_or("");
  return read_text(log, ErrorCode::kInternal).value_or("");
}

TEST(PublishedNetworks, RunInLiteRtWithOutputsThatFollowTheInput) {
  EDGESAGE_REQUIRE(test::venv_python(), "LiteRT in .venv; run ./dev setup");
  const test::TempDir folder;
  for (const PublishedSpace& space : published_spaces()) {
    Rng rng(21);
    for (int i = 0; i < 4; ++i)
      write_network(folder.path(), fmt::format("{}-{}", space.name, i), space.name,
                    draw_code(space.name, rng), {.resolution = i == 0 ? 0 : 32 * (i + 1)});
  }
  std::istringstream lines(run_script("run_litert.py", folder.path()));
  int ran = 0;
  std::string name, rest;
  for (int distinct = 0, changed = 0; lines >> name >> distinct >> changed; ++ran) {
    std::getline(lines, rest);
    EXPECT_EQ(rest, " ok") << name;
    EXPECT_GE(distinct, 3) << name;
    EXPECT_GT(changed, 0) << name;
  }
  EXPECT_EQ(ran, 16);
}

TEST(PublishedNetworks, FloatNetworksRunInLiteRt) {
  EDGESAGE_REQUIRE(test::venv_python(), "LiteRT in .venv; run ./dev setup");
  const test::TempDir folder;
  for (const PublishedSpace& space : published_spaces()) {
    Rng rng(22);
    write_network(folder.path(), std::string(space.name), space.name, draw_code(space.name, rng),
                  {.type = DataType::kFloat32, .resolution = 64});
  }
  std::istringstream lines(run_script("run_litert_float.py", folder.path()));
  int ran = 0;
  std::string name, rest;
  for (double spread = 0; lines >> name >> spread; ++ran) {
    std::getline(lines, rest);
    EXPECT_EQ(rest, " ok") << name;
    EXPECT_GT(spread, 1e-3) << name;
    EXPECT_TRUE(std::isfinite(spread)) << name;
  }
  EXPECT_EQ(ran, 4);
}

TEST(PublishedNetworks, CompileWithVela) {
  EDGESAGE_REQUIRE(test::venv_python(), "Vela in .venv; run ./dev setup");
  const test::TempDir folder;
  for (const PublishedSpace& space : published_spaces()) {
    Rng rng(23);
    for (int i = 0; i < 2; ++i)
      write_network(folder.path(), fmt::format("{}-{}", space.name, i), space.name,
                    draw_code(space.name, rng), {.resolution = 64});
  }
  run_script("compile_vela.py", folder.path());
  int compiled = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "vela")) {
    if (entry.path().extension() != ".tflite") continue;
    const Result<Graph> graph = read_model(entry.path());
    ASSERT_TRUE(graph) << graph.error().to_string();
    const auto& operators = graph->main().operators;
    // Shuffles go to the CPU, all else to the NPU.
    EXPECT_EQ(operators[0].custom_code, "ethos-u") << entry.path().filename();
    if (entry.path().filename().string().starts_with("fbnet")) {
      for (const Operator& op : operators)
        EXPECT_TRUE(op.custom_code == "ethos-u" || op.kind == OpKind::kTranspose ||
                    op.kind == OpKind::kReshape)
            << static_cast<int>(op.kind);
    } else {
      EXPECT_EQ(operators.size(), 1U) << entry.path().filename();
    }
    ++compiled;
  }
  EXPECT_EQ(compiled, 8);
}

TEST(PublishedNetworks, ReadBackAsTheSameGraph) {
  const test::TempDir folder;
  for (const PublishedSpace& space : published_spaces()) {
    const Graph graph = build_network(newest_network(space.name, 5).value()).value();
    const fs::path path = folder.path() / "network.tflite";
    ASSERT_TRUE(write_file(path, write_tflite(graph).value()));
    const Graph read = read_model(path).value();
    EXPECT_EQ(graph_hash(read), graph_hash(graph)) << space.name;
    EXPECT_EQ(weights_hash(read), weights_hash(graph)) << space.name;
  }
}

TEST(PublishedNetworks, WithoutWeightsNoFileIsWritten) {
  const PublishedNetwork network =
      build_published("fbnet", "8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8", {.weights = false})
          .value();
  const auto bytes = write_tflite(network.graph);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace edgesage
