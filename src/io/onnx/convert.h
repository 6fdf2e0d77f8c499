// An ONNX model as a Graph.
//
// Images are NHWC in a Graph, so ONNX's NCHW is laid out anew: values keep track of the order in
// which their elements lie (convert_view.h), and a TRANSPOSE stands only where a node really needs
// another one. Operators are those that TFLite's converters would give for the same network:
// activations and batch normalisations are fused into the convolution before them, padding that
// SAME cannot say is a PAD, what TFLite has no operator for is put together from those it has, or
// becomes CUSTOM with ONNX's name. DequantizeLinear and QuantizeLinear around a node make it one
// quantised operator. Bodies of If, Loop and Scan are subgraphs. docs/onnx.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/io/onnx/model.h"
#include "src/io/onnx/shapes.h"

namespace edgesage::onnx {

// The Graph's constants point into the model, which it keeps. `inferred` is of `infer_types` on the
// same model; `name` stands before errors.
//
// Errors: kInvalidArgument where a dimension of an input is not known (the message names it, and
// the remedy); kBadModel where nodes do not fit each other. Operators without a counterpart are no
// error: they are CUSTOM. Time is linear in nodes, operands and captured names; weights are not
// read but for those of 8 bits whose order changes (up to 64 MB).
[[nodiscard]] Result<Graph> graph_of_onnx(std::shared_ptr<const Model> model,
                                          const Inferred& inferred, const std::string& name);

}  // namespace edgesage::onnx
