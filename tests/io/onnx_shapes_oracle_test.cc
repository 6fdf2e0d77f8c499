// Inference compared with programs that are not ours: the onnx package on published models and on
// generated nodes, and the arrays that ONNX's own test models give. The scripts beside this file do
// the work; their last lines hold the counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "src/base/file.h"
#include "tests/io/onnx_test_support.h"
#include "tests/support/run_program.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

std::string script(std::string_view name) {
  const std::filesystem::path here = test::source_dir() / "tests" / "io";
  return fmt::format("'{}' '{}' '{}' '{}'", test::venv_python()->string(), (here / name).string(),
                     (test::binary_dir() / "tests" / "infer_onnx").string(),
                     (here / "shape_exceptions.csv").string());
}

TEST(OnnxShapesOracle, PublishedModelsHaveTheTypesThatTheOnnxPackageInfers) {
  const auto files = test::published_onnx_files();
  EDGESAGE_REQUIRE(!files.empty(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "onnx is not installed (./dev setup)");
  std::string list;
  for (const std::filesystem::path& file : files) list += file.string() + "\n";
  const test::TempDir work;
  const std::filesystem::path at = work.path() / "files";
  ASSERT_TRUE(write_text(at, list));
  const test::ProgramOutcome outcome =
      test::run_program(fmt::format("{} - < '{}'", script("compare_shapes.py"), at.string()));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

// Operators with random shapes and attributes in random versions, and shapes computed by random
// arithmetic, run by ONNX Runtime: what it makes is what we say.
TEST(OnnxShapesOracle, GeneratedNodesMakeTheShapesThatAreInferred) {
  EDGESAGE_REQUIRE(test::venv_python(), "onnx and onnxruntime are not installed (./dev setup)");
  const test::ProgramOutcome outcome =
      test::run_program(script("compare_generated_shapes.py") + " 1500 7");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

}  // namespace
}  // namespace edgesage
