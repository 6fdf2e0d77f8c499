"""Which operators LiteRT's XNNPACK delegate takes: one JSON object on stdout.

Usage: litert_partitions.py MODEL...
Answers {"MODEL": [partition of each operator of the main subgraph, -1 outside] or null}. Null where
LiteRT does not prepare the file. Each file is read in a process of its own: some crash the runtime.
"""
import json
import os
import sys


def partitions(path):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    details = interpreter._get_ops_details()
    delegates = [d for d in details if d["op_name"] == "DELEGATE"]
    operators = details[: len(details) - len(delegates)]
    producer = {}
    for operator in operators:
        for tensor in operator["outputs"]:
            producer[int(tensor)] = operator["index"]
    answer = [-1] * len(operators)
    for number, delegate in enumerate(delegates):
        borders = {int(t) for t in delegate["inputs"]}
        waiting = [int(t) for t in delegate["outputs"]]
        while waiting:
            tensor = waiting.pop()
            index = producer.get(tensor)
            if tensor in borders or index is None or answer[index] == number:
                continue
            answer[index] = number
            waiting.extend(int(t) for t in operators[index]["inputs"] if t >= 0)
    return answer


def in_child(path):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            text = json.dumps(partitions(path))
        except Exception:
            text = "null"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def main():
    import ai_edge_litert.interpreter  # noqa: F401, once for all children

    print(json.dumps({path: in_child(path) for path in sys.argv[1:]}))


if __name__ == "__main__":
    main()
