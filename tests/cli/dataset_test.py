"""From a campaign to published labels and back: annotate, merge, export, info, verify, and the scripts."""

import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SOURCE, TOOL, ToolTest, require, run, runtimes

SPACE, DEVICE = "keyword-sound", "ethos-u55-256"


class DataSet(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, runtimes(), "Vela in .venv (./dev setup)")

    def annotate(self, store, shard="0/1", count=6):
        answer = run("annotate", "--store", store, "--space", SPACE, "--device", DEVICE, "--count",
                     count, "--shard", shard, "--quiet")
        self.assertEqual(answer.code, 0, answer.err)

    def export(self, store, output, *more):
        answer = run("dataset", "export", "--store", store, "--device", DEVICE, "-o", output, *more)
        self.assertEqual(answer.code, 0, answer.err)
        return answer

    def test_shards_merge_to_the_labels_of_the_whole(self):
        whole, joined = self.dir / "whole.sqlite", self.dir / "joined.sqlite"
        self.annotate(whole)
        parts = [self.dir / f"part{i}.sqlite" for i in range(2)]
        for i, part in enumerate(parts):
            self.annotate(part, f"{i}/2")
        merged = run("store", "merge", joined, *parts, "--format", "json")
        self.assertEqual(merged.code, 0, merged.err)
        self.assertEqual([part["measurements_added"] for part in merged.json()["merged"]], [3, 3])
        again = run("store", "merge", joined, whole, "--format", "json")
        self.assertEqual(again.code, 0, again.out)
        self.assertEqual(again.json()["merged"][0]["already_there"], 6)
        self.export(whole, self.dir / "whole.csv.zst")
        self.export(joined, self.dir / "joined.csv.zst")
        self.assertEqual((self.dir / "whole.csv.zst").read_bytes(),
                         (self.dir / "joined.csv.zst").read_bytes())

    def test_a_missing_store_leaves_the_output_alone(self):
        answer = run("store", "merge", self.dir / "out.sqlite", self.dir / "missing.sqlite")
        self.assertEqual(answer.code, 6)
        self.assertFalse((self.dir / "out.sqlite").exists())

    def test_a_folder_is_counted_and_verified(self):
        store, folder = self.dir / "a.sqlite", self.dir / "labels"
        self.annotate(store)
        exported = self.export(store, folder, "--block", 4, "--format", "json").json()
        self.assertEqual((exported["networks"], len(exported["parts"])), (6, 2))
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.zst"))
        self.assertEqual(files, [f"{DEVICE}/{SPACE}-00000.csv.zst", f"{DEVICE}/{SPACE}-00004.csv.zst"])
        info = run("dataset", "info", folder, "--format", "json").json()
        self.assertEqual(info["labels"], 6)
        part, = info["parts"]
        names = [quantity["quantity"] for quantity in part["quantities"]]
        for name in ("latency_ms", "energy_mj", "sram_bytes", "operators"):
            self.assertIn(name, names)
        self.assertTrue(info["energy_table"])
        self.assertIn(SPACE, run("dataset", "info", folder).out)
        held = run("dataset", "verify", folder, "--count", 3, "--format", "json")
        self.assertEqual(held.code, 0, held.out + held.err)
        self.assertEqual(held.json()["devices"][0]["compared"], 3)
        # One figure off by a percent.
        spoiled_file = self.spoil(folder / DEVICE / f"{SPACE}-00000.csv.zst")
        spoiled = run("dataset", "verify", spoiled_file, "--format", "json")
        self.assertEqual(spoiled.code, 1, spoiled.out)
        self.assertEqual(spoiled.json()["devices"][0]["differences"][0]["quantity"], "sram_bytes")

    def spoil(self, file):
        """The file as plain CSV, its first row with another figure."""
        rows = run_zstd(file).splitlines()
        column = rows[0].split(",").index("sram_bytes")
        cells = rows[1].split(",")
        cells[column] = str(float(cells[column]) * 1.01)
        rows[1] = ",".join(cells)
        path = self.dir / "spoiled.csv"
        path.write_text("\n".join(rows) + "\n")
        return path

    def test_the_data_card_is_filled_from_the_labels(self):
        store, card = self.dir / "a.sqlite", self.dir / "card.md"
        self.annotate(store, count=3)
        self.export(store, self.dir / "labels")
        card.write_text((SOURCE / "docs" / "data_card.md").read_text())
        command = [sys.executable, SOURCE / "scripts" / "make_data_card.py", self.dir / "labels",
                   "--tool", TOOL, "--card", card]
        texts = []
        for _ in range(2):
            subprocess.run(command, check=True)
            texts.append(card.read_text())
        self.assertIn(f"| {DEVICE} | vela 5.2.0 | estimate | {SPACE}/", texts[0])
        self.assertIn(f"{DEVICE}, energy_mj", texts[0])
        self.assertEqual(texts[0], texts[1])

    def test_feature_files_become_graphs_of_pytorch_geometric(self):
        labels, features = self.dir / "labels.csv", self.dir / "labels.features"
        source = SOURCE / "labels" / "few-shot" / "ethos-u55-256.csv.zst"
        labels.write_text("".join(run_zstd(source).splitlines(keepends=True)[:201]))
        made = run("train", "--labels", labels, "--features", features, "--members", 1, "--epochs", 1,
                   "-o", self.dir / "small.edgesage", "--quiet")
        self.assertEqual(made.code, 0, made.err)
        script = [runtimes(), SOURCE / "scripts" / "features_to_pyg.py", features]
        listed = subprocess.run([*script, "--list"], check=True, capture_output=True, text=True)
        graphs = [json.loads(line) for line in listed.stdout.splitlines()]
        rows = {row["name"]: row for row in csv.DictReader(io.StringIO(labels.read_text()))}
        self.assertEqual({graph["name"] for graph in graphs}, set(rows))
        for graph in graphs:
            row = rows[graph["name"]]
            self.assertEqual(graph["graph_hash"], row["graph_hash"])
            self.assertEqual(graph["labels"]["latency_ms"], float(row["latency_ms"]))
            nodes = graph["x"][0]
            self.assertEqual(len(graph["op"]), nodes)
            self.assertTrue(all(-1 <= op < graph["operators"] for op in graph["op"]))
            # Networks flow one way: an edge leads to a later node.
            self.assertTrue(all(0 <= a < b < nodes for a, b in graph["edges"]))
            self.assertGreaterEqual(len(graph["edges"]), nodes // 2)
        # What is handed to PyTorch, with stand-ins for both packages: they are gigabytes.
        stand_ins = self.dir / "packages"
        (stand_ins / "torch_geometric").mkdir(parents=True)
        (stand_ins / "torch_geometric" / "__init__.py").touch()
        (stand_ins / "torch_geometric" / "data.py").write_text("Data = dict\n")
        (stand_ins / "torch.py").write_text(
            "import json\n"
            "def from_numpy(array):\n    return [str(array.dtype), list(array.shape)]\n"
            "def save(graphs, path):\n    json.dump(graphs, open(path, 'w'))\n")
        subprocess.run([*script, "-o", self.dir / "graphs.pt"], check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": str(stand_ins)})
        saved = json.loads((self.dir / "graphs.pt").read_text())
        self.assertEqual([graph["name"] for graph in saved], [graph["name"] for graph in graphs])
        for graph, told in zip(saved, graphs):
            self.assertEqual(graph["x"], ["float32", told["x"]])
            self.assertEqual(graph["edge_index"], ["int64", [2, len(told["edges"])]])
            self.assertEqual(graph["y"][0], "float64")


def run_zstd(file):
    return subprocess.run(["zstd", "-dc", str(file)], check=True, capture_output=True,
                          text=True).stdout


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow (requirements-parquet.txt)")
class Parquet(unittest.TestCase):
    def test_the_table_holds_what_the_label_file_does(self):
        import pyarrow.parquet
        labels = SOURCE / "labels" / "few-shot" / "ethos-u55-256.csv.zst"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labels.parquet"
            subprocess.run([sys.executable, SOURCE / "scripts" / "labels_to_parquet.py", labels, "-o",
                            path], check=True, capture_output=True)
            table = pyarrow.parquet.read_table(path).to_pylist()
        rows = list(csv.DictReader(io.StringIO(run_zstd(labels))))
        self.assertEqual(len(table), len(rows))
        for ours, row in zip(table, rows):
            self.assertEqual(ours["name"], row["name"])
            self.assertEqual(ours["latency_ms"], float(row["latency_ms"]))
            self.assertIsNone(ours["host_fingerprint"])
            total = sum(operator["cycles"] for operator in ours["operators"])
            self.assertAlmostEqual(total / float(row["cycles_total"]), 1, 9)


if __name__ == "__main__":
    unittest.main()
