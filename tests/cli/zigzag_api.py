"""Runs in .venv: what ZigZag itself says of layers, and what the worker's files say of them.

    zigzag_api.py onnx     the layers of LAYERS as ONNX models through ZigZag's own front end and API
    zigzag_api.py search   layers by the worker's short search and by the full one
    zigzag_api.py placements MODEL...   of each operator by the worker's reader: true where it has a layer
    zigzag_api.py damaged MODEL   what the worker's reader says of damaged copies of a .tflite file

Prints JSON.
"""

import contextlib
import io
import json
import logging
import os
import random
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(SOURCE, "workers", "zigzag"), os.path.join(SOURCE, "workers")]

import onnx  # noqa: E402
import zigzag  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from zigzag.api import get_hardware_performance_zigzag  # noqa: E402

import worker_protocol  # noqa: E402
import zigzag_price  # noqa: E402
import zigzag_worker  # noqa: E402

# Operators 1, 2 and 12 of MLPerf Tiny's keyword spotting model.
CONVOLUTIONS = {
    "depthwise": ((1, 64, 25, 5), (64, 1, 3, 3), {"group": 64, "pads": [1, 1, 1, 1]}),
    "pointwise": ((1, 64, 25, 5), (64, 64, 1, 1), {}),
}
FULLY_CONNECTED = (64, 12)


def tensor(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def model(node, shape, weights):
    values = helper.make_tensor("w", TensorProto.FLOAT, weights, bytes(4 * _product(weights)), raw=True)
    graph = helper.make_graph([node], "layer", [tensor("x", shape)], [helper.make_empty_tensor_value_info("y")],
                              initializer=[values])
    return onnx.shape_inference.infer_shapes(helper.make_model(graph), data_prop=True)


def _product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


def from_api(built):
    """(energy in pJ, cycles) by ZigZag's API with its own machine and mapping."""
    inputs = os.path.join(os.path.dirname(zigzag.__file__), "inputs")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        energy, cycles, _ = get_hardware_performance_zigzag(
            built,
            os.path.join(inputs, "hardware", "edge_tpu_like.yaml"),
            os.path.join(inputs, "mapping", "edge_tpu_like.yaml"),
            dump_folder=folder,
            loma_show_progress_bar=False,
        )
    return {"energy_pj": energy, "cycles": cycles}


def onnx_layers():
    answers = {}
    for name, (shape, weights, attributes) in CONVOLUTIONS.items():
        node = helper.make_node("Conv", ["x", "w"], ["y"], name=name, kernel_shape=weights[2:], **attributes)
        answers[name] = from_api(model(node, shape, weights))
    node = helper.make_node("Gemm", ["x", "w"], ["y"], name="fully_connected")
    answers["fully_connected"] = from_api(model(node, (1, FULLY_CONNECTED[0]), FULLY_CONNECTED))
    return answers


def convolution(channels, out_channels, side, kernel, stride):
    size = side * stride
    padding = max((side - 1) * stride + kernel - size, 0)
    return {
        "operator_type": "Conv",
        "equation": "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
        "loop_dims": ["B", "K", "G", "OX", "OY", "C", "FX", "FY"],
        "loop_sizes": [1, out_channels, 1, side, side, channels, kernel, kernel],
        "dimension_relations": [f"ix={stride}*ox+1*fx", f"iy={stride}*oy+1*fy"],
        "operand_precision": {"W": 8, "I": 8, "O": 16, "O_final": 8},
        "operand_source": {"W": 0},
        "pr_loop_dims": ["IX", "IY"],
        "pr_loop_sizes": [size, size],
        "padding": [[padding // 2, padding - padding // 2]] * 2,
    }


def addition(channels, side):
    return {
        "operator_type": "Add",
        "equation": "O[b][g][oy][ox]=W[b][g][oy][ox]+I[b][g][oy][ox]",
        "loop_dims": ["B", "G", "OY", "OX"],
        "loop_sizes": [1, channels, side, side],
        "dimension_relations": [],
        "operand_precision": {"W": 8, "I": 8, "O": 16, "O_final": 8},
        "operand_source": {},
    }


def searches():
    layers = [convolution(24, 16, 12, 1, 1), convolution(3, 16, 8, 3, 2), addition(24, 9)]
    machines = [zigzag_price.Machine(search) for search in zigzag_price.SEARCHES]
    return [[machine.price(layer) for machine in machines] for layer in layers]


def damaged():
    with open(sys.argv[2], "rb") as file:
        whole = file.read()
    random_source = random.Random(7)
    told = {"read": 0, "refused": 0, "other": []}
    for number in range(200):
        data = bytearray(whole)
        for _ in range(1 + number % 5):
            data[random_source.randrange(8, len(data))] = random_source.choice((0, 1, 0x7F, 0x80, 0xFF))
        if number % 4 == 0:
            data = data[: random_source.randrange(8, len(data))]
        try:
            zigzag_worker.read_operators(bytes(data))
            told["read"] += 1
        except worker_protocol.Refused:
            told["refused"] += 1
        except Exception as error:  # pylint: disable=broad-except
            told["other"].append(f"{type(error).__name__} {error}")
    return told


def placements():
    answers = []
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            answers.append([not operator.on_cpu for operator in zigzag_worker.read_operators(file.read())])
    return answers


logging.disable(logging.CRITICAL)
print(json.dumps({"onnx": onnx_layers, "search": searches, "placements": placements, "damaged": damaged}[sys.argv[1]]()))
