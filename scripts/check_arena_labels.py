#!/usr/bin/env python3
"""Compares the arena that TensorFlow Lite Micro allocated for labelled networks with our plan.

  build/edgesage annotate --store tflm.sqlite --device tflm --count 40 --space keyword-sound --space ...
  build/edgesage dataset export --store tflm.sqlite --device tflm -o labels
  scripts/check_arena_labels.py labels

Each network is built again from its name and planned (`edgesage inspect --abi 64`, the word size of
the Python package that was measured). Prints, by space, how many agree to the byte and how far the
activations (the arena's head) and the total are off. Ends with 1 where the head is off by more than
1 %, or the total by more than 5 %. LiteRT's arena is no label: scripts/check_arena.py --runtime litert
asks the runtime itself.
"""

import argparse
import csv
import io
import subprocess
import sys
import tempfile
from pathlib import Path

from check_arena import SOURCE, generate, planned, relative


def labels_of(path):
    files = [path] if path.is_file() else sorted(path.rglob("*.csv.zst"))
    for file in files:
        if file.name == "failures.csv.zst":
            continue
        text = subprocess.run(["zstd", "-dc", str(file)], check=True, capture_output=True,
                              text=True).stdout
        yield from (row for row in csv.DictReader(io.StringIO(text))
                    if row.get("arena_total_bytes"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path, help="a label file or folder of the device tflm")
    parser.add_argument("--tool", default=str(SOURCE / "build" / "edgesage"))
    arguments = parser.parse_args()
    spaces, worst = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for row in labels_of(arguments.labels):
            space, _, seed = row["name"].split("/")
            made = generate(arguments.tool, space, 1, seed, folder)
            plan = planned(arguments.tool, made[0], "tflm") if made else None
            if plan is None:
                sys.exit(f"{row['name']}: cannot be built and planned")
            Path(made[0]).unlink()
            head = relative(plan["arena_bytes"],
                            float(row["arena_head_bytes"]))
            total = relative(plan["total_bytes"], float(row["arena_total_bytes"]))
            spaces.setdefault(space, []).append((head, total))
            worst.append((max(head, total), row["name"]))
    if not spaces:
        sys.exit("no labels with arena_total_bytes here")
    print(f"{'space':24} networks  exact  worst head %  worst total %")
    for space, errors in sorted(spaces.items()):
        print(f"{space:24} {len(errors):8} {sum(e == (0, 0) for e in errors):6} "
              f"{100 * max(head for head, _ in errors):13.3f} "
              f"{100 * max(total for _, total in errors):14.3f}")
    for error, name in sorted(worst, reverse=True)[:5]:
        if error > 0:
            print(f"  {name}: {100 * error:.3f} %")
    all_errors = [error for errors in spaces.values() for error in errors]
    sys.exit(any(head > 0.01 or total > 0.05 for head, total in all_errors))


if __name__ == "__main__":
    main()
