#include "src/spaces/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "src/base/hash.h"
#include "src/base/parallel.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"
#include "src/io/tflite_writer.h"

namespace edgesage {
namespace {

std::string error_of(std::string_view text) {
  const auto name = NetworkName::parse(text);
  return name ? "" : name.error().to_string();
}

TEST(NetworkName, SurvivesTextAndBack) {
  const NetworkName name{.space = "mobile-classifier", .version = 1, .seed = UINT64_MAX};
  EXPECT_EQ(name.to_string(), "mobile-classifier/1/18446744073709551615");
  EXPECT_EQ(NetworkName::parse(name.to_string()).value(), name);
}

TEST(NetworkName, ErrorsSayWhatCameAndWhatIsKnown) {
  EXPECT_NE(error_of("mobile-clasifier/1/3").find("did you mean mobile-classifier?"),
            std::string::npos);
  EXPECT_NE(error_of("nasnet/1/3").find("known are mobile-classifier, keyword-sound"),
            std::string::npos);
  EXPECT_NE(error_of("keyword-sound/9/3").find("knows version 1"), std::string::npos);
  EXPECT_NE(error_of("keyword-sound/1").find("space/version/seed"), std::string::npos);
  EXPECT_NE(error_of("keyword-sound/1/2/3").find("space/version/seed"), std::string::npos);
  for (const char* text :
       {"", "/", "//", "keyword-sound/1/-1", "keyword-sound/1/", "keyword-sound//1",
        "keyword-sound/1/0x5", "keyword-sound/1/ 5", "keyword-sound/one/5",
        "keyword-sound/1/18446744073709551616", "keyword-sound/1/5.0"}) {
    const auto name = NetworkName::parse(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST(BuildNetwork, RefusesSpacesAndVersionsThatDoNotExist) {
  EXPECT_EQ(build_network({.space = "x", .version = 1, .seed = 0}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(build_network({.space = "keyword-sound", .version = 0, .seed = 0}).error().code,
            ErrorCode::kInvalidArgument);
}

// The bytes of the written files, by a checksum each.
std::vector<uint64_t> checksums(const std::vector<NetworkName>& names, int threads) {
  std::vector<uint64_t> sums(names.size());
  parallel_for(static_cast<int64_t>(names.size()), threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    sums[index] = checksum64(write_tflite(build_network(names[index]).value()).value());
  });
  return sums;
}

TEST(BuildNetwork, RebuildsBitForBitWithAnyNumberOfThreads) {
  std::vector<NetworkName> names;
  for (const SpaceInfo& space : all_spaces())
    for (uint64_t seed = 0; seed < 25; ++seed)
      names.push_back({std::string(space.name), space.version, seed * 7919});
  const std::vector<uint64_t> once = checksums(names, 1);
  EXPECT_EQ(checksums(names, 2), once);
  EXPECT_EQ(std::set<uint64_t>(once.begin(), once.end()).size(), once.size());
}

// Names are kept in stores and papers: if this fails, the sampler has changed and needs a new
// version beside the old one.
TEST(BuildNetwork, NamesOfVersionOneMeanWhatTheyMeant) {
  struct Pinned {
    const char* name;
    const char* graph;
    const char* weights;
  };
  const Pinned pinned[] = {
      {"mobile-classifier/1/0", "g1-d58b599c98019d9f8a18a5e60f8fa21e",
       "w1-9a7596631675950520d9bb96ba7a88ff"},
      {"mobile-classifier/1/1", "g1-97974c30f6c6518e584509d8af28976c",
       "w1-cb1f5686e0c4f8b13cfa03bdaebe5237"},
      {"mobile-classifier/1/2", "g1-4a3137a20102f147b0fa837d32337a87",
       "w1-00e3f1f832a62829ec608ec72654fc7f"},
      {"mobile-classifier/1/4711", "g1-63320512f363699241cc51d00776ca7f",
       "w1-3bff776320ece0a545b7a554f851e1e1"},
      {"mobile-classifier/1/18446744073709551615", "g1-af037af394725c204005f34618eb2f2e",
       "w1-b754c9a69aa03f527f243b8e850a1055"},
      {"keyword-sound/1/0", "g1-a585ce71f5369efde2503048e3ce265d",
       "w1-f196ba466535db58a58dc5d96cb97f04"},
      {"keyword-sound/1/1", "g1-5a429d0de513c71c738d7308562ba208",
       "w1-668393e86e8679291d4c2cfb6ea4764f"},
      {"keyword-sound/1/2", "g1-053c5fcff329c3fcff72cfae8410a054",
       "w1-d90af81bd59de3827a2f072e87b2e83c"},
      {"keyword-sound/1/4711", "g1-9191974c105cf34c3b22636129270b9b",
       "w1-d68619237be1d54053e793583ddb8c15"},
      {"keyword-sound/1/18446744073709551615", "g1-539d091f1390dc844cc6fa9ce9d4dc06",
       "w1-1f8bd9cd335c6d37453c3bf129a0ced1"},
  };
  for (const Pinned& network : pinned) {
    const Graph graph = build_network(NetworkName::parse(network.name).value()).value();
    EXPECT_EQ(graph_hash(graph), network.graph) << network.name;
    EXPECT_EQ(weights_hash(graph), network.weights) << network.name;
    EXPECT_EQ(graph.description, network.name);
  }
}

TEST(AllSpaces, TablesOfParametersCanBePrinted) {
  ASSERT_EQ(all_spaces().size(), 2U);
  for (const SpaceInfo& space : all_spaces()) {
    EXPECT_FALSE(space.description.empty());
    std::set<std::string_view> names;
    for (const Parameter* parameter : space.parameters) {
      EXPECT_TRUE(names.insert(parameter->name).second) << "twice: " << parameter->name;
      EXPECT_FALSE(parameter->range_text().empty());
      EXPECT_FALSE(parameter->meaning.empty()) << parameter->name;
    }
    EXPECT_GE(names.size(), 30U);
  }
}

TEST(Parameter, DrawsStayInTheirRangeAndCoverIt) {
  Rng rng(5, "parameter");
  for (const SpaceInfo& space : all_spaces()) {
    for (const Parameter* parameter : space.parameters) {
      std::set<double> seen;
      for (int i = 0; i < 3000; ++i) seen.insert(parameter->draw(rng));
      switch (parameter->scale) {
        case Parameter::Scale::kChoices:
          EXPECT_EQ(seen.size(), parameter->choice_count) << parameter->name;
          break;
        case Parameter::Scale::kChance:
          EXPECT_EQ(seen.size(), 2U) << parameter->name;
          break;
        default:
          EXPECT_GE(*seen.begin(), parameter->low) << parameter->name;
          EXPECT_LE(*seen.rbegin(), parameter->high) << parameter->name;
          EXPECT_GE(seen.size(), 5U) << parameter->name;
      }
    }
  }
}

}  // namespace
}  // namespace edgesage
