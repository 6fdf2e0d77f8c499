// Files that are no models, or no longer: refused with what they are and where they break. Each
// test is named by the id of the public bug report; its comment says which kind of fault.
#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/io/model_file.h"
#include "tests/io/odd_files.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

Error refusal(const std::string& file, const std::string& ending = ".tflite") {
  const test::TempDir dir;
  const std::filesystem::path path = dir.path() / (file + ending);
  EXPECT_TRUE(write_file(path, test::odd_file(file)));
  const auto graph = read_model(path);
  EXPECT_FALSE(graph) << file;
  if (graph) return {};
  EXPECT_EQ(graph.error().code, ErrorCode::kBadModel) << file;
  EXPECT_EQ(graph.error().to_string().find('\n'), std::string::npos) << file;
  return graph.error();
}

testing::AssertionResult says(const Error& error, std::string_view word) {
  if (error.message.find(word) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << error.to_string() << "\n  does not say " << word;
}

// Files that end too early, anywhere: the offset that leads outside is named.
TEST(TfliteHostile, T04_TruncatedFiles) {
  for (const char* file :
       {"T04_cut_to_a_hundredth", "T04_cut_to_half", "T04_cut_by_84", "T04_cut_by_1"})
    EXPECT_TRUE(says(refusal(file), "byte")) << file;
}

// A header and nothing else.
TEST(TfliteHostile, T05_HeaderAlone) {
  EXPECT_TRUE(says(refusal("T05_eight_bytes"), "points to byte 24, but the file has 8 bytes"));
}

// A pointer to the model instead of it, under any name.
TEST(TfliteHostile, T07_GitLfsPointer) {
  for (const char* ending : {".tflite", ".onnx"})
    EXPECT_TRUE(says(refusal("T07_lfs_pointer", ending), "git lfs pull"));
}

// Something else under a model's name: it is called what it is, with the remedy.
TEST(TfliteHostile, T08_OtherFiles) {
  EXPECT_TRUE(says(refusal("T08_zip"), "zip archive"));
  EXPECT_TRUE(says(refusal("T08_gzip"), "gunzip"));
  EXPECT_TRUE(says(refusal("T08_html"), "HTML page"));
  EXPECT_TRUE(says(refusal("T08_empty"), "is empty"));
  EXPECT_TRUE(says(refusal("T08_graph_def"), "TensorFlow"));
  EXPECT_TRUE(says(refusal("T08_noise"), "no model format that is known"));
}

}  // namespace
}  // namespace edgesage
