"""Reading models beside other readers, in turn, in the same run: ./dev bench --readers runs it.

    compare_readers.py READ_BENCH [FILE...] [--rounds 7] [--seconds 0.2]

Ours is the file opened, mapped, checked, and of .onnx turned into tables ("tables") or with all shapes into
a Graph ("graph"); of .tflite into a Graph. Beside it, for .onnx onnx.load, with onnx.shape_inference for
the Graph, and for .tflite FlatBuffers' Python reader over LiteRT's own generated schema: once a walk
over all tensors and operators, once its object interface, which unpacks everything. None of them
checks what it reads. Each round times every reader once, by processor time; the table has the least
of each, in microseconds, and how often ours fits into the others. Without files: a network of 100
operators of each format, and those of EDGESAGE_DATA_DIR that are nearest to 30, 100 and 300.
"""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import flatbuffers  # noqa: F401  what the generated schema reads with
import onnx
import onnx.shape_inference
from ai_edge_litert import schema_py_generated as schema

SIZES = (30, 100, 300)  # operators


def walk(path):
    """Names, types and shapes of all tensors, operands of all operators: what a Graph has."""
    model = schema.Model.GetRootAs(pathlib.Path(path).read_bytes(), 0)
    seen = 0
    codes = [model.OperatorCodes(i).BuiltinCode() for i in range(model.OperatorCodesLength())]
    for s in range(model.SubgraphsLength()):
        graph = model.Subgraphs(s)
        for t in range(graph.TensorsLength()):
            tensor = graph.Tensors(t)
            seen += len(tensor.Name() or b"") + tensor.Type() + tensor.Buffer()
            seen += sum(tensor.Shape(i) for i in range(tensor.ShapeLength()))
            quantization = tensor.Quantization()
            seen += quantization.ScaleLength() if quantization is not None else 0
        for o in range(graph.OperatorsLength()):
            operator = graph.Operators(o)
            seen += codes[operator.OpcodeIndex()]
            seen += sum(operator.Inputs(i) for i in range(operator.InputsLength()))
            seen += sum(operator.Outputs(i) for i in range(operator.OutputsLength()))
    return seen


def unpack(path):
    return schema.ModelT.InitFromPackedBuf(pathlib.Path(path).read_bytes(), 0)


def load_and_infer(path):
    return onnx.shape_inference.infer_shapes(onnx.load(path))


# By ending: name, what of ours it is compared with, function.
OTHERS = {
    ".onnx": [("onnx.load", "tables", onnx.load), ("onnx.load, infer_shapes", "graph", load_and_infer)],
    ".tflite": [("FlatBuffers, walk", "graph", walk), ("FlatBuffers, objects", "graph", unpack)],
}


def microseconds(read, path, seconds):
    """The least of several calls."""
    best, end = float("inf"), time.process_time() + seconds
    while time.process_time() < end or best == float("inf"):
        start = time.process_time()
        read(str(path))
        best = min(best, time.process_time() - start)
    return best * 1e6


def ours(bench, path, what, seconds):
    tables = ["--tables"] if what == "tables" else []
    answer = subprocess.run([bench, f"--time={path}", f"--seconds={seconds}", *tables], check=True,
                            capture_output=True, text=True)
    return float(answer.stdout)


def published():
    """Of each format, the file whose number of operators is nearest to each of SIZES."""
    data = os.environ.get("EDGESAGE_DATA_DIR")
    index = pathlib.Path(data or "", "models", "index.csv")
    if not data or not index.exists():
        print("no published models: EDGESAGE_DATA_DIR is not set", file=sys.stderr)
        return []
    with index.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["ops"].isdigit()]
    chosen = []
    for kind in ("tflite", "onnx"):
        of_kind = [row for row in rows if row["kind"] == kind]
        for size in SIZES if of_kind else ():
            row = min(of_kind, key=lambda row: abs(int(row["ops"]) - size))
            if (index.parent / row["file"], row["ops"]) not in chosen:
                chosen.append((index.parent / row["file"], row["ops"]))
    return chosen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [(path, "") for path in options.files]
        if not files:
            for ending in OTHERS:
                path = pathlib.Path(folder, "generated" + ending)
                subprocess.run([options.bench, f"--write={path}"], check=True)
                files.append((path, "100"))
            files += published()
        print("| file | bytes | operators | ours, us | other reader | us | times ours |")
        print("|---|---|---|---|---|---|---|")
        for path, operators in files:
            for name, what, read in OTHERS[path.suffix]:
                mine = theirs = float("inf")
                for _ in range(options.rounds):
                    mine = min(mine, ours(options.bench, path, what, options.seconds))
                    theirs = min(theirs, microseconds(read, path, options.seconds))
                print(f"| {path.name} | {path.stat().st_size:,} | {operators} | {what} {mine:,.0f} "
                      f"| {name} | {theirs:,.0f} | {theirs / mine:.1f} |", flush=True)


if __name__ == "__main__":
    main()
