// O04: weights in files beside the model. Stands for every way in which such a file can be absent,
// too short, shared, or none of the model's business.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "src/base/file.h"
#include "src/io/onnx/read.h"
#include "tests/io/onnx_test_support.h"
#include "tests/support/test_paths.h"

namespace edgesage::onnx {
namespace {

using test::OnnxGraph;
using test::OnnxModel;
using test::OnnxTensor;
using enum ElementType;
using Entries = std::vector<std::pair<std::string, std::string>>;
namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  ASSERT_TRUE(write_text(path, text));
}

OnnxTensor external(const Entries& entries, std::vector<int64_t> dims = {4}) {
  return test::onnx_external("w", kInt8, dims, entries);
}

Result<Model> read(const fs::path& path, const OnnxTensor& tensor) {
  EXPECT_TRUE(write_file(path, OnnxModel(OnnxGraph().initializer(tensor)).bytes()));
  const auto file = MappedFile::open(path, ErrorCode::kBadModel);
  EXPECT_TRUE(file);
  return read_onnx(*file, path.filename().string(), {.model_path = path});
}

std::string text_of(const Constant& constant) {
  return {reinterpret_cast<const char*>(constant.data.data()), constant.data.size()};
}

class OnnxExternalData : public testing::Test {
 protected:
  void SetUp() override { write(folder() / "m.data", "0123456789"); }
  [[nodiscard]] fs::path folder() const { return dir_.path() / "model"; }
  [[nodiscard]] fs::path model() const { return folder() / "m.onnx"; }
  [[nodiscard]] fs::path outside() const { return dir_.path() / "outside"; }

  void expect_refused(const OnnxTensor& tensor, std::string_view part) {
    const Result<Model> read_model = read(model(), tensor);
    ASSERT_FALSE(read_model) << part;
    EXPECT_EQ(read_model.error().code, ErrorCode::kBadModel);
    EXPECT_NE(read_model.error().message.find(part), std::string::npos)
        << read_model.error().message;
    EXPECT_NE(read_model.error().message.find("'w'"), std::string::npos);
    EXPECT_NE(read_model.error().message.find("graph.initializer[0]"), std::string::npos);
  }
  void expect_data(const OnnxTensor& tensor, std::string_view data) {
    const Result<Model> read_model = read(model(), tensor);
    ASSERT_TRUE(read_model) << read_model.error().to_string();
    EXPECT_EQ(text_of(read_model->graphs[0].initializers[0]), data);
    EXPECT_TRUE(read_model->warnings.empty());
  }

