// Two predictions side by side: what differs, and which operators make the difference. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgesage/predict.h"

namespace edgesage {

enum class Match {
  kSame,     // kind, shapes, types and multiply-accumulates are equal
  kChanged,  // of the same kind and place, with other shapes or types
  kOnlyA,
  kOnlyB,
};

// An operator of A, of B, or of both.
struct OperatorPair {
  Match match = Match::kSame;
  int32_t a = -1, b = -1;  // index in each model; -1: it has none
  std::string kind;
  std::string name;                  // in A, or in B where A has none
  std::string a_shape, b_shape;      // "1x8x8x3 -> 1x8x8x16": first activation and first output
  std::optional<double> a_ms, b_ms;  // empty: not there, or the device's tool does not price it
  std::string a_placement, b_placement;
  int64_t a_macs = 0, b_macs = 0;

  // What B costs more than A; what is not there or not priced counts as nothing.
  [[nodiscard]] double difference_ms() const { return b_ms.value_or(0) - a_ms.value_or(0); }
};

struct KindDifference {
  std::string kind;
  int64_t a_count = 0, b_count = 0;
  double a_ms = 0, b_ms = 0;
};

struct Comparison {
  Prediction a, b;  // with their inspections
  // In the order of both models. The differences of all and that of the overheads sum to the
  // difference of the latencies, where both are known.
  std::vector<OperatorPair> operators;
  std::vector<KindDifference> kinds;  // largest difference first

  [[nodiscard]] double overhead_difference_ms() const { return b.overhead_ms - a.overhead_ms; }
};

}  // namespace edgesage
