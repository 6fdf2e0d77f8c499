// Where tests find things: published models and measurements, the device runtimes, the build tree.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace edgesage::test {

// The folder with data/ and models/: EDGESAGE_DATA_DIR, or ../shared beside the checkout; nullopt
// if there is none.
std::optional<std::filesystem::path> data_dir();

// Python of the virtual environment that `./dev setup` makes, with the device runtimes; nullopt if
// it is not there.
std::optional<std::filesystem::path> venv_python();

std::filesystem::path source_dir();
std::filesystem::path binary_dir();

// One line of models/index.csv.
struct IndexedModel {
  std::filesystem::path path;  // absolute
  std::string file;            // as in the index
  std::string kind;            // "tflite", "onnx"
  int row = 0;                 // counting from 0; odd rows may be trained on
  int64_t subgraphs = 0, tensors = 0, operators = 0, distinct_operators = 0;
  std::string opset;  // tflite: "code:count;..."
};
std::vector<IndexedModel> indexed_models(const std::filesystem::path& data_dir);

// A fresh directory, removed with its contents at destruction.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace edgesage::test

// Skips with a reason on a user's machine; fails where CI=true, so that nothing is skipped there
// unseen.
#define EDGESAGE_REQUIRE(condition, what)                                                 \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      if (const char* ci = std::getenv("CI"); ci != nullptr && std::string(ci) == "true") \
        FAIL() << "needed under CI=true: " << (what);                                     \
      GTEST_SKIP() << (what);                                                             \
    }                                                                                     \
  } while (false)
