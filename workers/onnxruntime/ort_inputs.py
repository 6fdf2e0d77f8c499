"""Random inputs for a session of ONNX Runtime."""

import numpy
import onnxruntime
from worker_protocol import Refused

_KINDS = {
    "float": numpy.float32, "double": numpy.float64, "float16": numpy.float16, "int8": numpy.int8,
    "uint8": numpy.uint8, "int16": numpy.int16, "uint16": numpy.uint16, "int32": numpy.int32,
    "uint32": numpy.uint32, "int64": numpy.int64, "uint64": numpy.uint64, "bool": numpy.bool_,
    "string": numpy.object_,
}  # fmt: skip
# What integers of 32 and 64 bits hold: often they are indexes, counts or sizes, and not every value is
# valid. Tried in this order until the model runs.
INTEGERS = ("0 or 1", "1", "0")


def shape_of(declared, options):
    """The shape that an input is fed with: what was asked for, else the file's, open dimensions as 1, an
    open dimension 0 as the batch."""
    shapes, dimensions = options["shapes"], options["dimensions"]
    open_shape = list(declared.shape or [])
    wanted = shapes.get(declared.name)
    if wanted is None:
        otherwise = [options["batch"] or 1] + [1] * len(open_shape)
        return [
            side if isinstance(side, int) and side >= 0 else dimensions.get(side, otherwise[axis])
            for axis, side in enumerate(open_shape)
        ]
    fits = len(wanted) == len(open_shape)
    fits &= all(not isinstance(a, int) or a == b for a, b in zip(open_shape, wanted))
    if not fits and open_shape:
        raise Refused("bad_options", f"input {declared.name} is {open_shape} in the file, not {wanted}")
    return wanted


def _values(kind, shape, random, integers):
    if kind == numpy.object_:
        return numpy.full(shape, "a", dtype=object)
    kind = numpy.dtype(kind)
    if kind.kind == "b":
        return random.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu" and kind.itemsize < 4:
        info = numpy.iinfo(kind)
        return random.integers(info.min, info.max + 1, shape).astype(kind)
    if kind.kind in "iu":
        low, high = {"0 or 1": (0, 2), "1": (1, 2), "0": (0, 1)}[integers]
        return random.integers(low, high, shape).astype(kind)
    return random.standard_normal(shape).astype(kind)


def inputs_of(session, options, integers):
    """Value by name of input; `options` are a request's: shapes, dimensions, batch, seed."""
    shapes, dimensions = options["shapes"], options["dimensions"]
    declared = session.get_inputs()
    unknown = sorted(set(shapes) - {value.name for value in declared})
    if unknown:
        known = ", ".join(value.name for value in declared)
        raise Refused("bad_options", f"shapes: the model has no input {unknown[0]}; it has {known}")
    symbols = {side for value in declared for side in value.shape or [] if isinstance(side, str)}
    unknown = sorted(set(dimensions) - symbols)
    if unknown:
        known = ", ".join(sorted(symbols)) or "none"
        raise Refused("bad_options", f"dimensions: no input has the dimension {unknown[0]}; there is {known}")
    random = numpy.random.default_rng(options["seed"])
    values = {}
    for value in declared:
        kind = _KINDS.get(value.type.removeprefix("tensor(").removesuffix(")"))
        if kind is None or not value.type.startswith("tensor("):
            raise Refused("device_failed", f"input {value.name} is {value.type}, for which there are no random values")
        values[value.name] = _values(kind, shape_of(value, options), random, integers)
    return values


def bound_run(session, values):
    """One inference as a function without arguments; inputs stay where they are, and outputs are not
    copied. Texts cannot be bound."""
    if any(value.dtype == numpy.object_ for value in values.values()):
        return lambda: session.run(None, values)
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)
