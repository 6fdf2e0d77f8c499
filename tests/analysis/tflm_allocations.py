#!/usr/bin/env python3
"""What TensorFlow Lite Micro's recording allocator says of models: one path a line on standard input,
one line of JSON for each.

A tab and a number behind a path are the arena's size. `arena_bytes` and `persistent_bytes` are the arena's head and tail, `kinds` what the runtime prints of
each kind of allocation: used, requested, count. With `runs`, whether an inference succeeds.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "workers", "tflm"))

from tflite_micro.python.tflite_micro import runtime  # noqa: E402

import tflm_record  # noqa: E402

ARENA_BYTES = 1 << 28


def observe(path, arena_bytes, printed):
    interpreter = runtime.Interpreter.from_file(path, arena_size=arena_bytes)
    printed.seek(0)
    printed.truncate()
    interpreter.print_allocations()
    printed.seek(0)
    values = tflm_record.quantities(printed.read())
    try:
        interpreter.invoke()
        runs = True
    except RuntimeError:
        runs = False
    return {
        "file": path,
        "runs": runs,
        "arena_bytes": values["arena_head_bytes"],
        "persistent_bytes": values["arena_tail_bytes"],
        "total_bytes": values["arena_total_bytes"],
        "kinds": {
            name: [values[f"{kind}_{what}"] for what in ("bytes", "requested_bytes", "count")]
            for name, kind in tflm_record.KINDS.items()
        },
    }


def main():
    # The runtime writes to both standard streams; answers go where it does not know.
    answers = os.fdopen(os.dup(1), "w")
    printed = os.fdopen(os.memfd_create("tflm-output"), "w+", errors="replace")
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    for line in sys.stdin:
        path, _, arena = line.rstrip("\n").partition("\t")
        printed.seek(0)
        printed.truncate()
        try:
            answer = observe(path, int(arena or ARENA_BYTES), printed)
        except Exception as error:  # whatever class the runtime raises  # noqa: BLE001
            printed.seek(0)
            answer = {"file": path, "refused": " ".join(printed.read().split()) or str(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
