#include "src/spaces/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "src/base/hash.h"
#include "src/base/parallel.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"
#include "src/io/tflite_writer.h"
#include "src/spaces/published.h"

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
    for (uint64_t seed = 0; seed < (is_published(space.name) ? 2U : 25U); ++seed)
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
      {"residual-classifier/1/0", "g1-1aac22982ebe26d1c92dd46ef4275f3f",
       "w1-da0b1061eca19a5ef185db5a3d46b139"},
      {"residual-classifier/1/1", "g1-0c0f6844ba20dc01fc5af470d2410532",
       "w1-6e6d3576ee89ca5dbe5157a1f2ebf8a1"},
      {"residual-classifier/1/2", "g1-cdd7e57a07579eac428a0f06b58922cd",
       "w1-b14263c2cdbc94b4ca9d6050aedfb8de"},
      {"residual-classifier/1/4711", "g1-4df0a66a33e356a51d61cd4de48fadef",
       "w1-368fec7da8f5aa435d139b1a6714cd21"},
      {"residual-classifier/1/18446744073709551615", "g1-8fe96747098d41622d9554627a9d73a8",
       "w1-2677b5466a703ac827bbaae1cf35036a"},
      {"super-resolution/1/0", "g1-e32b3acaf71c1963e0487acd7589573e",
       "w1-103989999edf19a7377951a1e71a5e2f"},
      {"super-resolution/1/1", "g1-d694e7b75de1db81d74b8a9950282af5",
       "w1-8a1c7e5d7b4f1d0cefc54b96f6324305"},
      {"super-resolution/1/2", "g1-acca2d699d950d4e98bc159914a584ba",
       "w1-1c57e70b0d292b30f817344f045ab11a"},
      {"super-resolution/1/4711", "g1-e414e895aa77f5ec1de40bb5c8e03804",
       "w1-e4821c9c4adc30fc529f9cddd95fed44"},
      {"super-resolution/1/18446744073709551615", "g1-d36fbee7179a9120317e372307b109c6",
       "w1-bc2c2ad8f63b838c0478cf6324ce1e69"},
      {"segmentation/1/0", "g1-de93aedbde46afc7d5cad4b4fd2c8d40",
       "w1-64319ca950494e09008d65d7019fa2e2"},
      {"segmentation/1/1", "g1-7234449771f3749e0ff5ca41715da2e2",
       "w1-6c82f2a1e6a1092f611bf573001185d4"},
      {"segmentation/1/2", "g1-5ae71beff6033a69003f39e675348a55",
       "w1-804b68017a49e131da3d2e8da923414d"},
      {"segmentation/1/4711", "g1-087e46664801ba5609971d95a0b8264d",
       "w1-da3bdeff678b1e2d0550264e150e6f10"},
      {"segmentation/1/18446744073709551615", "g1-716faea6db371a1f8197dbdb8ab787f4",
       "w1-188ccb8e826205896149787c30e19480"},
      {"detection/1/0", "g1-e2ddbe3dfb14a1b2c773ea6d9a846849",
       "w1-ae411cd7315727bad49b2f49e1b23cb0"},
      {"detection/1/1", "g1-92002df5a53b269d6cdb17c8bb4e2b02",
       "w1-12f3266379083acf62efee98c6785f79"},
      {"detection/1/2", "g1-c32add28eca7c1a3ac85655f25ba00a7",
       "w1-09711cb277438a420a501ef8e8fc1204"},
      {"detection/1/4711", "g1-2d9479fdb8d565ea7ed855dd30fe73c2",
       "w1-f99203c909bb3b6574c39a1a8f508cb2"},
      {"detection/1/18446744073709551615", "g1-18689c2421e380e8f1ad8308f8b0c354",
       "w1-5121a36357a3eb555b048adab9c34b51"},
      {"transformer/1/0", "g1-910e768383cb6a813fafbbcdaf774254",
       "w1-8215300b80c42df0f90a6eaa5e46f974"},
      {"transformer/1/1", "g1-ed3043f45510c538a9799313d16ddce9",
       "w1-cf03c6293998ee820d5d04d8a57db61e"},
      {"transformer/1/2", "g1-c731fc97e8a7b316bcc21890e49027b6",
       "w1-2fc37d48455e483eb84e8c68530155be"},
      {"transformer/1/4711", "g1-16dcf8510c0242d363f5ceb3257e4434",
       "w1-40dfece44d48d7a9c58ed6ffbaca58e5"},
      {"transformer/1/18446744073709551615", "g1-9ae0087b3395bb0e852dc565689fde2f",
       "w1-2041e81f5787033d09403fe726eba695"},
      {"detection/2/0", "g1-5d17b1d3508c6a66a86deb0d80875f46",
       "w1-fd9bac4dc15b0a54cd8a9c89d1a4d479"},
      {"detection/2/1", "g1-5ba805bdb457b19ec5df7faae47a6b6a",
       "w1-78301e454d0de98b45a299eda66202a0"},
      {"detection/2/2", "g1-91ec32532c7688fe0eb06d988b334485",
       "w1-40f8b1018aa99da75fc42ecb9871c30c"},
      {"detection/2/4711", "g1-fe8e3fff877446b600cf7467f7b9ac9c",
       "w1-0a2c64936b3f6f2c5beb4cd29443477e"},
  };
  for (const Pinned& network : pinned) {
    const Graph graph = build_network(NetworkName::parse(network.name).value()).value();
    EXPECT_EQ(graph_hash(graph), network.graph) << network.name;
    EXPECT_EQ(weights_hash(graph), network.weights) << network.name;
    EXPECT_EQ(graph.description, network.name);
  }
}

