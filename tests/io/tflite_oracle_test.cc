// Comparisons with programs that are not ours: the schema bindings and the runtime of LiteRT, and
// the reader of Vela. The scripts beside this file do the work; their last lines hold the counts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/io/tflite_test_support.h"
#include "tests/support/run_program.h"

namespace edgesage {
namespace {

std::string script(std::string_view name) {
  return fmt::format("'{}' '{}' '{}'", test::venv_python()->string(),
                     (test::source_dir() / "tests" / "io" / name).string(),
                     (test::binary_dir() / "tests" / "rewrite_tflite").string());
}

std::string all_files() {
  std::string files;
  for (const test::IndexedModel& model : test::tflite_models(*test::data_dir()))
    files += fmt::format(" '{}'", model.path.string());
  return files;
}

TEST(TfliteOracle, ReadsWhatTheRuntimesOwnSchemaReads) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "ai-edge-litert is not installed (./dev setup)");
  const test::ProgramOutcome outcome = test::run_program(script("compare_dump.py") + all_files());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

TEST(TfliteOracle, RewrittenFilesComputeTheSameBits) {
  EDGESAGE_REQUIRE(test::data_dir(), "the model files are not here (EDGESAGE_DATA_DIR)");
  EDGESAGE_REQUIRE(test::venv_python(), "ai-edge-litert is not installed (./dev setup)");
  const test::TempDir work;
  const test::ProgramOutcome outcome = test::run_program(
      fmt::format("{} '{}'{}", script("compare_outputs.py"), work.path().string(), all_files()));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

TEST(TfliteOracle, OptionsTablesAreThoseThatVelaReads) {
  EDGESAGE_REQUIRE(test::venv_python(), "ethos-u-vela is not installed (./dev setup)");
  const test::ProgramOutcome outcome = test::run_program(script("compare_option_tables.py"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fmt::print("{}", outcome.output);
}

}  // namespace
}  // namespace edgesage
