#include "src/features/priors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace edgesage {
namespace {

constexpr std::array<std::string_view, 4> kNames{"latency_ms", "sram_bytes", "energy_mj",
                                                 "dram_bytes"};

// The default system configurations of Vela 5.2: U55 High_End_Embedded, U65 Client_Server,
// U85 SYS_DRAM_Mid.
double clock_hz(TargetKind kind) { return kind == TargetKind::kEthosU55 ? 500e6 : 1e9; }

// The clock of the device edge-tpu-like, whose costs are counted in cycles.
constexpr double kEdgeTpuHz = 500e6;

double largest_term(const RowCycles& c) { return std::max({c.npu, c.sram, c.dram, c.flash}); }

double latency_ms(const Row& row, const RowFacts& facts, const Target& target) {
  if (row.placement == Placement::kFolded) return 0;
  if (target.kind == TargetKind::kEdgeTpuLike) return facts.edge_tpu.cycles / kEdgeTpuHz * 1e3;
  if (!target.is_ethos()) return facts.cpu_ns * 1e-6;
  // The compiler does not price what falls back to the CPU.
  if (row.placement != Placement::kNpu) return 0;
  return largest_term(facts.cycles) / clock_hz(target.kind) * 1e3;
}

// Horowitz, "Computing's energy problem", ISSCC 2014: a multiplication and addition of bytes, and a
// byte from a small memory. Only their ratio matters: a device's level is learnt.
constexpr double kMacPicojoules = 0.23, kBytePicojoules = 1.25;

// Of an NPU, in the proportions of devices/energy/ethos-u.toml, which has the sources: a
// multiply-accumulate, a cycle, a byte of each memory.
double npu_energy_mj(const RowFacts& facts) {
  constexpr double kMac = 0.173, kCycle = 21.4, kSramByte = 4.68, kDramByte = 64, kFlashByte = 277;
  const RowCycles& c = facts.cycles;
  return (static_cast<double>(facts.cost.macs) * kMac + largest_term(c) * kCycle +
          c.sram_bytes * kSramByte + c.dram_bytes * kDramByte + c.flash_bytes * kFlashByte) *
         1e-9;
}

double energy_mj(const Row& row, const RowFacts& facts, const Target& target) {
  if (row.placement == Placement::kFolded) return 0;
  if (target.kind == TargetKind::kEdgeTpuLike) return facts.edge_tpu.picojoules * 1e-9;
  if (target.is_ethos()) return row.placement == Placement::kNpu ? npu_energy_mj(facts) : 0;
  const auto bytes = static_cast<double>(facts.cost.ifm_bytes) +
                     static_cast<double>(facts.cost.ofm_bytes) +
                     static_cast<double>(facts.cost.weights_bytes);
  return (static_cast<double>(facts.cost.macs) * kMacPicojoules + bytes * kBytePicojoules) * 1e-9;
}

// The part of U65 and U85 that the compiler stages in; what does not fit is in DRAM.
constexpr double kStagingBytes = 384 * 1024;

double on_chip_bytes(const RowFacts& facts, const Target& target) {
  const double bytes = facts.live_bytes + facts.cycles.weight_buffer_bytes;
  if (!target.is_ethos()) return bytes;
  const double staged = facts.cycles.sram_live_bytes + facts.cycles.weight_buffer_bytes;
  return target.kind == TargetKind::kEthosU55 ? staged : std::min(staged, kStagingBytes);
}

double constants_of(const Row& row, const RowFacts& facts) {
  return row.placement == Placement::kNpu ? facts.cycles.constant_bytes : 0;
}

}  // namespace

int32_t prior_columns(std::span<const Quantity> quantities) {
  int32_t columns = 0;
  for (const Quantity quantity : quantities) columns += prior_columns(quantity);
  return columns;
}

std::vector<int32_t> first_prior_columns(std::span<const Quantity> quantities) {
  std::vector<int32_t> first;
  int32_t column = 0;
  for (const Quantity quantity : quantities) {
    first.push_back(column);
    column += prior_columns(quantity);
  }
  return first;
}

std::string_view quantity_name(Quantity quantity) { return kNames[static_cast<size_t>(quantity)]; }

Result<Quantity> quantity_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Quantity>(i);
  return make_error(ErrorCode::kInvalidArgument, std::string(name),
                    fmt::format("not a quantity; one of {}", fmt::join(kNames, ", ")));
}

std::vector<double> row_priors(const Lowering& lowering, const LoweringFacts& facts,
                               Quantity quantity) {
  const auto columns = static_cast<size_t>(prior_columns(quantity));
  std::vector<double> priors(lowering.rows.size() * columns);
  for (size_t i = 0; i < lowering.rows.size(); ++i) {
    const Row& row = lowering.rows[i];
    const RowFacts& row_facts = facts.rows[i];
    const auto runs = static_cast<double>(row.repeat);
    switch (quantity) {
      case Quantity::kLatencyMs:
        priors[i] = latency_ms(row, row_facts, lowering.target) * runs;
        break;
      case Quantity::kSramBytes:
        priors[i] = on_chip_bytes(row_facts, lowering.target);
        break;
      case Quantity::kEnergyMj:
        priors[i] = energy_mj(row, row_facts, lowering.target) * runs;
        break;
      case Quantity::kDramBytes:
        priors[2 * i] = row_facts.cycles.dram_live_bytes;
        priors[2 * i + 1] = constants_of(row, row_facts);
        break;
    }
  }
  return priors;
}

double prior_total(const GraphTensors& tensors, size_t column, Quantity quantity) {
  const auto columns = static_cast<size_t>(tensors.quantities);
  const auto prior = [&](size_t node, size_t c) {
    return std::exp(static_cast<double>(tensors.log_prior[node * columns + c]));
  };
  const bool both = prior_columns(quantity) == 2;
  double sum = 0, largest = 0;
  for (size_t i = 0; i < static_cast<size_t>(tensors.nodes); ++i) {
    sum += prior(i, both ? column + 1 : column);
    largest = std::max(largest, prior(i, column));
  }
  if (both) return largest + sum;
  return is_maximum(quantity) ? largest : sum;
}

}  // namespace edgesage
