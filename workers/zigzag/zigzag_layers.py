"""The operators of a .tflite file as ZigZag's workload entries.

ZigZag prices loop nests over three operands. Convolutions and products are such; pooling is one without
weights; sums of two tensors are one too. What an operator only moves or maps value by value (a softmax is
counted among these) is priced as a copy of what it writes: a pooling of one by one. The rest is not
priced, and says why.
"""

import dataclasses
import math

from ethosu.vela.tflite.BatchMatMulOptions import BatchMatMulOptions
from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
from ethosu.vela.tflite.Conv2DOptions import Conv2DOptions
from ethosu.vela.tflite.DepthwiseConv2DOptions import DepthwiseConv2DOptions
from ethosu.vela.tflite.Model import Model
from ethosu.vela.tflite.Pool2DOptions import Pool2DOptions
from ethosu.vela.tflite.TensorType import TensorType

import numpy

KINDS = {value: name for name, value in vars(BuiltinOperator).items() if isinstance(value, int)}
TYPES = {value: name.lower() for name, value in vars(TensorType).items() if isinstance(value, int)}
EIGHT_BITS = (TensorType.INT8, TensorType.UINT8)
# Partial sums are 16 bits wide, as the machine's output register.
PRECISION = {"W": 8, "I": 8, "O": 16, "O_final": 8}

