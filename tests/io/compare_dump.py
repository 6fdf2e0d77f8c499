"""Compares what edgesage reads in .tflite files with what the runtime's own schema bindings read.

Usage: compare_dump.py REWRITE_TFLITE FILE...
Prints one line a difference and a summary; exit status 1 where anything differs.
"""

import json
import re
import subprocess
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema

OPERATOR_OPTIONS = {1: schema.BuiltinOptions, 2: schema.BuiltinOptions2}
GIVEN_UP = {"new_height", "new_width"}


def snake(camel):
    return re.sub(r"([A-Z])", lambda match: "_" + match.group(1).lower(), camel)


def names_of(enumeration):
    return {v: k for k, v in vars(enumeration).items() if isinstance(v, int)}


def text(value):
    return "" if value is None else value.decode("utf-8", "replace")


def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def options_of(operator):
    """Name of the options table and all its fields, defaults included, absent vectors left out."""
    for number, kind, options in (
        (1, operator.BuiltinOptionsType(), operator.BuiltinOptions()),
        (2, operator.BuiltinOptions2Type(), operator.BuiltinOptions2()),
    ):
        if kind == 0 or options is None:
            continue
        name = names_of(OPERATOR_OPTIONS[number])[kind]
        unpacked = getattr(schema, name + "T").InitFromBuf(options.Bytes, options.Pos)
        fields = {snake(k): plain(v) for k, v in vars(unpacked).items() if v is not None}
        return name, {k: v for k, v in fields.items() if k not in GIVEN_UP}
    return "", {}


def numbers(array):
    return [] if isinstance(array, int) else array.tolist()


def operator_of(model, operator):
    code = model.OperatorCodes(operator.OpcodeIndex())
    table, options = options_of(operator)
    return {
        "code": max(code.DeprecatedBuiltinCode(), code.BuiltinCode()),
        "custom_code": text(code.CustomCode()),
        "version": code.Version(),
        "inputs": numbers(operator.InputsAsNumpy()),
        "outputs": numbers(operator.OutputsAsNumpy()),
        "intermediates": numbers(operator.IntermediatesAsNumpy()),
        "custom_options_bytes": operator.CustomOptionsLength(),
        "options_table": table,
        "options": options,
    }


def bytes_of(model, index, file_bytes):
    """Data of a buffer, inside of the FlatBuffer or behind it."""
    buffer = model.Buffers(index)
    if buffer.DataLength():
        return buffer.DataAsNumpy().tobytes()
    if buffer.Offset() > 1:
        return file_bytes[buffer.Offset() : buffer.Offset() + buffer.Size()]
    return b""


def tensor_of(model, tensor, file_bytes):
    data = bytes_of(model, tensor.Buffer(), file_bytes) if tensor.Buffer() else b""
    quantization = tensor.Quantization()
    result = {
        "name": text(tensor.Name()),
        "type": tensor.Type(),
        "shape": numbers(tensor.ShapeAsNumpy()),
        "shape_signature": numbers(tensor.ShapeSignatureAsNumpy()),
        "has_rank": tensor.HasRank() or not tensor.ShapeIsNone(),
        "is_variable": tensor.IsVariable(),
        "bytes": len(data),
        "byte_sum": sum(data),
        "scale": numbers(quantization.ScaleAsNumpy()) if quantization else [],
        "zero_point": numbers(quantization.ZeroPointAsNumpy()) if quantization else [],
        "axis": quantization.QuantizedDimension() if quantization else 0,
        "block_size": 0,
        "block_scales": -1,
    }
    if quantization and quantization.DetailsType() == schema.QuantizationDetails.BlockwiseQuantization:
        details = quantization.Details()
        blocks = schema.BlockwiseQuantizationT.InitFromBuf(details.Bytes, details.Pos)
        result["block_size"] = blocks.blockSize
        result["block_scales"] = blocks.scales
    return result


def expected(path):
    with open(path, "rb") as file:
        file_bytes = file.read()
    model = schema.Model.GetRootAs(file_bytes, 0)
    subgraphs = []
    for index in range(model.SubgraphsLength()):
        graph = model.Subgraphs(index)
        subgraphs.append(
            {
                "name": text(graph.Name()),
                "inputs": numbers(graph.InputsAsNumpy()),
                "outputs": numbers(graph.OutputsAsNumpy()),
                "tensors": [
                    tensor_of(model, graph.Tensors(i), file_bytes)
                    for i in range(graph.TensorsLength())
                ],
                "operators": [
                    operator_of(model, graph.Operators(i)) for i in range(graph.OperatorsLength())
                ],
            }
        )
    signatures = []
    for index in range(model.SignatureDefsLength()):
        entry = model.SignatureDefs(index)
        ports = [entry.Inputs(i) for i in range(entry.InputsLength())]
        ports += [entry.Outputs(i) for i in range(entry.OutputsLength())]
        signatures.append(
            {
                "key": text(entry.SignatureKey()),
                "subgraph": entry.SubgraphIndex(),
                "ports": [[text(port.Name()), port.TensorIndex()] for port in ports],
            }
        )
    metadata = []
    for index in range(model.MetadataLength()):
        entry = model.Metadata(index)
        metadata.append([text(entry.Name()), len(bytes_of(model, entry.Buffer(), file_bytes))])
    return {
        "description": text(model.Description()),
        "subgraphs": subgraphs,
        "signatures": signatures,
        "metadata": metadata,
    }


def same(ours, theirs):
    if isinstance(ours, float) or isinstance(theirs, float):
        return ours == theirs or (ours is None and theirs != theirs)
    return ours == theirs


def differences(ours, theirs, place):
    if isinstance(theirs, dict):
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
    elif not same(ours, theirs):
        yield f"{place}: ours {ours!r}, theirs {theirs!r}"


def main():
    tool, files = sys.argv[1], sys.argv[2:]
    bad, operators, options = 0, 0, 0
    for path in files:
        run = subprocess.run([tool, "dump", path], capture_output=True, check=False)
        if run.returncode != 0:
            print(f"{path}: {run.stderr.decode('utf-8', 'replace').strip()}")
            bad += 1
            continue
        theirs = expected(path)
        for line in differences(json.loads(run.stdout), theirs, path):
            print(line)
            bad += 1
        for graph in theirs["subgraphs"]:
            operators += len(graph["operators"])
            options += sum(len(operator["options"]) for operator in graph["operators"])
    print(f"compared {len(files)} files, {operators} operators, {options} options: {bad} differences")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
