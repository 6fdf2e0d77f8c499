#include "src/io/model_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/io/tflite_writer.h"
#include "tests/io/tflite_test_support.h"

namespace edgesage {
namespace {

using test::read_bytes;
using namespace std::string_view_literals;

struct Foreign {
  const char* name;
  std::string_view bytes;
  const char* says;
};

constexpr Foreign kForeign[] = {
    {"Empty", "", "is empty"},
    {"GitLfsPointer",
     "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f"
     "32b1258daaa5e2ca24d17e2393\nsize 12345\n",
     "git lfs pull"},
    {"Zip", "PK\x03\x04\x14\x00\x00\x00\x08\x00"sv, "zip archive"},
    {"Gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"sv, "gunzip"},
    {"Zstd", "\x28\xb5\x2f\xfd\x04\x00\x00\x00\x00\x00"sv, "unzstd"},
    {"Html", "<!DOCTYPE html>\n<html><head><title>Sign in", "HTML page"},
    {"HtmlAfterBlanks", "\r\n\r\n  <HTML lang=\"en\">", "HTML page"},
    {"Xml", "<?xml version=\"1.0\"?><net name=\"m\">", "XML"},
    {"Json", "{\"message\": \"Not Found\"}", "JSON"},
    {"Text", "Not found. Try again later.", "text file"},
    {"Blanks", "   \n\n ", "blanks"},
    {"Elf",
     "\x7f"
     "ELF\x02\x01\x01\x00\x00\x00\x00\x00"sv,
     "ELF"},
    {"Hdf5", "\x89HDF\r\n\x1a\n\x00\x00\x00\x00"sv, "HDF5"},
    {"NcnnBinary", "\xdd\x85\x76\x00\x03\x00\x00\x00"sv, "text .param"},
    {"OldSchema", "\x18\x00\x00\x00TFL2\x00\x00\x00\x00"sv, "schema version 2"},
    {"SizePrefixed", "\x20\x00\x00\x00\x18\x00\x00\x00TFL3\x00\x00\x00\x00"sv, "size prefix"},
    {"Zeros", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"sv, "12 zero bytes"},
    {"TooShort", "\x18\x00\x00\x00TF"sv, "ends after 6 bytes"},
    {"SavedModel", "\x08\x01\x12\x06\x0a\x04\x12\x02xy"sv, "SavedModel"},
    {"Garbage", "\xde\xad\xbe\xef\xfe\xed\xfa\xce\x01\x02"sv, "de ad be ef fe ed fa ce"},
};

class ForeignFile : public testing::TestWithParam<Foreign> {};

TEST_P(ForeignFile, IsNamedForWhatItIs) {
  const auto graph = read_bytes(GetParam().bytes);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
  EXPECT_NE(graph.error().message.find(GetParam().says), std::string::npos)
      << graph.error().to_string();
  EXPECT_EQ(graph.error().to_string().find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, ForeignFile, testing::ValuesIn(kForeign),
                         [](const auto& test_info) { return std::string(test_info.param.name); });

TEST(ModelFile, MissingFilesAndDirectoriesAreBadModels) {
  const test::TempDir dir;
  for (const std::filesystem::path& path : {dir.path() / "missing.tflite", dir.path()}) {
    const auto graph = read_model(path);
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code, ErrorCode::kBadModel);
    EXPECT_EQ(graph.error().where, path.string());
  }
}

TEST(ModelFile, NamesDoNotMatter) {
  const test::TempDir dir;
  const auto bytes = write_tflite(test::small_convolution());
  const std::filesystem::path path = dir.path() / "model.onnx";
  ASSERT_TRUE(write_file(path, *bytes));
  EXPECT_TRUE(read_model(path));
}

TEST(ModelFile, DashIsStandardInput) {
  const test::TempDir dir;
  const auto bytes = write_tflite(test::small_convolution());
  ASSERT_TRUE(write_file(dir.path() / "m", *bytes));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], bytes->data(), bytes->size()), static_cast<ssize_t>(bytes->size()));
  ::close(ends[1]);
  const int saved = ::dup(0);
  ::dup2(ends[0], 0);
  ::close(ends[0]);
  const auto from_pipe = read_model("-");
  const auto from_nothing = read_model("-");
  ::dup2(saved, 0);
  ::close(saved);
  ASSERT_TRUE(from_pipe) << from_pipe.error().to_string();
  EXPECT_EQ(test::first_difference(test::small_convolution(), *from_pipe), "");
  ASSERT_FALSE(from_nothing);
  EXPECT_EQ(from_nothing.error().where, "standard input");
}

}  // namespace
}  // namespace edgesage
