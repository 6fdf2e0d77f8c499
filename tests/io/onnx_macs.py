"""Multiply-accumulates of ONNX files by the onnx package's own shape inference: an independent
count that the tests compare edgesage's with.

    onnx_macs.py FILE... > JSON: {file: {"macs": N or null, "counted": nodes, "unknown": nodes}}

Counted are Conv, ConvTranspose, Gemm, MatMul, Einsum (two operands), LSTM, GRU, RNN and their
quantised forms; null where a shape that is needed is not inferred.
"""

import json
import math
import sys

import onnx
from onnx import shape_inference

KINDS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", "LSTM", "GRU", "RNN", "QLinearConv",
         "ConvInteger", "QLinearMatMul", "MatMulInteger"}


def shapes_of(model):
    graph = model.graph
    shapes = {}
    for value in list(graph.value_info) + list(graph.input) + list(graph.output):
        kind = value.type.tensor_type
        if not kind.HasField("shape"):
            continue
        dims = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
        shapes[value.name] = dims
    for tensor in graph.initializer:
        shapes[tensor.name] = list(tensor.dims)
    return shapes


def known(shapes, *names):
    found = []
    for name in names:
        dims = shapes.get(name)
        if dims is None or any(d is None for d in dims):
            return None
        found.append(dims)
    return found


def attribute(node, name, default=None):
    for candidate in node.attribute:
        if candidate.name == name:
            return onnx.helper.get_attribute_value(candidate)
    return default


def matrices(a, out):
    return math.prod(out) * a[-1]


def einsum(node, shapes):
    equation = attribute(node, "equation", b"").decode().replace(" ", "")
    sides = known(shapes, *node.input)
    if sides is None or "->" not in equation or "." in equation or len(node.input) != 2:
        return None
    letters = {}
    for term, dims in zip(equation.split("->")[0].split(","), sides):
        for letter, side in zip(term, dims):
            letters[letter] = max(side, letters.get(letter, 1))
    return math.prod(letters.values())


def node_macs(node, shapes, constants):
    kind = node.op_type
    names = list(node.input)
    if kind in ("QLinearConv", "QLinearMatMul"):
        names = [names[0], names[3]]
    if kind == "Einsum":
        return einsum(node, shapes)
    sides = known(shapes, names[0], names[1])
    if sides is None:
        return None
    x, weights = sides
    if kind == "ConvTranspose":
        return math.prod(x) * math.prod(weights[1:])
    if kind in ("LSTM", "GRU", "RNN"):
        if names[1] not in constants or names[2] not in constants:
            return None  # weights that are inputs of the graph: such a layer is not converted
        recurrence = known(shapes, names[2])
        if recurrence is None:
            return None
        return x[0] * x[1] * (math.prod(weights) + math.prod(recurrence[0]))
    out = known(shapes, node.output[0])
    if out is None:
        return None
    if kind in ("Conv", "QLinearConv", "ConvInteger"):
        return math.prod(out[0]) * math.prod(weights[1:])
    if kind == "Gemm":
        depth = x[0] if attribute(node, "transA", 0) else x[1]
        return math.prod(out[0]) * depth
    return matrices(x, out[0])


def count(path):
    model = onnx.load(path, load_external_data=False)
    for value in model.graph.input:
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            if dims and not dims[0].HasField("dim_value"):
                dims[0].dim_value = 1
    model = shape_inference.infer_shapes(model, data_prop=True)
    shapes = shapes_of(model)
    constants = {tensor.name for tensor in model.graph.initializer}
    total, counted, unknown = 0, 0, 0
    for node in model.graph.node:
        if node.op_type not in KINDS or node.domain not in ("", "ai.onnx"):
            continue
        macs = node_macs(node, shapes, constants)
        if macs is None:
            unknown += 1
        else:
            total += macs
            counted += 1
    return {"macs": None if unknown else total, "counted": counted, "unknown": unknown}


def main():
    answers = {}
    for path in sys.argv[1:]:
        try:
            answers[path] = count(path)
        except Exception as error:  # noqa: BLE001  a file that the package refuses is not compared
            answers[path] = {"macs": None, "counted": 0, "unknown": 0, "error": str(error)[:200]}
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
