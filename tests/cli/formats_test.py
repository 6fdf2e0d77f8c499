"""What `edgesage predict` writes for viewers: traces, node data, pages, Markdown."""

import csv
import html.parser
import importlib.util
import io
import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from support import SOURCE, ToolTest, data_dir, require, run

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
        at = 0
        for event in runs:
            self.assertAlmostEqual(event["ts"], at, places=6)
            at += event["dur"]
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
        for event in events:
            self.assertLessEqual({"ph", "pid", "name"}, set(event))

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

    def test_node_data_is_what_model_explorer_documents(self):
        data = self.node_data(self.model)
        self.assertEqual(set(data), {"name", "results", "gradient"})
        self.assertEqual([item["stop"] for item in data["gradient"]][::2], [0, 1])
        spec = importlib.util.find_spec("model_explorer")
        if spec is None or spec.origin is None:
            return
        # The package's own classes take it as it is.
        from model_explorer import node_data_builder as builder
        graph = builder.GraphNodeData(
            results={key: builder.NodeDataResult(**value)
                     for key, value in data["results"].items()},
            name=data["name"],
            gradient=[builder.GradientItem(**item) for item in data["gradient"]])
        back = json.loads(graph.to_json_string())
        self.assertEqual(back["results"], data["results"])
        self.assertEqual(back["gradient"], data["gradient"])

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
