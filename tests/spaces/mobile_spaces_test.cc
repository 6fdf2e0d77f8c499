// FBNet, Once-for-All and Accel-NASBench against the work and the parameters published for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/graph/graph_hash.h"
#include "src/graph/validate.h"
#include "src/spaces/fbnet.h"
#include "src/spaces/mnasnet_accel.h"
#include "src/spaces/ofa_mobilenet_v3.h"
#include "src/spaces/published.h"
#include "src/spaces/space.h"
#include "tests/support/test_paths.h"

namespace edgesage {
namespace {

Graph build(std::string_view space, std::string_view code,
            PublishedOptions options = {.weights = false}) {
  auto network = build_published(space, code, options);
  EXPECT_TRUE(network) << network.error().to_string();
  EXPECT_FALSE(network->constant);
  EXPECT_TRUE(validate(network->graph));
  return std::move(network->graph);
}

const Tensor& tensor(const Graph& graph, int32_t index) {
  return graph.main().tensors[static_cast<size_t>(index)];
}

bool is_weighted(const Operator& op) {
  return op.kind == OpKind::kConv2D || op.kind == OpKind::kDepthwiseConv2D ||
         op.kind == OpKind::kFullyConnected;
}

double macs_of(const Graph& graph) {
  double macs = 0;
  for (const Operator& op : graph.main().operators) {
    if (!is_weighted(op)) continue;
    const Tensor& filter = tensor(graph, op.inputs[1]);
    const Tensor& output = tensor(graph, op.outputs[0]);
    macs += static_cast<double>(output.element_count()) *
            static_cast<double>(filter.element_count() / output.shape.back());
  }
  return macs;
}

struct Parameters {
  double filters = 0, biases = 0;
};
Parameters parameters_of(const Graph& graph) {
  Parameters parameters;
  for (const Operator& op : graph.main().operators) {
    if (!is_weighted(op)) continue;
    parameters.filters += static_cast<double>(tensor(graph, op.inputs[1]).element_count());
    parameters.biases += static_cast<double>(tensor(graph, op.inputs[2]).element_count());
  }
  return parameters;
}

std::map<OpKind, int> kinds_of(const Graph& graph) {
  std::map<OpKind, int> kinds;
  for (const Operator& op : graph.main().operators) ++kinds[op.kind];
  return kinds;
}

CsvTable read_data(const char* file) {
  const auto text = read_text(*test::data_dir() / "data" / file, ErrorCode::kInternal).value();
  return parse_csv(text, file, ErrorCode::kInternal).value();
}

std::string error_of(std::string_view space, std::string_view code) {
  const auto network = build_published(space, code, {.weights = false});
  EXPECT_FALSE(network) << code;
  if (network) return {};
  EXPECT_EQ(network.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(network.error().to_string().find('\n'), std::string::npos);
  return network.error().message;
}

// ---- Accel-NASBench

// EfficientNet-B0: 5.3 M parameters, 390 M multiply-accumulates (Tan and Le, ICML 2019, table 2).
TEST(MnasnetAccel, HoldsEfficientNetB0) {
  const Graph graph =
      build("mnasnet-accel", "1-3-1-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1");
  const Parameters parameters = parameters_of(graph);
  EXPECT_NEAR(macs_of(graph), 390e6, 0.02 * 390e6);
  EXPECT_NEAR(parameters.filters + parameters.biases, 5.3e6, 0.02 * 5.3e6);
}

// The benchmark's own figures for each of its networks. Its parameters count two values of batch
// normalisation a channel where the converted network has one bias; its multiply-accumulates count
// four for each normalised value and one for each value that is averaged.
TEST(MnasnetAccel, ParametersAndWorkAreThoseOfTheBenchmark) {
  EDGESAGE_REQUIRE(test::data_dir(), "published measurements; set EDGESAGE_DATA_DIR");
  const CsvTable table = read_data("accel_nasbench.csv");
  const size_t first = table.column("block0_e").value(), last = table.column("block6_se").value();
  const size_t macs_column = table.column("macs_m").value();
  const size_t parameters_column = table.column("params_m").value();
  for (size_t row = 0; row < table.rows.size(); row += 7) {
    const std::vector<std::string>& cells = table.rows[row];
    std::string code;
    for (size_t i = first; i <= last; ++i) code += (code.empty() ? "" : "-") + cells[i];
    const Graph graph = build("mnasnet-accel", code);
    double parameters = 0, work = macs_of(graph);
    for (const Operator& op : graph.main().operators) {
      if (op.kind == OpKind::kMean)
        work += static_cast<double>(tensor(graph, op.inputs[0]).element_count());
      if (!is_weighted(op)) continue;
      const auto channels = static_cast<double>(tensor(graph, op.inputs[2]).element_count());
      const Tensor& output = tensor(graph, op.outputs[0]);
      const bool normalised = output.shape.size() == 4 && output.shape[1] > 1;
      parameters += static_cast<double>(tensor(graph, op.inputs[1]).element_count()) +
                    (normalised ? 2 : 1) * channels;
      if (normalised) work += 4 * static_cast<double>(output.element_count());
    }
    EXPECT_NEAR(parameters, std::stod(cells[parameters_column]) * 1e6, 0.5) << code;
    EXPECT_NEAR(work, std::stod(cells[macs_column]) * 1e6, 15'000) << code;
  }
}

TEST(MnasnetAccel, ErrorsSayWhatIsAllowed) {
  EXPECT_NE(error_of("mnasnet-accel", "2-3-1-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1")
                .find("1, 4 or 6"),
            std::string::npos);
  EXPECT_NE(error_of("mnasnet-accel", "1-7-1-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1")
                .find("3 or 5"),
            std::string::npos);
  for (const char* code : {"", "1", "_", "-", "1-3-1-1", "1-3-1-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1",
                           "1-3-0-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1",
                           "1-3-1-2_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1",
                           "a-3-1-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1",
                           "1-3-1-1_6-3-2-1_6-5-2-1_6-3-3-1_6-5-3-1_6-5-4-1_6-3-1-1_1"})
    error_of("mnasnet-accel", code);
}

// ---- Once-for-All

std::string ofa_code(std::array<int64_t, 20> kernels, std::array<int64_t, 20> expansions,
                     std::array<int64_t, 5> depths, int64_t side) {
  OfaCode code;
  code.kernels = kernels;
  code.expansions = expansions;
  code.depths = depths;
  code.resolution = side;
  return code.code();
}

// MobileNetV3-Large has 219 M multiply-accumulates and 5.4 M parameters (Howard et al., ICCV 2019,
// table 3). Its depths and kernels are a code of this space, its expansions nearly are.
TEST(OfaMobileNetV3, ComesCloseToMobileNetV3Large) {
  const Graph graph = build(
      "ofa-mobilenet-v3",
      ofa_code({3, 3, 3, 3, 5, 5, 5, 5, 3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 5},
               {4, 3, 3, 3, 3, 3, 3, 3, 6, 3, 3, 3, 6, 6, 6, 6, 6, 6, 6, 6}, {2, 3, 4, 2, 3}, 224));
  const Parameters parameters = parameters_of(graph);
  EXPECT_NEAR(macs_of(graph), 219e6, 0.05 * 219e6);
  EXPECT_NEAR(parameters.filters + parameters.biases, 5.4e6, 0.05 * 5.4e6);
  const auto kinds = kinds_of(graph);
  EXPECT_EQ(kinds.at(OpKind::kDepthwiseConv2D), 15);
  // Stem, two in each of nine blocks, two in the head.
  EXPECT_EQ(kinds.at(OpKind::kHardSwish), 1 + 2 * 9 + 2);
  EXPECT_EQ(kinds.at(OpKind::kMean), 3 + 2 + 3 + 1);
}

TEST(OfaMobileNetV3, BothSpellingsAreOneNetworkAndDeadBlocksDoNotMatter) {
  const std::string json =
      "{\"ks\":[7,5,5,5,7,7,5,7,5,7,3,7,5,3,7,3,5,3,5,3],"
      "\"e\":[6,4,4,6,6,3,4,3,3,6,3,3,3,6,3,4,6,4,3,6],\"d\":[2,2,2,2,3],\"r\":204}";
  const std::string text =
      "ks7-5-5-5-7-7-5-7-5-7-3-7-5-3-7-3-5-3-5-3_e6-4-4-6-6-3-4-3-3-6-3-3-3-6-3-4-6-4-3-6_"
      "d2-2-2-2-3_r204";
  EXPECT_EQ(canonical_code("ofa-mobilenet-v3", json).value(), text);
  EXPECT_EQ(canonical_code("ofa-mobilenet-v3", text).value(), text);
  const Graph graph = build("ofa-mobilenet-v3", json);
  EXPECT_EQ(tensor(graph, graph.main().inputs[0]).shape, (Shape{1, 204, 204, 3}));
  std::string other = text;
  other[8] = '3';  // the fourth block of a stage of two
  EXPECT_EQ(graph_hash(build("ofa-mobilenet-v3", other)), graph_hash(graph));
  other[4] = '7';
  EXPECT_NE(graph_hash(build("ofa-mobilenet-v3", other)), graph_hash(graph));
}

TEST(OfaMobileNetV3, AllMeasuredCodesBuild) {
  EDGESAGE_REQUIRE(test::data_dir(), "published measurements; set EDGESAGE_DATA_DIR");
  const CsvTable table = read_data("ofa_mbv3.csv");
  const size_t column = table.column("arch_json").value();
  for (const auto& row : table.rows) ASSERT_TRUE(canonical_code("ofa-mobilenet-v3", row[column]));
  for (size_t i = 0; i < table.rows.size(); i += 100)
    build("ofa-mobilenet-v3", table.rows[i][column]);
}

TEST(OfaMobileNetV3, ErrorsSayWhatIsAllowed) {
  const std::string good =
      "ks7-5-5-5-7-7-5-7-5-7-3-7-5-3-7-3-5-3-5-3_e6-4-4-6-6-3-4-3-3-6-3-3-3-6-3-4-6-4-3-6_"
      "d2-2-2-2-3_r";
  EXPECT_NE(error_of("ofa-mobilenet-v3", good + "30").find("32 to 1024"), std::string::npos);
  EXPECT_NE(error_of("ofa-mobilenet-v3", good + "203").find("multiples of 4"), std::string::npos);
  for (const char* code :
       {"", "{", "{}", "[]", "{\"ks\":7}", "{\"ks\":[7],\"e\":[6],\"d\":[2],\"r\":224}", "ks_e_d_r",
        "ks3_e3_d2_r224", "{\"ks\":[\"a\"],\"e\":[],\"d\":[],\"r\":[]}"})
    error_of("ofa-mobilenet-v3", code);
}

// ---- FBNet

// FBNet-A: 249 M multiply-accumulates, 4.3 M parameters (Wu et al., CVPR 2019, table 2) at 224x224,
// with stride 2 in the stem and the second stage, and 1,000 classes. With images of 56x56 all
// behind the first layer of the second stage has the same maps as there.
TEST(FbNet, FbNetAHasItsPublishedSize) {
  const Graph graph = build("fbnet", "8-2-0-8-8-7-2-4-2-7-6-5-7-3-5-4-1-7-7-6-7-7",
                            {.resolution = 56, .weights = false});
  const Parameters parameters = parameters_of(graph);
  constexpr double kMoreClasses = 1504.0 * (1000 - 100);
  EXPECT_NEAR(parameters.filters + parameters.biases + kMoreClasses, 4.3e6, 0.03 * 4.3e6);
  constexpr double kMap = 56 * 56;
  const double macs = macs_of(graph) + 3 * kMap * 27 * 16 + 3 * kMap * 16 * 48 + kMoreClasses;
  // The paper does not say whether normalisation counts; here it does not.
  EXPECT_NEAR(macs, 249e6, 0.05 * 249e6);
}

TEST(FbNet, GroupsAreInTheOneByOnesWithAShuffleBetween) {
  const Graph graph = build("fbnet", "1-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8");
  const auto& operators = graph.main().operators;
  std::vector<OpKind> kinds;
  for (size_t i = 0; i < 8; ++i) kinds.push_back(operators[i].kind);
  EXPECT_EQ(kinds, (std::vector{OpKind::kConv2D, OpKind::kConv2D, OpKind::kReshape,
                                OpKind::kTranspose, OpKind::kReshape, OpKind::kDepthwiseConv2D,
                                OpKind::kConv2D, OpKind::kAdd}));
  EXPECT_EQ(tensor(graph, operators[1].inputs[1]).shape, (Shape{16, 1, 1, 8}));
  EXPECT_EQ(tensor(graph, operators[6].inputs[1]).shape, (Shape{16, 1, 1, 8}));
  EXPECT_EQ(tensor(graph, operators[3].outputs[0]).shape, (Shape{1, 1024, 8, 2}));
  // Skips: a 1x1 convolution at each of six changes of shape, nothing elsewhere. Then head, mean
  // and classes.
  EXPECT_EQ(operators.size(), 8U + 6 + 3);
}

TEST(FbNet, AllMeasuredCodesBuildAndBadOnesAreRefused) {
  for (const char* code : {"", "7", "7-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4-9",
                           "7-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4",
                           "7-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4-5-5",
                           "7 8 1 8 4 8 8 8 7 4 1 4 7 3 2 7 3 2 4 2 4 5",
                           "-1-8-1-8-4-8-8-8-7-4-1-4-7-3-2-7-3-2-4-2-4-5"})
    EXPECT_NE(error_of("fbnet", code).find("0 to 8"), std::string::npos);
  EDGESAGE_REQUIRE(test::data_dir(), "published measurements; set EDGESAGE_DATA_DIR");
  const CsvTable table = read_data("fbnet.csv");
  const size_t column = table.column("op_idx_list").value();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ASSERT_EQ(canonical_code("fbnet", table.rows[i][column]), table.rows[i][column]);
    if (i % 50 == 0) build("fbnet", table.rows[i][column]);
  }
}

// ---- all of them

TEST(PublishedSpaces, NamesRebuildTheirNetworks) {
  for (const PublishedSpace& space : published_spaces()) {
    Rng rng(5);
    const std::string code = draw_code(space.name, rng);
    const std::string text = std::string(space.name) + "/" + code;
    const NetworkName name = NetworkName::parse(text).value();
    EXPECT_EQ(name.to_string(), text);
    const Graph graph = build_network(name).value();
    EXPECT_EQ(graph.description, text);
    EXPECT_EQ(graph_hash(graph), graph_hash(build(space.name, code)));
    const Graph shapes = build_network(name, {.published_weights = false}).value();
    EXPECT_EQ(graph_hash(shapes), graph_hash(graph));
    const std::string wider = text + "@64@float32";
    const Graph other = build_network(NetworkName::parse(wider).value()).value();
    EXPECT_EQ(other.description, wider);
    const Tensor& input = tensor(other, other.main().inputs[0]);
    EXPECT_EQ(input.shape, (Shape{1, 64, 64, 3}));
    EXPECT_EQ(input.type, DataType::kFloat32);
  }
  EXPECT_EQ(canonical_code("fbnet", "8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8@32@int8").value(),
            "8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8");
}

TEST(PublishedSpaces, NamesThatMeanNothingAreRefusedInOneLine) {
  for (const char* text : {"fbnet/", "fbnet/1/2/3", "fbnet/1/x", "fbnet/8@", "fbnet/2/8",
                           "fbnet/8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8@",
                           "fbnet/8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8@-4",
                           "fbnet/8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8@float16",
                           "fbnet/8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8@99999999999999999999",
                           "nas-bench-201/|none~0|+|none~0|none~1|+|none~0|none~1|none~2|@33"}) {
    const auto name = NetworkName::parse(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(name.error().to_string().find('\n'), std::string::npos);
  }
  const auto constant =
      NetworkName::parse("nas-bench-201/|none~0|+|none~0|none~1|+|none~0|none~1|none~2|");
  ASSERT_TRUE(constant);
  EXPECT_EQ(build_network(*constant).error().code, ErrorCode::kInvalidArgument);
}

// Names are kept in stores and papers: if this fails, the recipe has changed and needs a new
// version beside the old one.
TEST(PublishedSpaces, NamesOfVersionOneMeanWhatTheyMeant) {
  const std::map<std::string, std::array<std::string, 2>> pinned{
      {"nas-bench-201/1/4711",
       {"g1-f21d4882f8f4ffd03e15be2e23f9e32f", "w1-25e0f5ffcd8c64f6f4ef57d63cd48b40"}},
      {"fbnet/1/4711",
       {"g1-7dad9687147588bf78eff3a7b4ee75f4", "w1-c031513a6095a1e98fa8fe5e4e75f2ff"}},
      {"ofa-mobilenet-v3/1/4711",
       {"g1-8c326646ee4681d921f403450cd69484", "w1-5ebdd9f629cb610483a972866bde9004"}},
      {"mnasnet-accel/1/4711",
       {"g1-f0f4d886f85f0be76ecdb17b63aaa879", "w1-b95b45914e446f1bbbe417eb54c71bd3"}},
  };
  for (const auto& [text, hashes] : pinned) {
    const Graph graph = build_network(NetworkName::parse(text).value()).value();
    EXPECT_EQ(graph.description, text);
    EXPECT_EQ(graph_hash(graph), hashes[0]) << text;
    EXPECT_EQ(weights_hash(graph), hashes[1]) << text;
  }
}

TEST(PublishedSpaces, ShapesAloneGiveTheGraphOfTheNetworkWithWeights) {
  for (const PublishedSpace& space : published_spaces()) {
    Rng rng(11);
    const std::string code = draw_code(space.name, rng);
    EXPECT_EQ(canonical_code(space.name, code), code);
    for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
      const Graph with = build(space.name, code, {.type = type, .resolution = 64});
      const Graph without =
          build(space.name, code, {.type = type, .resolution = 64, .weights = false});
      EXPECT_EQ(graph_hash(with), graph_hash(without)) << space.name;
    }
  }
}

TEST(PublishedSpaces, OtherSpacesAndTypesAreRefused) {
  EXPECT_FALSE(is_published("mobile-classifier"));
  EXPECT_NE(build_published("nasbench", "x").error().message.find("nas-bench-201, fbnet"),
            std::string::npos);
  EXPECT_FALSE(build_published("fbnet", "8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8-8",
                               {.type = DataType::kInt16}));
}

}  // namespace
}  // namespace edgesage
