#!/usr/bin/env python3
"""Compares the planned arena with what the runtime itself allocates.

  scripts/check_arena.py --runtime litert --count 500
  scripts/check_arena.py --runtime tflm --count 500

plans every published .tflite file and as many networks of our search spaces, runs the runtime's own
planner on them, and prints how many agree to the byte, the distribution of the errors and the worst
files. Ends with 1 where the arena is off by more than 1 % (its median by anything), or the total by
more than 5 %. With --runtime xnnpack the total is an estimate, compared with the growth of the heap.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
PYTHON = SOURCE / ".venv" / "bin" / "python"
ADDRESSES = str(SOURCE / "tests" / "analysis" / "litert_addresses.py")
ORACLES = {"litert": [ADDRESSES], "xnnpack": [ADDRESSES, "--xnnpack"],
           "tflm": [str(SOURCE / "tests" / "analysis" / "tflm_allocations.py")]}
PLANS = {"litert": "litert_arena", "xnnpack": "litert_xnnpack", "tflm": "tflm_arena"}
# The Python package of TensorFlow Lite Micro is a 64-bit build.
FLAGS = {"litert": [], "xnnpack": [], "tflm": ["--abi", "64"]}


class Oracle:
    """The runtime in a process of its own; a file that kills it costs one answer."""

    def __init__(self, runtime):
        self._command = [str(PYTHON), *ORACLES[runtime]]
        self._process = None

    def ask(self, path):
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                             text=True)
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self.close()
        return {"file": str(path), "refused": "the runtime crashed"}

    def close(self):
        if self._process is not None:
            self._process.communicate()
            self._process = None


def published_files(data):
    folder = data / "models" / "tflite"
    return sorted(path for path in folder.rglob("*") if path.is_file())


def spaces(tool):
    listed = subprocess.run([tool, "generate", "--list-spaces"], capture_output=True, text=True,
                            check=True).stdout.splitlines()
    names = [line.split()[0] for line in listed if line and not line.startswith(("space", "-"))]
    return [name for name in names if "published" not in name]


def generate(tool, space, count, seed, folder):
    made = subprocess.run([tool, "generate", "--space", space, "--count", str(count), "--seed",
                           str(seed), "-o", folder, "--format", "json"],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return []
    return [network["file"] for network in json.loads(made.stdout)["networks"]]


def inspected_memory(tool, path, runtime="litert"):
    answer = json.loads(subprocess.run([tool, "inspect", str(path), "--format", "json",
                                        *FLAGS[runtime]],
                                       capture_output=True, text=True, check=False).stdout)
    return answer.get("peak_ram_bytes")


def planned(tool, path, runtime="litert"):
    memory = inspected_memory(tool, path, runtime)
    return memory[PLANS[runtime]] if memory else None


def why_not_planned(tool, path, runtime):
    memory = inspected_memory(tool, path, runtime)
    return memory["reason"].get(PLANS[runtime], "?") if memory else "not read"


def addresses_differ(plan, actual):
    """The first tensor or buffer that lies elsewhere, in words; None if all agree."""
    tensors = actual["tensors"]
    buffers = {}
    for entry in plan["entries"]:
        if "tensor" not in entry:
            buffers.setdefault(entry["operator"], []).append(entry)
    wanted = {entry["tensor"]: entry for entry in plan["entries"] if "tensor" in entry}
    for operator, temporaries in enumerate(actual["temporaries"]):
        theirs = [t for t in temporaries if tensors[t]["bytes"] > 0]
        ours = buffers.get(operator, [])
        if len(theirs) != len(ours):
            return f"operator {operator}: {len(ours)} buffers planned, {len(theirs)} there"
        wanted.update(zip(theirs, ours))
    for index, tensor in enumerate(tensors):
        if tensor["memory"] not in ("arena", "persistent") or tensor["offset"] is None:
            continue
        entry = wanted.get(index)
        if entry is None:
            return f"tensor {index}: {tensor['bytes']} bytes in the {tensor['memory']}, not planned"
        for key in ("memory", "bytes", "offset"):
            if entry[key] != tensor[key]:
                return f"tensor {index} ({entry['name']}): {key} {entry[key]}, is {tensor[key]}"
    return None


def allocations_differ(plan, actual):
    """The first kind of allocation that differs, in words; None if all agree."""
    ours = {one["name"]: [one["used_bytes"], one["requested_bytes"], one["count"]]
            for one in plan["allocations"]}
    for name, theirs in actual["kinds"].items():
        mine = ours.get(name, [0, 0, 0])
        # The runtime does not print what has taken nothing.
        if mine != theirs and mine[:2] != [0, 0]:
            return f"{name}: {mine} bytes, requested, count; is {theirs}"
    return None


def total_bytes(plan, actual):
    if "heap_growth_bytes" in actual:
        return actual["heap_growth_bytes"]
    # A network that could not be run has not sized what is sized then.
    heap = plan["heap_bytes"] if "not_run" in actual else actual.get("heap_bytes", 0)
    return actual["arena_bytes"] + actual["persistent_bytes"] + heap


DIFFERENCE = {"litert": addresses_differ, "tflm": allocations_differ,
              "xnnpack": lambda plan, actual: None}


def relative(ours, theirs):
    return 0.0 if ours == theirs else abs(ours - theirs) / max(theirs, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runtime", choices=sorted(ORACLES), default="litert")
    parser.add_argument("--count", type=int, default=500, help="generated networks in all")
    parser.add_argument("--seed", type=int, default=90001)
    parser.add_argument("--data", type=Path,
                        default=os.environ.get("EDGESAGE_DATA_DIR", SOURCE.parent / "shared"))
    parser.add_argument("--tool", default=str(SOURCE / "build" / "edgesage"))
    parser.add_argument("--files", nargs="*", type=Path, help="these in place of all")
    options = parser.parse_args()
    oracle = Oracle(options.runtime)
    rows, refused, unplanned = [], [], []

    def check(path, group):
        actual = oracle.ask(path)
        if "refused" in actual:
            refused.append((Path(path).name, actual["refused"]))
            return
        plan = planned(options.tool, path, options.runtime)
        if plan is None:
            unplanned.append((Path(path).name, why_not_planned(options.tool, path, options.runtime)))
            return
        total = total_bytes(plan, actual)
        rows.append({"file": Path(path).name, "group": group,
                     "arena": relative(plan["arena_bytes"], actual["arena_bytes"]),
                     "total": relative(plan["total_bytes"], total),
                     "details": DIFFERENCE[options.runtime](plan, actual),
                     "ours": plan["arena_bytes"], "theirs": actual["arena_bytes"],
                     "our_total": plan["total_bytes"], "their_total": total,
                     "not_counted": plan.get("not_counted", [])})

    if options.files:
        for path in options.files:
            check(path, "named")
    else:
        for path in published_files(options.data):
            check(path, "published")
        names = spaces(options.tool)
        for i, space in enumerate(names):
            share = options.count // len(names) + (i < options.count % len(names))
            with tempfile.TemporaryDirectory() as folder:
                for path in generate(options.tool, space, share, options.seed, folder):
                    check(path, space)
                    os.unlink(path)
    oracle.close()

    for group in dict.fromkeys(row["group"] for row in rows):
        some = [row for row in rows if row["group"] == group]
        print(f"{group}: {len(some)} files, arena exact {sum(r['arena'] == 0 for r in some)}, "
              f"total exact {sum(r['total'] == 0 for r in some)}, "
              f"every {'address' if options.runtime == 'litert' else 'kind'} "
              f"{sum(r['details'] is None for r in some)}")
    for name, reason in refused:
        print(f"  refused by the runtime: {name}: {reason[:80]}")
    for name, reason in unplanned:
        print(f"  not planned: {name}: {reason}")
    for key in ("arena", "total"):
        errors = sorted(row[key] for row in rows)
        if errors:
            tenth = errors[min(len(errors) - 1, len(errors) * 9 // 10)]
            print(f"{key}: median error {100 * statistics.median(errors):.3f} %, nine in ten "
                  f"within {100 * tenth:.3f} %, worst {100 * errors[-1]:.3f} %, above 0: "
                  f"{sum(e > 0 for e in errors)} of {len(errors)}")
    worst = [row for row in rows if row["arena"] or row["total"] or row["details"]]
    for row in sorted(worst, key=lambda r: -max(r["arena"], r["total"]))[:25]:
        print(f"  {row['file']}: arena {row['ours']} for {row['theirs']}, total "
              f"{row['our_total']} for {row['their_total']}; {row['details']}"
              f"{'; ' + '; '.join(row['not_counted']) if row['not_counted'] else ''}")
    counted = [row for row in rows if not row["not_counted"]]
    most = 1.0 if options.runtime == "xnnpack" else 0.05
    bad = [row for row in counted if row["arena"] > 0.01 or row["total"] > most]
    exact = statistics.median(row["arena"] for row in counted) == 0 if counted else False
    print(f"{len(bad)} of {len(counted)} files outside 1 % (arena) or "
          f"{100 * most:.0f} % (total)")
    return 0 if exact and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
