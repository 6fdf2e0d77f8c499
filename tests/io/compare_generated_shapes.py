"""Compares the types that edgesage infers of generated nodes with what they really make.

Usage: compare_generated_shapes.py INFER_ONNX EXCEPTIONS COUNT [SEED]
Each model is one operator with random shapes and attributes, in a random version of the operator
set, or a chain of integer arithmetic that computes a shape. ONNX Runtime runs it: shapes and types
of its outputs have to be ours, where we say a number. The onnx package infers it: where it knows a
shape fully, so must we. Models that neither accepts are not counted.
Prints one line a difference and a summary; exit status 1 where anything differs.
"""

import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, printer

import compare_shapes

FLOAT, INT64, INT32, BOOL, UINT8, INT8 = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.BOOL,
    TensorProto.UINT8,
    TensorProto.INT8,
)
MICROSOFT = "com.microsoft"


class Case:
    """A model under construction."""

    def __init__(self, rng, opset):
        self.rng, self.opset = rng, opset
        self.inputs, self.constants, self.nodes, self.outputs = [], [], [], []

    def name(self):
        return f"v{len(self.inputs) + len(self.constants) + sum(len(n.output) for n in self.nodes)}"

    def input(self, shape, element=FLOAT):
        name = self.name()
        self.inputs.append((name, element, list(shape)))
        return name

    def constant(self, values, dtype=np.int64):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(values, dtype=dtype), name))
        return name

    def weights(self, shape, dtype=np.float32):
        return self.constant(np.ones(shape), dtype)

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        start = int(self.name()[1:])
        names = [f"v{start + k}" for k in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names if outputs != 1 else names[0]

    def give(self, *names):
        self.outputs += names

    def model(self):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(*value) for value in self.inputs],
            [onnx.ValueInfoProto(name=name) for name in self.outputs],
            self.constants,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        if any(node.domain == MICROSOFT for node in self.nodes):
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    # Random material.
    def size(self, low=1, high=6):
        return self.rng.randint(low, high)

    def dims(self, rank, low=1, high=6):
        return [self.size(low, high) for _ in range(rank)]

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def axis(self, rank):
        return self.rng.randint(-rank, rank - 1)

    def some_axes(self, rank, least=0):
        axes = self.rng.sample(range(rank), self.rng.randint(least, rank))
        return [a - rank if self.maybe(0.3) else a for a in axes]

    def broadcast_partner(self, shape):
        dims = [1 if self.maybe(0.3) else d for d in shape]
        return dims[self.rng.randint(0, len(dims)) :] if self.maybe(0.4) else dims


