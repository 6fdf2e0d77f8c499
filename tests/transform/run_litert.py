"""Runs every .tflite of a folder once with LiteRT, on random inputs of any type.

Prints a line a file: name, and "ok" or the error.
"""
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def run(path):
    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    random = np.random.default_rng(7)
    for given in interpreter.get_input_details():
        values = random.integers(0, 100, given["shape"])
        interpreter.set_tensor(given["index"], values.astype(given["dtype"]))
    interpreter.invoke()
    for made in interpreter.get_output_details():
        interpreter.get_tensor(made["index"])


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.tflite")):
        try:
            run(path)
            print(path.name, "ok", flush=True)
        except (RuntimeError, ValueError) as error:
            print(path.name, str(error).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
