"""Compares the types that edgesage infers in ONNX files with those of the onnx package.

Usage: compare_shapes.py INFER_ONNX EXCEPTIONS FILE...
value_info and the shapes of outputs are taken out of each file first, in all its graphs, so that
both sides have to infer them. Of every value whose shape the package knows fully, ours has to be
equal; ours may know more. EXCEPTIONS names values where the package is known to be wrong or to
know less than it could, a line each: file name, value, why. Also, where test data lie beside a
model, inferred shapes of outputs are compared with the arrays that the model gives.
Prints one line a difference and a summary; exit status 1 where anything differs.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import shape_inference

TENSOR = 1


def bodies(graph):
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g
            yield from attribute.graphs


def graphs_of(main):
    todo = [main]
    while todo:
        graph = todo.pop()
        yield graph
        todo.extend(bodies(graph))


def without_shape(type_proto):
    kind = type_proto.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        type_proto = getattr(type_proto, kind).elem_type
        kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        getattr(type_proto, kind).ClearField("shape")


def strip(model):
    for graph in graphs_of(model.graph):
        del graph.value_info[:]
        for output in graph.output:
            without_shape(output.type)


def known(type_proto):
    """(element type, shape or None) of a tensor, None of anything else."""
    if type_proto.WhichOneof("value") != "tensor_type":
        return None
    tensor = type_proto.tensor_type
    if not tensor.HasField("shape"):
        return tensor.elem_type, None
    dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
    return tensor.elem_type, None if any(d < 0 for d in dims) else dims


def oracle(model):
    """Values of all graphs by name; a name that several graphs have is left out."""
    inferred = shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    values, twice = {}, set()
    for graph in graphs_of(inferred.graph):
        names = {}
        for value in [*graph.value_info, *graph.output]:
            if value.name and value.type.WhichOneof("value"):
                names.setdefault(value.name, known(value.type))
        for name, value in names.items():
            if name in values:
                twice.add(name)
            values[name] = value
    return {k: v for k, v in values.items() if v and k not in twice}


def ours_of(line):
    values, twice = {}, set()
    for graph in line.get("graphs", []):
        for name, value in graph.items():
            if name in values:
                twice.add(name)
            values[name] = value
    return {k: v for k, v in values.items() if k not in twice}


def test_outputs(path):
    """Shapes of the arrays beside a test model, by the position of the output."""
    for folder in sorted(path.parent.glob("test_data_set_*"))[:1]:
        for file in folder.glob("output_*.pb"):
            tensor = onnx.TensorProto()
            try:
                tensor.ParseFromString(file.read_bytes())
            except Exception:  # a sequence or an optional
                continue
            if tensor.data_type:
                yield int(file.stem.split("_")[1]), tensor.data_type, list(tensor.dims)


def exceptions_in(path):
    result = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            file, value, why = (part.strip() for part in line.split(",", 2))
            result[file, value] = why
    return result


class Comparison:
    def __init__(self, exceptions):
        self.exceptions = exceptions
        self.counts = collections.Counter()
        self.used = set()

    def differ(self, key, path, name, text):
        if (key, name) in self.exceptions:
            self.used.add((key, name))
            self.counts["exceptions"] += 1
            return
        self.counts["differences"] += 1
        print(f"{path}: {name}: {text}")

    def values(self, path, key, ours, theirs, made):
        for name, (element, shape) in theirs.items():
            mine = ours.get(name)
            if mine is None:
                self.counts["not there"] += 1
                continue
            if element:
                self.counts["types"] += 1
                if mine[1] != element:
                    self.differ(key, path, name, f"element type {mine[1]}, theirs {element}")
            if shape is None:
                if mine[2] is not None and all(d >= 0 for d in mine[2]):
                    self.counts["beyond"] += 1
                continue
            self.counts["shapes"] += 1
            if mine[2] != shape:
                self.differ(key, path, name, f"shape {mine[2]}, theirs {shape}")
        for name, mine in ours.items():
            if name in made and name not in theirs and mine[0] == TENSOR and mine[2] is not None:
                self.counts["ours alone"] += all(d >= 0 for d in mine[2])

    def arrays(self, path, key, model, ours):
        for position, element, shape in test_outputs(path):
            if position >= len(model.graph.output):
                continue
            name = model.graph.output[position].name
            mine = ours.get(name)
            if mine is None or mine[2] is None:
                continue
            self.counts["arrays"] += 1
            fits = len(mine[2]) == len(shape) and all(
                m in (-1, d) for m, d in zip(mine[2], shape)
            )
            if not fits or mine[1] not in (0, element):
                self.differ(key, path, name, f"{mine[:3]}, the array is {element} {shape}")


def main():
    tool, exceptions, files = sys.argv[1], exceptions_in(sys.argv[2]), sys.argv[3:]
    if files == ["-"]:
        files = sys.stdin.read().split("\n")[:-1]
    comparison = Comparison(exceptions)
    with tempfile.TemporaryDirectory() as folder:
        models, stripped = [], []
        for index, name in enumerate(files):
            path = pathlib.Path(name)
            try:
                model = onnx.load(name, load_external_data=False)
            except Exception:
                continue
            strip(model)
            target = pathlib.Path(folder) / f"{index}.onnx"
            target.write_bytes(model.SerializeToString())
            models.append((path, target))
        stripped = "".join(f"{target}\n" for _, target in models)
        run = subprocess.run(
            [tool, "--open", "-"], input=stripped, capture_output=True, text=True, check=False
        )
        lines = run.stdout.splitlines()
        if run.returncode != 0 or len(lines) != len(models):
            print(f"the tool ended with {run.returncode} after {len(lines)} of {len(models)} files")
            print(run.stderr[-1000:])
            return 1
        for (path, target), line in zip(models, lines):
            key = path.parent.name + "/" + path.name
            ours = json.loads(line)
            if "error" in ours:
                comparison.differ(key, path, "*", ours["error"])
                continue
            model = onnx.load(str(target), load_external_data=False)
            try:
                theirs = oracle(model)
            except Exception as error:
                comparison.counts["refused by the package"] += 1
                theirs = {}
            comparison.counts["models"] += 1
            made = {o for g in graphs_of(model.graph) for node in g.node for o in node.output}
            comparison.values(path, key, ours_of(ours), theirs, made)
            comparison.arrays(path, key, model, ours_of(ours))
    for unused in sorted(set(exceptions) - comparison.used):
        if any(unused[0] == p.parent.name + "/" + p.name for p, _ in models):
            print(f"not needed any more: the exception {unused}")
    counts = comparison.counts
    print(
        f"compared {counts['models']} models, {counts['types']} element types, "
        f"{counts['shapes']} shapes, {counts['arrays']} arrays: {counts['differences']} "
        f"differences, {counts['exceptions']} exceptions; known beyond: {counts['beyond']} open "
        f"there, {counts['ours alone']} absent there; {counts['not there']} values have another "
        f"name here, {counts['refused by the package']} models are refused there"
    )
    return 1 if counts["differences"] or not counts["models"] else 0


if __name__ == "__main__":
    sys.exit(main())