 private:
  test::TempDir dir_;
};

TEST_F(OnnxExternalData, O04_BytesAreThoseOfTheFile) {
  expect_data(external({{"location", "m.data"}, {"offset", "3"}, {"length", "4"}}), "3456");
  expect_data(external({{"location", "m.data"}, {"length", "4"}}), "0123");
  expect_data(external({{"location", "m.data"}, {"offset", "6"}}), "6789");
  expect_data(external({{"location", "m.data"}, {"offset", "10"}, {"length", "0"}}, {0}), "");
  expect_data(external({{"location", "m.data"}, {"checksum", "?"}, {"basepath", "/"}}), "0123");
  write(folder() / "sub" / "n.data", "abcd");
  expect_data(external({{"location", "sub/n.data"}}), "abcd");
  expect_data(external({{"location", "./m.data"}}), "0123");
}

TEST_F(OnnxExternalData, O04_AMissingFileIsWarnedOfOnce) {
  OnnxGraph graph;
  for (const char* name : {"a", "b", "c"})
    graph.initializer(test::onnx_external(name, kFloat, {1000, 1000}, {{"location", "gone"}}));
  const std::vector<std::byte> bytes = OnnxModel(graph).bytes();
  for (const fs::path& path : {model(), fs::path()}) {
    const Result<Model> read_model = read_onnx(bytes, nullptr, "m.onnx", {.model_path = path});
    ASSERT_TRUE(read_model) << read_model.error().to_string();
    EXPECT_EQ(read_model->warnings.size(), 1U);
    EXPECT_NE(read_model->warnings[0].find("'gone'"), std::string::npos);
    for (const Constant& constant : read_model->graphs[0].initializers) {
      EXPECT_TRUE(constant.data_missing);
      EXPECT_TRUE(constant.data.empty());
      EXPECT_EQ(constant.dims, (std::vector<int64_t>{1000, 1000}));
    }
  }
}

TEST_F(OnnxExternalData, O04_LengthsAndOffsetsAreChecked) {
  expect_refused(external({{"location", "m.data"}, {"length", "3"}}), "dimensions say 4");
  expect_refused(external({{"location", "m.data"}, {"offset", "7"}}), "bytes 7 to 11");
  expect_refused(external({{"location", "m.data"}, {"offset", "11"}}), "which has 10");
  expect_refused(external({{"location", "m.data"}, {"offset", "9223372036854775807"}}),
                 "which has 10");
  for (const char* bad : {"-1", "x", "", "1.5", "99999999999999999999", "0x4", " 4"}) {
    expect_refused(external({{"location", "m.data"}, {"offset", bad}}), "decimal");
    expect_refused(external({{"location", "m.data"}, {"length", bad}}), "decimal");
  }
  write(folder() / "empty.data", "");
  expect_refused(external({{"location", "empty.data"}}), "which has 0");
}

TEST_F(OnnxExternalData, O04_PathsOutsideOfTheFolderAreRefused) {
  write(outside() / "secret", "0123456789");
  for (const std::string& location :
       {std::string("../outside/secret"), (outside() / "secret").string(),
        std::string("sub/../../outside/secret"), std::string(".."), std::string("/etc/passwd"),
        std::string("..\\outside\\secret"), std::string("../absent"), std::string(),
        std::string("m.data\0x", 8)})
    expect_refused(external({{"location", location}}), "inside of the model's folder");
  expect_refused(external({}), "inside of the model's folder");
}

TEST_F(OnnxExternalData, O04_LinksOutOfTheFolderAreRefused) {
  write(outside() / "secret", "0123456789");
  fs::create_symlink(outside() / "secret", folder() / "link");
  fs::create_directory_symlink(outside(), folder() / "folder");
  fs::create_symlink("m.data", folder() / "inner");
  expect_refused(external({{"location", "link"}}), "leaves the model's folder");
  expect_refused(external({{"location", "folder/secret"}}), "leaves the model's folder");
  expect_data(external({{"location", "inner"}}), "0123");
}

// A download cache keeps files by their hash; the folder of a model holds links to them.
TEST_F(OnnxExternalData, O04_LinksBesideTheLinkedModelAreRead) {
  write(outside() / "blob2", "abcdefgh");
  ASSERT_TRUE(
      write_file(outside() / "blob1",
                 OnnxModel(OnnxGraph().initializer(external({{"location", "w.data"}}))).bytes()));
  fs::create_symlink(outside() / "blob1", folder() / "linked.onnx");
  fs::create_symlink(outside() / "blob2", folder() / "w.data");
  const auto file = MappedFile::open(folder() / "linked.onnx", ErrorCode::kBadModel);
  ASSERT_TRUE(file);
  const Result<Model> read_model =
      read_onnx(*file, "linked.onnx", {.model_path = folder() / "linked.onnx"});
  ASSERT_TRUE(read_model) << read_model.error().to_string();
  EXPECT_EQ(text_of(read_model->graphs[0].initializers[0]), "abcd");
}

TEST_F(OnnxExternalData, O04_OnlyFilesAreOpened) {
  fs::create_directory(folder() / "sub");
  expect_refused(external({{"location", "sub"}}), "no file");
  expect_refused(external({{"location", "."}}), "no file");
}

TEST_F(OnnxExternalData, O04_OneFileOfAllTensorsIsMappedOnce) {
  OnnxGraph graph;
  for (int i = 0; i < 10; ++i)
    graph.initializer(test::onnx_external(fmt::format("t{}", i), kInt8, {1},
                                          {{"location", "m.data"}, {"offset", std::to_string(i)}}));
  const std::vector<std::byte> bytes = OnnxModel(graph).bytes();
  const Result<Model> read_model = read_onnx(bytes, nullptr, "m", {.model_path = model()});
  ASSERT_TRUE(read_model) << read_model.error().to_string();
  const std::vector<Constant>& constants = read_model->graphs[0].initializers;
  for (size_t i = 0; i < constants.size(); ++i) {
    EXPECT_EQ(constants[i].storage, constants[0].storage);
    EXPECT_EQ(constants[i].data.data(), constants[0].data.data() + i);
  }
}

// More than 4 GB announced and addressed, in a sparse file.
TEST_F(OnnxExternalData, O04_OffsetsBeyondFourGigabytes) {
  constexpr uintmax_t kEnd = 5'000'000'004;
  std::error_code error;
  fs::resize_file(folder() / "m.data", kEnd, error);
  if (error) GTEST_SKIP() << "no sparse files of 5 GB here";
  expect_data(external({{"location", "m.data"}, {"offset", "5000000000"}}), std::string(4, '\0'));
  expect_refused(external({{"location", "m.data"}, {"offset", "5000000001"}}), "which has");
}

}  // namespace
}  // namespace edgesage::onnx