// Operators that no output of the network depends on.
size_t dead_operators(const Graph& graph) {
  const Subgraph& main = graph.main();
  std::set<int32_t> wanted(main.outputs.begin(), main.outputs.end());
  size_t dead = 0;
  for (size_t i = main.operators.size(); i-- > 0;) {
    const Operator& op = main.operators[i];
    if (std::ranges::none_of(op.outputs, [&](int32_t id) { return wanted.contains(id); })) {
      ++dead;
      continue;
    }
    wanted.insert(op.inputs.begin(), op.inputs.end());
  }
  return dead;
}

TEST(AllSpaces, HaveNoOperatorThatNoOutputDependsOn) {
  for (const SpaceInfo& space : all_spaces())
    for (uint64_t seed = 0; seed < (is_published(space.name) ? 3U : 40U); ++seed) {
      const NetworkName name = newest_network(space.name, 100 + seed).value();
      EXPECT_EQ(dead_operators(build_network(name).value()), 0U) << name.to_string();
    }
}

TEST(AllSpaces, OlderVersionsAreBuiltByNameAndTheNewestIsListed) {
  EXPECT_EQ(newest_network("detection", 5).value().to_string(), "detection/2/5");
  size_t dead = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph older = build_network({"detection", 1, seed}).value();
    dead += dead_operators(older) > 0;
    EXPECT_NE(graph_hash(older), graph_hash(build_network({"detection", 2, seed}).value()));
  }
  EXPECT_GE(dead, 1U);
  EXPECT_NE(error_of("detection/3/3").find("knows version 1 and 2"), std::string::npos);
  EXPECT_EQ(newest_network("detektion", 1).error().code, ErrorCode::kInvalidArgument);
}

TEST(AllSpaces, TablesOfParametersCanBePrinted) {
  ASSERT_GE(all_spaces().size(), 6U);
  for (const SpaceInfo& space : all_spaces()) {
    EXPECT_FALSE(space.description.empty());
    std::set<std::string_view> names;
    for (const Parameter* parameter : space.parameters) {
      EXPECT_TRUE(names.insert(parameter->name).second) << "twice: " << parameter->name;
      EXPECT_FALSE(parameter->range_text().empty());
      EXPECT_FALSE(parameter->meaning.empty()) << parameter->name;
    }
    // Published spaces have codes instead.
    EXPECT_TRUE(names.size() >= 30 || is_published(space.name)) << space.name;
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
