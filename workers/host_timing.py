"""Timing a prepared model on this computer, for workers in Python; the protocol is the one of
workers/litert/timing.h: warm-up until the timings no longer fall, then bursts that are spaced in time,
so that one disturbance of the machine does not cover all of them."""

import math
import statistics
import time

MAX_SAMPLES = 1000
MIN_SAMPLE_MS = 0.02
TIMER_SHARE = 0.005
WARM_UP_MAX_MS = 500

DEFAULTS = {
    "min_runs": 30,
    "max_runs": 1_000_000,
    "min_time_ms": 150,
    "max_time_ms": 3000,
    "bursts": 3,
    "burst_gap_ms": 20,
}


def _now_ms():
    return time.monotonic_ns() * 1e-6


def _process_ms():
    """Leaves out what other programs take; with one thread and an idle machine both are the same."""
    return time.process_time_ns() * 1e-6


CLOCKS = {"process": ("CLOCK_PROCESS_CPUTIME_ID", _process_ms), "wall": ("CLOCK_MONOTONIC", _now_ms)}


def _duration(run, clock):
    start = clock()
    run()
    return clock() - start


def _warm_up(run, clock):
    """Windows of runs until two in a row are not 1 % faster than the best before: that, and the runs."""
    best, quiet, runs, start = math.inf, 0, 0, _now_ms()
    while quiet < 2 and (runs == 0 or _now_ms() - start < WARM_UP_MAX_MS):
        window, window_start, in_window = math.inf, _now_ms(), 0
        while in_window < 3 or _now_ms() - window_start < 3:
            window = min(window, _duration(run, clock))
            in_window += 1
            if _now_ms() - start > WARM_UP_MAX_MS:
                break
        runs += in_window
        quiet = quiet + 1 if window > 0.99 * best else 0
        best = min(best, window)
    return best, runs


def _cost_of(clock):
    start = clock()
    for _ in range(1000):
        last = clock()
    return (last - start) / 1000


def _thinned(samples):
    """At most MAX_SAMPLES in their order, the fastest of each stretch."""
    step = -(-len(samples) // MAX_SAMPLES)
    return [min(samples[i : i + step]) for i in range(0, len(samples), step)]


def _take_burst(run, batch, clock, share, samples, wall):
    start, runs = _now_ms(), 0
    while True:
        wall_start, sample_start = _now_ms(), clock()
        for _ in range(batch):
            run()
        samples.append((clock() - sample_start) / batch)
        wall.append((_now_ms() - wall_start) / batch)
        runs += batch
        spent = _now_ms() - start
        if runs >= share["max_runs"] or spent >= share["max_time_ms"]:
            return runs
        if runs >= share["min_runs"] and spent >= share["min_time_ms"]:
            return runs


def time_model(run, options, clock_name):
    """`run` is one inference, `options` has the keys of DEFAULTS, `clock_name` is one of CLOCKS. The
    samples, the wall clock's median, the first inference's wall time (all ms), and the protocol."""
    name, clock = CLOCKS[clock_name]
    first = _duration(run, _now_ms)
    fastest, warm_up_runs = _warm_up(run, clock)
    fastest = max(fastest, 1e-6)
    read_cost = _cost_of(clock)
    batch = 1
    if fastest < MIN_SAMPLE_MS:
        batch = math.ceil(max(MIN_SAMPLE_MS, read_cost / TIMER_SHARE) / fastest)
    bursts = options["bursts"]
    share = {key: options[key] / bursts for key in ("min_runs", "max_runs", "min_time_ms", "max_time_ms")}
    samples, wall, runs = [], [], 0
    for burst in range(bursts):
        if burst:
            time.sleep(options["burst_gap_ms"] / 1e3)
            run()  # what the pause cooled down
            warm_up_runs += 1
        runs += _take_burst(run, batch, clock, share, samples, wall)
    protocol = {
        "warm_up": "until two windows in a row are not 1 % faster",
        "warm_up_runs": str(warm_up_runs),
        "runs": str(runs),
        "invocations_per_sample": str(batch),
        "samples_taken": str(len(samples)),
        "bursts": str(bursts),
        "burst_gap_ms": f"{options['burst_gap_ms']:g}",
        "statistic": "min",
        "clock": name,
        "clock_read_ns": f"{read_cost * 1e6:.0f}",
    }
    return {
        "samples_ms": _thinned(samples),
        "wall_p50_ms": statistics.median(wall),
        "first_ms": first,
        "protocol": protocol,
    }
