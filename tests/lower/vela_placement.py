"""What Vela does with operators: one JSON object on stdout.

Usage: vela_placement.py ACCELERATOR MODEL...
Answers {"MODEL": {"npu": [true where the operator of the main subgraph runs on the NPU],
"rows": [[NNG operator, Op Cycles], ...], "macs": N, "cycles": N} or null}. Null where Vela does not
compile the file. An operator is on the NPU if no operator of its kind that writes its tensors is
left in the compiled file outside the custom operator; `--verbose-performance` is asked for apart,
since it fails for some files that compile.
"""
import concurrent.futures
import csv
import glob
import json
import os
import sys
import tempfile


def operators(path):
    from ai_edge_litert import schema_py_generated as schema

    with open(path, "rb") as file:
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(file.read(), 0))
    if not model.subgraphs:
        return []
    graph = model.subgraphs[0]
    answer = []
    for operator in graph.operators or []:
        code = model.operatorCodes[operator.opcodeIndex]
        outputs = [] if operator.outputs is None else operator.outputs
        names = tuple((graph.tensors[t].name or b"").decode("utf8", "replace") for t in outputs if t >= 0)
        kind = max(code.builtinCode, code.deprecatedBuiltinCode)
        answer.append((kind, (code.customCode or b"").decode("utf8", "replace"), names))
    return answer


def placement(before, after):
    left = [(kind, names) for kind, custom, names in after if custom != "ethos-u"]
    npu = []
    for kind, _, names in before:
        # Vela gives nameless tensors a name of its own.
        keys = [(kind, names)] + ([] if any(names) else [(kind, ("<unnamed>",) * len(names))])
        key = next((k for k in keys if k in left), None)
        if key:
            left.remove(key)
        npu.append(key is None)
    return npu


def compile_once(path, accelerator, folder, *flags):
    """In a child of this process, which has imported Vela already; a crash costs one answer."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        status = 1
        try:
            from ethosu.vela import vela

            status = vela.main([path, "--output-dir", folder, "--accelerator-config", accelerator, *flags]) or 0
        except BaseException:  # also SystemExit
            pass
        os._exit(0 if status == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def one(path, accelerator):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "model.tflite")  # the ending decides how Vela reads
        os.symlink(os.path.abspath(path), copy)
        out = os.path.join(folder, "out")
        try:
            detailed = compile_once(copy, accelerator, out, "--verbose-performance")
            if not detailed and not compile_once(copy, accelerator, out):
                return None
            after = operators(glob.glob(out + "/*_vela.tflite")[0])
            answer = {"npu": placement(operators(path), after), "rows": [], "macs": 0, "cycles": 0}
        except (IndexError, TypeError):  # no file, or one that the schema's bindings refuse
            return None
        for layers in glob.glob(out + "/*per-layer.csv") if detailed else []:
            with open(layers) as file:
                answer["rows"] = [[row["NNG Operator"], int(row["Op Cycles"])]
                                  for row in csv.DictReader(file) if row["Target"] == "NPU"]
        for summary in glob.glob(out + "/*_summary_*.csv"):
            with open(summary) as file:
                row = next(csv.DictReader(file))
            answer["macs"] = int(float(row["nn_macs"]))
            answer["cycles"] = int(float(row["cycles_total"]))
        return answer


def main():
    from ai_edge_litert import schema_py_generated  # noqa: F401, once for all children
    from ethosu.vela import vela  # noqa: F401

    accelerator, paths = sys.argv[1], sys.argv[2:]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda path: one(path, accelerator), paths))
    print(json.dumps(dict(zip(paths, answers))))


if __name__ == "__main__":
    main()
