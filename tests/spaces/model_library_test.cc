// Mutations as named networks: a base file's bytes and a seed are the network.
#include "src/spaces/model_library.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

// A network of a space as a file; its hash.
std::string put(const fs::path& path, std::string_view network) {
  const Graph graph = build_network(NetworkName::parse(network).value()).value();
  const std::vector<std::byte> bytes = write_tflite(graph).value();
  fs::create_directories(path.parent_path());
  EXPECT_TRUE(write_file(path, bytes));
  return fmt::format("{:016x}", checksum64(bytes));
}

TEST(MutationCode, SurvivesTextAndRefusesOtherForms) {
  const std::string text = "1f2e3d4c5b6a7988~18446744073709551615";
  EXPECT_EQ(MutationCode::parse(text).value().to_string(), text);
  const std::string name = "mutation/1/" + text;
  EXPECT_EQ(NetworkName::parse(name).value().to_string(), name);
  for (const char* bad : {"", "~", "1f2e3d4c5b6a7988", "1f2e3d4c5b6a7988~", "1f2e3d4c5b6a7988~-1",
                          "1f2e3d4c5b6a7988~1.0", "1F2E3D4C5B6A7988~1", "1f2e3d4c5b6a798~12",
                          "1f2e3d4c5b6a7988~01", "1f2e3d4c5b6a7988~18446744073709551616"}) {
    const auto code = MutationCode::parse(bad);
    ASSERT_FALSE(code) << bad;
    EXPECT_EQ(code.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(NetworkName::parse(std::string("mutation/1/") + bad)) << bad;
  }
  EXPECT_FALSE(NetworkName::parse("mutation/2/" + text));
}

TEST(ModelLibrary, RebuildsAMutationFromItsNameWhateverTheFileIsCalled) {
  const test::TempDir first, second;
  const std::string hash = put(first.path() / "a.tflite", "keyword-sound/1/3");
  put(first.path() / "b.tflite", "keyword-sound/1/4");
  EXPECT_EQ(put(second.path() / "deep" / "other.tflite", "keyword-sound/1/3"), hash);
  const ModelLibrary here = ModelLibrary::open(first.path()).value();
  const ModelLibrary there = ModelLibrary::open(second.path()).value();
  EXPECT_EQ(here.size(), 2U);
  std::set<std::string> different;
  for (int seed = 0; seed < 12; ++seed) {
    const std::string text = fmt::format("mutation/1/{}~{}", hash, seed);
    const NetworkName name = NetworkName::parse(text).value();
    const Graph made = build_network(name, {.models = &here}).value();
    const Graph again = build_network(name, {.models = &there}).value();
    ASSERT_TRUE(validate(made));
    EXPECT_EQ(write_tflite(made).value(), write_tflite(again).value());
    EXPECT_EQ(made.description, text);
    different.insert(graph_hash(made));
  }
  EXPECT_GE(different.size(), 10U);
}

// If this fails, `mutate` has changed: mutations need a new version, beside the old one.
TEST(ModelLibrary, NamesOfVersionOneMeanWhatTheyMeant) {
  const test::TempDir folder;
  const std::string hash = put(folder.path() / "a.tflite", "mobile-classifier/1/5");
  const ModelLibrary models = ModelLibrary::open(folder.path()).value();
  const char* const graphs[] = {
      "g1-6caed74780bdcad9b6f27d20c8460341", "g1-41d33d9f44ae52e8f9ccbf167b58196f",
      "g1-fb861cd124bfdc12f6562d050111e8db", "g1-4a2693b95d7c6d65b49284dfc3346b0a"};
  for (uint64_t seed = 0; seed < std::size(graphs); ++seed)
    EXPECT_EQ(graph_hash(models.build({hash, seed}).value()), graphs[seed]) << seed;
}

TEST(ModelLibrary, MutationsKeepTheWeightsOfTheFile) {
  const test::TempDir folder;
  const std::string hash = put(folder.path() / "a.tflite", "mobile-classifier/1/5");
  const ModelLibrary models = ModelLibrary::open(folder.path()).value();
  std::set<std::string> own;
  const Graph base = build_network(NetworkName::parse("mobile-classifier/1/5").value()).value();
  for (const Buffer& buffer : base.buffers)
    own.emplace(reinterpret_cast<const char*>(buffer.data.data()), buffer.data.size());
  int kept = 0, values = 0, zeros_more = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Graph made = models.build({hash, seed}).value();
    for (const Buffer& buffer : made.buffers) {
      if (buffer.data.size() < 64) continue;
      ++values;
      kept += own.contains({reinterpret_cast<const char*>(buffer.data.data()), buffer.data.size()});
      zeros_more += std::ranges::all_of(buffer.data, [](std::byte b) { return b == std::byte{0}; });
    }
  }
  EXPECT_EQ(zeros_more, 0);
  EXPECT_GE(kept, values / 10) << "of " << values;  // the others are cut or repeated
}

