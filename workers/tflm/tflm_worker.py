#!/usr/bin/env python3
"""TensorFlow Lite Micro's interpreter on this computer (see docs/worker_protocol.md): the allocations
that the runtime records, and the time of its reference kernels here.

Options of a measure request: `arena_size` (bytes; default: as much as is needed), `seed` of the random
inputs, and of the timing `min_runs`, `max_runs`, `min_time_ms`, `max_time_ms`, `bursts`, `burst_gap_ms`.
"""

import importlib.metadata
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import host_facts  # noqa: E402
import host_timing  # noqa: E402
import worker_protocol  # noqa: E402
from worker_protocol import Refused, one_line  # noqa: E402

import numpy  # noqa: E402
from tflite_micro.python.tflite_micro import runtime  # noqa: E402
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema  # noqa: E402

import tflm_record  # noqa: E402

RUNTIME = "tflm-reference-kernels-x86"
VERSION = importlib.metadata.version("tflite-micro")
DEFAULTS = {
    "arena_size": 0,
    "seed": 1,
    **host_timing.DEFAULTS,
}
TIMES = ["latency_ms", "latency_wall_p50_ms", "first_latency_ms", "load_ms"]
# The record does not depend on the arena's size; what is not used is never touched.
ARENA_SIZES = (1 << 26, 1 << 30)


class CapturedOutput:
    """Collects what C++ writes to descriptors 1 and 2: the runtime's record and its messages."""

    def __init__(self):
        self._file = os.memfd_create("tflm-output")
        self._saved = (os.dup(1), os.dup(2))

    def __enter__(self):
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(self._file, 1)
        os.dup2(self._file, 2)
        return self

    def __exit__(self, *_):
        os.dup2(self._saved[0], 1)
        os.dup2(self._saved[1], 2)

    def text(self):
        size = os.lseek(self._file, 0, os.SEEK_CUR)
        return os.pread(self._file, size, 0).decode("utf-8", "replace")


class TflmDevice:
    def __init__(self):
        self._output = CapturedOutput()

    def measure(self, request):
        options = _options(request.get("options") or {})
        data = worker_protocol.read_tflite(request.get("model"))
        model = schema.Model.GetRootAs(data, 0)
        if model.SubgraphsLength() == 0:  # the runtime would crash
            raise Refused("device_failed", "the model has no subgraphs; TensorFlow Lite Micro needs one")
        started = time.process_time_ns()
        interpreter, arena_size = self._prepare(data, options["arena_size"])
        load_ms = (time.process_time_ns() - started) * 1e-6
        with self._output:
            interpreter.print_allocations()
        values = tflm_record.quantities(self._output.text())
        inputs = model.Subgraphs(0).InputsLength()
        timings = self._time(interpreter, inputs, options)
        values["latency_ms"] = min(timings["samples_ms"])
        values["latency_wall_p50_ms"] = timings["wall_p50_ms"]
        values["first_latency_ms"] = timings["first_ms"]
        values["load_ms"] = load_ms
        return {
            "quantities": values,
            "statistic": "min",
            "samples_ms": timings["samples_ms"],
            "protocol": {
                **timings["protocol"],
                "kernels": "reference",
                "threads": "1",
                "abi": "64",
                "arena_size_bytes": str(arena_size),
                "seed": str(options["seed"]),
            },
            "environment": host_facts.environment(),
            "device": request.get("device") or "tflm",
            "runtime": RUNTIME,
            "runtime_version": VERSION,
        }

    def _prepare(self, data, wanted):
        """An interpreter with its tensors allocated, and its arena's size."""
        said = ""
        for size in (wanted,) if wanted else ARENA_SIZES:
            with self._output:
                try:
                    return runtime.Interpreter.from_bytes(data, arena_size=size), size
                except (RuntimeError, ValueError, MemoryError) as error:
                    said = one_line(self._output.text()) or str(error)
            if "missing:" not in said:
                break
        raise Refused("device_failed", f"TensorFlow Lite Micro refuses it: {said}")

    def _time(self, interpreter, inputs, options):
        random = numpy.random.default_rng(options["seed"])
        with self._output:
            try:
                for index in range(inputs):
                    details = interpreter.get_input_details(index)
                    interpreter.set_input(_values(details, random), index)
                return host_timing.time_model(interpreter.invoke, options, "process")
            except (RuntimeError, ValueError) as error:
                said = one_line(self._output.text()) or str(error)
        raise Refused("device_failed", f"TensorFlow Lite Micro prepares it, but cannot run it: {said}")


def _values(details, random):
    shape, kind = tuple(details["shape"]), numpy.dtype(details["dtype"])
    if kind.kind == "b":
        return random.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu" and kind.itemsize < 4:
        return random.integers(numpy.iinfo(kind).min, numpy.iinfo(kind).max + 1, shape, dtype=kind)
    if kind.kind in "iu":  # indexes, most often: small ones are valid
        return random.integers(0, 2, shape).astype(kind)
    return random.uniform(-1, 1, shape).astype(kind)


def _options(given):
    worker_protocol.refuse_unknown(given, DEFAULTS)
    for name, value in given.items():
        least = 1 if name in ("bursts", "min_runs", "max_runs") else 0
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
            raise Refused("bad_options", f"{name} is {value!r}; a number from {least} on is allowed")
        if name in ("arena_size", "bursts", "seed") and not isinstance(value, int):
            raise Refused("bad_options", f"{name} is {value!r}; a whole number is allowed")
    options = {**DEFAULTS, **given}
    if options["arena_size"] % 16 or options["arena_size"] >= 1 << 31:
        raise Refused("bad_options", f"arena_size is {options['arena_size']}; a multiple of 16 below 2 GB is allowed")
    return options


def main():
    arguments = worker_protocol.descriptors()
    device = TflmDevice()
    hello = {
        "worker": "tflm",
        "runtime": RUNTIME,
        "runtime_version": VERSION,
        "devices": ["tflm"],
        "quantities": tflm_record.QUANTITIES + TIMES,
        "host_fingerprint": host_facts.fingerprint(),
    }
    # The runtime holds the interpreter lock while it works, so that there is no beat to promise.
    worker_protocol.serve(arguments, hello, {"measure": device.measure}, beat_s=None)


if __name__ == "__main__":
    main()
