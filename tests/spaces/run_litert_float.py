"""Runs every float .tflite of a folder with LiteRT on one thread.

Prints a line a file: name, standard deviation of the outputs, and an error or "ok".
"""
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def run(path):
    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    given = interpreter.get_input_details()[0]
    random = np.random.default_rng(7)
    interpreter.set_tensor(given["index"], random.uniform(-1, 1, given["shape"]).astype(np.float32))
    interpreter.invoke()
    return float(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).std())


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.tflite")):
        try:
            print(path.name, run(path), "ok")
        except (RuntimeError, ValueError) as error:
            print(path.name, 0, str(error).replace("\n", " "))


if __name__ == "__main__":
    main()
