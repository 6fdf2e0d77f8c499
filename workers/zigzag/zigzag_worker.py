#!/usr/bin/env python3
"""An accelerator like the Edge TPU, as ZigZag's cost model sees it (see docs/worker_protocol.md).

Options of a measure request: `clock_mhz` (ZigZag counts cycles and knows no clock), `search` ("short":
orders of loops that can be the best; "full": all that ZigZag tries), `cache` (a file for the costs of
layers; "": none).
"""

import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import worker_protocol  # noqa: E402
from worker_protocol import Refused  # noqa: E402

import layer_cache  # noqa: E402
import zigzag_layers  # noqa: E402
import zigzag_price  # noqa: E402

DEVICE = "edge-tpu-like"
QUANTITIES = ["latency_ms", "energy_mj", "cycles_total", "nn_macs"]
DEFAULTS = {"clock_mhz": 500, "search": "short", "cache": None}
PICOJOULES_PER_MJ = 1e9


class ZigzagDevice:
    def __init__(self):
        self._machines = {}
        self._caches = {}

    def measure(self, request):
        started = time.perf_counter()
        options = _options(request.get("options") or {})
        data = worker_protocol.read_tflite(request.get("model"))
        operators = read_operators(data)
        machine = self._machine(options["search"])
        cache = self._cache(options["cache"], machine)
        costs, computed = _costs(operators, machine, cache)
        answer = _answer(operators, costs, options["clock_mhz"])
        answer["protocol"] = {
            "machine": zigzag_price.MACHINE,
            "search": options["search"],
            "optimised_for": "latency",
            "clock_mhz": f"{options['clock_mhz']:g}",
            "energy_source": "modelled: ZigZag's accesses times its costs of an access, and its cost of a MAC",
            "between_layers": "every layer reads from and writes to DRAM",
            "cpu_operators_cost": "not included",
        }
        answer["environment"] = {
            "layers": str(sum(operator.layer is not None for operator in operators)),
            "layers_computed": str(computed),
            "cache": cache.note,
            "pricing_ms": f"{(time.perf_counter() - started) * 1e3:.1f}",
        }
        return {**answer, "device": request.get("device") or DEVICE}

    def _machine(self, search):
        if search not in self._machines:
            self._machines[search] = zigzag_price.Machine(search)
        return self._machines[search]

    def _cache(self, path, machine):
        path = layer_cache.default_path() if path is None else path
        if (path, machine.identity) not in self._caches:
            self._caches[path, machine.identity] = layer_cache.LayerCache(path, machine.identity)
        return self._caches[path, machine.identity]


def read_operators(data):
    """The operators of a file that may be damaged; its reader checks no offset."""
    try:
        return zigzag_layers.operators(data)
    except (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise Refused("bad_model", f"the file is damaged: {type(error).__name__} {error}") from None


def _costs(operators, machine, cache):
    """The cost of each operator's layer, or None; and how many were not in the cache. An operator that
    ZigZag finds no mapping for is left to the CPU."""
    costs, computed = [], 0
    for operator in operators:
        cost = None
        if operator.layer is not None:
            key = zigzag_price.layer_key(operator.layer)
            cost = cache.get(key)
            if cost is None:
                computed += 1
                try:
                    cost = machine.price(operator.layer)
                except zigzag_price.CannotPrice as why:
                    cost = {"refused": str(why)}
                cache.put(key, cost)
            if "refused" in cost:
                operator.on_cpu, operator.reason, operator.macs = True, cost["refused"], 0
                cost = None
        costs.append(cost)
    return costs, computed


def _answer(operators, costs, clock_mhz):
    entries = []
    for operator, cost in zip(operators, costs):
        entries.append(
            {
                "index": operator.index,
                "cycles": cost["cycles"] if cost else 0,
                "macs": operator.macs,
                "energy_mj": cost["energy_pj"] / PICOJOULES_PER_MJ if cost else 0,
                "placement": "cpu" if operator.on_cpu else "npu",
                "placement_reason": operator.reason,
            }
        )
    answer = {
        "quantities": {},
        "missing": {},
        "statistic": "estimate",
        "cpu_operators": sum(operator.on_cpu for operator in operators),
        "operator_unit": "cycles",
        "operators": entries,
    }
    if not any(costs):
        answer["missing"] = dict.fromkeys(QUANTITIES, "ZigZag prices no operator of this network")
        return answer
    cycles = sum(entry["cycles"] for entry in entries)
    answer["quantities"] = {
        "latency_ms": cycles / (clock_mhz * 1e3),
        "energy_mj": sum(entry["energy_mj"] for entry in entries),
        "cycles_total": cycles,
        "nn_macs": sum(entry["macs"] for entry in entries),
    }
    return answer


def _options(given):
    worker_protocol.refuse_unknown(given, DEFAULTS)
    options = {**DEFAULTS, **given}
    clock = options["clock_mhz"]
    if isinstance(clock, bool) or not isinstance(clock, (int, float)) or not 0 < clock <= 1e5:
        raise Refused("bad_options", f"clock_mhz is {clock!r}; a number of MHz above 0 is allowed")
    if options["search"] not in zigzag_price.SEARCHES:
        raise Refused("bad_options", f"search is {options['search']!r}; allowed: {', '.join(zigzag_price.SEARCHES)}")
    if options["cache"] is not None and not isinstance(options["cache"], str):
        raise Refused("bad_options", f"cache is {options['cache']!r}; the path of a file is allowed")
    return options


def main():
    arguments = worker_protocol.descriptors()
    device = ZigzagDevice()
    hello = {
        "worker": "zigzag",
        "runtime": "zigzag",
        "runtime_version": zigzag_price.ZIGZAG_VERSION,
        "devices": [DEVICE],
        "quantities": QUANTITIES,
        "host_fingerprint": "",
    }
    worker_protocol.serve(arguments, hello, {"measure": device.measure})


if __name__ == "__main__":
    main()