TEST(ModelLibrary, LeavesOutWhatIsKeptForTesting) {
  const test::TempDir folder;
  const char* const files[] = {"a/even.tflite",          "a/odd.tflite",  "a/again.tflite",
                               "tflite/tiny/odd.tflite", "b/even.tflite", "b/odd.bin"};
  std::ofstream index(folder.path() / "index.csv");
  index << "file,kind\n";
  std::vector<std::string> hashes;
  for (size_t i = 0; i < std::size(files); ++i) {
    hashes.push_back(put(folder.path() / files[i], fmt::format("keyword-sound/1/{}", i)));
    index << files[i] << ",tflite\n";
  }
  put(folder.path() / "not_listed.tflite", "keyword-sound/1/77");
  index.close();
  const ModelLibrary models = ModelLibrary::open(folder.path()).value();
  EXPECT_EQ(models.size(), 2U);
  for (size_t i = 0; i < hashes.size(); ++i)
    EXPECT_EQ(models.find(hashes[i]) != nullptr, i == 1 || i == 5) << files[i];
}

TEST(ModelLibrary, DrawsTheSameNamesAgainAndAllCanBeBuilt) {
  const test::TempDir folder;
  for (int i = 0; i < 3; ++i)
    put(folder.path() / fmt::format("{}.tflite", i), fmt::format("keyword-sound/1/{}", i));
  std::ofstream(folder.path() / "broken.tflite") << "no model";
  const ModelLibrary models = ModelLibrary::open(folder.path()).value();
  const auto all = models.draw(10, 30).value();
  const auto part = models.draw(20, 5).value();
  std::set<std::string> bases, codes;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(models.build(all[i]));
    bases.insert(all[i].base);
    codes.insert(all[i].to_string());
  }
  EXPECT_EQ(part.front().to_string(), all[10].to_string());
  EXPECT_EQ(bases.size(), 3U);
  EXPECT_EQ(codes.size(), all.size());
}

TEST(ModelLibrary, ErrorsSayWhichFileIsMissingAndWhatToDo) {
  const test::TempDir folder;
  EXPECT_EQ(ModelLibrary::open(folder.path() / "none").error().code, ErrorCode::kInvalidArgument);
  const ModelLibrary empty = ModelLibrary::open(folder.path()).value();
  EXPECT_EQ(empty.draw(0, 1).error().code, ErrorCode::kInvalidArgument);
  const auto built = build_network(NetworkName::parse("mutation/1/1f2e3d4c5b6a7988~17").value(),
                                   {.models = &empty});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(built.error().message.find("1f2e3d4c5b6a7988"), std::string::npos);
  EXPECT_NE(built.error().message.find("--models"), std::string::npos);
  std::ofstream(folder.path() / "index.csv") << "name\nx\n";
  EXPECT_EQ(ModelLibrary::open(folder.path()).error().code, ErrorCode::kInvalidArgument);
}

TEST(ModelLibrary, PublishedFilesGiveMutations) {
  const auto data = test::data_dir();
  EDGESAGE_REQUIRE(data, "published models in EDGESAGE_DATA_DIR");
  const ModelLibrary models = ModelLibrary::open(*data / "models").value();
  std::set<std::string> bases, different;
  const std::vector<MutationCode> codes = models.draw(1, 300).value();
  for (const MutationCode& code : codes) {
    const auto graph = models.build(code);
    ASSERT_TRUE(graph) << code.to_string() << ": " << graph.error().to_string();
    bases.insert(code.base);
    different.insert(graph_hash(*graph));
  }
  EXPECT_GE(bases.size(), 20U);
  EXPECT_GE(different.size(), 200U);
  fmt::print("{} networks of {} files\n", different.size(), bases.size());
}

}  // namespace
}  // namespace edgesage
