// Networks of the spaces in the runtimes they are meant for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/graph/op_registry.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/published.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

void write_networks(const fs::path& folder, std::string_view space, uint64_t first, int count) {
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    const Graph graph = build_network(newest_network(space, seed).value()).value();
    const auto bytes = write_tflite(graph);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    ASSERT_TRUE(write_file(folder / fmt::format("{}-{}.tflite", space, seed), *bytes));
  }
}

// Runs a script of tests/spaces over a folder; its standard output.
std::string run_script(const char* script, const fs::path& folder,
                       const std::string& argument = {}) {
  const fs::path log = folder / "output.txt";
  const std::string command =
      fmt::format("'{}' '{}' '{}' {} > '{}' 2> '{}'", test::venv_python()->string(),
                  (test::source_dir() / "tests" / "spaces" / script).string(), folder.string(),
                  argument, log.string(), (folder / "errors.txt").string());
  const int status = std::system(command.c_str());
  EXPECT_EQ(status, 0) << read_text(folder / "errors.txt", ErrorCode::kInternal).value_or("");
  return read_text(log, ErrorCode::kInternal).value_or("");
}

class LiteRtRuns : public testing::TestWithParam<const char*> {};

TEST_P(LiteRtRuns, SixtyNetworksWithOutputsThatAreNotConstant) {
  EDGESAGE_REQUIRE(test::venv_python(), "LiteRT in .venv; run ./dev setup");
  const test::TempDir folder;
  write_networks(folder.path(), GetParam(), 1000, 60);
  std::istringstream lines(run_script("run_litert.py", folder.path()));
  int ran = 0, changed_between_inputs = 0, constant = 0;
  std::string name, error;
  for (int distinct = 0, changed = 0; lines >> name >> distinct >> changed;) {
    std::getline(lines, error);
    EXPECT_EQ(error, " ok") << name;
    constant += distinct < 2;
    changed_between_inputs += changed > 0;
    ++ran;
  }
  EXPECT_EQ(ran, 60);
  fmt::print("{} of {} change their outputs with the input\n", changed_between_inputs, ran);
  EXPECT_GE(changed_between_inputs, 54);
  // Of scores that nobody trained, one class may be the largest everywhere.
  EXPECT_LE(constant, std::string_view(GetParam()) == "segmentation" ? 2 : 0)
      << "networks that give one value whatever comes in";
}

INSTANTIATE_TEST_SUITE_P(Spaces, LiteRtRuns,
                         testing::Values("mobile-classifier", "keyword-sound",
                                         "residual-classifier", "super-resolution", "segmentation",
                                         "detection", "transformer"),
                         [](const auto& instance) {
                           std::string name;
                           for (const char letter : std::string(instance.param))
                             if (letter != '-') name += letter;
                           return name;
                         });

// Operators that Vela leaves to the CPU, by kind.
std::map<std::string, int> fallbacks(const fs::path& folder, int expected,
                                     const std::string& accelerator = "ethos-u55-256") {
  run_script("compile_vela.py", folder, accelerator);
  std::map<std::string, int> kinds;
  int compiled = 0;
  for (const auto& entry : fs::directory_iterator(folder / "vela")) {
    if (entry.path().extension() != ".tflite") continue;
    const Result<Graph> graph = read_model(entry.path());
    EXPECT_TRUE(graph) << graph.error().to_string();
    if (!graph) continue;
    for (const Operator& op : graph->main().operators)
      if (op.custom_code != "ethos-u") ++kinds[std::string(op_name(op.kind))];
    ++compiled;
  }
  EXPECT_EQ(compiled, expected);
  return kinds;
}

TEST(VelaCompiles, ClassifiersAndSoundWithoutFallback) {
  EDGESAGE_REQUIRE(test::venv_python(), "Vela in .venv; run ./dev setup");
  const test::TempDir folder;
  write_networks(folder.path(), "mobile-classifier", 2000, 5);
  write_networks(folder.path(), "keyword-sound", 2000, 8);
  write_networks(folder.path(), "residual-classifier", 2000, 5);
  for (const auto& [kind, count] : fallbacks(folder.path(), 18))
    ADD_FAILURE() << count << " operators of kind " << kind << " stay on the CPU";
}

// What a space's networks may leave to the CPU, because their users' networks do.
struct Leaves {
  const char* space;
  std::set<std::string> kinds;
};

class VelaCompilesBut : public testing::TestWithParam<Leaves> {};

TEST_P(VelaCompilesBut, LeavesOnlyKnownKindsToTheCpu) {
  EDGESAGE_REQUIRE(test::venv_python(), "Vela in .venv; run ./dev setup");
  const test::TempDir folder;
  write_networks(folder.path(), GetParam().space, 2000, 12);
  for (const auto& [kind, count] : fallbacks(folder.path(), 12)) {
    fmt::print("{}: {} on the CPU\n", kind, count);
    EXPECT_TRUE(GetParam().kinds.contains(kind)) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, VelaCompilesBut,
    testing::Values(Leaves{"super-resolution",
                           {"DEPTH_TO_SPACE", "TRANSPOSE_CONV", "RESIZE_BILINEAR",
                            "RESIZE_NEAREST_NEIGHBOR"}},
                    Leaves{"segmentation", {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}},
                    Leaves{"detection", {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}}),
    [](const auto& instance) {
      std::string name;
      for (const char letter : std::string(instance.param.space))
        if (letter != '-') name += letter;
      return name;
    });

class VelaCompilesTransformers : public testing::TestWithParam<const char*> {};

TEST_P(VelaCompilesTransformers, WithNothingButTablesOfWordsOnTheCpu) {
  EDGESAGE_REQUIRE(test::venv_python(), "Vela in .venv; run ./dev setup");
  const test::TempDir folder;
  write_networks(folder.path(), "transformer", 2000, 12);
  for (const auto& [kind, count] : fallbacks(folder.path(), 12, GetParam()))
    EXPECT_EQ(kind, "GATHER") << count << " operators";
}

INSTANTIATE_TEST_SUITE_P(Accelerators, VelaCompilesTransformers,
                         testing::Values("ethos-u55-256", "ethos-u65-512", "ethos-u85-512"),
                         [](const auto& instance) {
                           return std::string("U") + std::string(instance.param).substr(7, 2);
                         });

TEST(WrittenNetworks, ReadBackAsTheSameGraph) {
  const test::TempDir folder;
  for (const SpaceInfo& space : all_spaces()) {
    if (is_published(space.name)) continue;  // see published_runtime_test
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const Graph graph = build_network(newest_network(space.name, seed).value()).value();
      const fs::path path = folder.path() / "network.tflite";
      ASSERT_TRUE(write_file(path, write_tflite(graph).value()));
      const Graph read = read_model(path).value();
      EXPECT_EQ(graph_hash(read), graph_hash(graph)) << space.name << " " << seed;
      EXPECT_EQ(weights_hash(read), weights_hash(graph)) << space.name << " " << seed;
    }
  }
}

}  // namespace
}  // namespace edgesage
