#!/usr/bin/env python3
"""Draws the learning curves of docs/results from the rows beside them.

    scripts/draw_curves.py            # writes docs/results/*.svg
    scripts/draw_curves.py --check    # fails where they are not what the rows give

Published figures are points of their own, marked as not like for like: other splits, other
networks or other devices, and other prior knowledge.
"""
import argparse
import collections
import csv
import math
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 520, 330, 56, 34, 14, 44
COLOURS = {"process": "#1b6ca8", "taught": "#c0392b", "host-litert": "#1b6ca8",
           "ethos-u55-256": "#2e8b57", "ethos-u65-512": "#b8860b", "ethos-u85-512": "#c0392b"}

# What others say of theirs: labels, value, name.
# HiFi-SAGE (DATE 2025) and HiFi-LLP (SOCC 2025) from a secondary source; BRP-NAS (NeurIPS 2020) on
# the desktop files; HELP (NeurIPS 2021, table 3) after meta-training on nine other devices, mean of
# six devices that are not LatBench's.
PUBLISHED = {
    "within_10": [(100, 64.6, "HiFi-SAGE"), (500, 83.2, "HiFi-SAGE"), (100, 66.9, "HiFi-LLP"),
                  (500, 91.0, "HiFi-LLP"), (900, 96.0, "BRP-NAS")],
    "spearman": [(100, 0.989, "HiFi-SAGE"), (10, 0.932, "HELP")],
}
# What the labels' own noise allows, in the mean of the six devices (docs/results.md).
CEILING = {"within_10": 95.6, "spearman": 0.983}


def read(name):
    with open(RESULTS / name, newline="") as file:
        return [row for row in csv.DictReader(file) if not row.get("left_out")]


def curves(rows, column, key):
    """By key: (labels, mean over seeds of the mean over devices, deviation over seeds).

    Seeds that were not run on every device say nothing of the mean over devices.
    """
    values = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows:
        if row[column] and (row.get("draw") or "random") == "random":
            values[key(row), int(row["n"])][row["seed"]][row["device"]] = float(row[column])
    lines = collections.defaultdict(list)
    for (name, labels), by_seed in sorted(values.items()):
        devices = max(len(of) for of in by_seed.values())
        means = [sum(of.values()) / len(of) for of in by_seed.values() if len(of) == devices]
        centre = sum(means) / len(means)
        spread = math.sqrt(sum((m - centre) ** 2 for m in means) / max(1, len(means) - 1))
        lines[name].append((labels, centre, spread))
    return lines


class Chart:
    def __init__(self, title, y_name, low, high, ticks, most_labels):
        self.low, self.high, self.most = low, high, most_labels
        self.parts = [f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold">{title}</text>']
        for tick in ticks:
            y = self.y(tick)
            self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                              f'stroke="#ddd"/><text x="{LEFT - 6}" y="{y + 4:.1f}" '
                              f'text-anchor="end">{tick:g}</text>')
        for labels in (10, 20, 50, 100, 200, 500, 1000):
            if labels <= most_labels:
                self.parts.append(f'<text x="{self.x(labels):.1f}" y="{HEIGHT - BOTTOM + 16}" '
                                  f'text-anchor="middle">{labels}</text>')
        self.parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" '
                          f'text-anchor="middle">labels</text><text transform="translate(14 '
                          f'{(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
                          f'{y_name}</text>')

    def x(self, labels):
        share = math.log(labels / 9) / math.log(self.most * 1.1 / 9)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def line(self, name, points, place):
        colour = COLOURS.get(name, "#555")
        path = " ".join(f"{self.x(n):.1f},{self.y(v):.1f}" for n, v, _ in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                          f'stroke-width="2"/>')
        for n, value, spread in points:
            x, top, bottom = self.x(n), self.y(value + spread), self.y(value - spread)
            self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" '
                              f'stroke="{colour}"/><circle cx="{x:.1f}" cy="{self.y(value):.1f}" '
                              f'r="3" fill="{colour}"/>')
        self.parts.append(f'<text x="{WIDTH - RIGHT - 4}" y="{place}" text-anchor="end" '
                          f'fill="{colour}">{name}</text>')

    def published(self, points):
        for n, value, name in points:
            x, y = self.x(n), self.y(value)
            first = n < 20  # no room before it
            self.parts.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" '
                              f'fill="none" stroke="#777"/><text x="{x + (8 if first else -8):.1f}" '
                              f'y="{y + (4 if n < 900 else 14):.1f}" '
                              f'text-anchor="{"start" if first else "end"}" '
                              f'fill="#777">{name}</text>')

    def ceiling(self, value):
        y = self.y(value)
        self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                          f'stroke="#000" stroke-dasharray="6 4"/><text x="{LEFT + 4}" '
                          f'y="{y - 5:.1f}">noise of the labels: {value:g}</text>')

    def note(self, text, place):
        self.parts.append(f'<text x="{WIDTH - RIGHT - 4}" y="{place}" text-anchor="end" '
                          f'fill="#777">{text}</text>')


def svg(charts):
    shifted = "".join(f'<g transform="translate({i * WIDTH} 0)">{"".join(chart.parts)}</g>\n'
                      for i, chart in enumerate(charts))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(charts)}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n{shifted}</svg>\n')


def latbench():
    rows = read("latbench.csv")
    taught = [row for row in read("latbench-taught.csv") if row["model"] == "taught"]
    charts = []
    for column, title, low, high, ticks in (
            ("within_10", "LatBench, mean of six devices", 50, 100, range(50, 101, 10)),
            ("spearman", "LatBench, mean of six devices", 0.92, 1.0,
             (0.92, 0.94, 0.96, 0.98, 1.0))):
        chart = Chart(title, "within 10 %" if column == "within_10" else "Spearman", low, high,
                      ticks, 1000)
        chart.ceiling(CEILING[column])
        chart.line("process", curves(rows, column, lambda _: "p")["p"], HEIGHT - BOTTOM - 44)
        chart.line("taught", curves(taught, column, lambda _: "t")["t"], HEIGHT - BOTTOM - 30)
        chart.published(PUBLISHED[column])
        chart.note("squares: published, not like for like", HEIGHT - BOTTOM - 16)
        charts.append(chart)
    return svg(charts)


def mixed():
    rows = [row for row in read("mixed.csv") if row["model"] == "process"]
    chart = Chart("Mixed whole networks, six spaces", "MAPE %", 0, 30, range(0, 31, 5), 1000)
    lines = curves(rows, "mape", lambda row: row["device"])
    for place, device in enumerate(sorted(lines)):
        chart.line(device, lines[device], TOP + 14 * (place + 1))
    return svg([chart])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    stale = []
    for name, text in (("latbench.svg", latbench()), ("mixed.svg", mixed())):
        path = RESULTS / name
        if options.check:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.write_text(text)
    if stale:
        print(f"{', '.join(stale)}: not what the rows give; run scripts/draw_curves.py",
              file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
