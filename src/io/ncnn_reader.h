// Reads the text graphs of ncnn (.param).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/graph/graph.h"

namespace edgesage {

// Shapes of inputs by the name of their blob, in ncnn's order with or without the batch of 1:
// channels, height, width.
using NcnnInputShapes = std::map<std::string, std::vector<int64_t>>;

// The layers as operators of TFLite's vocabulary with all shapes; a layer that is none becomes
// several (LayerNorm, MultiHeadAttention, Swish, HardSigmoid, ShuffleChannel), and none where
// nothing is done (Split, Dropout, Noop). A padding becomes SAME or VALID where the output is of
// that size, else a PAD. Layers that are not known, and those without a counterpart (PriorBox,
// DetectionOutput and its kin), are operators of kind kUnknown with the layer's type as custom code
// and a warning; their outputs are shaped as the file says (parameter 30), else as the first input.
//
// Weights have no bytes, for they lie in the .bin beside the file. In a file whose convolutions
// have int8 weights (parameter 8) activations are int8, up to the first weighted layer without.
//
// `where` stands in errors for the file. Errors: kBadModel naming the line, for text that is none,
// shapes that do not fit or are beyond 2^40 elements; kInvalidArgument where an input has no shape
// in the file and none is given.
[[nodiscard]] Result<Graph> read_ncnn(std::string_view text, std::string_view where,
                                      const NcnnInputShapes& shapes = {});

}  // namespace edgesage
