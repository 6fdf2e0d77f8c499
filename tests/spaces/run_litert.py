"""Runs every .tflite of a folder with LiteRT on one thread, twice, with different inputs.

Prints a line a file: name, number of distinct values of all outputs over both runs, number of
values that differ between the runs, and an error or "ok".
"""
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def run(path):
    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    made = interpreter.get_output_details()
    random = np.random.default_rng(7)
    outputs = []
    for shift in (0, 60):
        if given["dtype"] == np.int32:  # indexes into a table
            interpreter.set_tensor(given["index"],
                                   random.integers(0, 250, given["shape"]).astype(np.int32))
            interpreter.invoke()
            outputs.append(np.concatenate([interpreter.get_tensor(one["index"]).ravel()
                                           for one in made]))
            continue
        values = random.integers(-128, 128, given["shape"])
        if shift:  # noise averages out, so the second input is also brighter and flatter
            values = values // 4 + shift
        interpreter.set_tensor(given["index"], values.clip(-128, 127).astype(np.int8))
        interpreter.invoke()
        outputs.append(np.concatenate([interpreter.get_tensor(one["index"]).ravel()
                                       for one in made]))
    distinct = len(np.unique(np.stack(outputs)))
    return distinct, int((outputs[0] != outputs[1]).sum())


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.tflite")):
        try:
            distinct, changed = run(path)
            print(path.name, distinct, changed, "ok")
        except (RuntimeError, ValueError) as error:
            print(path.name, 0, 0, str(error).replace("\n", " "))


if __name__ == "__main__":
    main()
