#!/usr/bin/env python3
"""The tables of "A device from a hundred labels" in docs/results.md, from the rows in docs/results.

    scripts/few_shot_tables.py            # writes the tables into docs/results.md
    scripts/few_shot_tables.py --check    # fails where they are not what the rows give

A table stands between <!-- table NAME --> and <!-- end of table -->. Figures are means over seeds,
of the mean over devices or spaces where the table says so.
"""
import argparse
import collections
import csv
import difflib
import math
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
LATBENCH = ["desktop-cpu", "desktop-gpu", "embedded-gpu", "embedded-tpu", "mobile-gpu", "mobile-dsp"]
LABELLED = ["host-litert", "ethos-u55-256", "ethos-u65-512", "ethos-u85-512"]
CONTROLS = ["constant", "linear", "additive", "boosting", "closed-form"]


def read(name):
    with open(DOCS / "results" / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]


def mean(rows, column):
    values = [float(row[column]) for row in rows if row[column] not in ("", "inf")]
    return sum(values) / len(values) if values else None


def median(rows, column):
    values = sorted(float(row[column]) for row in rows if row[column])
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def figure(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}"


def both(rows, columns=("mape", "median_ape"), digits=1):
    return " / ".join(figure(mean(rows, column), digits) for column in columns)


def covered(rows):
    return both(rows, [f"coverage_{level}" for level in (50, 80, 90, 95)], 0)


def seeds(rows):
    return len({row["seed"] for row in rows})


def over_seeds(rows, column):
    """The spread, over seeds, of the mean over the devices of a seed."""
    by_seed = collections.defaultdict(list)
    for row in rows:
        by_seed[row["seed"]].append(float(row[column]))
    means = [sum(values) / len(values) for values in by_seed.values()]
    centre = sum(means) / len(means)
    return math.sqrt(sum((m - centre) ** 2 for m in means) / max(1, len(means) - 1))


def on_all(rows, devices):
    """Rows of the seeds that were run on all of the devices."""
    ran = collections.defaultdict(set)
    for row in rows:
        ran[row["seed"]].add(row["device"])
    return [row for row in rows if ran[row["seed"]] == set(devices)]


