#!/usr/bin/env python3
"""Times ONNX models on this computer's CPU with ONNX Runtime (see docs/worker_protocol.md).

Options of a measure request: `threads`, `cores` ("0,1", "4-7"), `cpu`, `clock` ("process", "wall"),
`priority` ("high", "normal"), `seed`; `optimization` ("all", "layout", "extended", "basic", "none");
`shapes` ("NAME:1x3x224x224", separated by commas) and `dimensions` ("batch:1,seq:128") for what the
file leaves open, and `batch` for an open dimension 0; `profile_runs` (0: no times of operators); and of the timing `min_runs`, `max_runs`,
`min_time_ms`, `max_time_ms`, `bursts`, `burst_gap_ms`.
"""

import contextlib
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import host_control  # noqa: E402
import host_facts  # noqa: E402
import host_timing  # noqa: E402
import worker_protocol  # noqa: E402
from worker_protocol import Refused, one_line  # noqa: E402

import onnxruntime  # noqa: E402

import ort_inputs  # noqa: E402
import ort_profile  # noqa: E402

VERSION = onnxruntime.__version__
PROVIDERS = ["CPUExecutionProvider"]
QUANTITIES = [
    "latency_ms", "latency_wall_p50_ms", "first_latency_ms", "load_ms", *ort_profile.MEMORY, "rss_growth_bytes",
]  # fmt: skip
LEVELS = {
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "layout": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_LAYOUT,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
CHOICES = {
    "optimization": list(LEVELS),
    "clock": list(host_timing.CLOCKS),
    "priority": ["high", "normal"],
}
# Name: the default, the least and the largest value. What has a whole default takes whole numbers.
NUMBERS = {
    "threads": (1, 1, 1024),
    "seed": (0, 0, 2**53),
    "batch": (0, 0, 2**20),
    "profile_runs": (30, 0, 10_000),
    "min_runs": (host_timing.DEFAULTS["min_runs"], 1, 10**9),
    "max_runs": (host_timing.DEFAULTS["max_runs"], 1, 10**9),
    "bursts": (host_timing.DEFAULTS["bursts"], 1, 1000),
    "min_time_ms": (float(host_timing.DEFAULTS["min_time_ms"]), 0, 10**7),
    "max_time_ms": (float(host_timing.DEFAULTS["max_time_ms"]), 0, 10**7),
    "burst_gap_ms": (float(host_timing.DEFAULTS["burst_gap_ms"]), 0, 10**6),
}
OPTIONS = [*CHOICES, *NUMBERS, "cores", "cpu", "shapes", "dimensions"]


def _number(name, value, whole, least, most):
    allowed = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise Refused("bad_options", f"{name} is {value!r}; allowed: {kind} from {least} to {most}")
    return value


def _sizes(name, text, one):
    """"a:1x2,b:3" as {"a": [1, 2], "b": [3]}; names may hold colons."""
    found = {}
    for piece in filter(None, str(text).split(",")):
        key, colon, sides = piece.rpartition(":")
        numbers = sides.split("x")
        if not colon or not key or not all(side.isdigit() for side in numbers) or (one and len(numbers) > 1):
            example = "batch:1" if one else "NAME:1x3x224x224"
            raise Refused("bad_options", f"{name} has {piece!r}; allowed: {example}, several separated by commas")
        found[key] = int(numbers[0]) if one else [int(side) for side in numbers]
    return found


def _options(request):
    given = request.get("options") or {}
    options = {name: default for name, (default, _, _) in NUMBERS.items()}
    options |= {"optimization": "all", "priority": "high"}
    for name, value in given.items():
        if name not in OPTIONS:
            raise Refused("bad_options", f"unknown option {name}; allowed: {', '.join(OPTIONS)}")
        if name in CHOICES and value not in CHOICES[name]:
            raise Refused("bad_options", f"{name} is {value!r}; allowed: {', '.join(CHOICES[name])}")
        if name in NUMBERS:
            default, least, most = NUMBERS[name]
            _number(name, value, isinstance(default, int), least, most)
        options[name] = value
    if "cpu" in given:
        cores = {_number("cpu", given["cpu"], True, 0, 1023)}
    else:
        cores = host_control.parse_cores(given["cores"]) if "cores" in given else None
    options["cores"] = cores
    options["shapes"] = _sizes("shapes", given.get("shapes", ""), one=False)
    options["dimensions"] = _sizes("dimensions", given.get("dimensions", ""), one=True)
    # With several threads only the wall tells how long it took.
    options.setdefault("clock", "process" if options["threads"] == 1 else "wall")
    # Half of the deadline for timing leaves room for loading and for a busy machine.
    if request.get("deadline_ms"):
        options["max_time_ms"] = min(options["max_time_ms"], request["deadline_ms"] / 2)
    return options


def _resident_bytes(key):
    with open("/proc/self/status", encoding="utf-8") as file:
        line = next((line for line in file if line.startswith(key + ":")), "")
    return int(line.split()[1]) * 1024 if line else None


def _forget_peak():
    """The peak of the resident memory starts again here, where the system allows it."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")


def _open_session(model, options):
    try:
        return onnxruntime.InferenceSession(model, options, providers=PROVIDERS)
    except Exception as error:  # the runtime's classes share no base of their own
        code = "bad_model" if type(error).__name__ in ("InvalidProtobuf", "NoSuchFile") else "device_failed"
        raise Refused(code, f"ONNX Runtime cannot load it: {one_line(str(error))}") from None


class OrtDevice:
    def measure(self, request):
        options = _options(request)
        path = request.get("model") or ""
        if not os.access(path, os.R_OK):
            raise Refused("bad_model", f"{path}: no such file")
        environment = host_facts.environment()
        with host_control.pinned(options["cores"]) as affinity, host_control.priority(
            options["priority"] == "high"
        ) as priority:
            answer = self._measure(path, options)
        answer["protocol"]["affinity"] = affinity
        answer["environment"] = {**environment, "priority": priority}
        answer["device"] = request.get("device") or "host-onnxruntime"
        return answer

    def _measure(self, path, options):
        def session_options():
            made = onnxruntime.SessionOptions()
            made.intra_op_num_threads = options["threads"]
            made.inter_op_num_threads = 1
            made.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
            made.graph_optimization_level = LEVELS[options["optimization"]]
            made.log_severity_level = 4
            return made

        _forget_peak()
        resident = _resident_bytes("VmRSS")
        started = time.monotonic_ns()
        session = _open_session(path, session_options())
        load_ms = (time.monotonic_ns() - started) * 1e-6
        run, how, first_ms = self._first_run(session, options)
        timings = host_timing.time_model(run, options, options["clock"])
        quantities = {
            "latency_ms": min(timings["samples_ms"]),
            "latency_wall_p50_ms": timings["wall_p50_ms"],
            "first_latency_ms": first_ms,
            "load_ms": load_ms,
        }
        peak = _resident_bytes("VmHWM")
        if resident is not None and peak is not None and peak > resident:
            quantities["rss_growth_bytes"] = peak - resident
        answer = {
            "quantities": quantities,
            "missing": {"rss_growth_bytes": "the process did not grow: it had the memory from the model before"},
            "statistic": "min",
            "samples_ms": timings["samples_ms"],
            "protocol": timings["protocol"] | self._protocol(session, options, *how),
        }
        del session, run
        self._add_profile(answer, path, session_options, options, how)
        answer["missing"] = {name: why for name, why in answer["missing"].items() if name not in quantities}
        return answer

    def _first_run(self, session, options):
        """What runs, how it came to run (for _run_of), and how long the first inference took."""
        refusal = ""
        for integers in ort_inputs.INTEGERS:
            for bound in (True, False):
                run = self._run_of(session, options, integers, bound)
                started = time.monotonic_ns()
                try:
                    run()
                    first_ms = (time.monotonic_ns() - started) * 1e-6
                    run()  # bound outputs must have the shapes that the file declares
                    return run, (integers, bound), first_ms
                except Exception as error:  # as above
                    refusal = refusal or one_line(str(error))
        raise Refused("device_failed", f"ONNX Runtime loads it, but cannot run it: {refusal}")

    def _run_of(self, session, options, integers, bound):
        values = ort_inputs.inputs_of(session, options, integers)
        return ort_inputs.bound_run(session, values) if bound else lambda: session.run(None, values)

    def _protocol(self, session, options, integers, bound):
        shapes = ", ".join(
            f"{value.name}:{'x'.join(map(str, ort_inputs.shape_of(value, options)))}"
            for value in session.get_inputs()
        )
        return {
            "threads": str(options["threads"]),
            "execution_provider": ", ".join(session.get_providers()),
            "graph_optimization": options["optimization"],
            "execution_mode": "sequential",
            "inputs": f"random, seed {options['seed']}; integers of 32 and 64 bits are {integers}",
            "input_shapes": shapes or "none",
            "binding": "inputs and outputs stay in place" if bound else "none: outputs are copied",
        }

    def _add_profile(self, answer, path, session_options, options, how):
        """The profile is a session of its own: profiling slows the operators down, and the label is without."""
        if not options["profile_runs"]:
            for name in ort_profile.MEMORY:
                answer["missing"][name] = "profile_runs is 0"
            return
        try:
            profile = ort_profile.Profile(
                path,
                session_options,
                _open_session,
                lambda session: self._run_of(session, options, *how),
                options["profile_runs"],
            )
            operators = profile.operators()
        except Exception as error:  # the latency stands without it
            answer["protocol"]["operators"] = f"none: {type(error).__name__}: {one_line(str(error))}"
            for name in ort_profile.MEMORY:
                answer["missing"][name] = "there is no profile"
            return
        for name in ort_profile.MEMORY:
            answer["missing"][name] = "the runtime's profile does not say"
        answer["quantities"] |= profile.memory()
        answer["operators"] = operators
        answer["operator_unit"] = "ns"
        answer["protocol"]["operators"] = f"{ort_profile.STATISTIC} of {profile.runs} profiled runs, wall clock"


def main():
    arguments = worker_protocol.descriptors()
    device = OrtDevice()
    hello = {
        "protocol": "1.2",
        "worker": "onnxruntime",
        "runtime": "onnxruntime",
        "runtime_version": VERSION,
        "devices": ["host-onnxruntime"],
        "quantities": QUANTITIES,
        "host_fingerprint": host_facts.fingerprint(),
        "environment": host_facts.environment(),
    }
    worker_protocol.serve(arguments, hello, {"measure": device.measure})


if __name__ == "__main__":
    main()
