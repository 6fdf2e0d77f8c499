#include "src/features/priors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace edgesage {
namespace {

constexpr std::array<std::string_view, 3> kNames{"latency_ms", "sram_bytes", "energy_mj"};

// The default system configurations of Vela 5.2: U55 High_End_Embedded, U65 Client_Server,
// U85 SYS_DRAM_Mid.
double clock_hz(TargetKind kind) { return kind == TargetKind::kEthosU55 ? 500e6 : 1e9; }

// The clock of the device edge-tpu-like, whose costs are counted in cycles.
constexpr double kEdgeTpuHz = 500e6;

double latency_ms(const Row& row, const RowFacts& facts, const Target& target) {
  if (row.placement == Placement::kFolded) return 0;
  if (target.kind == TargetKind::kEdgeTpuLike) return facts.edge_tpu.cycles / kEdgeTpuHz * 1e3;
  if (!target.is_ethos()) return facts.cpu_ns * 1e-6;
  // The compiler does not price what falls back to the CPU.
  if (row.placement != Placement::kNpu) return 0;
  const RowCycles& c = facts.cycles;
  return std::max({c.npu, c.sram, c.dram, c.flash}) / clock_hz(target.kind) * 1e3;
}

// Horowitz, "Computing's energy problem", ISSCC 2014: a multiplication and addition of bytes, and a
// byte from a small memory. Only their ratio matters: a device's level is learnt.
constexpr double kMacPicojoules = 0.23, kBytePicojoules = 1.25;

double energy_mj(const Row& row, const RowFacts& facts, const Target& target) {
  if (row.placement == Placement::kFolded) return 0;
  if (target.kind == TargetKind::kEdgeTpuLike) return facts.edge_tpu.picojoules * 1e-9;
  const auto bytes = static_cast<double>(facts.cost.ifm_bytes) +
                     static_cast<double>(facts.cost.ofm_bytes) +
                     static_cast<double>(facts.cost.weights_bytes);
  return (static_cast<double>(facts.cost.macs) * kMacPicojoules + bytes * kBytePicojoules) * 1e-9;
}

}  // namespace

std::string_view quantity_name(Quantity quantity) { return kNames[static_cast<size_t>(quantity)]; }

Result<Quantity> quantity_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Quantity>(i);
  return make_error(ErrorCode::kInvalidArgument, std::string(name),
                    fmt::format("not a quantity; one of {}", fmt::join(kNames, ", ")));
}

std::vector<double> row_priors(const Lowering& lowering, const LoweringFacts& facts,
                               Quantity quantity) {
  std::vector<double> priors(lowering.rows.size());
  for (size_t i = 0; i < priors.size(); ++i) {
    const Row& row = lowering.rows[i];
    const RowFacts& row_facts = facts.rows[i];
    const auto runs = static_cast<double>(row.repeat);
    switch (quantity) {
      case Quantity::kLatencyMs:
        priors[i] = latency_ms(row, row_facts, lowering.target) * runs;
        break;
      case Quantity::kSramBytes:
        priors[i] = row_facts.live_bytes + row_facts.cycles.weight_buffer_bytes;
        break;
      case Quantity::kEnergyMj:
        priors[i] = energy_mj(row, row_facts, lowering.target) * runs;
        break;
    }
  }
  return priors;
}

double prior_total(const GraphTensors& tensors, size_t column, Quantity quantity) {
  const auto columns = static_cast<size_t>(tensors.quantities);
  double sum = 0, largest = 0;
  for (size_t i = 0; i < static_cast<size_t>(tensors.nodes); ++i) {
    const double prior = std::exp(static_cast<double>(tensors.log_prior[i * columns + column]));
    sum += prior;
    largest = std::max(largest, prior);
  }
  return is_maximum(quantity) ? largest : sum;
}

}  // namespace edgesage