def table(head, lines, right_from=None):
    rule = ["---"] * len(head)
    for column in range(right_from if right_from is not None else len(head), len(head)):
        rule[column] = "---:"
    out = ["| " + " | ".join(head) + " |", "|" + "|".join(rule) + "|"]
    return "\n".join(out + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def latbench():
    rows = pick(read("latbench.csv"), model="process")
    lines = []
    for n in (10, 20, 50, 100, 200, 500):
        some = on_all(pick(rows, n=n), LATBENCH)
        lines.append([str(n), str(seeds(some)),
                      f"{mean(some, 'within_10'):.1f} +- {over_seeds(some, 'within_10'):.1f}",
                      figure(mean(some, "within_5")), figure(mean(some, "mape"), 2),
                      figure(mean(some, "spearman"), 4), covered(some),
                      figure(mean(some, "half_width_90"))])
    return table(["labels", "seeds", "within 10 %", "within 5 %", "MAPE %", "Spearman",
                  "covered by 50 / 80 / 90 / 95 % intervals", "half width of 90 %"], lines, 0)


def latbench_devices():
    rows = pick(read("latbench.csv"), model="process", n=100)
    lines = []
    for device in LATBENCH:
        some = pick(rows, device=device)
        lines.append([device, figure(mean(some, "within_10")), figure(mean(some, "mape"), 2),
                      figure(mean(some, "spearman"), 3), figure(mean(some, "coverage_90"), 0)])
    return table(["device", "within 10 %", "MAPE %", "Spearman", "covered by 90 %"], lines, 1)


def latbench_taught():
    rows = read("latbench-taught.csv")
    lines = []
    for name in LATBENCH + ["mean of six"]:
        some = rows if name == "mean of six" else pick(rows, device=name)
        taught, teacher = pick(some, model="taught"), pick(some, model="process")
        lines.append([name, str(seeds(taught)), figure(mean(taught, "within_10")),
                      figure(mean(teacher, "within_10"))])
    return table(["device", "seeds", "taught", "its teacher"], lines, 1)


def elsewhere():
    rows = [row for row in read("few-shot.csv") if row["set"] != "ncnn"]
    lines = []
    for key in dict.fromkeys((row["set"], row["device"], row["quantity"]) for row in rows):
        some = pick(rows, set=key[0], device=key[1], quantity=key[2])
        process, additive = pick(some, model="process"), pick(some, model="additive")
        lines.append([*key, str(seeds(process)), figure(mean(process, "within_10")),
                      figure(mean(process, "mape"), 2), figure(mean(process, "median_ape"), 2),
                      figure(mean(process, "coverage_90"), 0), figure(mean(additive, "within_10")),
                      figure(mean(additive, "mape"), 2),
                      *[figure(mean(pick(some, model=model), "mape"))
                        for model in ("boosting", "linear", "constant")]])
    return table(["set", "device", "quantity", "seeds", "process: within 10 %", "MAPE %", "median",
                  "covered by 90 %", "additive: within 10 %", "MAPE %", "boosting: MAPE %",
                  "linear: MAPE %", "constant: MAPE %"], lines, 3)


def ncnn():
    rows = pick(read("few-shot.csv"), set="ncnn")
    lines = [[model, str(len(pick(rows, model=model))),
              figure(median(pick(rows, model=model), "median_ape")),
              figure(mean(pick(rows, model=model), "median_ape")),
              figure(mean(pick(rows, model=model), "mape"))]
             for model in ["process"] + CONTROLS]
    return table(["model", "runs", "median error, median of the runs", "mean of the runs", "MAPE"],
                 lines, 1)


def mixed():
    rows = pick(read("mixed.csv"), draw="random")
    lines = []
    for device in LABELLED:
        for n in (30, 100, 300):
            some = [row for row in pick(rows, device=device, n=n) if int(row["seed"]) < 3]
            process = pick(some, model="process")
            lines.append([device, str(n), both(process), figure(mean(process, "within_10")),
                          covered(process),
                          *[both(pick(some, model=model))
                            for model in ("additive", "boosting", "linear")]])
    return table(["device", "labels", "process", "within 10 %",
                  "covered by 50 / 80 / 90 / 95 %", "additive", "boosting", "linear"], lines, 1)


def choice():
    rows = pick(read("mixed.csv"), model="process", n=30)
    cells = {}
    for device in LABELLED:
        for draw in ("random", "chosen"):
            some = pick(rows, device=device, draw=draw)
            worst = max(float(row["mape"]) for row in some)
            cells[device, draw] = (mean(some, "mape"), f"{both(some)} ({worst:.1f})", seeds(some))
    lines = [[device, cells[device, "random"][1], cells[device, "chosen"][1],
              str(cells[device, "random"][2])] for device in LABELLED]
    lines.append(["mean", *[figure(sum(cells[device, draw][0] for device in LABELLED) / 4)
                            for draw in ("random", "chosen")], ""])
    return table(["device", "random", "chosen", "seeds"], lines, 1)


def families():
    rows = read("families.csv")
    lines = []
    for device in LABELLED:
        for own in (0, 10, 30):
            some = pick(rows, device=device, own=own)
            lines.append([device, str(own), *[both(pick(some, model=model))
                                              for model in ("process", "additive", "boosting")],
                          str(len({row["left_out"] for row in some}))])
    return table(["device", "of the family", "process", "additive", "boosting", "spaces"], lines, 1)


def ranges():
    rows = read("intervals.csv")
    lines = []
    for model in ("process", "taught"):
        aurocs, coverages = [], []
        for device in LABELLED:
            some = pick(rows, device=device, model=model)
            if not some:
                continue
            aurocs.append(mean(some, "auroc"))
            coverages.append(mean(some, "coverage_90_known"))
            lines.append([device, model, str(seeds(some)),
                          both(some, ("median_ape_known", "median_ape")),
                          figure(coverages[-1]),
                          both(some, ("half_width_90_known", "half_width_90")),
                          covered(some), both(some, ("flagged_known", "flagged_left_out")),
                          figure(aurocs[-1], 3)])
        lines.append(["mean", model, "", "", figure(sum(coverages) / len(coverages)), "", "", "",
                      figure(sum(aurocs) / len(aurocs), 3)])
    return table(["device", "model", "seeds", "median error, known / left out",
                  "90 % covers, known", "half width, known / left out",
                  "covered 50 / 80 / 90 / 95, left out", "flagged, known / left out", "AUROC"],
                 lines, 2)


TABLES = {"latbench": latbench, "latbench-devices": latbench_devices,
          "latbench-taught": latbench_taught, "elsewhere": elsewhere, "ncnn": ncnn, "mixed": mixed,
          "choice": choice, "families": families, "ranges": ranges}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    path = DOCS / "results.md"
    old = path.read_text(encoding="utf-8")
    seen = set()

    def made(match):
        seen.add(match[1])
        return f"<!-- table {match[1]} -->\n{TABLES[match[1]]()}<!-- end of table -->"

    new = re.sub(r"<!-- table ([a-z-]+) -->\n.*?<!-- end of table -->", made, old, flags=re.DOTALL)
    for name in TABLES.keys() - seen:
        print(f"docs/results.md has no place for the table {name}", file=sys.stderr)
    if not check:
        path.write_text(new, encoding="utf-8")
    elif new != old:
        sys.stderr.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                                   "docs/results.md", "what the rows give", n=0))
    return 1 if seen != TABLES.keys() or (check and new != old) else 0


if __name__ == "__main__":
    sys.exit(main())
