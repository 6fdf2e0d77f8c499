"""Rewrites models with edgesage and checks that LiteRT computes the same bits from both files.

Usage: compare_outputs.py REWRITE_TFLITE WORK_DIR FILE...
Every file that LiteRT runs is read, unmapped, its buffers shuffled and its names dropped, written and
run again on seeded random inputs. Each run has a process of its own, since the runtime crashes on some
files. A file is an int8 file if a tensor that is no constant has that type. Prints one line a failure,
why files were skipped, and the counts; exit status 1 on any failure.
"""

import multiprocessing
import os
import subprocess
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

SEED = 20240607
INVOCATIONS = 2  # state carried from one to the next counts too
DEADLINE_SECONDS = 120
# Where the first cannot run a file, the second may.
RESOLVERS = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
FORK = multiprocessing.get_context("fork")


def has_int8_activation(path):
    with open(path, "rb") as file:
        model = schema.Model.GetRootAs(file.read(), 0)
    for index in range(model.SubgraphsLength()):
        graph = model.Subgraphs(index)
        for tensor_index in range(graph.TensorsLength()):
            tensor = graph.Tensors(tensor_index)
            buffer = model.Buffers(tensor.Buffer())
            constant = tensor.Buffer() and (buffer.DataLength() or buffer.Offset() > 1)
            if tensor.Type() == schema.TensorType.INT8 and not constant:
                return True
    return False


def random_input(generator, detail):
    shape, dtype = detail["shape"], np.dtype(detail["dtype"])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = (limits.min, limits.max) if dtype.itemsize == 1 else (1, 2)
        return generator.integers(low, high, size=shape, dtype=dtype, endpoint=True)
    if dtype.kind == "b":
        return generator.integers(0, 2, size=shape).astype(dtype)
    if dtype.kind in "fc":
        return generator.standard_normal(shape).astype(dtype)
    return np.full(shape, b"edge", dtype=object)


def bits(value):
    content = value.tolist() if value.dtype == object else value.tobytes()
    return str(value.dtype), value.shape, content


def run_here(path, resolver):
    interpreter = Interpreter(
        model_path=path, num_threads=1, experimental_op_resolver_type=resolver
    )
    interpreter.allocate_tensors()
    generator = np.random.default_rng(SEED)
    results = []
    for _ in range(INVOCATIONS):
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], random_input(generator, detail))
        interpreter.invoke()
        for detail in interpreter.get_output_details():
            results.append(bits(interpreter.get_tensor(detail["index"])))
    return results


def child(path, resolver, answers):
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        answers.send((run_here(path, resolver), None))
    except Exception as error:  # whatever the runtime says is the reason
        answers.send((None, " ".join(str(error).split())[:160]))


def run_apart(path, resolver):
    """The outputs and no reason, or no outputs and the reason."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=(path, resolver, sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(DEADLINE_SECONDS):
            process.kill()
            return None, "no answer in time"
        return receiver.recv()
    except EOFError:
        process.join()
        return None, f"the runtime crashed (exit {process.exitcode})"
    finally:
        process.join()


def compare(tool, work_dir, index, path):
    """ "same", "skipped: why", or what is wrong."""
    for resolver in RESOLVERS:
        theirs, reason = run_apart(path, resolver)
        if theirs is not None:
            break
    else:
        return f"skipped: {reason}"
    target = os.path.join(work_dir, f"{index}.tflite")
    rewrite = subprocess.run(
        [tool, "rewrite", path, target, str(SEED + index)], capture_output=True, check=False
    )
    if rewrite.returncode != 0:
        return f"not rewritten: {rewrite.stderr.decode('utf-8', 'replace').strip()}"
    ours, reason = run_apart(target, resolver)
    if ours is None:
        return f"LiteRT does not run the rewritten file: {reason}"
    return "same" if ours == theirs else "outputs differ"


def summary(name, answers):
    same = answers.count("same")
    skipped = sum(answer.startswith("skipped") for answer in answers)
    print(
        f"{name}: {len(answers)} files, {same} give the same outputs bit for bit, "
        f"{skipped} not run by LiteRT, {len(answers) - same - skipped} failed"
    )
    return same > 0 and same + skipped == len(answers)


def main():
    tool, work_dir, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    answers = [compare(tool, work_dir, index, path) for index, path in enumerate(files)]
    int8 = [has_int8_activation(path) for path in files]
    for path, answer, is_int8 in zip(files, answers, int8):
        if answer != "same":
            print(f"{os.path.basename(path)}{' (int8)' if is_int8 else ''}: {answer}")
    good = summary("int8", [answer for answer, is_int8 in zip(answers, int8) if is_int8])
    return 0 if summary("all", answers) and good else 1


if __name__ == "__main__":
    sys.exit(main())
