#!/usr/bin/env python3
"""How much of a network's latency a calibrated predictor charges to the wrong operators, by ONNX
Runtime's own profile.

    .venv/bin/python scripts/check_attribution.py [--networks 64] [--budget 48] [--work DIR]

Writes convolutional networks as PyTorch exports them, each of another shape. Of three quarters of
them `edgesage calibrate` chooses, measures and learns; the others it never sees. These are predicted,
and measured for the times of their operators. The share of the wrong operator is half of the sum of the
absolute differences between both sides' shares of the total; MACs as shares stand beside it. Exit
code 1 where the mean is above --bar. In DIR (kept, and gone on with) or a folder that is removed.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICE = "host-onnxruntime"


class Writer:
    """A network of random size: a stem, then convolutions, separable blocks and residual ones."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def choose(self, *values):
        return int(self.random.choice(values))

    def node(self, kind, inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape).astype(numpy.float32) * 0.05
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def convolution(self, x, channels, filters, side, stride=1, depthwise=False, activation=True):
        kernel = self.weight(filters, 1 if depthwise else channels, side, side)
        x = self.node("Conv", [x, kernel, self.weight(filters)], strides=[stride] * 2,
                      pads=[side // 2] * 4, group=channels if depthwise else 1)
        return self.node("Relu", [x]) if activation else x

    def block(self, x, channels):
        kind, side, stride = self.choose(0, 1, 2), self.choose(3, 5), self.choose(1, 1, 2)
        filters = self.choose(16, 24, 32, 48, 64)
        if kind == 0:
            return self.convolution(x, channels, filters, side, stride), filters
        wide = channels * self.choose(2, 4, 6)
        filters = channels if kind == 2 else filters
        y = self.convolution(x, channels, wide, 1)
        y = self.convolution(y, wide, wide, side, stride, depthwise=True)
        y = self.convolution(y, wide, filters, 1, activation=False)
        return (self.node("Add", [y, x]) if kind == 2 and stride == 1 else y), filters

    def write(self, path):
        side, channels = self.choose(48, 64, 80, 96), self.choose(8, 16, 24, 32)
        x = self.convolution("x", 3, channels, 3, 2)
        for _ in range(self.choose(2, 3, 4, 5)):
            x, channels = self.block(x, channels)
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        x = self.node("Gemm", [x, self.weight(channels, 10), self.weight(10)])
        graph = helper.make_graph(
            self.nodes, "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, side, side])],
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 10])], self.weights)
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def write_networks(folder, count):
    """Every fourth is for checking."""
    folders = {name: folder / name for name in ("learn", "check")}
    for place in folders.values():
        place.mkdir(parents=True, exist_ok=True)
    for seed in range(count):
        path = folders["learn" if seed % 4 else "check"] / f"network{seed:03d}.onnx"
        if not path.exists():
            Writer(seed).write(path)
    return folders


def shares(values):
    total = sum(values.values()) or 1
    return {key: value / total for key, value in values.items()}


def misplaced(truth, guess):
    truth, guess = shares(truth), shares(guess)
    return 0.5 * sum(abs(truth.get(key, 0) - guess.get(key, 0)) for key in truth.keys() | guess)


def compare(measured, predicted):
    """Per network: what the predictor and the MACs misplace, and the error of the whole."""
    rows = []
    for real, ours in zip(measured, predicted, strict=True):
        if real["error"] or not ours["latency_ms"]:
            print(f"{real['model']}: {real['error'] or 'not predicted'}", file=sys.stderr)
            continue
        truth = {op["index"]: op["ns"] for op in real["operators"]}
        guess = {op["index"]: op["latency_ms"] or 0 for op in ours["operators"]}
        # What belongs to no operator is misplaced as well: the profile has no such row.
        guess["overhead"] = ours["overhead_ms"] or 0
        macs = {op["index"]: op["macs"] or 0 for op in ours["operators"]}
        error = abs(ours["latency_ms"]["value"] / real["latency_ms"]["value"] - 1)
        rows.append((misplaced(truth, guess), misplaced(truth, macs), error))
    return rows


def run(tool, *arguments):
    answer = subprocess.run([str(tool), *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                            check=False)
    if answer.returncode not in (0, 5):  # 5: a series among several was too noisy
        sys.exit(f"check_attribution: edgesage {arguments[0]} ended with {answer.returncode}")
    return answer.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--edgesage", default=ROOT / "build" / "edgesage")
    parser.add_argument("--networks", type=int, default=64)
    parser.add_argument("--budget", type=int, default=48)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--measure-unfit", action="store_true", help="also on a busy machine")
    parser.add_argument("--bar", type=float, default=20, help="percent")
    parser.add_argument("--work", type=pathlib.Path)
    options = parser.parse_args()
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="edgesage-attribution-"))
    try:
        folders = write_networks(work, options.networks)
        predictor = work / "predictor.edgesage"
        unfit = ["--measure-unfit"] if options.measure_unfit else []
        run(options.edgesage, "calibrate", "--device", DEVICE, "--models", folders["learn"],
            "--budget", options.budget, "--members", options.members, "--epochs", options.epochs,
            "--predictor", predictor, *unfit)
        check = sorted(folders["check"].glob("*.onnx"))
        measured = json.loads(run(options.edgesage, "measure", *check, "--device", DEVICE,
                                  "--attempts", 3, "--format", "json"))["measurements"]
        predicted = json.loads(run(options.edgesage, "predict", *check, "--device", DEVICE,
                                   "--predictor", predictor, "--format", "json"))["predictions"]
    finally:
        if options.work is None:
            shutil.rmtree(work)
    rows = compare(measured, predicted)
    if not rows:
        sys.exit("check_attribution: nothing could be compared")
    print(f"{len(rows)} networks that were not learnt from")
    for name, values in zip(("on the wrong operator", "by MACs alone", "error of the whole"),
                            zip(*rows, strict=True), strict=True):
        print(f"{name:22}  mean {100 * statistics.mean(values):5.1f} %  median "
              f"{100 * statistics.median(values):5.1f} %  most {100 * max(values):5.1f} %")
    mean = 100 * statistics.mean(row[0] for row in rows)
    return 0 if mean <= options.bar else 1


if __name__ == "__main__":
    sys.exit(main())
