"""Times a prepared model in one thread by the process's own time: warm-up, then bursts with pauses,
as the LiteRT worker does (docs/worker_protocol.md)."""

import statistics
import time

MAX_SAMPLES = 1000
WARM_UP_MAX_S = 0.5


def _seconds(run, clock):
    started = clock()
    run()
    return (clock() - started) * 1e-9


def _warm_up(run):
    """Until two windows in a row are not 1 % faster than the best before."""
    before, quiet, started = float("inf"), 0, time.monotonic()
    while quiet < 2 and time.monotonic() - started < WARM_UP_MAX_S:
        window = min(_seconds(run, time.process_time_ns) for _ in range(3))
        quiet = quiet + 1 if window > 0.99 * before else 0
        before = min(before, window)
    return before


def time_model(run, options):
    """Samples in ms, the first one's time, the wall clock's median. `run` is one inference."""
    first = _seconds(run, time.process_time_ns)
    fastest = max(_warm_up(run), 1e-7)
    repeat = max(1, round(20e-6 / fastest)) if fastest < 20e-6 else 1

    def several():
        for _ in range(repeat):
            run()

    cpu, wall, bursts = [], [], options["bursts"]
    started = time.monotonic()
    for burst in range(bursts):
        if burst:
            time.sleep(options["burst_gap_ms"] / 1e3)
        in_burst, taken = time.monotonic(), 0
        while True:
            wall_start = time.monotonic_ns()
            cpu.append(_seconds(several, time.process_time_ns) * 1e3 / repeat)
            wall.append((time.monotonic_ns() - wall_start) * 1e-6 / repeat)
            taken += 1
            enough = taken * bursts >= options["min_runs"]
            enough &= (time.monotonic() - in_burst) * 1e3 * bursts >= options["min_time_ms"]
            if enough or (time.monotonic() - started) * 1e3 > options["max_time_ms"]:
                break
    step = -(-len(cpu) // MAX_SAMPLES)
    kept = [min(cpu[i : i + step]) for i in range(0, len(cpu), step)]
    return {
        "first_ms": first * 1e3,
        "samples_ms": kept,
        "wall_p50_ms": statistics.median(wall),
        "invocations_per_sample": repeat,
        "runs": len(cpu) * repeat,
    }
