// Closed-form estimates that the network corrects, per row and quantity.
//
// What can be written down exactly is not learnt: the prior of a latency is the row's estimated
// time, the prior of a memory quantity is what is alive at the row, weights fetched ahead included.
// A row that the device does not price has the prior 0 (log -infinity) and adds nothing.
#pragma once

#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/features/graph_tensors.h"
#include "src/features/row_facts.h"

namespace edgesage {

enum class Quantity : uint8_t {
  kLatencyMs,  // sum over rows
  kSramBytes,  // maximum over rows: live activations and buffered weights
  kEnergyMj,   // sum over rows
};

// Whether a network's value is the largest of its rows' values rather than their sum.
[[nodiscard]] constexpr bool is_maximum(Quantity quantity) {
  return quantity == Quantity::kSramBytes;
}

[[nodiscard]] std::string_view quantity_name(Quantity quantity);  // "latency_ms", "sram_bytes", ...
[[nodiscard]] Result<Quantity> quantity_from_name(std::string_view name);

// One a row, in the unit of the quantity.
[[nodiscard]] std::vector<double> row_priors(const Lowering& lowering, const LoweringFacts& facts,
                                             Quantity quantity);

// The closed form's answer for a whole network, before any learning: the sum of the rows' priors,
// or their maximum for memory. `column` is the quantity's column of log_prior.
[[nodiscard]] double prior_total(const GraphTensors& tensors, size_t column, Quantity quantity);

}  // namespace edgesage
