#!/usr/bin/env python3
"""Tables of docs/results.md from the rows of `edgesage evaluate --protocol edgedlperf --results FILE`.

Usage: scripts/results_tables.py docs/results/edgedlperf.csv > tables.md

For each device and quantity: every space on networks held out at random, with the controls; each
space left out, with 0 and more of its own networks; learning curve and ablations where there are
rows of them. MAPE / median in per cent, in the mean over seeds.
"""

import argparse
import collections
import csv
import re
import statistics
import sys

MODELS = ["edgesage", "constant", "linear", "additive", "boosting", "closed-form", "perfsage-1", "brp-nas"]


def mean(rows, column):
    values = [float(row[column]) for row in rows if row[column] != ""]
    return sum(values) / len(values) if values else None


def cell(rows, columns=("mape", "median_ape")):
    figures = [mean(rows, column) for column in columns]
    return " / ".join("" if figure is None else f"{figure:.1f}" for figure in figures)


def table(head, lines):
    text = "| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n"
    return text + "".join("| " + " | ".join(line) + " |\n" for line in lines) + "\n"


def names(rows, column):
    return list(dict.fromkeys(row[column] for row in rows))


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def networks(rows):
    counts = {row["n_test"] for row in rows}
    return "-".join(sorted(counts, key=int)[:: max(1, len(counts) - 1)])


def random_split(rows):
    models = [model for model in MODELS if pick(rows, model=model)]
    lines = []
    for space in names(rows, "space"):
        for placement in names(pick(rows, space=space), "placement"):
            some = pick(rows, space=space, placement=placement)
            own = pick(some, model="edgesage")
            label = space if placement == "all" else f"{space}, {placement}"
            line = [label, networks(own)] + [cell(pick(some, model=model)) for model in models]
            line += [cell(own, [c]) for c in ("within_10", "coverage_90", "flagged")]
            lines.append(line)
    return table(["space", "networks", *models, "within 10 %", "in the 90 % interval", "flagged"], lines)


def left_out(rows):
    rows = pick(rows, placement="all")
    rows = [row for row in rows if row["space"] == row["left_out"]]
    own = sorted(names(pick(rows, model="edgesage"), "own"), key=int)
    lines = []
    for space in names(rows, "space"):
        some = pick(rows, space=space)
        line = [space, networks(some)]
        line += [cell(pick(some, model="edgesage", own=count)) for count in own]
        lines.append(line + [cell(pick(some, model="closed-form", own="0"))])
    return table(["left out", "networks", *[f"{count} of its own" for count in own], "closed form"], lines)


def by(rows, column, title):
    rows = pick(rows, space="all", placement="all", model="edgesage")
    order = names(rows, column)
    if column == "most":
        order.sort(key=int)
    lines = [[value or "as it ships", cell(pick(rows, **{column: value}))] for value in order]
    return table([title, "MAPE / median"], lines)


def short(name):
    """Without the checksum that the collection puts before a file's name."""
    return re.sub(r"^[0-9a-f]{8}_|\.(tflite|bin|lite)$", "", name)


def real_files(rows):
    """A line a file of 2 operators or more, medians by size and placement, what misses the bar."""
    known = [row for row in rows if row["n_test"] != "0"]
    text = table(["file", "device", "predicted", "error %", "in its interval", "flagged", "placement"],
                 [[short(row["variant"]), f"{float(row['truth']):.4g}",
                   f"{float(row['predicted']):.4g}",
                   f"{100 * (float(row['predicted']) / float(row['truth']) - 1):+.1f}",
                   "" if not row.get("coverage_90") else "yes" if float(row["coverage_90"]) else "no",
                   "yes" if float(row["flagged"]) else "no", row["placement"]]
                  for row in known if row["space"] != "single-operators"])
    for space in names(known, "space"):
        for placement in names(pick(known, space=space), "placement"):
            some = pick(known, space=space, placement=placement)
            errors = [float(row["mape"]) for row in some]
            line = (f"- {space}, {placement}: {len(some)} files, median "
                    f"{statistics.median(errors):.1f} %")
            beyond = [short(row["variant"]) for row in some
                      if float(row["mape"]) > 15 and not float(row["flagged"])]
            if beyond:
                named = ", ".join(beyond) if len(beyond) <= 8 else len(beyond)
                line += f", beyond 15 % and not flagged: {named}"
            text += line + "\n"
    without = [row for row in rows if row["n_test"] == "0"]
    for space in names(without, "space"):
        some = pick(without, space=space)
        text += f"- {space}, without an answer: {len(some)}"
        if space != "single-operators":
            text += "; " + "; ".join(f"{short(row['variant'])}: {row['note']}" for row in some)
        text += "\n"
    return text + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rows")
    with open(parser.parse_args().rows, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["device"], row["quantity"]].append(row)
    makers = {
        "random": random_split,
        "left-out": left_out,
        "curve": lambda some: by(some, "most", "networks to train on"),
        "real-files": real_files,
        "ablation": lambda some: by(some, "variant", "without"),
    }
    for (device, quantity), members in sorted(groups.items()):
        for setting, make in makers.items():
            some = pick(members, setting=setting)
            if some:
                sys.stdout.write(f"{device}, {quantity}, {setting}:\n\n{make(some)}")


if __name__ == "__main__":
    main()