def window(c, rank, pool):
    attributes = {}
    if c.maybe(0.7):
        attributes["strides"] = c.dims(rank, 1, 3)
    way = c.rng.choice(["given", "given", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    # The runtime's pooling forgets the dilation where it finds the padding itself.
    since = {None: 7, "MaxPool": 10, "AveragePool": 19, "LpPool": 18}[pool]
    if c.maybe(0.3) and c.opset >= since and not (pool and way.startswith("SAME")):
        attributes["dilations"] = c.dims(rank, 1, 2)
    if way == "given":
        attributes["pads"] = c.dims(2 * rank, 0, 1)
    elif way != "none":
        attributes["auto_pad"] = way
    return attributes


def conv(c):
    rank, group = c.size(1, 3), c.size(1, 2)
    channels, filters = group * c.size(1, 3), group * c.size(1, 3)
    kernel = c.dims(rank, 1, 3)
    x = c.input([c.size(1, 2), channels, *c.dims(rank, 5, 11)])
    w = c.weights([filters, channels // group, *kernel])
    extra = {"kernel_shape": kernel} if c.maybe() else {}
    c.give(c.node("Conv", [x, w], group=group, **extra, **window(c, rank, None)))


def conv_transpose(c):
    rank, group = c.size(1, 2), c.size(1, 2)
    channels, filters = group * c.size(1, 3), c.size(1, 3)
    kernel = c.dims(rank, 1, 4)
    x = c.input([1, channels, *c.dims(rank, 3, 7)])
    w = c.weights([channels, filters, *kernel])
    attributes = window(c, rank, None)
    strides = attributes.get("strides", [1] * rank)
    if c.maybe(0.3):
        attributes["output_padding"] = [c.rng.randint(0, s - 1) for s in strides]
    if c.maybe(0.2):
        attributes["output_shape"] = c.dims(rank, 6, 20)
        attributes.pop("pads", None)
    c.give(c.node("ConvTranspose", [x, w], group=group, **attributes))


def pool(c):
    op = c.rng.choice(["MaxPool", "AveragePool", "LpPool"])
    rank = c.size(1, 3)
    x = c.input([1, 2, *c.dims(rank, 7, 13)])
    attributes = window(c, rank, op)
    if c.maybe() and c.opset >= (18 if op == "LpPool" else 10):
        attributes["ceil_mode"] = 1
    outputs = 2 if op == "MaxPool" and c.maybe(0.3) else 1
    y = c.node(op, [x], outputs, kernel_shape=c.dims(rank, 2, 4), **attributes)
    c.give(*(y if outputs > 1 else [y]))


def global_pool(c):
    x = c.input(c.dims(c.size(3, 5)))
    c.give(c.node(c.rng.choice(["GlobalMaxPool", "GlobalAveragePool"]), [x]))


def matmul(c):
    stack = c.dims(c.size(0, 2))
    m, k, n = c.dims(3)
    a = [k] if c.maybe(0.15) else [*c.broadcast_partner(stack or [1]), m, k]
    b = [k] if c.maybe(0.15) else [*stack, k, n]
    c.give(c.node("MatMul", [c.input(a), c.input(b)]))


def gemm(c):
    m, k, n = c.dims(3)
    ta, tb = c.size(0, 1), c.size(0, 1)
    a = c.input([k, m] if ta else [m, k])
    b = c.input([n, k] if tb else [k, n])
    c.give(c.node("Gemm", [a, b, c.input([n])], transA=ta, transB=tb))


def einsum(c):
    sizes = {letter: c.size() for letter in "bijkl"}
    equation, *terms = c.rng.choice(
        [
            ("bij,bjk->bik", "bij", "bjk"),
            ("ij,jk", "ij", "jk"),
            ("ii->i", "ii"),
            ("bij->b", "bij"),
            ("i,j->ij", "i", "j"),
            ("...ij,...jk->...ik", "bij", "bjk"),
            ("b...->...b", "bkl"),
            (" b i , i j -> j b", "bi", "ij"),
        ]
    )
    inputs = [c.input([sizes[letter] for letter in term]) for term in terms]
    c.give(c.node("Einsum", inputs, equation=equation))


def reduce(c):
    op = c.rng.choice(
        "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
    )
    rank = c.size(1, 4)
    x = c.input(c.dims(rank))
    axes = c.some_axes(rank)
    attributes = {"keepdims": c.size(0, 1)} if c.maybe(0.7) else {}
    inputs = [x]
    if c.opset >= (13 if op == "Sum" else 18):
        if c.maybe(0.3):
            attributes["noop_with_empty_axes"] = 1
        if axes or c.maybe():
            inputs.append(c.constant(axes))
    elif axes:
        attributes["axes"] = axes
    c.give(c.node("Reduce" + op, inputs, **attributes))


def arg(c):
    rank = c.size(1, 4)
    x = c.input(c.dims(rank))
    c.give(
        c.node(c.rng.choice(["ArgMax", "ArgMin"]), [x], axis=c.axis(rank), keepdims=c.size(0, 1))
    )


def reshape(c):
    shape = c.dims(c.size(1, 4), 0 if c.maybe(0.1) else 1)
    total = int(np.prod(shape))
    target = [d for d in shape]
    c.rng.shuffle(target)
    if c.maybe(0.5):
        target = [total] if c.maybe() else [1, total, 1]
    if c.maybe(0.3) and len(target) <= len(shape) and c.maybe():
        target = [0] + shape[1:]
    if c.maybe(0.6):
        target[c.rng.randrange(len(target))] = -1
    extra = {"allowzero": 1} if c.opset >= 14 and c.maybe(0.2) else {}
    c.give(c.node("Reshape", [c.input(shape), c.constant(target)], **extra))


def flatten(c):
    rank = c.size(1, 4)
    axis = c.rng.randint(-rank if c.opset >= 11 else 0, rank)
    c.give(c.node("Flatten", [c.input(c.dims(rank))], axis=axis))


def squeeze(c):
    shape = c.dims(c.size(1, 5), 1, 3)
    ones = [k for k, d in enumerate(shape) if d == 1]
    axes = c.rng.sample(ones, c.rng.randint(0, len(ones)))
    if c.opset >= 11:
        axes = [a - len(shape) if c.maybe(0.3) else a for a in axes]
    x = c.input(shape)
    if not axes:
        return c.give(c.node("Squeeze", [x]))
    if c.opset >= 13:
        return c.give(c.node("Squeeze", [x, c.constant(axes)]))
    return c.give(c.node("Squeeze", [x], axes=axes))


def unsqueeze(c):
    shape = c.dims(c.size(0, 3))
    count = c.size(1, 3)
    rank = len(shape) + count
    axes = c.rng.sample(range(rank), count)
    if c.opset >= 11:
        axes = [a - rank if c.maybe(0.3) else a for a in axes]
    x = c.input(shape)
    if c.opset >= 13:
        return c.give(c.node("Unsqueeze", [x, c.constant(axes)]))
    return c.give(c.node("Unsqueeze", [x], axes=axes))


def transpose(c):
    rank = c.size(0, 5)
    perm = list(range(rank))
    c.rng.shuffle(perm)
    c.give(c.node("Transpose", [c.input(c.dims(rank))], perm=perm if rank and c.maybe(0.8) else None))


def expand(c):
    shape = c.dims(c.size(1, 4))
    target = [*c.dims(c.size(0, 2)), *[1 if c.maybe(0.3) else d for d in shape]]
    x = c.input([1 if c.maybe(0.3) else d for d in shape])
    c.give(c.node("Expand", [x, c.constant(target)]))


def tile(c):
    rank = c.size(1, 4)
    c.give(c.node("Tile", [c.input(c.dims(rank)), c.constant(c.dims(rank, 0, 3))]))


def concat(c):
    rank = c.size(1, 4)
    shape, axis = c.dims(rank), c.axis(rank) if c.opset >= 11 else c.rng.randrange(rank)
    parts = []
    for _ in range(c.size(1, 4)):
        part = list(shape)
        part[axis] = c.size(0, 4)
        parts.append(c.input(part))
    c.give(c.node("Concat", parts, axis=axis))


def split(c):
    rank = c.size(1, 3)
    parts = c.size(1, 4)
    shape = c.dims(rank)
    axis = c.axis(rank) if c.opset >= 11 else c.rng.randrange(rank)
    lengths = c.dims(parts, 0 if c.opset >= 11 else 1, 3)
    given = c.maybe()
    even = c.opset < 18 or c.maybe(0.3)
    shape[axis] = sum(lengths) if given else parts * c.size() - (0 if even else c.rng.randrange(parts))
    inputs, attributes = [c.input(shape)], {"axis": axis}
    if given and c.opset >= 13:
        inputs.append(c.constant(lengths))
    elif given:
        attributes["split"] = lengths
    elif c.opset >= 18:
        attributes["num_outputs"] = parts
    made = c.node("Split", inputs, parts, **attributes)
    c.give(*(made if parts > 1 else [made]))


def slice_(c):
    rank = c.size(1, 4)
    shape = c.dims(rank, 1, 8)
    axes = c.some_axes(rank, 1)
    if c.opset < 10:
        axes = [a % rank for a in axes]
    big = 2**31 - 1
    starts = [c.rng.choice([0, 1, -1, -3, 2, 100, -100]) for _ in axes]
    ends = [c.rng.choice([0, 1, -1, 4, -big, 100]) for _ in axes]
    steps = [c.rng.choice([1, 1, 2, 3, -1, -2, 7, -9]) for _ in axes]
    # The runtime reads the largest number as "to the end" backwards too; the specification does not.
    ends = [big if step > 0 and c.maybe(0.2) else end for end, step in zip(ends, steps)]
    x = c.input(shape)
    if c.opset < 10:
        return c.give(c.node("Slice", [x], starts=starts, ends=ends, axes=axes))
    inputs = [x, c.constant(starts), c.constant(ends), c.constant(axes)]
    return c.give(c.node("Slice", inputs + ([c.constant(steps)] if c.maybe(0.8) else [])))


def pad(c):
    rank = c.size(1, 4)
    shape = c.dims(rank, 3, 6)
    x = c.input(shape)
    mode = c.rng.choice(["constant", "reflect", "edge"])
    low = -1 if mode == "constant" else 0
    if c.opset < 11:
        return c.give(c.node("Pad", [x], pads=c.dims(2 * rank, low, 2), mode=mode))
    if c.opset < 18 or c.maybe():
        return c.give(c.node("Pad", [x, c.constant(c.dims(2 * rank, low, 2))], mode=mode))
    axes = c.some_axes(rank, 1)
    pads = c.constant(c.dims(2 * len(axes), low, 2))
    return c.give(c.node("Pad", [x, pads, "", c.constant(axes)], mode=mode))


def gather(c):
    rank = c.size(1, 4)
    shape, axis = c.dims(rank), c.axis(rank)
    indices = np.zeros(c.dims(c.size(0, 2)), dtype=np.int64)
    c.give(c.node("Gather", [c.input(shape), c.constant(indices)], axis=axis))


def gather_elements(c):
    rank = c.size(1, 3)
    shape, axis = c.dims(rank), c.rng.randrange(rank)
    indices = list(shape)
    indices[axis] = c.size()
    zeros = c.constant(np.zeros(indices))
    c.give(c.node("GatherElements", [c.input(shape), zeros], axis=axis))


def gather_nd(c):
    rank = c.size(1, 4)
    shape = c.dims(rank)
    batch = c.rng.randint(0, rank - 1) if c.opset >= 12 else 0
    depth = c.rng.randint(1, rank - batch)
    indices = np.zeros([*shape[:batch], *c.dims(c.size(0, 2)), depth])
    extra = {"batch_dims": batch} if c.opset >= 12 else {}
    c.give(c.node("GatherND", [c.input(shape), c.constant(indices)], **extra))


def one_hot(c):
    rank = c.size(1, 3)
    depth = c.constant(c.size() if c.maybe() else [c.size()])
    values = c.constant([0, 1], np.float32)
    c.give(
        c.node("OneHot", [c.input(c.dims(rank), INT64), depth, values], axis=c.axis(rank + 1))
    )


def top_k(c):
    rank = c.size(1, 3)
    shape, axis = c.dims(rank, 3), c.axis(rank)
    k = c.size(1, 3)
    x = c.input(shape)
    if c.opset < 10:
        return c.give(*c.node("TopK", [x], 2, k=k, axis=axis % rank))
    return c.give(*c.node("TopK", [x, c.constant([k])], 2, axis=axis if c.opset >= 11 else axis % rank))


def compress(c):
    rank = c.size(1, 3)
    shape, axis = c.dims(rank), c.rng.randrange(rank)
    by_axis = c.maybe()
    condition = [c.maybe() for _ in range(shape[axis] if by_axis else 1)]
    extra = {"axis": axis} if by_axis else {}
    c.give(c.node("Compress", [c.input(shape), c.constant(condition, np.bool_)], **extra))


def blocks(c):
    b = c.size(1, 3)
    if c.maybe():
        return c.give(
            c.node("DepthToSpace", [c.input([1, b * b * c.size(), *c.dims(2)])], blocksize=b)
        )
    return c.give(
        c.node("SpaceToDepth", [c.input([1, c.size(), b * c.size(), b * c.size()])], blocksize=b)
    )


def resize(c):
    rank = c.size(2, 5)
    shape = c.dims(rank, 1, 9)
    x = c.input(shape)
    mode = c.rng.choice(["nearest", "nearest", "linear"])
    scales = [c.rng.choice([1.0, 2.0, 0.5, 1.5, 0.6, 1.6666666, 3.3]) for _ in shape]
    if c.opset == 9:
        scales = [max(s, 1.0) for s in scales]
        return c.give(c.node("Upsample", [x, c.constant(scales, np.float32)], mode=mode))
    if c.opset < 11:
        return c.give(c.node("Resize", [x, c.constant(scales, np.float32)], mode=mode))
    attributes, axes = {"mode": mode}, list(range(rank))
    if c.opset >= 18 and c.maybe(0.4):
        axes = c.some_axes(rank, 1)
        attributes["axes"] = axes
    if c.maybe():
        values = c.constant([scales[a] for a in axes], np.float32)
        return c.give(c.node("Resize", [x, "", values], **attributes))
    # The runtime leaves out negative axes where it keeps the ratio.
    if c.opset >= 18 and c.maybe() and min(axes) >= 0:
        attributes["keep_aspect_ratio_policy"] = c.rng.choice(["not_larger", "not_smaller"])
    return c.give(c.node("Resize", [x, "", "", c.constant(c.dims(len(axes), 1, 12))], **attributes))


def recurrent(c):
    op, gates = c.rng.choice([("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    length, batch, width, hidden = c.dims(4)
    direction = c.rng.choice(["forward", "reverse", "bidirectional"])
    both = 2 if direction == "bidirectional" else 1
    x = c.input([length, batch, width])
    w = c.weights([both, gates * hidden, width])
    r = c.weights([both, gates * hidden, hidden])
    outputs = 3 if op == "LSTM" else 2
    c.give(*c.node(op, [x, w, r], outputs, hidden_size=hidden, direction=direction))


def binary(c):
    op = c.rng.choice(["Add", "Sub", "Mul", "Div", "Pow", "Equal", "Less", "Greater", "PRelu"])
    if op == "Equal" and c.opset < 11:
        op = "Add"
    shape = c.dims(c.size(1, 4), 0 if c.maybe(0.1) else 1)
    other = c.broadcast_partner(shape)
    if op != "PRelu":
        shape = [1 if c.maybe(0.2) else d for d in shape]
    c.give(c.node(op, [c.input(shape), c.input(other)]))


def variadic(c):
    shape = c.dims(c.size(1, 3))
    inputs = [c.input(c.broadcast_partner(shape)) for _ in range(c.size(1, 4))]
    c.give(c.node(c.rng.choice(["Max", "Min", "Sum", "Mean"]), inputs))


def where(c):
    shape = c.dims(c.size(1, 4))
    condition = c.input(c.broadcast_partner(shape), BOOL)
    c.give(c.node("Where", [condition, c.input(c.broadcast_partner(shape)), c.input(shape)]))


def unary(c):
    op = c.rng.choice(
        "Abs Neg Exp Relu Sigmoid Tanh Softmax LogSoftmax Erf Floor Sqrt Identity Softplus "
        "LeakyRelu Elu Selu HardSigmoid IsNaN Hardmax".split()
    )
    c.give(c.node(op, [c.input(c.dims(c.size(1, 4)))]))


def normalise(c):
    op = c.rng.choice(["BatchNormalization", "InstanceNormalization", "LRN", "LayerNormalization"])
    shape = [2, 3, *c.dims(c.size(1, 2), 2)]
    x = c.input(shape)
    one = lambda size: c.weights([size])
    if op == "BatchNormalization":
        return c.give(c.node(op, [x, one(3), one(3), one(3), one(3)]))
    if op == "InstanceNormalization":
        return c.give(c.node(op, [x, one(3), one(3)]))
    if op == "LRN":
        return c.give(c.node(op, [c.input([2, 3, 4, 4])], size=3))
    axis = c.axis(len(shape))
    scale = c.weights(shape[axis % len(shape) :])
    return c.give(*c.node(op, [x, scale, scale], 3, axis=axis))


def quantise(c):
    shape = c.dims(c.size(1, 4))
    scale, zero = c.constant(0.5, np.float32), c.constant(3, c.rng.choice([np.uint8, np.int8]))
    q = c.node("QuantizeLinear", [c.input(shape), scale] + ([zero] if c.maybe() else []))
    c.give(q, c.node("DequantizeLinear", [q, scale]))
    if c.maybe(0.3):
        c.give(*c.node("DynamicQuantizeLinear", [c.input(shape)], 3))


def qlinear_conv(c):
    scale, zero = c.constant(0.5, np.float32), c.constant(3, np.uint8)
    kernel = c.dims(2, 1, 3)
    x = c.input([1, 2, *c.dims(2, 5, 9)], UINT8)
    w = c.weights([3, 2, *kernel], np.uint8)
    if c.maybe():
        return c.give(c.node("ConvInteger", [x, w], **window(c, 2, None)))
    inputs = [x, scale, zero, w, scale, zero, scale, zero]
    return c.give(c.node("QLinearConv", inputs, **window(c, 2, None)))


def signal(c):
    which = c.size(0, 3)
    if which == 0:
        op = c.rng.choice(["HannWindow", "HammingWindow", "BlackmanWindow"])
        return c.give(c.node(op, [c.constant(c.size(2, 20))]))
    if which == 1:
        return c.give(
            c.node(
                "MelWeightMatrix",
                [
                    c.constant(c.size()),
                    c.constant(c.size(8, 16)),
                    c.constant(8000),
                    c.constant(0.0, np.float32),
                    c.constant(2000.0, np.float32),
                ],
            )
        )
    if which == 2:
        length, frame = c.size(16, 40), c.size(4, 12)
        inputs = [c.input([1, length, 1]), c.constant(c.size(1, 5))]
        if c.maybe():
            inputs.append(c.weights([frame]))
            inputs += [c.constant(frame)] if c.maybe() else []
        else:
            inputs += ["", c.constant(frame)]
        return c.give(c.node("STFT", inputs, onesided=c.size(0, 1)))
    x = c.input([c.size(), c.size(4, 8), 1])
    inputs, attributes = [x], {"onesided": c.size(0, 1)}
    if c.maybe():
        inputs.append(c.constant(c.size(3, 9)))
    if c.opset >= 20 and c.maybe():
        inputs += [""] * (2 - len(inputs)) + [c.constant(1)]
    elif c.opset < 20:
        attributes["axis"] = 1
    return c.give(c.node("DFT", inputs, **attributes))


def sequence(c):
    rank = c.size(1, 3)
    shape, axis = c.dims(rank, 2), c.axis(rank)
    x = c.input(shape)
    if c.maybe():
        parts = c.node("SplitToSequence", [x], axis=axis, keepdims=c.size(0, 1))
        index = c.constant(0)
        return c.give(c.node("SequenceAt", [parts, index]))
    several = c.node("SequenceConstruct", [x, x, x])
    new_axis = c.size(0, 1)
    c.give(c.node("SequenceLength", [several]))
    return c.give(
        c.node("ConcatFromSequence", [several], axis=c.axis(rank + new_axis), new_axis=new_axis)
    )


def range_(c):
    if c.maybe():
        values = [c.rng.randint(-9, 9), c.rng.randint(-9, 20), c.rng.choice([1, 2, 3, -1, -4])]
        return c.give(c.node("Range", [c.constant(v) for v in values]))
    values = [c.rng.uniform(-3, 3), c.rng.uniform(-3, 9), c.rng.choice([0.1, 0.5, 0.3, -0.7])]
    return c.give(c.node("Range", [c.constant(v, np.float32) for v in values]))


def attention(c):
    batch, length, kv_length, size, v_size = c.dims(5)
    kv_heads = c.size(1, 2)
    heads = kv_heads * c.size(1, 2)
    if c.maybe():
        q, k, v = (
            c.input([batch, heads, length, size]),
            c.input([batch, kv_heads, kv_length, size]),
            c.input([batch, kv_heads, kv_length, v_size]),
        )
        extra = {}
    else:
        q, k, v = (
            c.input([batch, length, heads * size]),
            c.input([batch, kv_length, kv_heads * size]),
            c.input([batch, kv_length, kv_heads * v_size]),
        )
        extra = {"q_num_heads": heads, "kv_num_heads": kv_heads}
    inputs, outputs = [q, k, v], 1
    if c.maybe():
        past = c.size()
        inputs += [
            "",
            c.input([batch, kv_heads, past, size]),
            c.input([batch, kv_heads, past, v_size]),
        ]
        outputs = 3
    made = c.node("Attention", inputs, outputs, **extra)
    c.give(*(made if outputs > 1 else [made]))


def microsoft(c):
    scale, zero = c.constant(0.5, np.float32), c.constant(3, np.uint8)
    shape = c.dims(4, 2)
    x = c.input(shape, UINT8)
    y = c.input(c.broadcast_partner(shape), UINT8)
    f = c.input([2, 4, 8])
    wide = c.weights([8])
    q = lambda *names: [v for name in names for v in (name, scale, zero)]
    ms = lambda op, inputs, outputs=1, **a: c.node(op, inputs, outputs, MICROSOFT, **a)
    choices = {
        "QLinearAdd": lambda op: ms(op, q(x, y) + [scale, zero]),
        "QLinearMul": lambda op: ms(op, q(x, y) + [scale, zero]),
        "QLinearConcat": lambda op: ms(op, [scale, zero] + q(x, x), axis=c.rng.randrange(4)),
        "QLinearGlobalAveragePool": lambda op: ms(
            op, q(x) + [scale, zero], channels_last=c.size(0, 1)
        ),
        "QLinearAveragePool": lambda op: ms(
            op,
            q(c.input([1, 3, 9, 8], UINT8)) + [scale, zero],
            kernel_shape=[2, 3],
            strides=[2, 2],
            ceil_mode=c.size(0, 1),
        ),
        "QLinearLeakyRelu": lambda op: ms(op, q(x) + [scale, zero]),
        "QLinearSigmoid": lambda op: ms(op, q(x) + [scale, zero]),
        "QLinearSoftmax": lambda op: ms(op, q(x) + [scale, zero], axis=1, opset=13),
        "QGemm": lambda op: ms(
            op,
            q(c.input([3, 5], UINT8), c.weights([5, 4], np.uint8))
            + [""]
            + ([scale, zero] if c.maybe() else []),
        ),
        "FusedConv": lambda op: ms(
            op, [c.input([1, 3, 9, 9]), c.weights([4, 3, 3, 3])], activation="Relu", strides=[2, 1]
        ),
        "FusedMatMul": lambda op: ms(
            op, [c.input([2, 4, 3]), c.input([2, 5, 4])], transA=1, transB=1
        ),
        "Gelu": lambda op: ms(op, [f]),
        "FastGelu": lambda op: ms(op, [f, wide]),
        "BiasGelu": lambda op: ms(op, [f, wide]),
        "QuickGelu": lambda op: ms(op, [f]),
        "SkipLayerNormalization": lambda op: ms(op, [f, f, wide, wide]),
        "EmbedLayerNormalization": lambda op: ms(
            op,
            [
                c.input([2, 3], INT32),
                c.input([2, 3], INT32),
                c.weights([9, 8]),
                c.weights([9, 8]),
                c.weights([2, 8]),
                wide,
                wide,
            ],
            2,
        ),
        "Attention": lambda op: ms(
            op, [f, c.weights([8, 24]), c.weights([24])], num_heads=2
        ),
        "QAttention": lambda op: ms(
            op,
            [
                c.input([2, 4, 8], UINT8),
                c.weights([8, 24], np.uint8),
                c.weights([24]),
                scale,
                scale,
                "",
                zero,
                zero,
            ],
            num_heads=2,
        ),
        "MultiHeadAttention": lambda op: ms(
            op, [f, c.input([2, 5, 8]), c.input([2, 5, 6])], num_heads=2
        ),
        "DynamicQuantizeMatMul": lambda op: ms(op, [f, c.weights([8, 3], np.uint8), scale, zero]),
        "MatMulIntegerToFloat": lambda op: ms(
            op, [c.input([2, 4, 8], UINT8), c.weights([8, 3], np.uint8), scale, scale, zero, zero]
        ),
        "MatMulNBits": lambda op: ms(
            op,
            [c.input([2, 4, 32]), c.weights([6, 1, 16], np.uint8), c.weights([6])],
            K=32,
            N=6,
            bits=4,
            block_size=32,
        ),
        "QuantizeLinear": lambda op: ms(op, [f, scale, zero]),
        "DequantizeLinear": lambda op: ms(op, [x, scale, zero]),
        "QLinearConv": lambda op: ms(
            op,
            q(c.input([1, 9, 8, 2], UINT8), c.weights([3, 2, 3, 3], np.uint8)) + [scale, zero],
            channels_last=1,
            strides=[2, 1],
        ),
    }
    op = c.rng.choice(sorted(choices))
    made = choices[op](op)
    c.give(*(made if isinstance(made, list) else [made]))


def shape_arithmetic(c):
    """Vectors of integers, combined at random; the last gives the shape of a result."""
    x = c.input(c.dims(4, 1, 9))
    vectors = [(c.node("Shape", [x]), 4)]
    one = c.constant(0)

    def pick(length=None):
        fitting = [v for v in vectors if length is None or v[1] == length]
        return c.rng.choice(fitting) if fitting else (c.constant(c.dims(length, 1, 5)), length)

    def same(op):
        a, n = pick()
        b, _ = pick(n)
        return c.node(op, [a, b]), n

    def guarded(op):
        a, n = pick()
        b = c.constant([c.rng.choice([1, 2, 3, -2]) for _ in range(n)])
        return c.node(op, [a, b]), n

    def gathered():
        a, n = pick()
        count = c.size(1, 4)
        indices = c.constant([c.rng.randrange(-n, n) for _ in range(count)])
        return c.node("Gather", [a, indices]), count

    def scalar():
        a, n = pick()
        element = c.node("Gather", [a, one])
        axes = c.constant([0])
        return c.node("Unsqueeze", [element, axes]), 1

    def sliced():
        a, n = pick()
        start, step = c.rng.randrange(n), c.rng.choice([1, 2, -1])
        end = n if step > 0 else -n - 1
        count = len(range(n)[start::step])
        return c.node("Slice", [a, *map(c.constant, ([start], [end], [0], [step]))]), count

    def joined():
        (a, n), (b, m) = pick(), pick()
        return c.node("Concat", [a, b], axis=0), n + m

    def chosen():
        a, n = pick()
        b, _ = pick(n)
        condition = c.node(c.rng.choice(["Less", "Equal", "Greater"]), [a, b])
        if c.maybe(0.3):
            condition = c.node("Not", [condition])
        return c.node("Where", [condition, a, b]), n

    def floated():
        a, n = pick()
        real = c.node("Cast", [a], to=FLOAT)
        factor = c.constant(c.rng.choice([0.5, 1.5, 2.0, 0.3]), np.float32)
        real = c.node(c.rng.choice(["Mul", "Div"]), [real, factor])
        real = c.node(c.rng.choice(["Floor", "Ceil", "Identity"]), [real])
        return c.node("Cast", [real], to=INT64), n

    def reduced():
        a, _ = pick()
        op = c.rng.choice(["ReduceMax", "ReduceMin", "ReduceSum"])
        if op == "ReduceSum" or c.opset >= 18:
            return c.node(op, [a, c.constant([0])], keepdims=1), 1
        return c.node(op, [a], axes=[0], keepdims=1), 1

    def tiled():
        a, n = pick()
        return c.node("Tile", [a, c.constant([2])]), 2 * n

    def grid():
        a, n = pick()
        two = c.node("Reshape", [c.node("Concat", [a, a], axis=0), c.constant([2, -1])])
        turned = c.node("Transpose", [two], perm=[1, 0])
        flat = c.node("Reshape", [turned, c.constant([-1])])
        return flat, 2 * n

    def halves():
        a, n = pick()
        if n < 2:
            return tiled()
        left, _ = c.node("Split", [a, c.constant([1, n - 1])], 2, axis=0)
        return left, 1

    def counted():
        a, n = pick()
        return c.node("Range", [one, c.constant(n), c.constant(1)]), n

    def nonzero():
        a, n = pick()
        condition = c.constant([1] * n)
        indices = c.node("NonZero", [condition])
        return c.node("Squeeze", [indices, c.constant([0])]), n

    makers = [
        lambda: same(c.rng.choice(["Add", "Sub", "Mul", "Max", "Min"])),
        lambda: guarded(c.rng.choice(["Div", "Mod"])),
        gathered,
        scalar,
        sliced,
        joined,
        chosen,
        floated,
        reduced,
        tiled,
        grid,
        halves,
        counted,
        nonzero,
    ]
    for _ in range(c.size(2, 9)):
        made = c.rng.choice(makers)()
        if made[1] <= 24:
            vectors.append(made)
    last, n = vectors[-1]
    picked = c.node("Gather", [last, c.constant(c.dims(c.size(1, 4), 0, n - 1))])
    small = c.node("Mod", [c.node("Abs", [picked]), c.constant(7)])
    c.give(c.node("ConstantOfShape", [small]))


def control(c):
    """A branch or a loop around a node."""
    shape = c.dims(2)
    x = c.input(shape)

    def body(name, op, inputs, extra_inputs=()):
        node = helper.make_node(op, inputs, [name])
        return helper.make_graph([node], name, list(extra_inputs), [onnx.ValueInfoProto(name=name)])

    if c.maybe():
        condition = c.input([], BOOL)
        return c.give(
            c.node(
                "If",
                [condition],
                then_branch=body("then", "Relu", [x]),
                else_branch=body("else", c.rng.choice(["Relu", "Transpose", "Neg"]), [x]),
            )
        )
    growing = c.maybe()
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Identity", ["more"], ["go"]),
        helper.make_node("Concat", ["s", x], ["t"], axis=0)
        if growing
        else helper.make_node("Add", ["s", x], ["t"]),
        helper.make_node("ReduceSum", ["s"], ["u"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "loop",
        [value("i", INT64, []), value("more", BOOL, []), value("s", FLOAT, None)],
        [onnx.ValueInfoProto(name=name) for name in ("go", "t", "u")],
    )
    return c.give(*c.node("Loop", [c.constant(c.size(1, 4)), "", x], 2, body=graph))


# Maker, lowest and highest version of the operator set.
MAKERS = [
    (conv, 7, 25),
    (conv, 7, 25),
    (conv_transpose, 7, 25),
    (pool, 8, 25),
    (pool, 8, 25),
    (global_pool, 7, 25),
    (matmul, 7, 25),
    (gemm, 7, 25),
    (einsum, 12, 25),
    (reduce, 7, 25),
    (reduce, 7, 25),
    (arg, 11, 25),
    (reshape, 7, 25),
    (flatten, 9, 25),
    (squeeze, 7, 25),
    (unsqueeze, 7, 25),
    (transpose, 7, 25),
    (expand, 8, 25),
    (tile, 7, 25),
    (concat, 7, 25),
    (split, 7, 25),
    (slice_, 7, 25),
    (slice_, 10, 25),
    (pad, 7, 25),
    (gather, 11, 25),
    (gather_elements, 11, 25),
    (gather_nd, 11, 25),
    (one_hot, 11, 25),
    (top_k, 7, 25),
    (compress, 11, 25),
    (blocks, 7, 25),
    (resize, 9, 25),
    (resize, 11, 25),
    (recurrent, 7, 25),
    (binary, 9, 25),
    (variadic, 8, 25),
    (where, 9, 25),
    (unary, 13, 25),
    (normalise, 17, 25),
    (quantise, 13, 25),
    (qlinear_conv, 10, 25),
    (signal, 17, 25),
    (sequence, 11, 25),
    (range_, 11, 25),
    (attention, 23, 25),
    (microsoft, 13, 21),
    (microsoft, 13, 21),
    (shape_arithmetic, 13, 25),
    (shape_arithmetic, 13, 25),
    (shape_arithmetic, 13, 25),
    (control, 16, 25),
]


def generate(count, seed):
    rng = random.Random(seed)
    for index in range(count):
        maker, low, high = MAKERS[index % len(MAKERS)]
        case = Case(rng, rng.randint(low, high))
        maker(case)
        yield maker.__name__, case.model()


def run_model(model):
    """Name -> (element type, shape) of the outputs; None where the runtime refuses the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        feeds = {}
        for value in model.graph.input:
            tensor = value.type.tensor_type
            shape = [d.dim_value for d in tensor.shape.dim]
            feeds[value.name] = np.ones(shape, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        arrays = session.run(None, feeds)
    except Exception:
        return None
    return {
        output.name: (helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))
        for output, array in zip(session.get_outputs(), arrays)
        if isinstance(array, np.ndarray)
    }


def main():
    onnxruntime.set_default_logger_severity(4)
    tool, exceptions = sys.argv[1], compare_shapes.exceptions_in(sys.argv[2])
    count, seed = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
    keep = sys.argv[5] if len(sys.argv) > 5 else None
    comparison = compare_shapes.Comparison(exceptions)
    counts = comparison.counts
    kinds, unknown = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        models, paths = [], []
        for index, (kind, model) in enumerate(generate(count, seed)):
            path = pathlib.Path(keep or folder) / f"{kind}_{index}.onnx"
            path.write_bytes(model.SerializeToString())
            models.append((kind, model))
            paths.append(path)
        run = subprocess.run(
            [tool, "-"],
            input="".join(f"{path}\n" for path in paths),
            capture_output=True,
            text=True,
            check=False,
        )
        lines = run.stdout.splitlines()
    if run.returncode != 0 or len(lines) != len(models):
        print(f"the tool ended with {run.returncode} after {len(lines)} of {len(models)} files")
        return 1
    for (kind, model), path, line in zip(models, paths, lines):
        result = json.loads(line)
        arrays = run_model(model)
        try:
            theirs = compare_shapes.oracle(model)
        except Exception:
            theirs = {}
        if arrays is None:
            counts["refused"] += 1
            continue
        if "error" in result:
            comparison.differ(kind, path.name, "*", result["error"])
            continue
        counts["models"] += 1
        kinds[kind] += 1
        ours = compare_shapes.ours_of(result)
        for warning in result["warnings"]:
            comparison.differ(kind, path.name, "warning", warning)
        for name, (element, shape) in arrays.items():
            counts["arrays"] += 1
            mine = ours.get(name, [0, 0, None, None])
            if mine[1] != element:
                comparison.differ(kind, path.name, name, f"element type {mine[1]}, is {element}")
            fits = mine[2] is None or (
                len(mine[2]) == len(shape) and all(m in (-1, d) for m, d in zip(mine[2], shape))
            )
            if not fits:
                text = f"shape {mine[2]}, is {shape}; {printer.to_text(model.graph)}"
                comparison.differ(kind, path.name, name, text.replace("\n", " "))
            if mine[2] is None or -1 in mine[2]:
                unknown[kind] += 1
            # The package may be wrong: where the runtime says otherwise it does not count.
            said = theirs.get(name)
            if said and said[1] is not None:
                counts["package agrees" if said[1] == shape else "package differs"] += 1
                if said[1] == shape and mine[2] != shape:
                    comparison.differ(kind, path.name, name, f"shape {mine[2]}, theirs {said[1]}")
    print(
        f"compared {counts['models']} models of {len(kinds)} kinds, {counts['arrays']} arrays: "
        f"{counts['differences']} differences, {counts['exceptions']} exceptions; of the arrays "
        f"the onnx package knew {counts['package agrees']}, and had {counts['package differs']} "
        f"wrong; not all known here: {dict(unknown)}; {counts['refused']} models are refused by "
        f"the runtime"
    )
    return 1 if counts["differences"] or not counts["models"] else 0


if __name__ == "__main__":
    sys.exit(main())
