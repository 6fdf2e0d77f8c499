"""`edgesage predict` with a small predictor that is learnt here, from Vela's estimates."""

import csv
import io
import shutil
import tempfile
import unittest
from pathlib import Path

from support import ToolTest, data_dir, require, run, runtimes

NPU = "ethos-u55-256"


class Predict(ToolTest):
    folder = None

    @classmethod
    def setUpClass(cls):
        if runtimes() is None:
            return
        cls.folder = Path(tempfile.mkdtemp(prefix="edgesage-test-"))
        store, cls.predictor = cls.folder / "l.sqlite", cls.folder / f"{NPU}.edgesage"
        for command in (["annotate", "--store", store, "--space", "keyword-sound", "--device", NPU,
                         "--count", 60],
                        ["train", "--store", store, "--device", NPU, "-o", cls.predictor,
                         "--members", 2, "--epochs", 3, "--hidden", 16, "--calibration-share",
                         0.3]):
            answer = run(*command)
            if answer.code != 0:
                raise RuntimeError(answer.err)

    @classmethod
    def tearDownClass(cls):
        if cls.folder:
            shutil.rmtree(cls.folder)

    def setUp(self):
        super().setUp()
        require(self, self.folder, "no device runtimes in .venv; ./dev setup installs them")

    def predict(self, *arguments, code=0, **options):
        return self.check(run("predict", *arguments, "--predictor", self.predictor, **options),
                          code)

    def test_operators_and_overhead_sum_to_the_latency(self):
        paths = [self.network(f"{seed}.tflite", seed=seed) for seed in (70, 71, 72)]
        entries = self.predict(*paths, "--format", "json").json()["predictions"]
        self.assertEqual([entry["model"] for entry in entries], [str(path) for path in paths])
        for entry in entries:
            total = sum(op["latency_ms"] for op in entry["operators"]) + entry["overhead_ms"]
            latency = entry["latency_ms"]
            self.assertAlmostEqual(total / latency["value"], 1, delta=1e-5)
            self.assertLess(latency["lo"], latency["value"])
            self.assertLess(latency["value"], latency["hi"])
            self.assertEqual(latency["level"], 0.9)
            self.assertGreaterEqual(entry["overhead_ms"], 0)
            self.assertEqual(entry["device"], NPU)
            self.assertGreater(entry["energy_mj"]["value"], 0)
            self.assertTrue(entry["energy_mj"]["source"])
            self.assertIsNone(entry["flash_bytes"])
            self.assertTrue(entry["missing"]["flash_bytes"])

    def test_runtimes_arenas_are_those_of_inspect(self):
        path = self.network("arena.tflite", seed=73)
        entry = self.predict(path, "--abi", 64, "--format", "json").json()["predictions"][0]
        inspected = self.check(run("inspect", path, "--abi", 64, "--format", "json"), 0).json()
        for name in ("litert_arena", "tflm_arena"):
            arena = inspected["peak_ram_bytes"][name]
            for key in ("abi", "activations_bytes", "scratch_bytes", "runtime_bytes", "total_bytes"):
                self.assertEqual(entry[name][key], arena[key], (name, key))

    def test_wider_levels_give_wider_intervals(self):
        path = self.network()
        widths = []
        for level in (0.5, 0.8, 0.9, 0.95):
            entry, = self.predict(path, "--level", level, "--format", "json").json()["predictions"]
            widths.append(entry["latency_ms"]["hi"] - entry["latency_ms"]["lo"])
        self.assertEqual(widths, sorted(widths))

    def test_one_bad_file_does_not_spoil_the_others(self):
        good, bad = self.network(), self.dir / "bad.tflite"
        bad.write_bytes(b"PK\3\4")
        answer = self.predict(good, bad, good, "--format", "json", code=3)
        first, second, third = answer.json()["predictions"]
        self.assertEqual(first, third)
        self.assertEqual(second["error"]["code"], 3)
        rows = list(csv.DictReader(io.StringIO(
            self.predict(good, bad, "--format", "csv", code=3).out)))
        self.assertEqual(float(rows[0]["latency_ms"]), first["latency_ms"]["value"])
        self.assertEqual((rows[1]["latency_ms"], rows[1]["error_code"]), ("", "3"))
        self.assertNotIn(None, rows[0])

    def test_standard_input_and_the_installed_predictor_give_the_same(self):
        path = self.network()
        named = self.predict(path, "--format", "json").json()["predictions"][0]
        piped = self.predict("-", "--format", "json", stdin=path.read_bytes())
        piped = piped.json()["predictions"][0]
        installed = self.check(run("predict", path, "--device", NPU, "--format", "json",
                                   env={"EDGESAGE_PREDICTOR_PATH": str(self.folder)}), 0)
        self.assertEqual(named, installed.json()["predictions"][0])
        self.assertEqual({**piped, "model": str(path)}, named)

    def test_damaged_predictors_are_refused_with_code_6(self):
        path, whole = self.network(), self.predictor.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        future = bytearray(whole)
        future[8] += 1
        for name, data in (("empty", b""), ("cut", whole[:-1]), ("head", whole[:20]),
                           ("flipped", bytes(flipped)), ("future", bytes(future)),
                           ("text", b"not a predictor\n" * 10)):
            damaged = self.dir / f"{name}.edgesage"
            damaged.write_bytes(data)
            answer = self.check(run("predict", path, "--predictor", damaged), 6)
            self.assertIn(name, answer.err)
            self.assertEqual(answer.out, "")
        self.check(run("predict", path, "--predictor", self.dir / "absent.edgesage"), 6)

    def test_devices_without_a_predictor_are_usage_errors_with_the_remedy(self):
        path = self.network()
        empty = {"EDGESAGE_PREDICTOR_PATH": "", "EDGESAGE_HOME": str(self.dir)}
        (self.dir / "devices").mkdir()
        self.check(run("predict", path), 2)
        answer = self.check(run("predict", path, "--device", "ethos-u85-2048"), 2)
        self.assertIn("edgesage train", answer.err)
        self.check(run("predict", path, "--device", "ethos-u85-2049"), 2)
        self.check(run("predict", path, "--device", NPU, env=empty), 2)

    def test_strict_refuses_what_is_out_of_range(self):
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")
        path = data_dir() / "models" / "tflite" / "tiny" / "d7c06dc5_kws_ref_model_float32.tflite"
        entry, = self.predict(path, "--format", "json").json()["predictions"]
        self.assertFalse(entry["in_range"])
        self.assertTrue(entry["reasons"])
        answer = self.predict(path, "--strict", "--format", "json", code=4)
        self.assertEqual(answer.json()["predictions"][0]["error"]["code"], 4)

    def test_every_published_model_is_answered(self):
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")
        with open(data_dir() / "models" / "index.csv", encoding="utf-8", newline="") as file:
            paths = [data_dir() / "models" / row["file"] for row in csv.DictReader(file)
                     if row["kind"] == "tflite"]
        entries = self.predict(*paths, "--format", "json").json()["predictions"]
        self.assertEqual(len(entries), 144)
        for entry in entries:
            self.assertIsInstance(entry["macs"], int)
            for quantity in ("latency_ms", "peak_ram_bytes"):
                if entry[quantity] is None:
                    self.assertTrue(entry["missing"][quantity], entry["model"])
                else:
                    self.assertGreater(entry[quantity]["value"], 0, entry["model"])
            if not entry["in_range"]:
                self.assertTrue(entry["reasons"], entry["model"])


if __name__ == "__main__":
    unittest.main()
