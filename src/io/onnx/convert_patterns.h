// Groups of ONNX nodes that one node could have said, as exporters and simplifiers take them apart:
// GELU by Erf or by Tanh, HARD_SWISH as x times HardSigmoid or a clipped sum, layer normalisation
// as means, differences and a root. A group becomes what the one node becomes. SiLU and Mish need
// no group: their node is taken apart into the same operators.
#pragma once

#include <cstdint>
#include <vector>

#include "src/graph/op_kind.h"
#include "src/io/onnx/convert_uses.h"

namespace edgesage::onnx::convert {

struct Pattern {
  // What the node stands for, the last one of its group; kNone: itself.
  enum class Group : uint8_t { kNone, kGelu, kGeluByTanh, kHardSwish, kLayerNorm };

  Group group = Group::kNone;
  bool inside = false;  // part of a group that another node stands for
  int32_t input = -1;   // value that the group reads
  // Of a layer normalisation over the dimensions from `axis` on; -1 where there is none.
  int32_t scale = -1, shift = -1;
  int64_t axis = 0;
  double epsilon = 0;
};

// By node; empty where there is none in the graph. Linear in the nodes.
[[nodiscard]] std::vector<Pattern> find_patterns(const GraphTable& graph, const GraphUses& uses);

}  // namespace edgesage::onnx::convert
