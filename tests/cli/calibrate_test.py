"""`edgesage calibrate` and `edgesage sample` as a user runs them: labels of a file, real measurements,
an interruption, a second look."""

import csv
import io
import json
import re
import signal
import subprocess
import unittest

import support

POOL = ["--space", "keyword-sound", "--pool", "120", "--virtual-devices", "1000"]
SMALL = [*POOL, "--epochs", "10", "--members", "1"]
COLUMNS = ("name,graph_hash,device,runtime,runtime_version,host_fingerprint,statistic,repeats,"
           "cpu_operators,latency_ms,operator_unit,operator_index,operator_cycles,operator_macs,"
           "operator_working_bytes,operator_placement")


class Calibrate(support.ToolTest):

    def names(self, count):
        answer = self.check(support.run("sample", "--count", count, *POOL), 0)
        return answer.out.split()

    def labels(self, count):
        """A label file of a made-up device, whose time grows with the MACs."""
        lines, truth = [COLUMNS], {}
        for name in self.names(count):
            space, _, seed = name.split("/")
            made = support.run("generate", "--space", space, "--seed", seed, "-o", self.dir / "nets",
                               "--format", "json").json()["networks"][0]
            truth[name] = 0.01 + made["macs"] / 4e8
            lines.append(f"{name},{made['graph_hash']},host-litert,made-up,1,,min,1,0,{truth[name]}"
                         ",,,,,,")
        path = self.dir / "labels.csv"
        path.write_text("\n".join(lines) + "\n")
        return path, truth

    def test_few_labels_of_a_file_are_judged_as_csv_and_go_on_where_they_were(self):
        path, _ = self.labels(40)
        results = self.dir / "rows.csv"

        def rows(model):
            answer = self.check(support.run(
                "evaluate", "--protocol", "labels", "--set", path, "--count", "20", "--seeds", "1",
                "--model", model, "--virtual-devices", "300", "--results", results, "--format",
                "csv"), 0)
            return {row["model"]: row for row in csv.DictReader(io.StringIO(answer.out))}

        first = rows("constant")
        self.assertEqual(set(first), {"process", "constant"})
        self.assertEqual(first["process"]["n_train"], "20")
        self.assertGreater(float(first["process"]["coverage_50"]), 0)
        self.assertEqual(first["constant"]["coverage_50"], "")
        second = rows("linear")
        self.assertEqual(set(second), {"process", "constant", "linear"})
        # The file has four decimals. Time too is the same: what is in it is not learnt again.
        for figure in ("mape", "within_10", "coverage_90", "seconds"):
            self.assertAlmostEqual(float(second["process"][figure]),
                                   float(first["process"][figure]), delta=1e-4)
        self.assertEqual(len(results.read_text().splitlines()), 4)

    def calibrate(self, *arguments, code=0):
        return self.check(support.run("calibrate", "--device", "host-litert", *arguments, *SMALL,
                                      cwd=self.dir), code)

    def test_samples_different_networks_and_the_same_ones_again(self):
        names = self.names(9)
        self.assertEqual(len(set(names)), 9)
        for name in names:
            self.assertRegex(name, r"^keyword-sound/1/\d+$")
        self.assertEqual(names, self.names(9))

    def test_samples_files_and_their_mutations(self):
        self.network(seed=5)
        files = sorted(str(path) for path in self.dir.rglob("*.tflite"))
        arguments = ["sample", "--count", "12", "--models", self.dir, "--mutations", "30",
                     "--virtual-devices", "1000"]
        names = self.check(support.run(*arguments), 0).out.split()
        self.assertEqual(len(set(names)), 12)
        for name in names:
            found = re.fullmatch(r"(?:mutation/\d+/)?(.*)", name)
            self.assertIn(found.group(1), files)
        self.assertGreater(sum(name.startswith("mutation/") for name in names), 8)
        self.assertEqual(names, self.check(support.run(*arguments), 0).out.split())
        answer = self.check(support.run("sample", "--mutations", "3"), 2)
        self.assertIn("--models", answer.err)

    def test_measures_mutations_of_a_users_file(self):
        support.require(self, support.runtimes(), "the device runtimes are not installed")
        self.network(seed=5)
        told = self.check(support.run(
            "calibrate", "--device", "ethos-u55-256", "--budget", "16", "--models", self.dir,
            "--mutations", "40", "--virtual-devices", "1000", "--epochs", "10", "--members", "1",
            "--format", "json", cwd=self.dir), 0).json()
        networks = told["quantities"][0]["networks"]
        self.assertGreaterEqual(len(networks), 16)
        self.assertTrue(any(network["name"].startswith("mutation/") for network in networks))

    def test_calibrates_from_labels_that_are_there(self):
        labels, truth = self.labels(40)
        told = self.calibrate("--from", labels, "--format", "json").json()
        latency = told["quantities"][0]
        self.assertEqual(latency["labels"], 40)
        self.assertLess(latency["median_ape"], 10)
        self.assertEqual({network["name"] for network in latency["networks"]}, set(truth))
        self.assertEqual(told["predictor"], "host-litert.edgesage")

        # A network that has no label.
        model = self.network(seed=777)
        answer = support.run("predict", model, "--device", "host-litert", "--predictor",
                             self.dir / "host-litert.edgesage", "--format", "json")
        predicted = answer.json()["predictions"][0]
        expected = 0.01 + predicted["macs"] / 4e8
        value = predicted["latency_ms"]["value"]
        self.assertTrue(0.5 * expected < value < 2 * expected, (expected, value))
        parts = sum(op["latency_ms"] or 0 for op in predicted["operators"])
        self.assertAlmostEqual(parts + predicted["overhead_ms"], value, delta=1e-5 * value)

        # The report is one file that asks nobody for anything.
        page = (self.dir / "host-litert.html").read_text()
        self.assertTrue(page.startswith("<!doctype html>") and "</html>" in page)
        self.assertIsNone(re.search(r"(src|href)=|https?://|@import|url\(", page))
        self.assertEqual(page.count("<svg"), 3)
        self.assertIn("Measure next", page)

    def test_says_in_one_line_what_is_wrong(self):
        answer = self.check(support.run("calibrate", "--device", "no-such-device", *SMALL,
                                        cwd=self.dir), 2)
        self.assertIn("no-such-device", answer.err)
        self.assertEqual(len(answer.err.splitlines()), 1)
        labels, _ = self.labels(5)
        self.assertIn("5 labels", self.calibrate("--from", labels, "--quiet", code=2).err)

    def test_measures_and_goes_on_where_it_was(self):
        support.require(self, support.runtimes(), "the device runtimes are not installed")
        arguments = ["calibrate", "--device", "host-litert", "--budget", "16", "--measure-unfit",
                     *SMALL]
        first = subprocess.Popen([str(support.TOOL), *arguments], cwd=self.dir, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in first.stderr:
            if "measuring" in line:
                break
        first.send_signal(signal.SIGINT)
        out, err = first.communicate(timeout=200)
        self.assertIn(first.returncode, (0, 130), (out, err))

        told = self.check(support.run(*arguments, "--format", "json", cwd=self.dir), 0).json()
        self.assertGreaterEqual(told["quantities"][0]["labels"], 16)
        self.assertEqual(told["runtime"], "litert")
        self.assertTrue(told["protocol"])
        drift = self.calibrate("--verify", "3", "--measure-unfit", "--format", "json").json()["drift"]
        self.assertGreaterEqual(drift["networks"], 1)
        self.assertTrue(0.2 < drift["median_ratio"] < 5, drift)

        # What to ask next, and whether it is worth it.
        more = support.run("sample", "--device", "host-litert", "--store",
                           self.dir / "host-litert.sqlite", "--count", "3", *POOL, "--format", "json")
        self.assertEqual(self.check(more, 0).json()["labelled"], told["quantities"][0]["labels"])


if __name__ == "__main__":
    unittest.main()
