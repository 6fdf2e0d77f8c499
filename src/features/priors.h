// Closed-form estimates that the network corrects, per row and quantity.
//
// What can be written down exactly is not learnt: the prior of a latency is the row's estimated
// time, the prior of a memory quantity is what is alive at the row, weights fetched ahead included,
// the prior of an energy what the row's work and traffic cost. A row that the device does not price
// has the prior 0 (log -infinity) and adds nothing.
#pragma once

#include <span>
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
  kDramBytes,  // maximum over rows of live feature maps, and the sum of what is stored for them
};

// Whether a network's value is the largest of its rows' values rather than their sum.
[[nodiscard]] constexpr bool is_maximum(Quantity quantity) {
  return quantity == Quantity::kSramBytes;
}

// Columns of GraphTensors::log_prior that a quantity has: what is largest and what is summed are
// two, in this order.
[[nodiscard]] constexpr int32_t prior_columns(Quantity quantity) {
  return quantity == Quantity::kDramBytes ? 2 : 1;
}
[[nodiscard]] int32_t prior_columns(std::span<const Quantity> quantities);
// One a quantity: its first column.
[[nodiscard]] std::vector<int32_t> first_prior_columns(std::span<const Quantity> quantities);

[[nodiscard]] std::string_view quantity_name(Quantity quantity);  // "latency_ms", "sram_bytes", ...
[[nodiscard]] Result<Quantity> quantity_from_name(std::string_view name);

// Rows x prior_columns(quantity), in the unit of the quantity.
[[nodiscard]] std::vector<double> row_priors(const Lowering& lowering, const LoweringFacts& facts,
                                             Quantity quantity);

// The closed form's answer for a whole network, before any learning: the sum of the rows' priors,
// or their maximum for memory, or both. `column` is the quantity's first column of log_prior.
[[nodiscard]] double prior_total(const GraphTensors& tensors, size_t column, Quantity quantity);

}  // namespace edgesage
