#!/usr/bin/env python3
"""The main job of edgesage on real models: predict, then compile and measure, and show both.

  demo.py [MODEL ...]     published models where there are any, otherwise networks of our own
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = Path(os.environ.get("EDGESAGE_BINARY_DIR", ROOT / "build")) / "edgesage"
NPU = "ethos-u55-256"
HOST = "host-litert"

# MLPerf Tiny's int8 networks, by parts of their file names.
PUBLISHED = ("kws_ref_model.tflite", "vww_96_int8", "pretrainedResnet_quant", "ToyCar_quant")


def edgesage(*arguments):
    """The tool's JSON answer; its diagnostics go through. None where it has no answer."""
    run = subprocess.run([str(TOOL), *map(str, arguments), "--format", "json", "--quiet"],
                         stdout=subprocess.PIPE, check=False)
    return json.loads(run.stdout) if run.stdout else None


def models(named, scratch):
    if named:
        return [Path(name) for name in named]
    data = os.environ.get("EDGESAGE_DATA_DIR")
    folder = Path(data) / "models" / "tflite" / "tiny" if data else None
    if folder and folder.is_dir():
        found = [path for part in PUBLISHED for path in sorted(folder.glob(f"*{part}*"))]
        if found:
            return found
    print("No published models here (set EDGESAGE_DATA_DIR): networks of our own spaces instead.\n")
    made = []
    for space in ("keyword-sound", "mobile-classifier"):
        answer = edgesage("generate", "--space", space, "--count", 2, "--seed", 3, "-o", scratch)
        made += [Path(network["file"]) for network in answer["networks"]]
    return made


def figures(answer, key, quantity):
    """Model -> the entry's quantity, or the reason why there is none."""
    out = {}
    for entry in (answer or {}).get(key, []):
        if entry.get("error"):
            out[entry["model"]] = entry["error"]["message"]
        else:
            value = entry.get(quantity)
            out[entry["model"]] = value if value is not None else entry.get("missing", {}).get(
                quantity, "not known")
    return out


def number(figure):
    if isinstance(figure, dict):
        return figure["value"]
    return figure if isinstance(figure, (int, float)) else None


def error_text(predicted, actual):
    if predicted is None or not actual:
        return ""
    return f"{100 * (predicted / actual - 1):+.1f} %"


def interval_text(figure, scale, unit):
    if not isinstance(figure, dict):
        return "-"
    low, high = figure["lo"] * scale, figure["hi"] * scale
    return f"{figure['value'] * scale:.4g} {unit} ({low:.3g} to {high:.3g})"


def table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def short(path):
    name = Path(path).name
    return name if len(name) <= 34 else name[:15] + "..." + name[-16:]


def compare(paths, device, scratch):
    """Lines of the table for one device: latency, and memory where the device has its own."""
    predictable = {entry["device"] for entry in edgesage("devices")["devices"]
                   if entry["predict"]["possible"]}
    predicted = edgesage("predict", *paths, "--device", device) if device in predictable else None
    measured = edgesage("measure", *paths, "--device", device)
    rows = []
    quantities = (("latency", "latency_ms", "latency_ms", 1, "ms"),
                  ("SRAM", "peak_ram_bytes", "sram_bytes", 1e-3, "kB"))
    for label, predicted_key, measured_key, scale, unit in quantities:
        guesses = figures(predicted, "predictions", predicted_key)
        truths = figures(measured, "measurements", measured_key)
        for path in map(str, paths):
            truth, guess = truths.get(path), guesses.get(path)
            value = number(truth)
            if value is None and label != "latency":
                continue
            statistic = truth["statistic"] if isinstance(truth, dict) else ""
            actual = f"{value * scale:.4g} {unit} {statistic}" if value is not None else "failed"
            rows.append([short(path), device, label, interval_text(guess, scale, unit),
                         actual.strip(), error_text(number(guess), value)])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        paths = models(options.models, scratch)
        print(f"$ edgesage predict {paths[0].name} --device {NPU}\n", flush=True)
        code = subprocess.run([str(TOOL), "predict", str(paths[0]), "--device", NPU],
                              check=False).returncode
        print("\nPredicted, and then compiled with Vela or run with LiteRT on this computer:\n",
              flush=True)
        rows = [["model", "device", "", "predicted (90 %)", "compiled or measured", "error"]]
        for device in (NPU, HOST):
            rows += compare(paths, device, scratch)
        table(rows)
        if not any(row[1] == HOST and row[3] != "-" for row in rows[1:]):
            print(f"\n{HOST} is this computer: no predictor can come with the program. Learn one "
                  "with\nedgesage calibrate --device host-litert.")
        return code


if __name__ == "__main__":
    sys.exit(main())
