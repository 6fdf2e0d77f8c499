"""`edgesage train`: the feature file, checkpoints and progress as users meet them."""

import csv
import math
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from support import TOOL, ToolTest, run

QUICK = ["--members", 1, "--hidden", 16, "--threads", 1, "--calibration-share", 0.3]


class Train(ToolTest):
    """Labels are made up: what a network costs is its MACs."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.made = Path(directory.name)
        networks = run("generate", "--space", "keyword-sound", "--count", 70, "-o",
                       cls.made / "networks", "--format", "json").json()["networks"]
        with open(cls.made / "labels.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["name", "graph_hash", "device", "runtime", "latency_ms"])
            for network in networks:
                table.writerow([network["name"], network["graph_hash"], "ethos-u55-256", "none",
                                1e-6 * network["macs"] + 0.01])
        cls.first = run("train", "--labels", cls.made / "labels.csv", "-o", cls.made / "first",
                        *QUICK, "--epochs", 3)

    def setUp(self):
        super().setUp()
        self.check(self.first, 0)
        for name in ["labels.csv", "labels.csv.features", "first"]:
            shutil.copy(self.made / name, self.dir / name)
        self.labels = self.dir / "labels.csv"
        self.features = self.dir / "labels.csv.features"

    def train(self, output, *more, epochs=3):
        return run("train", "--labels", self.labels, "-o", self.dir / output, *QUICK, "--epochs",
                   epochs, *more)

    def bytes_of(self, name):
        return (self.dir / name).read_bytes()

    def test_features_are_kept_and_found_again(self):
        written = self.features.stat().st_mtime_ns
        again = self.check(self.train("second"), 0)
        self.assertEqual(self.features.stat().st_mtime_ns, written)
        self.assertNotIn("anew", again.err)
        self.assertEqual(self.bytes_of("first"), self.bytes_of("second"))

    def test_a_damaged_file_is_made_anew_and_told(self):
        whole = self.features.read_bytes()
        damaged = bytearray(whole)
        damaged[len(damaged) // 2] ^= 1
        self.features.write_bytes(damaged)
        again = self.check(self.train("second"), 0)
        self.assertIn("is damaged (checksum); it is made anew", again.err)
        self.assertEqual(self.features.read_bytes(), whole)
        self.assertEqual(self.bytes_of("first"), self.bytes_of("second"))
        self.features.write_bytes(damaged)
        self.assertEqual(self.check(self.train("third", "--quiet"), 0).err, "")

    def test_other_labels_make_it_anew(self):
        self.labels.write_text(self.labels.read_text().replace("none", "some"))
        again = self.check(self.train("second"), 0)
        self.assertIn("made from other labels; it is made anew", again.err)

    def test_an_output_that_cannot_be_is_told_first(self):
        for more in (["none/file"], ["file", "--report", self.dir / "none" / "page.html"]):
            answer = self.check(self.train(*more), 2)
            self.assertIn("make it first", answer.err)

    def test_a_report_shows_what_json_says_and_changes_nothing(self):
        page = self.dir / "report <1>.html"
        answer = self.check(self.train("second", "--report", page, "--format", "json"), 0).json()
        self.assertEqual(self.bytes_of("first"), self.bytes_of("second"))
        text = page.read_text()
        root = ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
        # Nothing is asked of elsewhere: no address in attributes or style.
        for element in root.iter():
            self.assertFalse({"src", "href", "action", "data"} & set(element.attrib), element.tag)
        self.assertNotRegex(text, r"https?:|url\(|@import|nan")
        rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
        report = answer["report"]
        self.assertIn("report <1>.html'", report["command"])
        self.assertIn(report["command"], "".join(root.itertext()))
        self.assertEqual([epoch["epoch"] for epoch in report["epochs"]], [1, 2, 3])
        for epoch in report["epochs"]:
            self.assertGreater(epoch["validation_loss"], 0)
            self.assertGreater(epoch["validation_error"][0], 0)
        self.assertEqual({row["space"] for row in report["spaces"]}, {"all", "keyword-sound"})
        for space in report["spaces"]:
            self.assertIn([space["space"], str(space["n_test"]), f"{space['mape']:.2f}",
                           f"{space['median_ape']:.2f}", f"{space['p95_ape']:.2f}",
                           f"{space['within_10']:.1f}", f"{space['coverage_90']:.1f}",
                           f"{space['half_width_90']:.1f}", f"{space['flagged']:.1f}"], rows)
        quantity, = report["quantities"]
        self.assertEqual(quantity["name"], "latency_ms")
        self.assertEqual(sum(size["networks"] for size in quantity["sizes"]), quantity["networks"])
        for group in quantity["sizes"] + quantity["kinds"]:
            self.assertIn([group["name"], str(group["networks"]), f"{group['mape']:.2f}",
                           f"{group['median_ape']:.2f}"], rows)
        for worst in quantity["worst"]:
            self.assertTrue(any(row[0] == worst["name"] for row in rows), worst["name"])
        errors = [abs(math.log(w["predicted"] / w["truth"])) for w in quantity["worst"]]
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertIn(["seed", "1"], rows)

    def test_the_same_errors_are_in_the_predictions_of_evaluate(self):
        answer = self.check(self.train("second", "--report", self.dir / "page.html", "--format",
                                       "json"), 0).json()
        self.check(run("evaluate", "--labels", self.labels, "--predictor", self.dir / "second",
                       "--calibration-share", 0.3, "--predictions", self.dir / "p.csv"), 0)
        with open(self.dir / "p.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        errors = [100 * abs(float(row["predicted"]) / float(row["truth"]) - 1) for row in rows]
        whole, = [row for row in answer["report"]["spaces"] if row["space"] == "all"]
        self.assertEqual(len(rows), whole["n_test"])
        self.assertAlmostEqual(sum(errors) / len(errors), whole["mape"], places=2)
        for row in rows:
            self.assertLess(float(row["lo"]), float(row["predicted"]))
            self.assertTrue(row["kinds"])

    def start(self, output, checkpoint):
        command = ["train", "--labels", self.labels, "-o", self.dir / output, *QUICK, "--epochs",
                   4000, "--checkpoint", checkpoint, "--checkpoint-seconds", "0.05"]
        process = subprocess.Popen([str(TOOL), *map(str, command)], stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        return process

    def test_ctrl_c_leaves_a_checkpoint_that_other_options_refuse(self):
        checkpoint = self.dir / "run.checkpoint"
        process = self.start("predictor", checkpoint)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, error)
        self.assertIn(b"the same command goes on", error)
        self.assertTrue(checkpoint.exists())
        self.assertFalse((self.dir / "predictor").exists())
        refused = self.check(self.train("predictor", "--checkpoint", checkpoint), 6)
        self.assertIn("epochs 4000, not 3", refused.err)

    def test_a_kill_costs_nothing_but_time(self):
        checkpoint = self.dir / "run.checkpoint"
        process = self.start("killed", checkpoint)
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue(checkpoint.exists())
        # Interrupted again, so that the test need not wait for all epochs.
        process = self.start("killed", checkpoint)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, error)
        damaged = bytearray(checkpoint.read_bytes())
        damaged[100] ^= 1
        checkpoint.write_bytes(damaged)
        refused = self.check(self.train("killed", "--checkpoint", checkpoint, epochs=4000), 6)
        self.assertIn("damaged", refused.err)

    def test_a_finished_run_removes_its_checkpoint(self):
        checkpoint = self.dir / "run.checkpoint"
        self.check(self.train("kept", "--checkpoint", checkpoint, "--checkpoint-seconds", 0), 0)
        self.assertFalse(checkpoint.exists())
        self.assertEqual(self.bytes_of("first"), self.bytes_of("kept"))


if __name__ == "__main__":
    unittest.main()
