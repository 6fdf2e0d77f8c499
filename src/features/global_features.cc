// The table of graph-level features.
#include <algorithm>
#include <cmath>

#include "src/features/feature_table.h"

namespace edgesage {
namespace {

using L = const Lowering&;
using G = const LoweringFacts&;

double log1(double value) { return std::log1p(std::max(0.0, value)); }

template <class Value>
double sum(G graph, Value value) {
  double total = 0;
  for (const RowFacts& row : graph.rows) total += value(row);
  return total;
}

// Of an inference: the body of a loop as often as it runs.
template <class Value>
double work(L lowering, G graph, Value value) {
  double total = 0;
  for (size_t i = 0; i < graph.rows.size(); ++i)
    total += value(graph.rows[i]) * static_cast<double>(lowering.rows[i].repeat);
  return total;
}

double rows_placed(L lowering, Placement placement) {
  return static_cast<double>(
      std::count_if(lowering.rows.begin(), lowering.rows.end(),
                    [&](const Row& row) { return row.placement == placement; }));
}

double prior_cycles(const RowFacts& row) {
  return std::max({row.cycles.npu, row.cycles.sram, row.cycles.dram, row.cycles.flash});
}

constexpr GlobalFeature kTable[] = {
    {"log_rows", [](L l, G) { return log1(static_cast<double>(l.rows.size())); }},
    {"log_operators", [](L l, G) { return log1(static_cast<double>(l.operators.size())); }},
    {"log_macs",
     [](L l, G g) {
       return log1(work(l, g, [](auto& r) { return static_cast<double>(r.cost.macs); }));
     }},
    {"log_weights_bytes",
     [](L, G g) {
       return log1(sum(g, [](auto& r) { return static_cast<double>(r.cost.weights_bytes); }));
     }},
    {"log_encoded_weights_bytes",
     [](L, G g) { return log1(sum(g, [](auto& r) { return r.encoded_weights_bytes; })); }},
    {"log_activation_bytes",
     [](L l, G g) {
       return log1(work(l, g, [](auto& r) {
         return static_cast<double>(r.cost.ifm_bytes) + static_cast<double>(r.cost.ofm_bytes);
       }));
     }},
    {"log_peak_live_bytes", [](L, G g) { return log1(g.peak_live_bytes); }},
    {"log_cycles", [](L l, G g) { return log1(work(l, g, prior_cycles)); }},
    {"log_cpu_ns", [](L l, G g) { return log1(work(l, g, [](auto& r) { return r.cpu_ns; })); }},
    {"log_partitions", [](L l, G) { return log1(l.partitions); }},
    {"log_rows_on_cpu", [](L l, G) { return log1(rows_placed(l, Placement::kCpu)); }},
    {"log_peak_sram_live_bytes", [](L, G g) { return log1(g.peak_sram_live_bytes); }},
    {"log_sram_traffic_bytes",
     [](L l, G g) { return log1(work(l, g, [](auto& r) { return r.cycles.sram_bytes; })); }},
    {"log_slow_traffic_bytes",
     [](L l, G g) {
       return log1(work(l, g, [](auto& r) { return r.cycles.dram_bytes + r.cycles.flash_bytes; }));
     }},
};

}  // namespace

std::span<const GlobalFeature> global_features() { return kTable; }

}  // namespace edgesage
