#!/usr/bin/env python3
"""Draws docs/results from what `edgesage evaluate` writes, as small SVG files.

    edgesage evaluate --labels labels/edgedlperf --device ethos-u55-256 --predictions P.csv
    scripts/results_plots.py --predictions P.csv --device ethos-u55-256 --output docs/results
    edgesage evaluate --protocol edgedlperf --results R.csv ...
    scripts/results_plots.py --rows R.csv --output docs/results
    edgesage evaluate --protocol compression --results STUDY ...
    scripts/results_plots.py --study STUDY --output docs/results

Of predictions: predicted against true, errors by number of operators and by kind of operator. Of
the protocol's rows: learning curves, ablations, and new spaces with few networks of their own;
only what the rows hold is drawn. Of a compression study: the fronts as measured and, of the
searches that foretold latencies, the errors along them. Prints the files' names.
"""
import argparse
import collections
import csv
import math
import pathlib
import statistics
import sys
from html import escape

SIDE, LEFT, RIGHT, TOP, BOTTOM = 340, 56, 14, 30, 44
COLOURS = ["#1b6ca8", "#c0392b", "#2e8b57", "#b8860b", "#7d5ba6", "#555555"]
SIZES = [5, 10, 20, 40, 80, 160, 320]
MOST_POINTS = 4000
ARMS = ["hardware", "estimator", "macs", "additive", "random"]


class Axis:
    """Maps data to pixels; logarithmic where `log`."""

    def __init__(self, low, high, first, last, log=False):
        self.log = log
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)
        margin = 0.04 * (self.high - self.low) or 0.5
        self.low -= margin if log else 0
        self.high += margin
        self.first, self.last = first, last

    def __call__(self, value):
        at = math.log10(value) if self.log else value
        return self.first + (at - self.low) / (self.high - self.low) * (self.last - self.first)

    def ticks(self):
        if self.log:
            powers = range(math.ceil(self.low), math.floor(self.high) + 1)
            return [10.0 ** p for p in powers] if len(powers) > 1 else [
                m * 10.0 ** p for p in range(math.floor(self.low), math.ceil(self.high) + 1)
                for m in (1, 2, 5) if self.low <= math.log10(m * 10.0 ** p) <= self.high]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        while (self.high - self.low) / step < 4:
            step /= 2
        return [i * step for i in range(math.ceil(self.low / step), int(self.high / step) + 1)]


class Plot:
    """A square chart; `x` and `y` are (low, high, logarithmic), x None for bars."""

    def __init__(self, title, x_name, y_name, x, y):
        self.x = Axis(*x[:2], LEFT, SIDE - RIGHT, x[2]) if x else None
        self.y = Axis(*y[:2], SIDE - BOTTOM, TOP, y[2])
        self.parts = [text(LEFT, 18, title, weight="bold", size=12)]
        for tick in self.y.ticks():
            at = self.y(tick)
            self.parts.append(f'<path d="M{LEFT} {at:.1f}H{SIDE - RIGHT}" stroke="#ddd"/>'
                              + text(LEFT - 5, at + 4, f"{tick:g}", "end"))
        for tick in self.x.ticks() if x else []:
            self.parts.append(text(self.x(tick), SIDE - BOTTOM + 15, f"{tick:g}", "middle"))
        self.parts.append(text((LEFT + SIDE - RIGHT) / 2, SIDE - 8, x_name, "middle"))
        self.parts.append(f'<g transform="translate(13 {(TOP + SIDE - BOTTOM) / 2}) rotate(-90)">'
                          + text(0, 0, y_name, "middle") + "</g>")
        self.names = 0

    def line(self, name, points):
        colour = COLOURS[self.names % len(COLOURS)]
        self.names += 1
        path = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        self.parts += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}">'
                       f"<title>{escape(name)}, {x:g}: {y:.2f}</title></circle>" for x, y in points]
        self.parts.append(text(SIDE - RIGHT - 4, TOP + 12 * self.names, name, "end", colour))

    def dots(self, points, colour):
        """Whole pixels' tenths are enough, and equal places are drawn once."""
        places = sorted({f"M{self.x(x):.0f} {self.y(y):.0f}h0" for x, y in points})
        self.parts.append(f'<path d="{"".join(places)}" stroke="{colour}" stroke-width="2.4" '
                          'stroke-linecap="round" stroke-opacity=".55"/>')

    def diagonal(self):
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        ends = [(self.x(10 ** v), self.y(10 ** v)) for v in (low, high)]
        self.parts.append('<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}" stroke="#999" '
                          'stroke-dasharray="4"/>'.format(*ends[0], *ends[1]))

    def bars(self, names, values):
        width = (SIDE - RIGHT - LEFT) / len(values)
        for i, (name, value) in enumerate(zip(names, values)):
            x, y = LEFT + i * width, self.y(value)
            self.parts.append(
                f'<rect x="{x + 2:.1f}" y="{y:.1f}" width="{width - 4:.1f}" '
                f'height="{SIDE - BOTTOM - y:.1f}" fill="{COLOURS[0]}" fill-opacity=".7"><title>'
                f"{escape(name)}: {value:.2f} %</title></rect>"
                f'<g transform="translate({x + width / 2 + 3:.1f} {SIDE - BOTTOM - 4}) rotate(-90)">'
                + text(0, 0, name) + "</g>")


