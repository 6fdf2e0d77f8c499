#include "src/predict/predictor_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/predict/predictor.h"
#include "src/spaces/space.h"
#include "tests/predict/sample_predictor.h"

namespace edgesage {
namespace {

using Bytes = std::vector<std::byte>;

Bytes sample_bytes() { return encode_predictor(test::sample_predictor(2)); }

Error refusal(const Bytes& bytes) {
  const auto result = decode_predictor(bytes, "file.edgesage");
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

TEST(PredictorFile, RoundTripKeepsEverything) {
  const PredictorData before = test::sample_predictor(2);
  const auto after = decode_predictor(encode_predictor(before), "file");
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(after->device, before.device);
  EXPECT_EQ(after->runtime_version, before.runtime_version);
  EXPECT_EQ(after->members, before.members);
  EXPECT_EQ(after->node_normaliser.mean, before.node_normaliser.mean);
  EXPECT_EQ(after->quantities.size(), 2u);
  EXPECT_EQ(after->quantities[0].widths, before.quantities[0].widths);
  EXPECT_EQ(after->quantities[1].readout, before.quantities[1].readout);
  EXPECT_EQ(after->range.operators, before.range.operators);
  EXPECT_EQ(after->range.kinds[0].high, before.range.kinds[0].high);
  EXPECT_EQ(after->range.max_spread, before.range.max_spread);
  EXPECT_EQ(after->facts, before.facts);
  EXPECT_EQ(after->id.size(), 12u);
}

TEST(PredictorFile, KeepsTheTableOfCostsAndAFileWithoutOneIsAsBefore) {
  PredictorData before = test::sample_predictor(1);
  const auto without = decode_predictor(encode_predictor(before), "file");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->energy_table, "");
  EXPECT_EQ(without->energy_table_hash, "");
  before.energy_table = "my costs 1";
  before.energy_table_hash = "0123";
  const auto after = decode_predictor(encode_predictor(before), "file");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->energy_table, "my costs 1");
  EXPECT_EQ(after->energy_table_hash, "0123");
}

TEST(PredictorFile, SameDataGivesSameBytes) { EXPECT_EQ(sample_bytes(), sample_bytes()); }

TEST(PredictorFile, EveryCutIsRefused) {
  const Bytes bytes = sample_bytes();
  for (size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 997) {
    const Error error = refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size)));
    EXPECT_EQ(error.code, ErrorCode::kBadStore) << size;
    EXPECT_EQ(error.where, "file.edgesage");
  }
}

TEST(PredictorFile, EveryFlippedBitIsRefused) {
  const Bytes bytes = sample_bytes();
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    Bytes damaged = bytes;
    const auto at = static_cast<size_t>(rng.integer(0, static_cast<int64_t>(bytes.size()) - 1));
    if (at >= 12 && at < 16) continue;  // reserved, not read
    damaged[at] ^= static_cast<std::byte>(1 << rng.integer(0, 7));
    EXPECT_EQ(refusal(damaged).code, ErrorCode::kBadStore) << "byte " << at;
  }
}

TEST(PredictorFile, NewerContainerSaysThatANewerProgramIsNeeded) {
  Bytes bytes = sample_bytes();
  bytes[8] = std::byte{kPredictorFileVersion + 1};
  const Error error = refusal(bytes);
  EXPECT_EQ(error.code, ErrorCode::kBadStore);
  EXPECT_NE(error.message.find("newer edgesage"), std::string::npos) << error.message;
}

