#!/usr/bin/env python3
"""Where LiteRT's built-in kernels keep the tensors of models: an oracle for the planned arena.

Reads names of files, one a line, and writes one line of JSON for each: the reach of the runtime's
two arenas, the bytes on the heap, and for every tensor (the kernels' own included) its kind of
memory, bytes and offset. A delegate that takes no operator shows where the runtime's tables are.
With --xnnpack the runtime uses XNNPACK, and the growth of the heap by the first inference is told.
"""

import ctypes
import gc
import json
import os
import sys

from ai_edge_litert.interpreter import Interpreter, OpResolverType

MEMORY = ["none", "file", "arena", "persistent", "dynamic", "constant", "custom", "variant", "other"]
ALLOW_DYNAMIC_TENSORS = 1


class Tensor(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("data", ctypes.c_void_p), ("dims", ctypes.c_void_p),
                ("scale", ctypes.c_float), ("zero_point", ctypes.c_int32),
                ("memory", ctypes.c_int), ("bytes", ctypes.c_size_t),
                ("allocation", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("delegate", ctypes.c_void_p), ("buffer_handle", ctypes.c_int),
                ("data_is_stale", ctypes.c_bool), ("is_variable", ctypes.c_bool),
                ("quantization_type", ctypes.c_int), ("quantization", ctypes.c_void_p),
                ("sparsity", ctypes.c_void_p), ("dims_signature", ctypes.c_void_p)]


class Node(ctypes.Structure):
    _fields_ = [("inputs", ctypes.c_void_p), ("outputs", ctypes.c_void_p),
                ("intermediates", ctypes.c_void_p), ("temporaries", ctypes.c_void_p)]


GetPlan = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
GetNode = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                           ctypes.POINTER(ctypes.POINTER(Node)), ctypes.POINTER(ctypes.c_void_p))


class Context(ctypes.Structure):
    """The head of TfLiteContext; the C API keeps it as it is."""
    _fields_ = [("tensors_size", ctypes.c_size_t), ("get_execution_plan", GetPlan),
                ("tensors", ctypes.POINTER(Tensor)), ("impl", ctypes.c_void_p),
                ("resize_tensor", ctypes.c_void_p), ("report_error", ctypes.c_void_p),
                ("add_tensors", ctypes.c_void_p), ("get_node", GetNode)]


Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Context), ctypes.c_void_p)


class Delegate(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("prepare", Prepare), ("copy_from", ctypes.c_void_p),
                ("copy_to", ctypes.c_void_p), ("free_handle", ctypes.c_void_p),
                ("flags", ctypes.c_int64), ("builder", ctypes.c_void_p)]


def int_array(address):
    if not address:
        return []
    size = ctypes.c_int.from_address(address).value
    return list((ctypes.c_int * size).from_address(address + ctypes.sizeof(ctypes.c_int)))


class Observer:
    """The delegate: the interpreter calls it once a subgraph, the main one first."""

    def __init__(self):
        self.graphs = []
        self._prepare = Prepare(self._remember)
        self._delegate = Delegate(prepare=self._prepare, flags=ALLOW_DYNAMIC_TENSORS)

    def _remember(self, context, _):
        plan = ctypes.c_void_p()
        address = ctypes.cast(context, ctypes.c_void_p)
        context.contents.get_execution_plan(address, ctypes.byref(plan))
        nodes = []
        for index in int_array(plan.value):
            node, registration = ctypes.POINTER(Node)(), ctypes.c_void_p()
            context.contents.get_node(address, index, ctypes.byref(node),
                                      ctypes.byref(registration))
            nodes.append(node)
        self.graphs.append((context, nodes))
        return 0

    def _get_native_delegate_pointer(self):
        return ctypes.addressof(self._delegate)


class HeapInfo(ctypes.Structure):
    """What the C library's mallinfo2 returns."""
    _fields_ = [(name, ctypes.c_size_t)
                for name in ("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks", "fsmblks",
                             "used", "fordblks", "keepcost")]


def heap_bytes():
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = HeapInfo
    gc.collect()
    info = library.mallinfo2()
    return info.used + info.mapped


def observe(path, xnnpack=False):
    before = heap_bytes()
    observer = Observer()
    interpreter = Interpreter(
        model_path=path, num_threads=1, experimental_delegates=[observer],
        experimental_op_resolver_type=OpResolverType.AUTO if xnnpack else
        OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    interpreter.allocate_tensors()
    context, nodes = observer.graphs[0]
    answer = {"file": path, "tensors": []}

    def tensors():
        return [context.contents.tensors[i] for i in range(context.contents.tensors_size)]

    dynamic = any(MEMORY[tensor.memory] == "dynamic" for tensor in tensors())
    if dynamic or xnnpack:
        try:  # only then are these sized, and what comes after them
            interpreter.invoke()
        except RuntimeError as error:
            answer["not_run"] = str(error).splitlines()[0]
    if xnnpack:
        answer["heap_growth_bytes"] = heap_bytes() - before
    base = {}
    for kind in ("arena", "persistent"):
        placed = [t for t in tensors() if MEMORY[t.memory] == kind and t.bytes > 0 and t.data]
        base[kind] = min((t.data for t in placed), default=0)
        answer[kind + "_bytes"] = max((t.data + t.bytes for t in placed), default=0) - base[kind]
    answer["heap_bytes"] = sum(t.bytes for t in tensors()
                               if MEMORY[t.memory] in ("dynamic", "constant"))
    for tensor in tensors():
        kind = MEMORY[tensor.memory]
        placed = kind in base and tensor.bytes > 0 and tensor.data
        answer["tensors"].append({"memory": kind, "bytes": tensor.bytes,
                                  "offset": tensor.data - base[kind] if placed else None})
    answer["temporaries"] = [int_array(node.contents.temporaries) for node in nodes]
    return answer


def main():
    # The runtime writes to both standard streams; answers go where it does not know.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    xnnpack = "--xnnpack" in sys.argv[1:]
    warm = not xnnpack
    for line in sys.stdin:
        path = line.rstrip("\n")
        try:
            if not warm:  # what the first model ever brings along is not the model's
                warm = True
                observe(path, xnnpack)
            answer = observe(path, xnnpack)
        except Exception as error:  # whatever class the runtime raises  # noqa: BLE001
            answer = {"file": path, "refused": str(error).splitlines()[0] if str(error) else "?"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
