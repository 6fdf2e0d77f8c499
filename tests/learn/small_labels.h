// Labels of a few hundred small networks of the repository, for tests of learning.
#pragma once

#include <vector>

#include "src/learn/dataset.h"

namespace edgesage::test {

inline constexpr Quantity kSmallQuantities[] = {Quantity::kLatencyMs, Quantity::kSramBytes};

// 240 networks of keyword-sound on ethos-u55-256.
const std::vector<LabelRow>& small_labels();
const Dataset& small_dataset();

// What this process holds in memory beside mapped files, in bytes; 0 where the system does not say.
int64_t anonymous_memory();

}  // namespace edgesage::test
