// Closed forms and features of a loop count its iterations, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/features/extract.h"
#include "src/features/feature_table.h"
#include "src/features/priors.h"
#include "src/graph/select_entry.h"
#include "src/lower/control_flow.h"
#include "tests/lower/built_graph.h"
#include "tests/lower/looped_graph.h"

namespace edgesage {
namespace {

struct Described {
  Expansion expansion;
  Lowering lowering;
  GraphTensors tensors;
  std::vector<double> latency, energy, memory;
};

Described described(int64_t trip_count, const char* target) {
  GraphBuilder net(int8_net());
  const auto x = net.input("x", {1, 16, 16, 8});
  const auto y = net.conv_2d(x, {.channels = 8, .kernel_h = 3, .kernel_w = 3});
  Graph graph = looped(finish(net, {net.add(net.conv_2d(y, {.channels = 8}), x)}));
  set_trip_counts(graph, trip_count);
  Described out;
  out.expansion = expand_control_flow(graph);
  out.lowering = lower(out.expansion, *target_from_name(target));
  constexpr Quantity kAll[] = {Quantity::kLatencyMs, Quantity::kSramBytes, Quantity::kEnergyMj};
  out.tensors = extract_features(out.expansion.graph, out.lowering, kAll);
  const LoweringFacts facts = gather_facts(out.expansion.graph, out.lowering);
  out.latency = row_priors(out.lowering, facts, Quantity::kLatencyMs);
  out.memory = row_priors(out.lowering, facts, Quantity::kSramBytes);
  out.energy = row_priors(out.lowering, facts, Quantity::kEnergyMj);
  return out;
}

double global_of(const Described& of, std::string_view name) {
  const auto table = global_features();
  const auto found = std::ranges::find(table, name, &GlobalFeature::name);
  return found == table.end()
             ? std::nan("")
             : static_cast<double>(of.tensors.globals[static_cast<size_t>(found - table.begin())]);
}

class LoopFeatures : public testing::TestWithParam<const char*> {};

TEST_P(LoopFeatures, TenIterationsCostTenBodies) {
  const Described once = described(1, GetParam()), often = described(10, GetParam());
  ASSERT_EQ(once.latency.size(), often.latency.size());
  int bodies = 0;
  for (size_t i = 0; i < once.latency.size(); ++i) {
    const Row& row = often.lowering.rows[i];
    const auto times =
        static_cast<double>(row.repeat) / static_cast<double>(once.lowering.rows[i].repeat);
    if (row.repeat == 10 && row.placement != Placement::kFolded) ++bodies;
    EXPECT_DOUBLE_EQ(often.latency[i], once.latency[i] * times) << i;
    EXPECT_DOUBLE_EQ(often.energy[i], once.energy[i] * times) << i;
    EXPECT_DOUBLE_EQ(often.memory[i], once.memory[i]) << i;
  }
  EXPECT_GE(bodies, 3);
  // Of the network: ten times the multiplications, the same memory and constants.
  const auto macs = [](const Described& of) { return std::expm1(global_of(of, "log_macs")); };
  EXPECT_NEAR(macs(often), 10 * macs(once), 1e-4 * macs(often));
  EXPECT_GT(macs(once), 0);
  for (const char* same : {"log_rows", "log_weights_bytes", "log_peak_live_bytes"})
    EXPECT_EQ(global_of(often, same), global_of(once, same)) << same;
  EXPECT_EQ(often.tensors.x, once.tensors.x) << "nodes describe one iteration";
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopFeatures,
                         testing::Values("generic", "edge-tpu-like", "ethos-u55-128",
                                         "ethos-u85-512", "litert-xnnpack"));

}  // namespace
}  // namespace edgesage
