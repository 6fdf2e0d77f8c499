"""A device of commands, described by one file: devices, measure and annotate take it as any other."""

import json
import os
import sqlite3
import sys
import unittest

from support import SOURCE, ToolTest, require, run, runtimes

DESCRIPTION = """kind = "command"
runtime = "stand-in"
statistic = "min"
quantities = ["latency_ms", "first_latency_ms", "load_ms"]
[options]
threads = 1
runs = 12
[command]
remote_dir = "{folder}/remote"
check = ["{python}", "{script}", "{folder}", "check"]
push = ["{python}", "{script}", "{folder}", "push", "{{model}}", "{{remote_model}}"]
clean = ["{python}", "{script}", "{folder}", "clean", "{{remote_model}}"]
[command.run]
arguments = [
  "{python}", "{script}", "{folder}", "run", "{mode}", "{{remote_model}}", "{{threads}}",
  "{{runs}}", ["--cores", "{{cores}}"],
]
timeout_s = 60
[command.parser]
kind = "benchmark_model"
[[device]]
name = "{name}"
target = "{target}"
"""


class DeviceFile(ToolTest):
    def setUp(self):
        super().setUp()
        (self.dir / "remote").mkdir()

    def describe(self, name="my-board", mode="litert", target="litert-xnnpack", folder=None):
        file = (folder or self.dir) / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(DESCRIPTION.format(
            folder=self.dir, python=runtimes() or sys.executable, mode=mode, name=name,
            script=SOURCE / "tests" / "devices" / "stand_in.py", target=target))
        return file

    def verbs(self):
        lines = (self.dir / "log.jsonl").read_text().splitlines()
        return [json.loads(line)["verb"] for line in lines]

    def test_is_measured_and_stored_under_its_protocol(self):
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        model = self.network("odd name '1' \u00e9.tflite")
        file, store = self.describe(), self.dir / "s.db"
        common = ["--device", "my-board", "--device-file", file, "--store", store, "--format",
                  "json"]
        plain, = self.check(run("measure", model, *common), 0).json()["measurements"]
        self.assertGreater(plain["latency_ms"]["value"], 0)
        self.assertEqual(plain["latency_ms"]["statistic"], "min")
        self.assertGreater(plain["load_ms"], 0)
        self.assertEqual(plain["runtime"], "stand-in")
        self.assertIsNone(plain["variant"])
        other, = self.check(run("measure", model, *common, "--threads", "2", "--cores", "0"),
                            0).json()["measurements"]
        self.assertEqual(other["device"], "my-board")
        self.assertEqual(other["variant"], "my-board+threads=2+cores=0")
        self.assertEqual(other["protocol"]["threads"], "2")
        self.assertEqual(other["protocol"]["cores"], "0")
        names = sqlite3.connect(store).execute(
            "SELECT device_name, repeat FROM measurements ORDER BY id").fetchall()
        self.assertEqual(names, [("my-board", 0), ("my-board+threads=2+cores=0", 0)])
        self.assertEqual(list((self.dir / "remote").iterdir()), [])

    def test_is_annotated_and_goes_on_where_it_was(self):
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        file, store = self.describe(), self.dir / "s.db"
        ask = ["annotate", "--store", store, "--space", "mobile-classifier", "--device", "my-board",
               "--device-file", file, "--workers", "4", "--format", "json"]
        first, = self.check(run(*ask, "--count", "2"), 0).json()["passes"]
        self.assertEqual((first["measured"], first["failed"]), (2, 0))
        again, = self.check(run(*ask, "--count", "3"), 0).json()["passes"]
        self.assertEqual((again["measured"], again["already"]), (1, 2))
        other, = self.check(run(*ask, "--count", "1", "--threads", "2"), 0).json()["passes"]
        self.assertEqual((other["measured"], other["already"]), (1, 0))
        self.assertEqual(self.verbs().count("push"), 4)
        self.assertEqual(self.verbs().count("clean"), 4)

    def test_a_run_that_fails_is_exit_5_with_what_it_printed(self):
        file = self.describe(mode="fail")
        answer = self.check(run("measure", self.network(), "--device", "my-board", "--device-file",
                                file), 5)
        self.assertIn("Segmentation fault", answer.err)
        self.assertEqual(self.verbs()[-1], "clean")

    def test_is_found_in_the_users_directory_and_in_the_path(self):
        self.describe("in-config", folder=self.dir / "config" / "edgesage" / "devices")
        self.describe("in-path", folder=self.dir / "path")
        self.describe("in-dir", folder=self.dir / "dir")
        environment = {"XDG_CONFIG_HOME": str(self.dir / "config"),
                       "EDGESAGE_DEVICE_PATH": str(self.dir / "path")}
        listed = self.check(run("devices", "--device-dir", self.dir / "dir", "--format", "json",
                                env=environment), 0).json()["devices"]
        names = [entry["device"] for entry in listed]
        self.assertEqual(names[:3], ["in-dir", "in-path", "in-config"])
        self.assertIn("host-litert", names)
        self.assertTrue(listed[0]["measure"]["possible"])

    def test_says_what_is_missing(self):
        file = self.describe()
        file.write_text(file.read_text().replace("check = [", 'check = ["no-such-adb", '))
        listed = self.check(run("devices", "--device-file", file, "--format", "json"), 0).json()
        measure = listed["devices"][0]["measure"]
        self.assertFalse(measure["possible"])
        self.assertIn("no-such-adb of command.check is not found in PATH", measure["reason"])
        answer = self.check(run("devices", "--device-file", file, "--check", "my-board"), 5)
        self.assertIn("no-such-adb", answer.err)

    def test_a_device_that_is_offline_says_so(self):
        file = self.describe()
        (self.dir / "offline").touch()
        answer = self.check(run("devices", "--device-file", file, "--check", "my-board"), 5)
        self.assertIn("no devices/emulators found", answer.err)

    def test_wrong_descriptions_are_refused(self):
        wrong = self.describe(target="litert-xnpack")
        answer = self.check(run("devices", "--device-file", wrong), 2)
        self.assertIn("litert-xnnpack", answer.err)
        self.assertIn("my-board.toml", answer.err)
        self.check(run("devices", "--device-file", self.dir / "absent.toml"), 2)
        self.check(run("devices", "--device-file", self.dir), 2)
        file = self.describe()
        answer = self.check(run("measure", self.network(), "--device", "my-board", "--device-file",
                                file, "--option", "colour=red"), 2)
        self.assertIn("colour", answer.err)

    def test_this_computer_is_looked_at_before_it_is_measured(self):
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        answer = run("devices", "--check", "host-litert", "--format", "json")
        report = answer.json()
        self.assertEqual(answer.code, 5 if report["level"] == "unfit" else 0)
        self.assertEqual([entry["check"] for entry in report["findings"]],
                         ["answers", "governor", "turbo", "load", "processes", "steal", "quota",
                          "temperature", "throttling"])
        for entry in report["findings"]:
            self.assertTrue(entry["found"] or entry["reason"], entry)
            if entry["level"] in ("warning", "unfit"):
                self.assertTrue(entry["remedy"], entry)
        estimate = self.check(run("devices", "--check", "ethos-u55-256"), 0)
        self.assertIn("fit to be measured", estimate.out)


if __name__ == "__main__":
    os.environ.setdefault("XDG_CONFIG_HOME", "/nonexistent")
    unittest.main()
