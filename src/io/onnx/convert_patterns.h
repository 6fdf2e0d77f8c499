// Groups of ONNX nodes that one operator of the Graph stands for: GELU written with Erf, and
// HARD_SWISH as x times HardSigmoid of x.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/op_kind.h"
#include "src/io/onnx/convert_uses.h"

namespace edgesage::onnx::convert {

struct Pattern {
  OpKind kind = OpKind::kUnknown;  // kUnknown: the node stands for itself
  int32_t input = -1;              // value that the operator reads
  bool inside = false;             // part of a group that another node stands for
};

// By node; empty where there is none in the graph. Linear in the nodes.
[[nodiscard]] std::vector<Pattern> find_patterns(const GraphTable& graph, const GraphUses& uses);

}  // namespace edgesage::onnx::convert