def text(x, y, words, anchor="start", colour="#333", weight="normal", size=10):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}" font-size="{size}">{escape(words)}</text>')


def svg(plots):
    shifted = "".join(f'<g transform="translate({i * SIDE} 0)">{"".join(plot.parts)}</g>\n'
                      for i, plot in enumerate(plots))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE * len(plots)}" height="{SIDE}" '
            'font-family="sans-serif">\n<rect width="100%" height="100%" fill="#fff"/>\n'
            f"{shifted}</svg>\n")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def error(row):
    return 100 * abs(float(row["predicted"]) / float(row["truth"]) - 1)


def by(rows, column):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def scatter(quantity, rows):
    values = [float(row[c]) for row in rows for c in ("truth", "predicted")]
    span = (min(values), max(values), True)
    plot = Plot(f"{quantity}, {len(rows)} networks", "true", "predicted", span, span)
    plot.diagonal()
    some = rows[::len(rows) // MOST_POINTS + 1]
    for flagged, colour in (("1", COLOURS[0]), ("0", COLOURS[1])):
        plot.dots([(float(r["truth"]), float(r["predicted"])) for r in some
                   if r["in_range"] == flagged], colour)
    return plot


def size_group(row):
    return next((i for i, most in enumerate(SIZES) if int(row["operators"]) <= most), len(SIZES))


def by_size(quantity, rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[size_group(row)].append(error(row))
    names = [f"to {most}" for most in SIZES] + [f"above {SIZES[-1]}"]
    order = sorted(groups)
    values = [statistics.fmean(groups[i]) for i in order]
    plot = Plot(f"{quantity}, MAPE %", "operators of the network", "MAPE %", None,
                (0, max(values), False))
    plot.bars([f"{names[i]} ({len(groups[i])})" for i in order], values)
    return plot


def by_kind(quantity, rows):
    groups = collections.defaultdict(list)
    for row in rows:
        for kind in row["kinds"].split():
            groups[kind].append(error(row))
    # What is rare says little.
    order = sorted((kind for kind in groups if len(groups[kind]) >= 10),
                   key=lambda kind: -len(groups[kind]))[:16]
    values = [statistics.fmean(groups[kind]) for kind in order]
    plot = Plot(f"{quantity}, networks that hold a kind", "", "MAPE %", None,
                (0, max(values, default=1), False))
    if order:
        plot.bars([f"{kind} ({len(groups[kind])})" for kind in order], values)
    return plot


def of_predictions(rows, device):
    groups = by(rows, "quantity")
    return {f"{device}-{name}.svg": svg([make(quantity, members)
                                         for quantity, members in groups.items()])
            for name, make in (("predicted", scatter), ("size", by_size), ("kind", by_kind))}


def means(rows, key):
    """Mean MAPE over seeds (and whatever else differs), by key; with the quantity before it."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row["model"] == "edgesage" and row["placement"] in ("all", "") and row["mape"]:
            groups[row["quantity"], key(row)].append(float(row["mape"]))
    table = collections.defaultdict(dict)
    for (quantity, at), values in groups.items():
        table[quantity][at] = statistics.fmean(values)
    return table


def curves(title, x_name, table):
    points = [(x, y) for of in table.values() for x, y in of.items()]
    plot = Plot(title, x_name, "MAPE %", (min(x for x, _ in points), max(x for x, _ in points), True),
                (min(y for _, y in points), max(y for _, y in points), True))
    for quantity, of in sorted(table.items()):
        plot.line(quantity, sorted(of.items()))
    return plot


def of_rows(rows):
    files = {}
    for device, members in sorted(by(rows, "device").items()):
        settings = by(members, "setting")
        whole = {name: [row for row in of if row["space"] == "all"] for name, of in settings.items()}
        table = means(whole.get("curve", []), lambda row: int(row["most"]))
        if table:
            files[f"{device}-curve.svg"] = svg([curves(f"{device}: learning curve",
                                                       "networks learnt from", table)])
        table = means(whole.get("ablation", []), lambda row: row["variant"] or "as it ships")
        plots = []
        for quantity, of in sorted(table.items()):
            plots.append(Plot(f"{quantity}, without a part", "", "MAPE %", None,
                              (0, max(of.values()), False)))
            plots[-1].bars(list(of), list(of.values()))
        if plots:
            files[f"{device}-ablation.svg"] = svg(plots)
        own = [row for row in settings.get("left-out", []) if row["space"] == row["left_out"]]
        # A logarithmic axis has no 0; it stands at 1.
        table = means(own, lambda row: max(1, int(row["own"])))
        if table:
            files[f"{device}-new-space.svg"] = svg([curves(
                f"{device}: a new space, mean of all", "its networks learnt from (0 stands at 1)",
                table)])
    return files


def front_points(path):
    points = []
    for row in read(path):
        measured, original = float(row["measured_ms"]), float(row["original_ms"])
        if measured > 0:
            points.append((measured / original, 1 - float(row["quality"]),
                           100 * (float(row["searched_ms"]) / measured - 1)))
    return sorted(points)


def of_study(folder):
    """One file a setting of the study: network, device, evaluations and seed."""
    files = {}
    for setting in sorted({path.parent.parent for path in folder.glob("*/*/front.csv")}):
        network, device, evaluations, _ = setting.name.split("__")
        network = network.removeprefix("reference_")
        fronts = {path.parent.name: front_points(path) for path in setting.glob("*/front.csv")}
        fronts = {arm: fronts[arm] for arm in ARMS if fronts.get(arm)}
        lost = [y for of in fronts.values() for _, y, _ in of]
        front = Plot(f"{network} on {device}", "latency, share of the original's",
                     "magnitude lost", (0, 1, False), (0, max(lost), False))
        foretold = {arm: of for arm, of in fronts.items() if arm in ("estimator", "additive")}
        errors = [error for of in foretold.values() for _, _, error in of]
        along = Plot(f"{evaluations} evaluations: error along the front",
                     "latency, share of the original's", "%", (0, 1, False),
                     (min(errors + [0]), max(errors + [1]), False))
        for arm, of in fronts.items():
            front.line(arm, [(x, y) for x, y, _ in of])
        for arm, of in foretold.items():
            along.line(arm, [(x, error) for x, _, error in of])
        files[f"compression-{network}-{device}-{evaluations}.svg"] = svg([front, along])
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predictions", help="CSV of `edgesage evaluate --predictions`")
    parser.add_argument("--device", default="device", help="of the predictions")
    parser.add_argument("--rows", help="CSV of `edgesage evaluate --protocol edgedlperf --results`")
    parser.add_argument("--study", type=pathlib.Path,
                        help="DIR of `edgesage evaluate --protocol compression --results`")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="folder")
    options = parser.parse_args()
    files = {}
    if options.predictions:
        files.update(of_predictions(read(options.predictions), options.device))
    if options.rows:
        files.update(of_rows(read(options.rows)))
    if options.study:
        files.update(of_study(options.study))
    for name, content in files.items():
        (options.output / name).write_text(content, encoding="utf-8")
        print(name)
    return 0 if files else 1


if __name__ == "__main__":
    sys.exit(main())
