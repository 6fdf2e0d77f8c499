#!/usr/bin/env python3
"""How well the host's label (the minimum) repeats: networks of three sizes, each measured twice in
separate worker processes.

    scripts/repeatability.py --worker build/workers/edgesage-worker-litert \\
        --library .venv/lib/python3.11/site-packages/ai_edge_litert/libLiteRt.so nets/*.tflite

Prints for each group the median and the largest difference of the two labels over their mean.
Exits with 1 when a group's median is above --limit. Needs nothing but Python.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

GROUPS = ((0.1, 1), (1, 10), (10, float("inf")))


class Worker:
    """One worker process (docs/worker_protocol.md)."""

    def __init__(self, command):
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        self._process = subprocess.Popen(
            [*command, "--in-fd", str(in_read), "--out-fd", str(out_write)],
            pass_fds=(in_read, out_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(in_read)
        os.close(out_write)
        self._requests = os.fdopen(in_write, "wb", buffering=0)
        self._answers = os.fdopen(out_read, "rb")
        self.hello = json.loads(self._answers.readline())["hello"]
        self._last_id = 0

    def measure(self, model, options):
        self._last_id += 1
        body = {"model": os.path.abspath(model), "device": "host-litert", "options": options}
        self._requests.write(json.dumps({"id": self._last_id, "measure": body}).encode() + b"\n")
        for line in self._answers:
            message = json.loads(line)
            if "error" in message:
                raise RuntimeError(f"{model}: {message['error']['message']}")
            if "answer" in message:
                return message["answer"]
        raise RuntimeError(f"{model}: the worker ended")

    def close(self):
        self._requests.close()
        self._answers.close()
        self._process.wait()


def choose(command, models, count):
    """`count` models for each group, by a quick measurement, in a fixed random order."""
    groups = {group: [] for group in GROUPS}
    worker = Worker(command)
    quick = {"bursts": 1, "min_runs": 3, "min_time_ms": 1, "max_time_ms": 200}
    random.Random(1).shuffle(models)
    for model in models:
        if all(len(chosen) == count for chosen in groups.values()):
            break
        latency = worker.measure(model, quick)["quantities"]["latency_ms"]
        # Away from the borders, so that a network does not change its group.
        for (low, high), chosen in groups.items():
            if low * 1.1 < latency < high * 0.9 and len(chosen) < count:
                chosen.append(model)
    worker.close()
    return groups


def measure_all(command, groups, options):
    worker = Worker(command)
    labels = {}
    for models in groups.values():
        for model in models:
            labels[model] = worker.measure(model, options)["quantities"]["latency_ms"]
    worker.close()
    return labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--worker", required=True)
    parser.add_argument("--library", required=True, help="libLiteRt.so")
    parser.add_argument("--count", type=int, default=10, help="networks in each group")
    parser.add_argument("--limit", type=float, default=2.0, help="percent")
    parser.add_argument("--pause", type=float, default=0, help="seconds between the two measurements")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=NUMBER", help="of the worker")
    arguments = parser.parse_args()
    command = [arguments.worker, "--library", arguments.library]
    options = {name: float(value) for name, value in (option.split("=") for option in arguments.option)}

    groups = choose(command, arguments.models, arguments.count)
    started = time.monotonic()
    first = measure_all(command, groups, options)
    seconds = time.monotonic() - started
    time.sleep(arguments.pause)
    second = measure_all(command, groups, options)

    met = True
    print(f"{'latency ms':>12} {'networks':>8} {'median %':>9} {'p90 %':>7} {'largest %':>9}")
    for (low, high), models in groups.items():
        differences = sorted(200 * abs(first[m] - second[m]) / (first[m] + second[m]) for m in models)
        name = f"{low:g}-{high:g}" if high < float("inf") else f"above {low:g}"
        if not differences:
            print(f"{name:>12} {0:>8}")
            continue
        median = statistics.median(differences)
        p90 = differences[min(len(differences) - 1, int(0.9 * len(differences)))]
        print(f"{name:>12} {len(models):>8} {median:>9.2f} {p90:>7.2f} {differences[-1]:>9.2f}")
        met = met and median <= arguments.limit and len(models) == arguments.count
    total = sum(len(models) for models in groups.values())
    print(f"{seconds / max(1, total):.2f} s a network; host {os.getloadavg()} load")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