FREE = {"RESHAPE", "SQUEEZE", "EXPAND_DIMS"}
OF_TWO = {"ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"}
VALUE_BY_VALUE = {
    "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LEAKY_RELU", "PRELU", "LOGISTIC", "TANH", "HARD_SWISH",
    "ELU", "GELU", "ABS", "NEG", "QUANTIZE", "EXP", "SQRT", "RSQRT", "SQUARE", "SOFTMAX", "LOG_SOFTMAX",
}  # fmt: skip
MOVES = {
    "CONCATENATION", "PAD", "PADV2", "MIRROR_PAD", "SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V", "TRANSPOSE",
    "PACK", "UNPACK", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND",
    "RESIZE_NEAREST_NEIGHBOR", "TILE", "BROADCAST_TO", "REVERSE_V2",
}  # fmt: skip
REDUCTIONS = {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"}


class NotPriced(Exception):
    """ZigZag has no loop nest for this operator; the message says why."""


@dataclasses.dataclass
class Priced:
    """One operator: its workload entry, or, without one, `reason` says why it costs nothing here."""

    index: int
    kind: str
    layer: dict | None = None
    macs: int = 0
    on_cpu: bool = False
    reason: str = ""


@dataclasses.dataclass
class _Tensor:
    shape: tuple
    type: int
    constant: bool
    data: bytes  # of constants

    def channels_last(self):
        """(batch, height, width, channels)."""
        shape = (1,) * (4 - len(self.shape)) + self.shape
        return (math.prod(shape[:-3]), *shape[-3:])


class _Operator:
    def __init__(self, model, graph, index):
        self.index = index
        operator = graph.Operators(index)
        code = model.OperatorCodes(operator.OpcodeIndex())
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        self.kind = KINDS.get(number, f"builtin operator {number}")
        self._options = operator.BuiltinOptions()
        self.inputs = [_tensor(model, graph, operator.Inputs(i)) for i in range(operator.InputsLength())]
        self.outputs = [_tensor(model, graph, operator.Outputs(i)) for i in range(operator.OutputsLength())]

    def options(self, kind):
        options = kind()
        if self._options is not None:
            options.Init(self._options.Bytes, self._options.Pos)
            return options
        raise NotPriced("it has no options")

    def input(self, position):
        if position >= len(self.inputs) or self.inputs[position] is None:
            raise NotPriced(f"it has no input {position}")
        return self.inputs[position]

    def output(self):
        if not self.outputs or self.outputs[0] is None:
            raise NotPriced("it has no output")
        return self.outputs[0]


def operators(data):
    """A Priced for each operator of the main subgraph. ValueError, struct.error and their like come from a
    file that is damaged."""
    model = Model.GetRootAs(data, 0)
    if model.SubgraphsLength() == 0:
        return []
    graph = model.Subgraphs(0)
    return [_price(_Operator(model, graph, index)) for index in range(graph.OperatorsLength())]


def _tensor(model, graph, index):
    if index < 0:  # an optional input that is left out
        return None
    tensor = graph.Tensors(index)
    shape = tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
    buffer = model.Buffers(tensor.Buffer())
    constant = not buffer.DataIsNone() and buffer.DataLength() > 0
    return _Tensor(shape, tensor.Type(), constant, buffer.DataAsNumpy().tobytes() if constant else b"")


def _price(operator):
    priced = Priced(operator.index, operator.kind)
    if operator.kind in FREE:
        priced.reason = "moves no data"
        return priced
    given = [tensor for tensor in operator.inputs if tensor is not None]
    if given and all(tensor.constant for tensor in given):
        priced.reason = "reads constants only, computed once at load"
        return priced
    try:
        build = _BUILDERS.get(operator.kind)
        if build is None:
            raise NotPriced(f"ZigZag has no loop nest for {operator.kind}")
        _check(operator)
        priced.layer = build(operator)
        if operator.kind in _MULTIPLIES:
            priced.macs = math.prod(priced.layer["loop_sizes"])
    except NotPriced as why:
        priced.on_cpu = True
        priced.reason = str(why)
    return priced


def _check(operator):
    activations = [tensor for tensor in (*operator.inputs[:1], *operator.outputs) if tensor is not None]
    for tensor in activations:
        if tensor.type not in EIGHT_BITS:
            raise NotPriced(f"{TYPES.get(tensor.type, tensor.type)} is not a type of 8 bits, and the machine has no other")
    for tensor in activations:
        if any(size <= 0 for size in tensor.shape):
            raise NotPriced(f"the shape {list(tensor.shape)} is not known, or empty")


def _entry(kind, equation, loops, relations=(), constant_weights=True, precision=None, window=None):
    """`window`: sizes and padding of the input along x and y."""
    entry = {
        "operator_type": kind,
        "equation": equation,
        "loop_dims": list(loops),
        "loop_sizes": [int(size) for size in loops.values()],
        "dimension_relations": list(relations),
        "operand_precision": precision or PRECISION,
        "operand_source": {"W": 0} if constant_weights else {},
    }
    if window:
        entry |= {"pr_loop_dims": ["IX", "IY"], "pr_loop_sizes": window[0], "padding": window[1]}
    return entry


def _window(image, out, kernel, stride, dilation):
    """Relations, and sizes and padding, of a window that walks over an image; arguments as (y, x)."""
    relations, sizes, padding = [], [], []
    for name, axis in (("x", 1), ("y", 0)):
        if min(kernel[axis], stride[axis], dilation[axis]) <= 0:
            raise NotPriced("a kernel, stride or dilation is not positive")
        relations.append(f"i{name}={stride[axis]}*o{name}+{dilation[axis]}*f{name}")
        reach = (out[axis] - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1
        total = max(reach - image[axis], 0)
        sizes.append(image[axis])
        padding.append([total // 2, total - total // 2])
    return relations, (sizes, padding)


def _convolution(operator, groups, options):
    batch, height, width, channels = operator.input(0).channels_last()
    _, kernel_y, kernel_x, _ = operator.input(1).channels_last()
    _, out_y, out_x, out_channels = operator.output().channels_last()
    if groups <= 0 or channels % groups or out_channels % groups:
        raise NotPriced(f"{channels} to {out_channels} channels in {groups} groups")
    relations, window = _window(
        (height, width),
        (out_y, out_x),
        (kernel_y, kernel_x),
        (options.StrideH(), options.StrideW()),
        (options.DilationHFactor(), options.DilationWFactor()),
    )
    loops = {
        "B": batch,
        "K": out_channels // groups,
        "G": groups,
        "OX": out_x,
        "OY": out_y,
        "C": channels // groups,
        "FX": kernel_x,
        "FY": kernel_y,
    }
    equation = "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]"
    return _entry("Conv", equation, loops, relations, window=window)


def _conv_2d(operator):
    channels, of_a_group = operator.input(0).channels_last()[3], operator.input(1).channels_last()[3]
    if of_a_group <= 0:
        raise NotPriced("the weights have no channels")
    return _convolution(operator, channels // of_a_group, operator.options(Conv2DOptions))


def _depthwise(operator):
    channels = operator.input(0).channels_last()[3]
    return _convolution(operator, channels, operator.options(DepthwiseConv2DOptions))


def _product(rows, summed, columns, batch=1, batched=False, constant=True):
    """Rows of `summed` values times a matrix; `batched`: one matrix for each of the batch."""
    if min(rows, summed, columns, batch) <= 0:
        raise NotPriced("a side of the product is not positive")
    loops = {"C": summed, "D": rows, "K": columns}
    many = "[b]" if batched else ""
    if batched:
        loops["B"] = batch
    equation = f"O{many}[d][k]+=I{many}[d][c]*W{many}[c][k]"
    return _entry("Gemm", equation, loops, constant_weights=constant)


def _fully_connected(operator):
    weights = operator.input(1)
    if len(weights.shape) != 2:
        raise NotPriced(f"weights of shape {list(weights.shape)}")
    columns, summed = weights.shape
    elements = math.prod(operator.output().shape)
    if columns <= 0 or elements % columns:
        raise NotPriced(f"{elements} outputs in rows of {columns}")
    return _product(elements // columns, summed, columns, constant=weights.constant)


def _batch_matmul(operator):
    left, right, out = operator.input(0).shape, operator.input(1), operator.output().shape
    if min(len(left), len(right.shape), len(out)) < 2:
        raise NotPriced("a side of the product has no rows")
    options = operator.options(BatchMatMulOptions)
    summed = left[-2] if options.AdjX() else left[-1]
    batch = math.prod(out[:-2])
    matrices = math.prod(right.shape[:-2])
    if matrices not in (1, batch):
        raise NotPriced(f"{matrices} matrices for a batch of {batch}")
    if matrices == 1:
        return _product(batch * out[-2], summed, out[-1], constant=right.constant)
    return _product(out[-2], summed, out[-1], batch, True, right.constant)


def _of_places(batch, channels, height, width):
    return {"B": batch, "G": channels, "OY": height, "OX": width}


def _pooling(image, out, kernel, stride):
    """Image and output as (batch, height, width, channels), kernel and stride as (y, x)."""
    relations, window = _window(image[1:3], out[1:3], kernel, stride, (1, 1))
    loops = _of_places(out[0], out[3], out[1], out[2]) | {"FX": kernel[1], "FY": kernel[0]}
    equation = "O[b][g][oy][ox]+=W[fx][fy]*I[b][g][iy][ix]"
    return _entry("Pooling", equation, loops, relations, precision=PRECISION | {"W": 0}, window=window)


def _pool_2d(operator):
    options = operator.options(Pool2DOptions)
    return _pooling(
        operator.input(0).channels_last(),
        operator.output().channels_last(),
        (options.FilterHeight(), options.FilterWidth()),
        (options.StrideH(), options.StrideW()),
    )


def _reduction(operator):
    tensor, axes = operator.input(0), operator.input(1)
    if len(tensor.shape) != 4 or not axes.constant or axes.type != TensorType.INT32:
        raise NotPriced("only means over height and width of four dimensions are priced")
    over = {int(axis) % 4 for axis in numpy.frombuffer(axes.data, "<i4")}
    if not over or not over <= {1, 2}:
        raise NotPriced(f"only means over height and width are priced, not over {sorted(over)}")
    batch, height, width, channels = tensor.shape
    kernel = (height if 1 in over else 1, width if 2 in over else 1)
    out = (batch, height // kernel[0], width // kernel[1], channels)
    return _pooling(tensor.shape, out, kernel, (1, 1))


def _copy(operator):
    places = [tensor.channels_last() for tensor in operator.outputs if tensor is not None]
    if not places:
        raise NotPriced("it has no output")
    # Several outputs (a split) lie side by side along their channels, or one after another.
    batch, height, width, channels = places[0]
    if any(place[:3] != places[0][:3] for place in places):
        batch, height, width, channels = 1, 1, 1, sum(math.prod(place) for place in places)
    else:
        channels = sum(place[3] for place in places)
    image = (batch, height, width, channels)
    return _pooling(image, image, (1, 1), (1, 1))


def _of_two(operator):
    out = operator.output().channels_last()
    first, second = operator.input(0), operator.input(1)
    for tensor in (first, second):
        if tensor.type not in EIGHT_BITS:
            raise NotPriced(f"{TYPES.get(tensor.type, tensor.type)} is not a type of 8 bits, and the machine has no other")
    if first.channels_last() != out:
        first, second = second, first
    if first.channels_last() != out:
        raise NotPriced("both inputs are broadcast")
    other = second.channels_last()
    if any(size not in (1, whole) for size, whole in zip(other, out)):
        raise NotPriced(f"{list(second.shape)} cannot be broadcast to {list(out)}")
    names = ("[b]", "[oy]", "[ox]", "[g]")
    shared = "".join(names[i] for i in (0, 3, 1, 2) if other[i] == out[i] and out[i] > 1)
    if not shared:  # one value for all
        return _pooling(out, out, (1, 1), (1, 1))
    equation = f"O[b][g][oy][ox]=W{shared}+I[b][g][oy][ox]"
    loops = _of_places(out[0], out[3], out[1], out[2])
    return _entry("Add", equation, loops, constant_weights=second.constant)


_MULTIPLIES = {
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "BATCH_MATMUL": _batch_matmul,
}
_BUILDERS = {
    **_MULTIPLIES,
    "AVERAGE_POOL_2D": _pool_2d,
    "MAX_POOL_2D": _pool_2d,
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(OF_TWO, _of_two),
    **dict.fromkeys(VALUE_BY_VALUE | MOVES, _copy),
}
