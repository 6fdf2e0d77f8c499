#!/usr/bin/env python3
"""Fills the figures into docs/data_card.md from the labels themselves.

  scripts/make_data_card.py labels/edgedlperf

What stands between the lines `<!-- figures -->` and `<!-- end of figures -->` is written anew: counts,
versions, ranges, failures and histograms, as `edgesage dataset info` gives them. The same labels give
the same text.
"""

import argparse
import json
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
SHOWN = ["latency_ms", "energy_mj", "sram_bytes", "dram_bytes", "arena_total_bytes", "nn_macs",
         "operators"]
BAR = 40


def number(value):
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3g}"


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def device_name(part):
    host = part["host_fingerprint"]
    return part["device"] + (f"@{host[:8]}" if host else "")


def counts(parts):
    return table(["device", "runtime", "statistic", "space", "networks", "with CPU fallback"],
                 [[device_name(part), f"{part['runtime']} {part['runtime_version']}",
                   part["statistic"], part["space"], f"{part['networks']:,}",
                   f"{part['with_fallback']:,}"] for part in parts])


def ranges(parts):
    rows = []
    for part in parts:
        for quantity in part["quantities"]:
            if quantity["quantity"] in SHOWN:
                rows.append([device_name(part), part["space"], quantity["quantity"]]
                            + [number(quantity[key]) for key in ("min", "p10", "median", "p90", "max")])
    return table(["device", "space", "quantity", "min", "10 %", "median", "90 %", "max"], rows)


def merged(parts, name):
    """The histogram of a quantity over all spaces of a device: {(from, to): count}."""
    bins = {}
    for part in parts:
        for quantity in part["quantities"]:
            if quantity["quantity"] == name:
                for entry in quantity["histogram"]:
                    key = (entry["from"], entry["to"])
                    bins[key] = bins.get(key, 0) + entry["count"]
    return dict(sorted(bins.items()))


def histograms(parts):
    lines = []
    for device in sorted({device_name(part) for part in parts}):
        mine = [part for part in parts if device_name(part) == device]
        for name in SHOWN:
            bins = merged(mine, name)
            if not bins:
                continue
            lines += ["```text", f"{device}, {name}"]
            most = max(bins.values())
            for (low, high), count in bins.items():
                bar = "#" * max(1 if count else 0, round(BAR * count / most))
                lines.append(f"{number(low):>9} to {number(high):>9} {count:>8,} {bar}".rstrip())
            lines += ["```", ""]
    return lines


def failures(found):
    if not found:
        return ["None.", ""]
    return table(["device", "networks", "reason", "for example"],
                 [[entry["device"], f"{entry['count']:,}", entry["error"].replace("|", "/"),
                   entry["example"]] for entry in found])


def figures(info):
    lines = [f"{info['labels']:,} labels of {info['networks']:,} distinct networks in {info['files']} "
             f"files, {info['file_bytes'] / 1e6:.1f} MB.", ""]
    lines += ["### Networks", ""] + counts(info["parts"])
    lines += ["### Failures", ""] + failures(info["failures"])
    lines += ["### Ranges", ""]
    if info["energy_table"]:
        lines += [f"`energy_mj` is derived with the table of costs '{info['energy_table']}'.", ""]
    lines += ranges(info["parts"]) + ["### Histograms", "", "All spaces together.", ""]
    return lines + histograms(info["parts"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("--tool", default=str(SOURCE / "build" / "edgesage"))
    parser.add_argument("--card", type=Path, default=SOURCE / "docs" / "data_card.md")
    arguments = parser.parse_args()
    answer = subprocess.run([arguments.tool, "dataset", "info", str(arguments.labels), "--format",
                             "json"], check=True, capture_output=True, text=True)
    text = arguments.card.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"{arguments.card}: needs one line {BEGIN} and after it one line {END}")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    body = "\n".join(figures(json.loads(answer.stdout)))
    arguments.card.write_text(f"{before}{BEGIN}\n\n{body}{END}{after}")


if __name__ == "__main__":
    main()
