"""Compares what edgesage reads in .onnx files with what the onnx package reads.

Usage: compare_onnx_dump.py DUMP_ONNX < paths, one a line
Files that define functions are compared after the package's own inliner, in what does not depend
on names. Prints one line a difference and a summary; exit status 1 where anything differs.
"""

import collections
import hashlib
import json
import struct
import subprocess
import sys

import numpy as np
import onnx
import onnx.inliner
from onnx import numpy_helper

KINDS = {
    None: 0,
    "tensor_type": 1,
    "sparse_tensor_type": 2,
    "sequence_type": 3,
    "map_type": 4,
    "optional_type": 5,
}
PACKED_BITS = {
    "INT4": 4,
    "UINT4": 4,
    "FLOAT4E2M1": 4,
    "INT2": 2,
    "UINT2": 2,
    "FLOAT6E2M3": 6,
    "FLOAT6E3M2": 6,
}


def hexed(text):
    return (text if isinstance(text, bytes) else text.encode()).hex()


def bits(value):
    return struct.pack(">d", value).hex()


def domain_of(text):
    return hexed("" if text == "ai.onnx" else text)


def sum_of(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) & 0xFFFFFFFFFFFFFFFF
    return total


def raw_bytes(tensor):
    """The elements as raw_data would hold them, by way of numpy."""
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    array = numpy_helper.to_array(tensor)
    packed = PACKED_BITS.get(onnx.TensorProto.DataType.Name(tensor.data_type))
    if packed is None:
        return array.tobytes()
    # One bit after the other, the lowest of each element first.
    values = array.view(np.uint8).reshape(-1, 1)
    return np.packbits((values >> np.arange(packed)) & 1, bitorder="little").tobytes()


def type_of(proto):
    kind = proto.WhichOneof("value") if proto is not None else None
    result = {"kind": KINDS[kind], "element": 0, "shape": None}
    member = getattr(proto, kind) if kind else None
    if kind in ("tensor_type", "sparse_tensor_type"):
        result["element"] = member.elem_type
        if member.HasField("shape"):
            result["shape"] = [
                "s" + hexed(dim.dim_param)
                if dim.WhichOneof("value") == "dim_param"
                else (dim.dim_value if dim.WhichOneof("value") else -1)
                for dim in member.shape.dim
            ]
    elif kind == "map_type":
        result["element"] = member.key_type
        result["inner"] = plain_type(member.value_type)
    elif kind:
        result["inner"] = plain_type(member.elem_type)
    return result


def plain_type(proto):
    result = type_of(proto)
    del result["shape"]
    return result


def value_of(proto):
    return {
        "name": hexed(proto.name),
        "type": type_of(proto.type if proto.HasField("type") else None),
    }


def tensor_of(proto):
    is_string = proto.data_type == onnx.TensorProto.STRING
    data = b"" if is_string else raw_bytes(proto)
    return {
        "name": hexed(proto.name),
        "element": proto.data_type,
        "dims": list(proto.dims),
        "bytes": len(data),
        "hash": sum_of(data),
        "strings": [hexed(text) for text in proto.string_data],
        "missing": False,
        "sparse": False,
    }


def sparse_of(proto):
    result = tensor_of(proto.values)
    result.update(dims=list(proto.dims), bytes=0, hash=0, strings=[], sparse=True)
    return result


class Graphs:
    """The graphs of a model in the order in which they are found, breadth first."""

    def __init__(self, model):
        self.found = [(model.graph, -1)]
        self.dumped = []
        imports = {o.domain if o.domain != "ai.onnx" else "": o.version for o in model.opset_import}
        while len(self.dumped) < len(self.found):
            graph, parent = self.found[len(self.dumped)]
            self.dumped.append(self.dump(graph, parent, len(self.dumped), imports))

    def add(self, graph, parent):
        self.found.append((graph, parent))
        return len(self.found) - 1

    def attribute(self, proto, index):
        kinds = onnx.AttributeProto
        tensors, graphs, types = [], [], []
        if proto.type == kinds.TENSOR:
            tensors = [tensor_of(proto.t)]
        elif proto.type == kinds.TENSORS:
            tensors = [tensor_of(one) for one in proto.tensors]
        elif proto.type == kinds.SPARSE_TENSOR:
            tensors = [sparse_of(proto.sparse_tensor)]
        elif proto.type == kinds.SPARSE_TENSORS:
            tensors = [sparse_of(one) for one in proto.sparse_tensors]
        elif proto.type == kinds.GRAPH:
            graphs = [self.add(proto.g, index)]
        elif proto.type == kinds.GRAPHS:
            graphs = [self.add(one, index) for one in proto.graphs]
        elif proto.type == kinds.TYPE_PROTO:
            types = [type_of(proto.tp)]
        elif proto.type == kinds.TYPE_PROTOS:
            types = [type_of(one) for one in proto.type_protos]
        return {
            "name": hexed(proto.name),
            "kind": proto.type,
            "f": bits(proto.f),
            "i": proto.i,
            "s": hexed(proto.s),
            "floats": [bits(value) for value in proto.floats],
            "ints": list(proto.ints),
            "strings": [hexed(value) for value in proto.strings],
            "tensors": tensors,
            "graphs": graphs,
            "types": types,
        }

    def dump(self, graph, parent, index, imports):
        given = {tensor.name for tensor in graph.initializer}
        given |= {tensor.values.name for tensor in graph.sparse_initializer}
        nodes = []
        for node in graph.node:
            domain = "" if node.domain == "ai.onnx" else node.domain
            nodes.append(
                {
                    "op_type": hexed(node.op_type),
                    "domain": domain_of(node.domain),
                    "name": hexed(node.name),
                    "since": imports.get(domain),
                    "inputs": [hexed(name) for name in node.input],
                    "outputs": [hexed(name) for name in node.output],
                    "attributes": [self.attribute(one, index) for one in node.attribute],
                }
            )
        return {
            "name": hexed(graph.name),
            "parent": parent,
            "nodes": nodes,
            "initializers": [tensor_of(one) for one in graph.initializer]
            + [sparse_of(one) for one in graph.sparse_initializer],
            "inputs": [
                value_of(one) for one in graph.input if parent >= 0 or one.name not in given
            ],
            "outputs": [value_of(one) for one in graph.output],
            "value_info": [value_of(one) for one in graph.value_info],
        }


