"""The device edge-tpu-like: ZigZag's cost model behind `edgesage measure`."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
from pathlib import Path

from support import SOURCE, ToolTest, data_dir, require, run, runtimes

CACHE_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from layer_cache import LayerCache
cache = LayerCache(sys.argv[2], "machine")
number = 0
while True:
    cache.put(f"layer {number}", {"cycles": number})
    print(number, flush=True)
    number += 1
"""


def zigzag_python():
    """The runtimes' Python where ZigZag is installed, else None."""
    python = runtimes()
    if python and any((SOURCE / ".venv").glob("lib/python*/site-packages/zigzag/__init__.py")):
        return python
    return None


def ask_zigzag(*what):
    """What tests/cli/zigzag_api.py prints."""
    script = Path(__file__).with_name("zigzag_api.py")
    done = subprocess.run([str(zigzag_python()), str(script), *map(str, what)], capture_output=True,
                          timeout=500, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


class Zigzag(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, zigzag_python(), "zigzag-dse is not in .venv; ./dev setup installs it")

    def measure(self, *arguments, code=0, cache=None):
        answer = run("measure", *arguments, "--device", "edge-tpu-like", "--option",
                     f"cache={cache or self.dir / 'cache.sqlite'}", "--format", "json",
                     timeout=500)
        self.check(answer, code)
        entry, = answer.json()["measurements"]
        return entry

    def test_a_network_has_a_latency_and_an_energy_that_its_operators_sum_to(self):
        entry = self.measure(self.network(space="keyword-sound", seed=3))
        self.assertIsNone(entry["error"])
        self.assertEqual(entry["runtime"], "zigzag")
        self.assertEqual(entry["latency_ms"]["statistic"], "estimate")
        self.assertGreater(entry["energy_mj"]["value"], 0)
        cycles = sum(op["cycles"] for op in entry["operators"])
        self.assertAlmostEqual(cycles / (500e6) * 1e3 / entry["latency_ms"]["value"], 1, 9)
        self.assertIn("modelled", entry["protocol"]["energy_source"])
        self.assertIsNone(entry["host_fingerprint"])

    def test_operators_cost_what_zigzag_says_of_the_same_layers_as_onnx(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        path, = (data_dir() / "models" / "tflite" / "tiny").glob("618aeb15_*.tflite")
        entry = self.measure(path)
        expected = ask_zigzag("onnx")
        operators = {op["index"]: op for op in entry["operators"]}
        for index, name in ((1, "depthwise"), (2, "pointwise"), (11, "fully_connected")):
            self.assertAlmostEqual(operators[index]["cycles"], expected[name]["cycles"], 6, name)

    def test_the_short_search_finds_what_the_full_one_finds(self):
        for short, full in ask_zigzag("search"):
            self.assertEqual(short["cycles"], full["cycles"])
            self.assertAlmostEqual(short["energy_pj"] / full["energy_pj"], 1, 12)

    def test_layers_are_priced_once_and_kept(self):
        path = self.network()
        first = self.measure(path)
        again = self.measure(path)
        self.assertGreater(int(first["environment"]["layers_computed"]), 0)
        self.assertEqual(again["environment"]["layers_computed"], "0")
        self.assertEqual(again["latency_ms"], first["latency_ms"])
        self.assertEqual(again["energy_mj"], first["energy_mj"])

    def test_a_cache_that_cannot_be_used_costs_time_only(self):
        path = self.network()
        broken = self.dir / "broken.sqlite"
        broken.write_bytes(b"no database at all" * 300)
        entry = self.measure(path, cache=broken)
        self.assertIsNone(entry["error"])
        self.assertIn("in memory", entry["environment"]["cache"])
        self.assertEqual(broken.read_bytes()[:18], b"no database at all")

    def test_what_zigzag_cannot_price_is_named_and_not_zero(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        path, = (data_dir() / "models" / "tflite" / "tiny").glob("d7c06dc5_*.tflite")
        entry = self.measure(path)
        self.assertIsNone(entry["latency_ms"])
        self.assertIn("prices no operator", json.dumps(entry["missing"]))
        self.assertTrue(any("float32" in op["placement_reason"] for op in entry["operators"]))

    def test_operators_are_placed_as_the_worker_places_them(self):
        paths = [self.network(f"{space}.tflite", space, 5)
                 for space in ("keyword-sound", "mobile-classifier", "residual-classifier",
                               "super-resolution", "segmentation", "detection")]
        if data_dir():
            models = sorted((data_dir() / "models" / "tflite").rglob("*.tflite"))
            paths += [path for path in models if path.stat().st_size < 300_000][::7]
        counts = {True: 0, False: 0}
        read = []
        for path in paths:
            answer = run("inspect", path, "--device", "edge-tpu-like", "--format", "json")
            if answer.code == 0 and len(answer.json()["subgraphs"]) == 1:
                read.append((path, answer.json()["operators"]))
        self.assertGreater(len(read), 5)
        for (path, ours), theirs in zip(read, ask_zigzag("placements", *(path for path, _ in read))):
            for op, has_layer in zip(ours, theirs, strict=True):
                if op["placement"] == "folded":
                    continue
                self.assertEqual(op["placement"] == "npu", has_layer,
                                 f"{path}: {op['index']} {op['kind']} {op['placement_reason']}")
                counts[has_layer] += 1
        self.assertGreater(counts[True], 100)
        self.assertGreater(counts[False], 3)

    def test_damaged_files_are_refused_or_read_but_nothing_else(self):
        # edgesage reads a file before a device does, so this asks the worker's own reading.
        told = ask_zigzag("damaged", self.network())
        self.assertEqual(told["other"], [])
        self.assertGreater(told["refused"], 20)
        self.assertGreater(told["read"], 20)

    def test_wrong_options_are_told(self):
        path = self.network()
        for option in ("clock_mhz=0", "search=long", "colour=red"):
            answer = run("measure", path, "--device", "edge-tpu-like", "--option", option)
            self.check(answer, 2)


class Cache(ToolTest):
    """The file of layers' costs, without ZigZag."""

    def start(self, path):
        return subprocess.Popen([sys.executable, "-c", CACHE_CODE, str(SOURCE / "workers" / "zigzag"),
                                 str(path)], stdout=subprocess.PIPE)

    def test_what_was_put_survives_a_kill_and_several_writers(self):
        path = self.dir / "costs.sqlite"
        writers = [self.start(path) for _ in range(3)]
        told = []
        deadline = time.monotonic() + 60
        for writer in writers:
            last = -1
            while last < 40 and time.monotonic() < deadline:
                last = int(writer.stdout.readline())
            told.append(last)
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
        with sqlite3.connect(path) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            kept = dict(database.execute("SELECT layer, cost FROM costs"))
        database.close()
        for number in range(max(told) + 1):
            self.assertEqual(json.loads(kept[f"layer {number}"]), {"cycles": number})


if __name__ == "__main__":
    unittest.main()
