"""Makes networks with weights, and tells what is left of the weights of a file.

  onnx_with_weights.py make float|qdq|typed PATH       `typed`: the weights are no raw data
  onnx_with_weights.py tell PATH                       JSON: of each constant its values' counts

Runs in .venv.
"""

import collections
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def network(kind):
    random = np.random.default_rng(3)
    tensors, nodes = [], []

    def constant(name, values):
        if kind == "typed":
            tensors.append(helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(values.dtype),
                                              values.shape, values.flatten().tolist()))
        else:
            tensors.append(numpy_helper.from_array(values, name))
        return name

    def weights(name, shape):
        if kind == "float":
            return constant(name, random.normal(size=shape).astype(np.float32))
        values = np.clip(random.normal(size=shape) * 20, -127, 127).astype(np.int8)
        scale = constant(name + "_scale", np.full(shape[0], 0.01, np.float32))
        zero = constant(name + "_zero", np.zeros(shape[0], np.int8))
        nodes.append(helper.make_node("DequantizeLinear", [constant(name, values), scale, zero],
                                      [name + "_real"], axis=0))
        return name + "_real"

    def quantised(value):
        if kind == "float":
            return value
        scale, zero = (constant(f"{value}_s", np.float32(0.05)), constant(f"{value}_z", np.int8(1)))
        nodes.append(helper.make_node("QuantizeLinear", [value, scale, zero], [value + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [value + "_q", scale, zero],
                                      [value + "_d"]))
        return value + "_d"

    # More elements than statistics look at, and fewer.
    for out, into, source in ((64, 32, "image"), (16, 64, "mid")):
        given = quantised(source)
        bias = constant(f"bias{out}", random.normal(size=out).astype(np.float32))
        result = "mid" if out == 64 else "last"
        nodes.append(helper.make_node("Conv", [given, weights(f"w{out}", (out, into, 3, 3)), bias],
                                      [result + "_raw"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [result + "_raw"], [result]))
    constant_shape = numpy_helper.from_array(np.array([1, -1, 8, 2, 4, 1, 1], np.int64), "shape")
    tensors.append(constant_shape)
    nodes.append(helper.make_node("Reshape", [quantised("last"), "shape"], ["y"]))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 32, 8, 8])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 8, 2, 4, 1, 1])
    graph = helper.make_graph(nodes, "net", [image], [result], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tell(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    told = {}
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        told[tensor.name] = {"first": values.flatten()[:8].tolist(),
                             "counts": dict(collections.Counter(map(str, values.flatten())))}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        onnx.save(network(sys.argv[2]), sys.argv[3])
    else:
        tell(sys.argv[2])
