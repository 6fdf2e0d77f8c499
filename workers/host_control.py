"""Where and how eagerly this process runs, for workers in Python; as workers/litert/host.h has it."""

import contextlib
import os
import re

from worker_protocol import Refused

RAISED_NICE = -15


def parse_cores(text):
    """"0,1", "4-7" as a set of numbers."""
    cores = set()
    for piece in str(text).split(","):
        found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", piece)
        first = int(found[1]) if found else 0
        last = int(found[2] or first) if found else -1
        if last < first:
            raise Refused("bad_options", f"cores is {text!r}; allowed: numbers and ranges, e.g. 0,1 or 4-7")
        cores.update(range(first, last + 1))
    return cores


def ranges_of(cores):
    """{0, 1, 4} as "0-1,4"."""
    ranges = []
    for core in sorted(cores):
        if ranges and ranges[-1][1] == core - 1:
            ranges[-1][1] = core
        else:
            ranges.append([core, core])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


@contextlib.contextmanager
def pinned(cores):
    """Restricts this thread, and the threads that it starts, to `cores`; None: wherever it may run."""
    allowed = os.sched_getaffinity(0)
    if cores is not None:
        # The system would silently leave out those that it does not have.
        absent = cores - allowed
        if absent:
            raise Refused("bad_options", f"cpu {min(absent)} cannot be used; allowed: {ranges_of(allowed)}")
        os.sched_setaffinity(0, cores)
    try:
        yield ranges_of(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def priority(high):
    """Raises the process where the system allows it; yields what came of it."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    raised = False
    if high:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, RAISED_NICE)
            raised = True
    refused = ": may not be raised" if high and not raised else ""
    try:
        yield f"nice {RAISED_NICE if raised else before}{refused}"
    finally:
        if raised:
            os.setpriority(os.PRIO_PROCESS, 0, before)
