// Networks whose weights have no bytes: everything that depends on shapes is as with weights, and
// what depends on values is that of typical ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "src/analysis/row_costs.h"
#include "src/analysis/weight_stats.h"
#include "src/features/extract.h"
#include "src/features/feature_table.h"
#include "src/lower/rows.h"
#include "src/spaces/published.h"

namespace edgesage {
namespace {

constexpr std::array kQuantities{Quantity::kLatencyMs, Quantity::kSramBytes};

Graph build(std::string_view space, DataType type, bool weights) {
  Rng rng(31);
  const std::string code = draw_code(space, rng);
  return build_published(space, code, {.type = type, .resolution = 64, .weights = weights})->graph;
}

// What follows from the values of weights.
bool is_of_values(std::string_view feature) {
  return feature.starts_with("weights_") || feature == "log_encoded_weights_bytes" ||
         feature.starts_with("log_cycles_") || feature.ends_with("_of_largest") ||
         feature.ends_with("_traffic_bytes") || feature == "log_weight_buffer_bytes" ||
         feature == "log_constant_bytes" || feature == "log_sram_live_bytes" ||
         feature == "log_dram_live_bytes" || feature == "sram_live_share_of_peak" ||
         feature == "staged_share";
}

TEST(ShapesOnly, FeaturesOfShapesAreThoseOfTheNetworkWithWeights) {
  for (const PublishedSpace& space : published_spaces()) {
    for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
      const Graph with = build(space.name, type, true), without = build(space.name, type, false);
      const GraphTotals totals = graph_totals(with), shapes = graph_totals(without);
      EXPECT_EQ(shapes.macs, totals.macs);
      EXPECT_EQ(shapes.parameters, totals.parameters);
      EXPECT_EQ(shapes.weights_bytes, totals.weights_bytes);
      for (const char* name : {"litert-xnnpack", "ethos-u55-256", "ethos-u85-512"}) {
        const Target target = target_from_name(name).value();
        const Lowering lowering = lower(without, target), full = lower(with, target);
        ASSERT_EQ(lowering.rows.size(), full.rows.size()) << space.name << " " << name;
        for (size_t i = 0; i < full.operators.size(); ++i)
          ASSERT_EQ(lowering.operators[i].reason, full.operators[i].reason);
        const GraphTensors a = extract_features(without, lowering, kQuantities);
        const GraphTensors b = extract_features(with, full, kQuantities);
        ASSERT_EQ(a.x.size(), b.x.size());
        const auto table = node_features();
        for (size_t i = 0; i < a.x.size(); ++i) {
          const NodeFeature& feature = table[i % table.size()];
          ASSERT_TRUE(std::isfinite(a.x[i])) << feature.name;
          if (is_of_values(feature.name)) continue;
          ASSERT_EQ(a.x[i], b.x[i]) << feature.name;
        }
      }
    }
  }
}

// Half of the filters of drawn networks are within these of the assumed ones.
TEST(ShapesOnly, AssumedStatisticsAreTypical) {
  std::vector<WeightStats> drawn;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Rng rng(seed);
    const std::string code = draw_code("nas-bench-201", rng);
    const Graph graph = build_published("nas-bench-201", code)->graph;
    for (const Operator& op : graph.main().operators)
      if (op.kind == OpKind::kConv2D)
        drawn.push_back(
            weight_stats(graph, graph.main().tensors[static_cast<size_t>(op.inputs[1])]));
  }
  Tensor unknown;
  unknown.type = DataType::kInt8;
  unknown.shape = {64, 3, 3, 64};
  unknown.buffer = 0;
  Graph graph;
  graph.buffers.resize(1);
  const WeightStats assumed = weight_stats(graph, unknown);
  const auto median = [&drawn](double WeightStats::*member) {
    std::vector<double> values;
    for (const WeightStats& stats : drawn) values.push_back(stats.*member);
    std::nth_element(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  };
  fmt::print(
      "median of {} filters: zeros {:.3f}, distinct {}, entropy {:.2f}, |w| {:.1f}, "
      "encoded {:.2f}\n",
      drawn.size(), median(&WeightStats::zero_fraction), median(&WeightStats::distinct),
      median(&WeightStats::entropy_bits), median(&WeightStats::mean_abs),
      median(&WeightStats::encoded_bits_estimate));
  EXPECT_NEAR(assumed.zero_fraction, median(&WeightStats::zero_fraction), 0.02);
  EXPECT_NEAR(assumed.distinct, median(&WeightStats::distinct), 40);
  EXPECT_NEAR(assumed.entropy_bits, median(&WeightStats::entropy_bits), 0.5);
  EXPECT_NEAR(assumed.mean_abs, median(&WeightStats::mean_abs), 6);
  EXPECT_NEAR(assumed.encoded_bits_estimate, median(&WeightStats::encoded_bits_estimate), 0.4);
}

}  // namespace
}  // namespace edgesage
