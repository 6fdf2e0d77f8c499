"""`edgesage import`: reports that other programs really wrote, and what is learnt from them."""

import json
import math
import subprocess
import unittest

from support import ToolTest, require, run, runtimes

NPU = "ethos-u55-256"


class Import(ToolTest):
    def imported(self, *arguments, code=0):
        return self.check(run("import", *arguments, "--format", "json"), code)

    def test_vela_s_own_files_say_what_our_worker_measures(self):
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        path = self.network(space="mobile-classifier")
        done = subprocess.run([runtimes().parent / "vela", "--accelerator-config", NPU,
                               "--output-dir", self.dir, "--verbose-performance", path],
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary, = self.dir.glob("*_summary_*.csv")
        layers, = self.dir.glob("*_per-layer.csv")
        answer = self.imported(summary, layers, "--model", path, "--labels", self.dir / "l.csv.zst")
        first, second = answer.json()["reports"]
        self.assertEqual((first["format"], second["format"]), ("vela-summary", "vela-layers"))
        self.assertEqual(first["device"], NPU)
        measured = self.check(run("measure", path, "--device", NPU, "--format", "json"),
                              0).json()["measurements"][0]
        ours = measured["latency_ms"]["value"]
        self.assertLess(abs(first["quantities"]["latency_ms"] / ours - 1), 0.2)
        self.assertGreater(second["operators"], 5)
        self.assertEqual(answer.json()["labels"]["networks"], 1)

    def test_onnx_runtime_s_own_profile(self):
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        script = """
import sys
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper
node = helper.make_node("Relu", ["x"], ["y"])
graph = helper.make_graph([node], "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 64])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = sys.argv[1]
session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                       providers=["CPUExecutionProvider"])
for _ in range(5):
    session.run(None, {"x": numpy.zeros((64, 64), numpy.float32)})
print(session.end_profiling())
"""
        done = subprocess.run([runtimes(), "-c", script, self.dir / "profile"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = done.stdout.strip().splitlines()[-1]
        report, = self.imported(path).json()["reports"]
        with open(path, encoding="utf-8") as file:
            runs = [event["dur"] for event in json.load(file) if event["name"] == "model_run"]
        self.assertEqual(report["format"], "onnxruntime")
        self.assertAlmostEqual(report["quantities"]["latency_ms"], min(runs[1:]) / 1000)
        self.assertAlmostEqual(report["quantities"]["first_latency_ms"], runs[0] / 1000)
        self.assertEqual(report["operators"], 1)

    def labelled(self, count):
        """Networks in a folder, and a table of what they cost on a device that we make up."""
        folder = self.dir / "models"
        folder.mkdir(exist_ok=True)
        made = self.check(run("generate", "--space", "keyword-sound", "--count", count, "-o",
                              folder, "--format", "json"), 0).json()["networks"]
        table = self.dir / "measured.csv"
        table.write_text("model,latency_us\n" + "".join(
            f"{entry['file'].rsplit('/', 1)[-1]},{50 + entry['macs'] / 500:.3f}\n"
            for entry in made))
        return folder, table, made

    def test_what_was_imported_can_be_learnt(self):
        folder, table, made = self.labelled(24)
        labels = self.dir / "labels.csv.zst"
        answer = self.imported(table, "--model", folder, "--device", "host-litert", "--labels",
                               labels, "--runtime", "litert", "--host", "bench-1").json()
        self.assertEqual(answer["labels"]["networks"], len({n["graph_hash"] for n in made}))
        predictor = self.dir / "host-litert.edgesage"
        self.check(run("calibrate", "--device", "host-litert", "--from", labels, "--models", folder,
                       "--budget", 16, "--virtual-devices", 1000, "--members", 1, "--epochs", 60,
                       "--predictor", predictor, "--quiet", timeout=500), 0)
        entry = self.check(run("predict", made[0]["file"], "--predictor", predictor, "--format",
                               "json"), 0).json()["predictions"][0]
        truth = (50 + made[0]["macs"] / 500) / 1000
        self.assertLess(abs(math.log(entry["latency_ms"]["value"] / truth)), math.log(1.5))
        self.check(run("evaluate", "--labels", labels, "--predictor", predictor, "--format", "json"),
                   0)

    def test_labels_that_are_none_are_refused_by_row(self):
        folder, table, _ = self.labelled(3)
        lines = table.read_text().splitlines()
        labels = self.dir / "labels.csv.zst"
        for bad in ("0", "-1", "nan", "inf"):
            table.write_text("\n".join([*lines[:2], lines[2].split(",")[0] + "," + bad, lines[3]]))
            answer = self.check(run("import", table, "--model", folder, "--device", "host-litert",
                                    "--labels", labels), 2)
            self.assertIn("row 2", answer.err)
            self.assertFalse(labels.exists())

    def test_files_grow_and_refuse_what_they_have(self):
        folder, table, made = self.labelled(4)
        lines = table.read_text().splitlines()
        labels = self.dir / "labels.csv.zst"
        common = ["--model", folder, "--device", "host-litert", "--labels", labels, "--append"]
        table.write_text("\n".join(lines[:3]))
        self.imported(table, *common)
        table.write_text("\n".join([lines[0], *lines[3:]]))
        answer = self.imported(table, *common).json()
        self.assertEqual(answer["labels"]["networks"], len({n["graph_hash"] for n in made}))
        self.imported(table, *common, code=2)

    def test_what_is_missing_is_named(self):
        folder, table, _ = self.labelled(2)
        labels = self.dir / "labels.csv.zst"
        for arguments, word in (
                (["--labels", labels, "--device", "host-litert"], "--model"),
                (["--labels", labels, "--model", folder], "--device"),
                (["--labels", labels, "--model", self.dir, "--device", "host-litert"], "keyword"),
                (["--device", "host-litrt"], "host-litert"), (["--from", "vela"], "vela-summary"),
                (["--from", "trtexec"], "JSON")):
            answer = self.check(run("import", table, *arguments), 2)
            self.assertIn(word, answer.err)
        self.check(run("import", self.dir / "absent.csv"), 2)
        self.check(run("import", "-", stdin=table.read_bytes()), 0)

    def test_a_power_monitor_is_aligned_by_its_marker(self):
        rows = ["time_ms,power_mw,marker"]
        for ms in range(400):
            high = 100 <= ms < 300
            rows.append(f"{ms},{700 if high else 200},{1 if high else 0}")
        trace = self.dir / "trace.csv"
        trace.write_text("\n".join(rows))
        report, = self.imported(trace, "--inferences", 100).json()["reports"]
        self.assertAlmostEqual(report["quantities"]["energy_mj"], 1.0, delta=0.02)
        self.assertAlmostEqual(report["quantities"]["latency_ms"], 2.0, delta=0.02)


if __name__ == "__main__":
    unittest.main()
