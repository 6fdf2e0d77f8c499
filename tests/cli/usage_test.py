"""Exit codes, help and its examples, suggestions, output files."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, data_dir, require, run, runtimes


def commands():
    text = run("--help").out
    section = text.split("Subcommands:")[1].split("\n\n")[0]
    return re.findall(r"(?m)^  ([a-z]+)  ", section)


def examples(help_text):
    part = re.split(r"(?m)^Examples?:$", help_text)
    return re.findall(r"(?m)^  edgesage (.*)$", part[1]) if len(part) > 1 else []


class Usage(ToolTest):
    def test_without_arguments_the_help_and_code_2(self):
        answer = self.check(run(), 2)
        self.assertEqual(answer.out, "")
        self.assertIn("inspect", answer.err)

    def test_help_and_version_succeed_on_stdout(self):
        for arguments in (["--help"], ["-h"], ["--version"], ["version"]):
            answer = self.check(run(*arguments), 0)
            self.assertTrue(answer.out)
            self.assertEqual(answer.err, "")

    def test_every_command_has_help_with_an_example(self):
        self.assertGreaterEqual(len(commands()), 6)
        for command in commands():
            with self.subTest(command):
                answer = self.check(run(command, "--help"), 0)
                self.assertTrue(examples(answer.out), answer.out)
                self.assertEqual(answer.err, "")

    def test_a_variable_forces_the_instruction_set(self):
        listed = run("version").out.splitlines()[1]
        self.assertTrue(listed.startswith("instruction set "), listed)
        names = listed.split(" of ")[1].split(";")[0].split(", ")
        for name in names:
            answer = self.check(run("version", env={"EDGESAGE_TARGET": name}), 0)
            self.assertIn(f"instruction set {name} of ", answer.out)
        answer = self.check(run("version", env={"EDGESAGE_TARGET": "AVX9"}), 2)
        self.assertIn(names[0], answer.err)

    def test_unknown_names_are_usage_errors_with_a_suggestion(self):
        for arguments, suggestion in ((["inspct"], "inspect"),
                                      (["inspect", "m.tflite", "--formt", "json"], "--format"),
                                      (["inspect", "m.tflite", "--strct"], "--strict"),
                                      (["measure", "m.tflite", "--devise=x"], "--device"),
                                      (["measure", "m.tflite", "--device", "ethos-u55-265"],
                                       "ethos-u55-256"),
                                      (["generate", "--space", "mobile-clasifier", "-o", "x"],
                                       "mobile-classifier")):
            with self.subTest(" ".join(arguments)):
                answer = self.check(run(*arguments, cwd=self.dir), 2)
                self.assertEqual(answer.out, "")
                self.assertIn(suggestion, answer.err)
                self.assertEqual(answer.err.count("\n"), 1, answer.err)

    def test_wrong_values_are_usage_errors(self):
        for arguments in (["inspect"], ["inspect", "m", "--format", "xml"], ["store"],
                          ["store", "info"], ["measure", "m.tflite"], ["generate"],
                          ["measure", "m.tflite", "--device", "ethos-u55-256", "--repeats", "0"],
                          ["measure", "m.tflite", "--device", "ethos-u55-256", "--option", "x"],
                          ["devices", "extra"], ["--nonsense"]):
            with self.subTest(" ".join(arguments)):
                answer = self.check(run(*arguments, cwd=self.dir), 2)
                self.assertEqual(answer.out, "")
                self.assertIn("edgesage: error:", answer.err)

    def test_bad_files_have_their_codes(self):
        (self.dir / "bad").write_bytes(b"nonsense")
        (self.dir / "empty").write_bytes(b"")
        self.check(run("inspect", self.dir / "bad"), 3)
        self.check(run("inspect", self.dir / "empty"), 3)
        self.check(run("inspect", self.dir / "absent"), 3)
        self.check(run("inspect", self.dir), 3)
        self.check(run("inspect", "-", stdin=b""), 3)
        self.check(run("store", "info", self.dir / "bad"), 6)
        self.check(run("store", "info", self.dir / "absent"), 6)

    def test_evaluating_on_another_split_than_that_of_the_training_is_refused(self):
        labels = SOURCE / "labels" / "ethos-u55-256.csv.zst"
        answer = self.check(run("evaluate", "--labels", labels, "--split-seed", 7), 2)
        self.assertIn("--split-seed 1 --test-share 0.2", answer.err)

    def test_output_files_hold_what_stdout_would(self):
        path = self.network()
        printed = self.check(run("inspect", path), 0).out
        answer = self.check(run("inspect", path, "-o", self.dir / "out.txt"), 0)
        self.assertEqual(answer.out, "")
        self.assertEqual((self.dir / "out.txt").read_text(), printed)
        self.check(run("inspect", path, "-o", self.dir / "no" / "such" / "out.txt"), 2)
        self.assertEqual(self.check(run("inspect", path, "-o", "-"), 0).out, printed)

    def test_a_closed_pipe_is_no_crash(self):
        path = self.network()
        shell = f"{shlex.quote(str(TOOL))} inspect {shlex.quote(str(path))} --format json"
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {shell} | true"],
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_generated_files_depend_on_the_seed_alone(self):
        def make(folder, *extra):
            answer = self.check(run("generate", "--space", "keyword-sound", "--count", 3, "--seed",
                                    5, "-o", self.dir / folder, "--format", "json", *extra), 0)
            return answer.json()["networks"]

        one, two = make("one", "--threads", 1), make("two", "--threads", 2)
        self.assertEqual([n["name"] for n in one], [f"keyword-sound/1/{s}" for s in (5, 6, 7)])
        for first, second in zip(one, two):
            with open(first["file"], "rb") as a, open(second["file"], "rb") as b:
                self.assertEqual(a.read(), b.read())

    def test_an_interrupt_keeps_what_is_finished(self):
        folder = self.dir / "many"
        process = subprocess.Popen([str(TOOL), "generate", "--space", "keyword-sound", "--count",
                                    "100000", "-o", str(folder), "--format", "json", "--quiet"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not list(folder.glob("*.tflite")):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        listed = [entry["file"] for entry in json.loads(out)["networks"]]
        self.assertEqual(sorted(listed), sorted(map(str, folder.glob("*.tflite"))))


# Makes what the next ones read.
EXAMPLE_ORDER = ["inspect", "measure", "generate", "annotate", "store", "dataset", "train", "evaluate",
                 "calibrate", "sample"]

# The same commands with less work.
CHEAPER = {
    "annotate": (("200", "60"), []),
    "train": ((), ["--members", "1", "--epochs", "2", "--hidden", "8", "--calibration-share",
                   "0.3"]),
    "evaluate": ((), ["--calibration-share", "0.3"]),
    # On a machine that runs other tests beside it.
    "calibrate": (("100", "16"), ["--measure-unfit", "--space", "keyword-sound", "--pool", "60",
                                  "--virtual-devices", "1000", "--members", "1", "--epochs", "4"]),
    "sample": ((), ["--space", "keyword-sound", "--pool", "60", "--virtual-devices", "1000"]),
}


class HelpExamples(ToolTest):
    """The examples of every command's help run as they are printed, one after the other."""

    def test_they_run(self):
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        model = self.network("model.tflite")
        (self.dir / "my-models").mkdir()
        shutil.copy(model, self.dir / "my-models")
        (self.dir / "budget.toml").write_text('[[limits]]\ndevice = "ethos-u55-256"\nmacs = 1e9\n')
        (self.dir / "measured.csv").write_text("model,latency_us\nmodel,1234\n")
        places = {"EDGESAGE_PREDICTOR_PATH": str(self.dir)}
        if data_dir():
            places["EDGESAGE_DATA_DIR"] = str(data_dir())
        names = commands()
        self.assertLessEqual(set(EXAMPLE_ORDER), set(names))
        order = EXAMPLE_ORDER + [name for name in names if name not in EXAMPLE_ORDER]
        for command in order:
            replaced, added = CHEAPER.get(command, ((), []))
            for example in examples(run(command, "--help").out):
                with self.subTest(example):
                    if "--protocol" in example:
                        require(self, data_dir(), "the published measurements are not there")
                    words = [replaced[1] if replaced and word == replaced[0] else word
                             for word in shlex.split(example)]
                    self.check(run(*words, *added, cwd=self.dir, env=places), 0)


if __name__ == "__main__":
    unittest.main()
