"""ONNX models on the command line: open dimensions, exit codes, strictness."""

import json
import subprocess
import unittest

from support import ToolTest, require, run, runtimes


def model(path, dims, op="Relu", domain=""):
    """Writes a model of one node by the onnx package of the device runtimes."""
    script = (
        "import sys, json, onnx\n"
        "from onnx import helper, TensorProto\n"
        "path, dims, op, domain = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]\n"
        "x = helper.make_tensor_value_info('image', TensorProto.FLOAT, dims)\n"
        "y = helper.make_tensor_value_info('y', TensorProto.FLOAT, dims)\n"
        "node = helper.make_node(op, ['image'], ['y'], domain=domain)\n"
        "opsets = [helper.make_opsetid('', 17)]\n"
        "opsets += [helper.make_opsetid(domain, 1)] if domain else []\n"
        "graph = helper.make_graph([node], 'g', [x], [y])\n"
        "onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)\n")
    subprocess.run([str(runtimes()), "-c", script, str(path), json.dumps(dims), op, domain],
                   check=True)
    return path


class OnnxModels(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, runtimes(), "no device runtimes; run ./dev setup")

    def test_open_dimensions_are_named_and_given(self):
        path = model(self.dir / "open.onnx", ["N", 3, "height", 8])
        answer = run("inspect", path)
        self.assertEqual(answer.code, 2)
        self.assertIn("height", answer.err)
        self.assertIn("-f height:", answer.err)
        given = self.check(run("inspect", path, "-f", "height:4", "--format", "json"), 0).json()
        self.assertEqual(given["format"], "onnx")
        self.assertTrue(any("batch" in text or "N" in text
                            for text in given["warnings"]))
        self.check(run("inspect", path, "--shape", "image:1x3x4x8"), 0)

    def test_unknown_names_are_usage_errors(self):
        path = model(self.dir / "open.onnx", ["N", 3, "height", 8])
        for flags in (["-f", "width:4"], ["--shape", "picture:1x3x4x8"], ["-f", "height"]):
            self.assertEqual(run("inspect", path, *flags).code, 2, flags)

    def test_unknown_operators_are_exit_4_under_strict(self):
        path = model(self.dir / "odd.onnx", [1, 3, 8, 8], "Magic", "example.org")
        self.check(run("inspect", path), 0)
        answer = run("inspect", path, "--strict")
        self.assertEqual(answer.code, 4)
        self.assertIn("Magic", answer.err)

    def test_devices_run_the_files_they_are_for(self):
        path = model(self.dir / "closed.onnx", [1, 3, 8, 8])
        for command in (["measure", path, "--device", "host-litert"],
                        ["sample", "--models", path, "--device", "host-litert"],
                        ["sample", "--models", self.dir, "--device", "ethos-u55-128"],
                        ["sample", "--device", "host-onnxruntime"],
                        ["sample", "--models", path, "--mutations", "3", "--device",
                         "host-onnxruntime"]):
            answer = run(*command)
            self.assertEqual(answer.code, 2, command)
            self.assertIn("runs", answer.err)
        # A folder gives what the device runs.
        model(self.dir / "other.onnx", [1, 3, 16, 16])
        self.network()
        answer = self.check(run("sample", "--models", self.dir, "--device", "host-onnxruntime",
                                "--count", "2", "--virtual-devices", "100"), 0)
        self.assertEqual(sorted(answer.out.split()),
                         [str(self.dir / "closed.onnx"), str(self.dir / "other.onnx")])

    def test_a_measurement_is_of_the_shape_that_was_asked_for(self):
        path = model(self.dir / "open.onnx", ["N", 3, "height", 8])
        quick = ["--option", "max_time_ms=100", "--option", "min_time_ms=10", "--format", "json"]
        measure = ["measure", path, "--device", "host-onnxruntime", *quick]
        for flags, shape in ((["-f", "height:5", "--batch", "2"], "2x3x5x8"),
                             (["--shape", "image:3x3x4x8"], "3x3x4x8")):
            answer = self.check(run(*measure, *flags), 0)
            entry, = answer.json()["measurements"]
            self.assertEqual(entry["protocol"]["input_shapes"], f"image:{shape}")
        self.assertEqual(run(*measure).code, 2)  # height is open
        answer = run("measure", self.network(), "--device", "host-litert", "--batch", "2")
        self.assertEqual(answer.code, 2)


if __name__ == "__main__":
    unittest.main()