// A payload that passes the checksum but was never a predictor: what an attacker could write.
TEST(PredictorFile, RandomPayloadWithRightChecksumIsRefused) {
  Rng rng(5);
  const Bytes good = sample_bytes();
  for (int round = 0; round < 300; ++round) {
    Bytes bytes = good;
    for (int flips = 0; flips < 4; ++flips) {
      const auto at = static_cast<size_t>(rng.integer(32, static_cast<int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<std::byte>(rng.integer(0, 255));
    }
    const uint64_t checksum = checksum64(std::span(bytes).subspan(32));
    std::memcpy(bytes.data() + 24, &checksum, sizeof(checksum));
    // Some changes only alter a weight; what must not happen is a crash.
    (void)decode_predictor(bytes, "file");
  }
}

TEST(PredictorFile, ParametersThatAreNotNumbersAreRefused) {
  PredictorData data = test::sample_predictor(1);
  data.members[0][7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(encode_predictor(data)).code, ErrorCode::kBadStore);
}

// The whole kind: any number of the file that is none, or so large that what is computed from it
// is.
TEST(PredictorFile, NumbersThatEndInNonsenseAreRefused) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  using Change = std::function<void(PredictorData&, float)>;
  const std::vector<Change> places = {
      [](PredictorData& data, float x) { data.members[0][7] = x; },
      [](PredictorData& data, float x) { data.node_normaliser.mean[1] = x; },
      [](PredictorData& data, float x) { data.global_normaliser.scale[0] = x; },
      [](PredictorData& data, float x) { data.quantities[0].log_offset = x; },
      [](PredictorData& data, float x) { data.quantities[0].overhead_scale = x; },
      [](PredictorData& data, float x) { data.quantities[0].base_spread = x; },
      [](PredictorData& data, float x) { data.quantities[0].levels = {x}; },
      [](PredictorData& data, float x) { data.quantities[0].widths = {x}; }};
  for (size_t i = 0; i < places.size(); ++i)
    for (const float x : {kNan, kInfinity, -kInfinity}) {
      PredictorData data = test::sample_predictor(1);
      places[i](data, x);
      EXPECT_EQ(refusal(encode_predictor(data)).code, ErrorCode::kBadStore) << i << ' ' << x;
    }
  PredictorData data = test::sample_predictor(1);
  data.range.global_low = {kNan};
  EXPECT_EQ(refusal(encode_predictor(data)).code, ErrorCode::kBadStore);
  data = test::sample_predictor(1);
  data.members[0][7] = 1e30F;
  EXPECT_NE(refusal(encode_predictor(data)).message.find("beyond"), std::string::npos);
}

// Parameters at the bound, layers of any size: every answer is a number still.
TEST(PredictorFile, TheLargestParametersThatAreTakenGiveNumbers) {
  PredictorData data = test::sample_predictor(1);
  for (size_t i = 0; i < data.members[0].size(); ++i)
    data.members[0][i] = i % 3 == 0 ? -1e4F : 1e4F;
  auto read = decode_predictor(encode_predictor(data), "file");
  ASSERT_TRUE(read) << read.error().to_string();
  const auto predictor = Predictor::from(*std::move(read));
  ASSERT_TRUE(predictor) << predictor.error().to_string();
  const Graph graph = *build_network(*NetworkName::parse("keyword-sound/1/3"));
  const Prediction answer = predictor->predict(graph, "model", {});
  ASSERT_TRUE(answer.latency_ms);
  EXPECT_TRUE(std::isfinite(answer.latency_ms->value));
  EXPECT_TRUE(std::isfinite(answer.latency_ms->lo) && std::isfinite(answer.latency_ms->hi));
  for (const OperatorPrediction& op : answer.operators)
    EXPECT_TRUE(!op.latency_ms || std::isfinite(*op.latency_ms));
}

// 64 layers of 4,096 are 12 GB: refused for its few parameters, before any of it is made.
TEST(PredictorFile, ANetworkThatIsLargerThanItsParametersIsRefused) {
  PredictorData data = test::sample_predictor(1);
  data.hidden = 4096;
  data.layers = 64;
  auto read = decode_predictor(encode_predictor(data), "file");
  ASSERT_TRUE(read) << read.error().to_string();
  const auto predictor = Predictor::from(*std::move(read));
  ASSERT_FALSE(predictor);
  EXPECT_NE(predictor.error().message.find("do not fit"), std::string::npos);
}

TEST(PredictorFile, WithoutNetworkIsRefused) {
  EXPECT_EQ(refusal(encode_predictor(test::sample_predictor(0))).code, ErrorCode::kBadStore);
}

TEST(PredictorFile, OtherFilesAreNamedAsSuch) {
  const std::string text = "version https://git-lfs.github.com/spec/v1\n";
  const auto bytes = std::as_bytes(std::span(text));
  const Error error = refusal(Bytes(bytes.begin(), bytes.end()));
  EXPECT_NE(error.message.find("not a predictor file"), std::string::npos);
}

// Predictor files that are not of this version, or no longer what was written: told from each
// other, each with what to do.
TEST(HostileFiles, M07_OtherPredictorFiles) {
  const Bytes good = sample_bytes();
  Bytes cut = good;
  cut.resize(good.size() / 2);
  EXPECT_NE(refusal(cut).message.find("the file is cut"), std::string::npos);
  Bytes damaged = good;
  damaged.back() ^= std::byte{1};
  EXPECT_NE(refusal(damaged).message.find("checksum"), std::string::npos);
  Bytes swapped = good;
  for (const auto& [at, size] : {std::pair<size_t, size_t>{8, 4}, {12, 4}, {16, 8}, {24, 8}})
    std::reverse(swapped.begin() + static_cast<long>(at),
                 swapped.begin() + static_cast<long>(at + size));
  EXPECT_NE(refusal(swapped).message.find("byte order"), std::string::npos)
      << refusal(swapped).message;
  Bytes previous = good;
  previous[8] = std::byte{0};
  EXPECT_NE(refusal(previous).message.find("version 0"), std::string::npos);
  EXPECT_NE(refusal(previous).message.find("edgesage train"), std::string::npos);
  for (const Bytes& file : {cut, damaged, swapped, previous})
    EXPECT_EQ(refusal(file).code, ErrorCode::kBadStore);
}

}  // namespace
}  // namespace edgesage
