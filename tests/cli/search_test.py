"""edgesage search: fronts, files, resuming, quality, the device in the loop, errors."""

import json
import shutil
import signal
import subprocess
import time
import unittest

import support

NETWORK = "reference/mobilenet-v2@32"
DEVICE = "ethos-u55-256"


def front_of(answer):
    return [(point["values"], point["predicted"]["latency_ms"], point["quality"])
            for point in answer["front"]]


class Search(support.ToolTest):
    def search(self, folder, *more, model=NETWORK, evaluations=192, code=0, keep=3):
        answer = support.run("search", model, "--device", DEVICE, "--dir", self.dir / folder,
                             "--evaluations", evaluations, "--population", 32, "--format", "json",
                             "--keep", keep, "--quiet", *more)
        self.assertEqual(answer.code, code, answer.err)
        return answer.json() if code in (0, 1) else answer

    def test_front_gets_better_with_quality_and_is_written(self):
        found = self.search("a")
        latency = [point["predicted"]["latency_ms"] for point in found["front"]]
        quality = [point["quality"] for point in found["front"]]
        self.assertGreater(len(latency), 10)
        self.assertEqual(latency, sorted(latency))
        self.assertEqual(quality, sorted(quality))
        self.assertLess(latency[0], found["original"]["predicted"]["latency_ms"] / 2)
        files = [point["file"] for point in found["front"] if point["file"]]
        self.assertEqual(len(files), 3)
        for name in files:
            predicted = support.run("predict", self.dir / "a" / name, "--device", DEVICE,
                                    "--format", "json").json()["predictions"][0]
            point = next(p for p in found["front"] if p["file"] == name)
            self.assertAlmostEqual(predicted["latency_ms"]["value"] /
                                   point["predicted"]["latency_ms"], 1, delta=1e-5)
        page = (self.dir / "a" / "search.html").read_text()
        self.assertIn("<title>point 0:", page)
        self.assertIn("Staircases", page)
        self.assertEqual(json.loads((self.dir / "a" / "search-front.json").read_text()), found)
        self.assertTrue(found["staircases"])
        for stairs in found["staircases"]:
            self.assertEqual(stairs["steps"][-1], stairs["widths"][-1])

    def test_killed_and_resumed_it_ends_where_it_would_have(self):
        whole = self.search("whole", evaluations=320)
        command = [str(support.TOOL), "search", NETWORK, "--device", DEVICE, "--dir",
                   str(self.dir / "pieces"), "--evaluations", "320", "--population", "32",
                   "--quiet"]
        checkpoint = self.dir / "pieces" / "search.json"
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.time() + 120
        while not checkpoint.exists() and run.poll() is None and time.time() < deadline:
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.assertEqual(front_of(self.search("pieces", evaluations=320)), front_of(whole))

    def test_limits_hold(self):
        half = self.search("free")["original"]["predicted"]["latency_ms"] / 2
        found = self.search("limited", "--max-latency-ms", half)
        self.assertTrue(found["front"])
        for point in found["front"]:
            self.assertLessEqual(point["predicted"]["latency_ms"], half)
        adapted = self.search("adapted", "--method", "netadapt", "--max-latency-ms", half)
        self.assertTrue(adapted["target_reached"])
        self.assertLessEqual(adapted["front"][-1]["predicted"]["latency_ms"], half)
        self.search("never", "--method", "netadapt", "--max-latency-ms", half / 1e4, code=1)

    def test_quality_by_a_command(self):
        script = self.dir / "size.py"
        script.write_text("import os, sys\nprint('bytes')\nprint(os.path.getsize(sys.argv[1]))\n")
        found = self.search("command", "--quality-command", "python3", str(script), "{model}",
                            evaluations=32)
        self.assertEqual(found["quality_by"], "command")
        self.assertGreater(found["original"]["quality"], 1e6)
        asked = len((self.dir / "command" / "quality.jsonl").read_text().splitlines())
        self.search("command", "--quality-command", "python3", str(script), "{model}",
                    evaluations=32)
        self.assertEqual(len((self.dir / "command" / "quality.jsonl").read_text().splitlines()),
                         asked)

    def test_fidelity_and_sides(self):
        support.require(self, support.runtimes(), "no .venv; run ./dev setup")
        found = self.search("fidelity", "--quality", "fidelity", "--side", "0.75",
                            "--calibration-sets", 2, evaluations=40)
        self.assertAlmostEqual(found["original"]["quality"], 1)
        self.assertIn("side", [gene["kind"] for gene in found["genes"]])

    def test_the_device_confirms_and_teaches(self):
        support.require(self, support.runtimes(), "no .venv; run ./dev setup")
        found = self.search("confirmed", "--confirm", 2, evaluations=64)
        measured = [point for point in found["front"] if point["measured"]]
        self.assertEqual(len(measured), 2)
        for point in measured + [found["original"]]:
            ratio = point["predicted"]["latency_ms"] / point["measured"]["latency_ms"]
            self.assertLess(abs(ratio - 1), 0.25)
        taught = self.search("hybrid", "--hybrid", 2, evaluations=96)
        self.assertEqual(taught["device_runs"], 6)
        looped = self.search("looped", "--hardware", evaluations=16)
        self.assertGreaterEqual(looped["device_runs"], 16)
        self.assertTrue(all(point["measured"] for point in looped["front"]))

    def test_the_study_asks_a_compiler_once_and_ends_where_it_did(self):
        support.require(self, support.runtimes(), "no .venv; run ./dev setup")
        folder = self.dir / "study"
        network = "residual-classifier/1/11"

        def study():
            answer = support.run("evaluate", "--protocol", "compression", "--results", folder,
                                 "--board", DEVICE, "--network", network, "--evaluations", 16,
                                 "--budget", 20, "--front", 4, "--stairs", 1, "--arm", "estimator",
                                 "hardware", "--format", "json", "--quiet")
            self.assertEqual(answer.code, 0, answer.err)
            return answer.json()

        found = study()
        estimator, hardware = found["rows"]
        self.assertEqual((estimator["device_runs"], hardware["device_runs"]), (20, 16))
        self.assertGreater(hardware["hypervolume"], 0)
        self.assertEqual((hardware["mape"], hardware["of_hardware"]), (0, 100))
        self.assertGreater(hardware["seconds"], 0)
        stairs, = found["staircases"]
        self.assertEqual(stairs["measured_steps"][-1], stairs["widths"][-1])
        name = f"{network.replace('/', '_')}__{DEVICE}"
        answers = folder / f"answers__{name}.jsonl"
        known = answers.read_text()
        self.assertEqual(len((folder / "compression.csv").read_text().splitlines()), 3)
        front = (folder / f"{name}__16__1" / "hardware" / "front.csv").read_text().splitlines()
        self.assertEqual(len(front), 1 + hardware["front"])
        self.assertEqual(study(), found)
        # Another search asks for nothing that was compiled for one before.
        shutil.rmtree(folder / f"{name}__16__1" / "hardware")
        anew = study()
        for row in found["rows"] + anew["rows"]:
            del row["seconds"]
        self.assertEqual(anew, found)
        self.assertEqual(answers.read_text(), known)

    def test_a_file_that_nothing_changes_in_is_the_file(self):
        data = support.data_dir()
        support.require(self, data, "no models; set EDGESAGE_DATA_DIR")
        model = next((data / "models" / "tflite" / "tiny").glob("*vww_96_int8.tflite"))
        self.search("file", "--keep-blocks", model=model, evaluations=64, keep=1000)
        written = [path.read_bytes() for path in (self.dir / "file").glob("point-*.tflite")]
        self.assertIn(model.read_bytes(), written)

    def test_what_cannot_be_is_said(self):
        for more, words in [(["--side", "0.5"], "magnitude"),
                            (["--method", "netadapt"], "--max-latency-ms"),
                            (["--objective", "beauty"], "latency_ms"),
                            (["--quality-command", "true"], "{model}")]:
            answer = self.search("bad", *more, code=2)
            self.assertIn(words, answer.err)
        self.search("same", evaluations=32)
        answer = self.search("same", "--seed", 7, evaluations=32, code=2)
        self.assertIn("another search", answer.err)
        answer = self.search("none", model="reference/resnet51", code=3)
        self.assertEqual(answer.out, "")
        answer = support.run("search", NETWORK, "--device", "toaster", "--dir", self.dir / "x")
        self.assertEqual(answer.code, 2)


if __name__ == "__main__":
    unittest.main()
