"""A stand-in for a device behind commands: a directory is the device. Every call is logged.

  stand_in.py DIR push MODEL REMOTE | run MODE REMOTE ... | pull REMOTE LOCAL | clean REMOTE... |
              check | version | identify TEXT

MODE of run: how it behaves, see below; `litert` really runs the pushed model.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

folder, verb, *rest = sys.argv[1:]
root = Path(folder)
with open(root / "log.jsonl", "a", encoding="utf-8") as log:
    log.write(json.dumps({"verb": verb, "arguments": rest,
                          "variable": os.environ.get("STAND_IN_VARIABLE")}) + "\n")

SUMMARY = "INFO: Inference timings in us: Init: {}, First inference: {}, Warmup (avg): {:.6g}, Inference (avg): {:.6g}"


def calls(name):
    lines = (root / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return sum(json.loads(line)["verb"] == name for line in lines)


def count_line(times):
    if len(set(times)) == 1:
        return f"INFO: count={len(times)} curr={times[-1]}"
    mean = sum(times) / len(times)
    deviation = (sum((t - mean) ** 2 for t in times) / len(times)) ** 0.5
    return (f"INFO: count={len(times)} first={times[0]} curr={times[-1]} min={min(times)} max={max(times)} "
            f"avg={mean:.6g} std={deviation:.0f}")


def litert(model, threads, runs):
    from ai_edge_litert.interpreter import Interpreter
    start = time.perf_counter_ns()
    interpreter = Interpreter(model_path=model, num_threads=threads)
    interpreter.allocate_tensors()
    init = (time.perf_counter_ns() - start) // 1000

    def once():
        begin = time.perf_counter_ns()
        interpreter.invoke()
        return (time.perf_counter_ns() - begin) // 1000

    warm_up = [once() for _ in range(5)]
    times = [once() for _ in range(runs)]
    print("STARTING!")
    print(count_line(warm_up) + "\n")
    print(count_line(times) + "\n")
    print(SUMMARY.format(init, warm_up[0], sum(warm_up) / len(warm_up), sum(times) / len(times)))


def child():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (root / "child").write_text(str(process.pid), encoding="utf-8")


def run(mode, remote, *more):
    if mode == "litert":
        litert(remote, int(more[0]), int(more[1]))
    elif mode == "times":  # one line a time
        for number in more[0].split():
            print(f"inference took {number}")
    elif mode == "json":
        print(more[0])
    elif mode == "file":
        Path(more[1]).write_text(more[0], encoding="utf-8")
    elif mode == "text":
        sys.stdout.write(more[0])
    elif mode == "hang":
        child()
        time.sleep(600)
    elif mode == "leaves_child":
        child()
        print("inference took 2 ms")
    elif mode == "fail":
        sys.exit("Segmentation fault in\nthe runtime")
    elif mode == "crash":
        os.abort()
    elif mode == "flaky":
        if calls("run") % 3 != 0:
            sys.exit("device busy")
        print("inference took 3 ms")
    elif mode == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    else:
        sys.exit(f"unknown mode {mode}")


if verb == "push":
    shutil.copyfile(rest[0], rest[1])
elif verb == "run":
    run(*rest)
elif verb == "pull":
    shutil.copyfile(rest[0], rest[1])
elif verb == "clean":
    if (root / "cannot_clean").exists():
        sys.exit("read-only file system")
    for remote in rest:
        Path(remote).unlink(missing_ok=True)
elif verb == "check":
    if (root / "offline").exists():
        sys.exit("error: no devices/emulators found")
elif verb == "version":
    print("stand-in 1.2")
elif verb == "identify":
    print(rest[0])
else:
    sys.exit(f"unknown verb {verb}")
