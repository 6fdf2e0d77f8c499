"""What `edgesage predict` writes for viewers: traces, node data, pages, Markdown."""

import csv
import html.parser
import io
import json
import math
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from support import SOURCE, ToolTest, data_dir, require, run, runtimes

NPU = "ethos-u55-256"
BROWSERS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")


def browser():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Formats(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        self.model = self.network(space="mobile-classifier")

    def predict(self, *arguments, models=None):
        return self.check(run("predict", *(models or [self.model]), "--device", NPU, *arguments),
                          0).out

    def prediction(self):
        return json.loads(self.predict("--format", "json"))["predictions"][0]

    def test_a_trace_is_the_predicted_run(self):
        entry = self.prediction()
        trace = json.loads(self.predict("--format", "trace"))
        events = trace["traceEvents"]
        runs = [event for event in events if event["ph"] == "X"]
        self.assertAlmostEqual(sum(event["dur"] for event in runs),
                               1000 * entry["latency_ms"]["value"], delta=1e-3)
        priced = [op for op in entry["operators"] if op["latency_ms"] is not None]
        self.assertEqual([event["args"]["index"] for event in runs if "index" in event["args"]],
                         [op["index"] for op in priced])
        threads = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
                   if event["ph"] == "M" and event["name"] == "thread_name"}
        for event in runs:
            self.assertEqual(threads[event["pid"], event["tid"]], event["cat"])
        memory = [event["args"]["bytes"] for event in events
                  if event["ph"] == "C" and event["name"] == "activations"]
        self.assertEqual(max(memory), entry["activations_bytes"])
        self.assertEqual(memory[-1], 0)

    def test_a_trace_keeps_the_rules_of_its_format(self):
        """Those of "Trace Event Format", and of Perfetto, which keeps whole nanoseconds and drops
        what overlaps on its thread without lying inside."""
        models = [self.model, self.network("parts.tflite", space="detection"),
                  self.network("sound.tflite")]
        if data_dir():
            models += sorted((data_dir() / "models" / "tflite" / "tiny").glob("*.tflite"))
        for device in (NPU, "host-litert"):
            if not (SOURCE / "predictors" / f"{device}.edgesage").is_file():
                continue
            trace = json.loads(self.check(run("predict", *models, "--device", device, "--format",
                                              "trace"), 0).out)
            self.assertEqual(trace["displayTimeUnit"], "ms")
            self.follow(trace["traceEvents"])

    def follow(self, events):
        ends, last, names, counters = {}, {}, {}, {}
        for event in events:
            phase, place = event["ph"], (event["pid"], event.get("tid"))
            self.assertIn(phase, "XMCi")
            self.assertTrue(event["name"] and isinstance(event["name"], str))
            self.assertTrue(isinstance(event["pid"], int) and event["pid"] > 0)
            self.assertIsInstance(event.get("args", {}), dict)
            if phase == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                self.assertIsInstance(event["args"]["name"], str)
                names[event["name"], *place] = event["args"]["name"]
                continue
            self.assertTrue(math.isfinite(event["ts"]) and event["ts"] >= 0)
            at = round(event["ts"] * 1000)
            self.assertAlmostEqual(at, event["ts"] * 1000, delta=1e-3)  # whole nanoseconds
            self.assertGreaterEqual(at, last.get(event["pid"], 0))  # in the order of time
            last[event["pid"]] = at
            self.assertIn(("process_name", event["pid"], 0), names)
            if phase == "C":
                self.assertTrue(event["args"])
                for series, value in event["args"].items():
                    self.assertTrue(isinstance(value, (int, float)) and math.isfinite(value))
                    counters[event["pid"], event["name"], series] = value
                continue
            self.assertIsInstance(event["tid"], int)
            self.assertIn(("thread_name", *place), names)
            if phase == "i":
                self.assertIn(event["s"], "gpt")
                continue
            self.assertTrue(math.isfinite(event["dur"]) and event["dur"] >= 0)
            duration = round(event["dur"] * 1000)
            self.assertAlmostEqual(duration, event["dur"] * 1000, delta=1e-3)
            # Nothing runs inside another: the next on any thread begins where one ends.
            self.assertEqual(at, ends.get(event["pid"], 0))
            ends[event["pid"]] = at + duration
        self.assertTrue(ends)
        for counter, value in counters.items():
            self.assertEqual(value, 0, counter)  # back to nothing at the end

    def test_a_trace_holds_every_model(self):
        bad = self.dir / "bad.tflite"
        bad.write_bytes(b"PK\3\4")
        trace = self.check(run("predict", self.model, bad, self.model, "--device", NPU, "--format",
                               "trace"), 3).json()
        self.assertEqual({event["pid"] for event in trace["traceEvents"]}, {1, 3})
        self.assertEqual([len(entry.get("error", {})) for entry in
                          trace["otherData"]["predictions"]], [0, 3, 0])

    def node_data(self, path):
        return json.loads(self.predict("--format", "model-explorer", models=[path]))

    def test_node_data_names_what_each_operator_makes(self):
        inspected = self.check(run("inspect", self.model, "--format", "json"), 0).json()
        entry = self.prediction()
        results = self.node_data(self.model)["results"]
        for op in inspected["operators"]:
            cost = entry["operators"][op["index"]]["latency_ms"]
            for tensor in op["outputs"]:
                self.assertEqual(results[tensor["name"]], {"value": cost})

    def test_model_explorer_colours_every_operator(self):
        python = runtimes()
        require(self, python, "Model Explorer in .venv (./dev setup)")
        paths = [self.model, self.network("sound.tflite"),
                 self.network("parts.tflite", space="detection")]
        if data_dir():
            paths += sorted((data_dir() / "models" / "tflite" / "tiny").glob("*.tflite"))[:8]
        for path in paths:
            with self.subTest(path.name):
                file = self.dir / "nodes.json"
                file.write_text(self.predict("--format", "model-explorer", models=[path]))
                done = subprocess.run([python, SOURCE / "tests/cli/model_explorer_nodes.py", path,
                                       file], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                shown = json.loads(done.stdout)
                entry = json.loads(self.predict("--format", "json",
                                                models=[path]))["predictions"][0]
                self.assertEqual(shown["unused"], [])
                self.assertEqual([item["stop"] for item in shown["gradient"]][::2], [0, 1])
                self.assertEqual(len(shown["nodes"]), len(entry["operators"]))
                for op, node in zip(entry["operators"], shown["nodes"]):
                    self.assertEqual(node["label"].lower(), op["kind"].lower())
                    cost = op["latency_ms"]
                    self.assertEqual(set(node["values"]), set() if cost is None else {cost})

    def test_markdown_is_a_table_of_all_operators(self):
        text = self.predict("--format", "markdown", models=[self.model, self.model])
        rows = [line for line in text.splitlines() if line.startswith("|")]
        operators = len(self.prediction()["operators"])
        self.assertEqual(len(rows), 2 + 2 + 2 * (operators + 2 + 2))

    def test_csv_has_energy_and_flash(self):
        row, = csv.DictReader(io.StringIO(self.predict("--format", "csv")))
        energy = self.prediction()["energy_mj"]
        self.assertEqual(row["energy_mj"], str(energy["value"]) if energy else "")
        self.assertEqual(row["flash_bytes"], "")
        self.assertNotIn(None, row)


class Pages(ToolTest):
    """The page of a prediction: whole, honest about names, silent on the network."""

    def page(self, path, *arguments):
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        file = self.dir / "page.html"
        self.check(run("predict", path, "--device", NPU, "--format", "html", "-o", file,
                       *arguments), 0)
        return file

    def test_it_is_well_formed_and_holds_every_operator(self):
        path = self.network(space="residual-classifier")
        text = self.page(path).read_text(encoding="ascii")
        root = ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
        entry = self.check(run("predict", path, "--device", NPU, "--format", "json"),
                           0).json()["predictions"][0]
        boxes = [box for box in root.iter("rect") if "box" in box.get("class", "").split()]
        self.assertEqual(len(boxes), len(entry["operators"]))
        titles = [box.find("title").text for box in boxes]
        for op, title in zip(entry["operators"], titles):
            self.assertTrue(title.startswith(f"{op['index']} {op['kind']} "), title)
        table = [node for node in root.iter("table") if node.get("class") == "priced"][0]
        self.assertEqual(len(table.findall("tr")), 1 + len(entry["operators"]) + 2)

    def test_it_asks_nothing_of_elsewhere(self):
        text = self.page(self.network()).read_text(encoding="ascii")
        self.assertIn("default-src 'none'", text)
        for word in ("http://", "https://", "src=", "@import", "url(", "<link"):
            self.assertNotIn(word, text)

    def test_names_are_not_markup(self):
        path = self.network('<script>alert(1)<!-- &amp; ".tflite')
        text = self.page(path).read_text(encoding="ascii")
        self.assertEqual(text.count("<script>"), 1)

        class Parser(html.parser.HTMLParser):
            headings = []

            def handle_data(self, data):
                if self.lasttag == "h1":
                    self.headings.append(data)

        parser = Parser()
        parser.feed(text)
        self.assertIn('<script>alert(1)<!-- &amp; ".tflite', parser.headings[0])

    def browse(self, file):
        """The page as the browser has it, and the addresses that the page asked for."""
        log = self.dir / "net.json"
        done = subprocess.run(
            [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", f"--user-data-dir={self.dir / 'profile'}", f"--log-net-log={log}",
             "--enable-logging=stderr", "--dump-dom", file.as_uri()],
            capture_output=True, timeout=180, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        # Requests of the browser itself, for updates and the like, are of no page.
        asked = set(re.findall(r'site=file://[^"]*","url":"((?!file:|data:)[^"]*)"',
                               log.read_text()))
        return done, asked

    def test_a_browser_shows_it_and_stays_at_home(self):
        require(self, browser(), "no Chromium; ./dev setup installs it")
        path = self.network(space="residual-classifier")
        file = self.page(path)
        done, asked = self.browse(file)
        self.assertNotIn("CONSOLE", done.stderr)
        self.assertIn("graph coloured by cost", done.stdout)
        self.assertEqual(done.stdout.count("<rect class=\"box"),
                         file.read_text(encoding="ascii").count("<rect class=\"box"))
        self.assertEqual(asked, set())
        # A page that does ask is found out.
        file.write_text('<img src="http://127.0.0.1:9/x.png">', encoding="ascii")
        self.assertEqual(self.browse(file)[1], {"http://127.0.0.1:9/x.png"})

    def test_large_models_are_shown(self):
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")
        with open(data_dir() / "models" / "index.csv", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["kind"] == "tflite"]
        largest = sorted(rows, key=lambda row: -int(row["bytes"] if "bytes" in row else 0))[:3]
        for row in largest:
            path = data_dir() / "models" / row["file"]
            text = self.page(Path(path)).read_text(encoding="ascii")
            ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))


if __name__ == "__main__":
    unittest.main()