def expected(model):
    return {
        "ir_version": model.ir_version,
        "producer": hexed(model.producer_name),
        "metadata": len(model.metadata_props),
        "opsets": [[domain_of(one.domain), one.version] for one in model.opset_import],
        "graphs": Graphs(model).dumped,
    }


def without_names(dumped):
    """What inlining leaves alike, however the values inside are called and nodes are ordered."""
    counts = collections.Counter()
    for graph in dumped["graphs"]:
        for node in graph["nodes"]:
            attributes = [
                {k: v for k, v in one.items() if k != "graphs"} for one in node["attributes"]
            ]
            attributes.sort(key=lambda one: one["name"])
            text = json.dumps([node["domain"], node["op_type"], len(node["inputs"]), attributes], sort_keys=True)
            name = bytes.fromhex(node["op_type"]).decode()
            counts[name + " " + hashlib.sha1(text.encode()).hexdigest()[:8]] += 1
    main = dumped["graphs"][0]
    return {
        "nodes": dict(counts),
        "inputs": main["inputs"],
        "outputs": main["outputs"],
        "initializers": main["initializers"],
        "graphs": len(dumped["graphs"]),
    }


def differences(ours, theirs, place):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(set(ours) | set(theirs)):
            if key not in ours or key not in theirs:
                yield f"{place}.{key}: ours {ours.get(key)!r}, theirs {theirs.get(key)!r}"
            else:
                yield from differences(ours[key], theirs[key], f"{place}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        if len(ours) != len(theirs):
            yield f"{place}: {len(ours)} elements, theirs {len(theirs)}"
        for index, (left, right) in enumerate(zip(ours, theirs)):
            yield from differences(left, right, f"{place}[{index}]")
    elif ours != theirs:
        yield f"{place}: ours {ours!r}, theirs {theirs!r}"


def main():
    paths = sys.stdin.read().split("\n")
    paths = [path for path in paths if path]
    run = subprocess.run(
        [sys.argv[1], "-"], input="\n".join(paths), capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    assert len(lines) == len(paths), (len(lines), len(paths))
    bad, counts = 0, collections.Counter()
    for path, line in zip(paths, lines):
        ours = json.loads(line)
        if "error" in ours:
            print(ours["error"])
            bad += 1
            continue
        del ours["warnings"]
        model = onnx.load(path, load_external_data=False)
        if model.functions:
            counts["files with functions"] += 1
            model = onnx.inliner.inline_local_functions(model)
            left, right = without_names(ours), without_names(expected(model))
        else:
            left, right = ours, expected(model)
            if not model.opset_import:
                counts["files without operator sets"] += 1
                del left["opsets"], right["opsets"]
                for graph in left["graphs"] + right["graphs"]:
                    for node in graph["nodes"]:
                        del node["since"]
        for difference in differences(left, right, path):
            print(difference)
            bad += 1
        counts["files"] += 1
        for graph in ours["graphs"]:
            counts["graphs"] += 1
            for key in ("nodes", "initializers", "inputs", "outputs", "value_info"):
                counts[key] += len(graph[key])
            for node in graph["nodes"]:
                counts["attributes"] += len(node["attributes"])
            for tensor in graph["initializers"]:
                counts["bytes of weights"] += tensor["bytes"]
    print("compared " + ", ".join(f"{v} {k}" for k, v in counts.items()) + f": {bad} differences")
    return 1 if bad or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
