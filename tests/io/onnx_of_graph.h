// Networks of the spaces as ONNX files, laid out and written as PyTorch exports them: images NCHW,
// activations apart from convolutions, explicit pads; int8 by QuantizeLinear and DequantizeLinear
// around every node, with scales per output channel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/graph/graph.h"

namespace edgesage::test {

// The bytes of a model that computes what `graph` does. Fails the test on operators that no space
// uses.
[[nodiscard]] std::vector<std::byte> onnx_of_graph(const Graph& graph);

// The same network in float32: constants are what their integers stand for.
[[nodiscard]] Graph float_network(const Graph& graph);

}  // namespace edgesage::test
