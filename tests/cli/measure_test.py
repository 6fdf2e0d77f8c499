"""`edgesage measure` and `store info` through the real workers."""

import sqlite3
import unittest

from support import ToolTest, data_dir, require, run, runtimes


class Measure(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")

    def test_an_estimate_is_a_latency_and_memory(self):
        path = self.network()
        answer = self.check(run("measure", path, "--device", "ethos-u55-256", "--format", "json"),
                            0)
        entry, = answer.json()["measurements"]
        self.assertIsNone(entry["error"])
        self.assertEqual(entry["latency_ms"]["statistic"], "estimate")
        self.assertGreater(entry["latency_ms"]["value"], 0)
        self.assertGreater(entry["sram_bytes"], 0)
        self.assertEqual(entry["runtime"], "vela")
        self.assertIsNone(entry["host_fingerprint"])
        self.assertTrue(entry["operators"])

    def test_m04_this_computer_gives_a_series_with_its_protocol_and_the_first_call(self):
        path = self.network()
        answer = self.check(run("measure", path, "--device", "host-litert", "--option",
                                "max_time_ms=200", "--option", "min_time_ms=50", "--format",
                                "json"), 0)
        entry, = answer.json()["measurements"]
        latency = entry["latency_ms"]
        self.assertEqual(latency["statistic"], "min")
        self.assertEqual(latency["value"], latency["min"])
        self.assertLessEqual(latency["min"], latency["p10"])
        self.assertLessEqual(latency["p10"], latency["p50"])
        self.assertLessEqual(latency["p50"], latency["p90"])
        self.assertGreater(latency["first"], 0)  # cold and steady are two figures
        self.assertEqual(latency["runs"], len(entry["samples_ms"]))
        self.assertTrue(entry["protocol"])
        self.assertTrue(entry["environment"])
        self.assertTrue(entry["host_fingerprint"])

    def test_an_onnx_model_has_times_of_its_operators(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        path, = (data_dir() / "models" / "onnx").rglob("*_light_squeezenet.onnx")
        store = self.dir / "onnx.sqlite"
        answer = self.check(run("measure", path, "--device", "host-onnxruntime", "--store", store,
                                "--option", "max_time_ms=500", "--format", "json"), 0)
        entry, = answer.json()["measurements"]
        self.assertIsNone(entry["error"])
        self.assertEqual(entry["runtime"], "onnxruntime")
        self.assertEqual(entry["latency_ms"]["statistic"], "min")
        self.assertGreater(entry["arena_peak_bytes"], 64 * 111 * 111 * 4)
        # The operators are those of the file as edgesage reads it, each convolution with its
        # activation and its time.
        inspected = run("inspect", path, "--format", "json").json()["operators"]
        timed = {op["index"]: op for op in entry["operators"]}
        for op in inspected:
            if op["kind"] == "CONV_2D":
                self.assertGreater(timed[op["index"]]["ns"], 0, op["name"])
                self.assertEqual(timed[op["index"]]["kind"], "CONV_2D")
                self.assertEqual(timed[op["index"]]["placement"], "cpu")
                self.assertIsNone(timed[op["index"]]["macs"])
        whole = sum(op["ns"] for op in entry["operators"]) * 1e-6
        self.assertGreater(whole, 0.6 * entry["latency_ms"]["value"])
        self.assertEqual(self.check(run("store", "info", store, "--format", "json"), 0)
                         .json()["networks"], 1)

    def test_what_onnx_runtime_refuses_is_told_in_its_words(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        path = data_dir() / "models" / "onnx" / "onnx" / "c0dba186_model.onnx"
        answer = self.check(run("measure", path, "--device", "host-onnxruntime", "--format",
                                "json"), 5)
        entry, = answer.json()["measurements"]
        self.assertEqual(entry["error"]["code"], 5)
        self.assertIn("PRelu(6)", entry["error"]["message"])

    def test_tensorflow_lite_micro_reports_what_it_allocates(self):
        path = self.network()
        quick = ("--option", "max_time_ms=200", "--option", "min_time_ms=20", "--format", "json")
        answer = self.check(run("measure", path, "--device", "tflm", *quick), 0)
        entry, = answer.json()["measurements"]
        self.assertEqual(entry["arena_total_bytes"],
                         entry["arena_head_bytes"] + entry["arena_tail_bytes"])
        self.assertGreater(entry["persistent_buffers_bytes"], 0)
        self.assertEqual(entry["runtime"], "tflm-reference-kernels-x86")
        self.assertEqual(entry["latency_ms"]["statistic"], "min")
        self.assertEqual(entry["protocol"]["kernels"], "reference")
        inspected = run("inspect", path, "--abi", "64", "--format", "json").json()
        self.assertEqual(inspected["peak_ram_bytes"]["tflm_arena"]["total_bytes"],
                         entry["arena_total_bytes"])
        host = self.check(run("measure", path, "--device", "host-litert", *quick), 0).json()
        self.assertEqual(entry["host_fingerprint"], host["measurements"][0]["host_fingerprint"])

    def test_what_tensorflow_lite_micro_refuses_is_told_in_its_words(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        path, = (data_dir() / "models" / "tflite").rglob("*_simple_tile_op.tflite")
        answer = self.check(run("measure", path, "--device", "tflm", "--format", "json"), 5)
        entry, = answer.json()["measurements"]
        self.assertEqual(entry["error"]["code"], 5)
        self.assertIn("TILE", entry["error"]["message"])
        inspected = self.check(run("inspect", path, "--format", "json"), 0).json()
        self.assertIsNone(inspected["peak_ram_bytes"]["tflm_arena"])
        self.assertIn("TILE", inspected["peak_ram_bytes"]["reason"]["tflm_arena"])

    def test_one_bad_file_does_not_spoil_the_others_and_the_store_keeps_the_rest(self):
        path = self.network()
        bad = self.dir / "bad.tflite"
        bad.write_bytes(b"<html>")
        store = self.dir / "labels.sqlite"
        answer = self.check(run("measure", path, bad, path, "--device", "ethos-u55-256", "--store",
                                store, "--format", "json"), 3)
        first, second, third = answer.json()["measurements"]
        self.assertIsNone(first["error"])
        self.assertEqual(second["error"]["code"], 3)
        self.assertEqual(first["latency_ms"], third["latency_ms"])
        self.assertNotEqual(first["stored_as"], third["stored_as"])
        info = self.check(run("store", "info", store, "--format", "json"), 0).json()
        self.assertEqual(info["networks"], 1)
        device, = info["devices"]
        self.assertEqual((device["measured"], device["repeats"], device["failed"]), (2, 2, 0))
        self.assertEqual(sqlite3.connect(store).execute("pragma integrity_check").fetchone(),
                         ("ok",))

    def test_standard_input_is_measured_too(self):
        path = self.network()
        answer = self.check(run("measure", "-", "--device", "ethos-u55-256", "--format", "json",
                                stdin=path.read_bytes()), 0)
        self.assertEqual(answer.json()["measurements"][0]["model"], "-")

    def test_wrong_worker_options_are_refused(self):
        answer = self.check(run("measure", self.network(), "--device", "ethos-u55-256", "--option",
                                "no_such_option=1"), 2)
        self.assertIn("no_such_option", answer.err)

    def test_m01_a_missing_runtime_is_named_with_its_remedy(self):
        home = self.dir / "home"
        (home / "devices").mkdir(parents=True)
        (home / "devices" / "gone.toml").write_text(
            'runtime = "gone"\nworker = ["{python}"]\nstatistic = "min"\nhost_bound = false\n'
            'quantities = ["latency_ms"]\n[[requires]]\npath = "{source_dir}/gone"\n'
            'what = "the gone runtime"\nremedy = "run ./dev setup"\n'
            '[[device]]\nname = "gone"\ndescription = "gone"\ntarget = "litert-xnnpack"\n')
        environment = {"EDGESAGE_HOME": str(home)}
        for command in (["measure", self.network()],
                        ["calibrate", "--budget", "30", "--predictor", self.dir / "gone.edgesage"]):
            answer = self.check(run(*command, "--device", "gone", env=environment, cwd=self.dir), 5)
            self.assertIn("the gone runtime", answer.err)
            self.assertIn("./dev setup", answer.err)
        self.assertFalse((self.dir / "gone.edgesage").exists())
        listed = self.check(run("devices", "--format", "json", env=environment), 0).json()
        self.assertFalse(listed["devices"][0]["measure"]["possible"])
        self.assertIn("./dev setup", listed["devices"][0]["measure"]["reason"])


if __name__ == "__main__":
    unittest.main()
