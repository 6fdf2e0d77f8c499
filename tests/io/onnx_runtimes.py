"""Runs networks as ONNX (ONNX Runtime) and as TFLite (LiteRT) on the same numbers.

    onnx_runtimes.py FOLDER

For each NAME.onnx of the folder, checked by onnx.checker, and each NAME.*.tflite beside it a line:
name, largest difference of the outputs relative to their largest magnitude.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from ai_edge_litert.interpreter import Interpreter


def channels_first(array):
    return np.ascontiguousarray(np.moveaxis(array, -1, 1)) if array.ndim == 4 else array


def run_litert(path, given):
    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], given)
    interpreter.invoke()
    return [channels_first(interpreter.get_tensor(output["index"]))
            for output in interpreter.get_output_details()]


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        wanted = session.get_inputs()[0]
        nchw = np.random.default_rng(7).uniform(-1, 1, wanted.shape).astype(np.float32)
        nhwc = np.ascontiguousarray(np.moveaxis(nchw, 1, -1)) if nchw.ndim == 4 else nchw
        expected = session.run(None, {wanted.name: nchw})
        for twin in sorted(path.parent.glob(path.stem + ".*.tflite")):
            found = run_litert(twin, nhwc)
            assert len(found) == len(expected)
            worst = 0.0
            for ours, theirs in zip(found, expected):
                assert ours.size == theirs.size, (ours.shape, theirs.shape)
                scale = max(float(np.abs(theirs).max()), 1e-6)
                worst = max(worst, float(np.abs(ours.reshape(theirs.shape) - theirs).max()) / scale)
            print(twin.name, worst)


if __name__ == "__main__":
    main()
