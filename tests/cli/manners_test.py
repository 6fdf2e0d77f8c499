"""Completion, man pages, selftest, strip, terminals, names and paths of every kind."""

import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import fcntl
import unittest

from support import SOURCE, TOOL, ToolTest, data_dir, require, run, runtimes

NPU = "ethos-u55-256"


def commands():
    section = run("--help").out.split("Subcommands:")[1].split("\n\n")[0]
    return re.findall(r"(?m)^  ([a-z]+)  ", section)


def options_of(command):
    """Long options as --help prints them."""
    return set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z0-9-]+)", run(*command, "--help").out))


class Completion(ToolTest):
    def bash(self, line):
        script = self.dir / "edgesage.bash"
        self.check(run("completion", "bash", "-o", script), 0)
        words = line.split(" ")
        program = f"""
PATH={TOOL.parent}:$PATH
source {script}
COMP_WORDS=({' '.join(f"'{word}'" for word in words)})
COMP_CWORD={len(words) - 1}
_edgesage
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
        done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=self.dir,
                              check=False)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split("\n")) - {""}

    def test_bash_completes_commands_options_values_and_files(self):
        self.assertEqual(self.bash("edgesage pre"), {"predict"})
        self.assertLessEqual(set(commands()), self.bash("edgesage "))
        self.assertEqual(self.bash("edgesage predict --form"), {"--format"})
        self.assertEqual(self.bash("edgesage predict --format tr"), {"trace"})
        self.assertIn(NPU, self.bash("edgesage predict m.tflite --device ethos"))
        self.assertIn("keyword-sound", self.bash("edgesage generate --space key"))
        self.assertEqual(self.bash("edgesage store inf"), {"info"})
        (self.dir / "a model.tflite").touch()
        self.assertEqual(self.bash("edgesage inspect a"), {"a model.tflite"})
        for command in commands():
            with self.subTest(command):
                self.assertLessEqual(options_of([command]), self.bash(f"edgesage {command} --"))

    def test_zsh_and_fish_accept_their_scripts(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
            script = self.dir / f"_{shell}"
            self.check(run("completion", shell, "-o", script), 0)
            text = script.read_text()
            for command in commands():
                self.assertIn(command, text)
            if shutil.which(shell):
                done = subprocess.run([*check, script], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        if shutil.which("fish"):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {self.dir / '_fish'}; "
                                   "complete -C 'edgesage predict --format tr'"],
                                  capture_output=True, text=True, check=False)
            self.assertIn("trace", done.stdout)


class Manual(ToolTest):
    def test_there_is_a_page_of_every_command_with_every_option(self):
        folder = self.dir / "man1"
        self.check(run("man", "--write", folder), 0)
        pages = {path.name for path in folder.iterdir()}
        self.assertIn("edgesage-store-info.1", pages)
        for command in commands():
            text = (folder / f"edgesage-{command}.1").read_text(encoding="ascii")
            plain = text.replace("\\-", "-")
            for option in options_of([command]):
                self.assertIn(option, plain, command)
            self.assertIn(".SH EXAMPLES", text)
            self.assertEqual(self.check(run("man", command), 0).out, text)

    def test_they_are_sound_roff(self):
        require(self, shutil.which("groff"), "no groff")
        folder = self.dir / "man1"
        self.check(run("man", "--write", folder), 0)
        for page in sorted(folder.iterdir()):
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tascii", page],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_unknown_commands_get_a_suggestion(self):
        self.assertIn("predict", self.check(run("man", "predct"), 2).err)


class Selftest(ToolTest):
    def test_it_passes_here_and_leaves_nothing_behind(self):
        answer = self.check(run("selftest", "--format", "json", env={"TMPDIR": str(self.dir)}),
                            0).json()
        self.assertTrue(answer["passed"])
        names = [step["name"] for step in answer["steps"]]
        if (SOURCE / "predictors" / f"{NPU}.edgesage").is_file():
            self.assertIn(f"predict on {NPU}", names)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_a_damaged_predictor_fails_it(self):
        (self.dir / f"{NPU}.edgesage").write_bytes(b"EDGESAGE")
        answer = self.check(run("selftest", "--format", "json",
                                env={"EDGESAGE_PREDICTOR_PATH": str(self.dir)}), 70).json()
        failed = [step["name"] for step in answer["steps"] if step["outcome"] == "failed"]
        self.assertEqual(failed, [f"predict on {NPU}"])


class Strip(ToolTest):
    def strip(self, path, *arguments, code=0):
        out = self.dir / "stripped.tflite"
        return out, self.check(run("strip", path, "-o", out, "--format", "json", *arguments), code)

    def test_the_prediction_is_the_same_and_the_weights_are_gone(self):
        for space in ("keyword-sound", "mobile-classifier"):
            path = self.network(f"{space}.tflite", space=space)
            out, answer = self.strip(path)
            self.assertEqual(answer.json()["differ"], [])
            if (SOURCE / "predictors" / f"{NPU}.edgesage").is_file():
                self.assertIn(NPU, answer.json()["same"])
                figures = [self.check(run("predict", file, "--device", NPU, "--format", "json"),
                                      0).json()["predictions"][0] for file in (path, out)]
                for key in ("latency_ms", "peak_ram_bytes", "weights_bytes", "macs", "in_range"):
                    self.assertEqual(figures[0][key], figures[1][key], key)
            after = out.read_bytes()
            self.assertNotIn(b"CONV_2D_0", after)
            self.assertIn(b"CONV_2D_0", self.strip(path, "--keep-names")[0].read_bytes())

    def test_published_models_predict_the_same(self):
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")
        paths = sorted((data_dir() / "models" / "tflite" / "tiny").glob("*.tflite"))
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(self.strip(path)[1].json()["differ"], [])

    def onnx(self, *words):
        done = subprocess.run([runtimes(), SOURCE / "tests" / "cli" / "onnx_with_weights.py",
                               *map(str, words)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_an_onnx_stays_one(self):
        require(self, runtimes(), "the onnx package in .venv (./dev setup)")
        for kind, emptied in (("float", ("w64", "w16", "bias64", "bias16")),
                              ("qdq", ("bias64", "bias16"))):
            path, out = self.dir / f"{kind}.onnx", self.dir / f"stripped-{kind}.onnx"
            self.onnx("make", kind, path)
            answer = self.check(run("strip", path, "-o", out, "--format", "json"), 0).json()
            self.assertEqual((answer["constants"], answer["differ"]), (4, []))
            self.assertEqual(out.stat().st_size, path.stat().st_size)
            before, after = (json.loads(self.onnx("tell", file)) for file in (path, out))
            for name, told in after.items():
                if name in emptied:
                    self.assertEqual(set(told["counts"]), {"0.0"}, name)
                elif name not in ("w64", "w16"):
                    self.assertEqual(told, before[name], name)
                else:
                    self.assertNotEqual(told["first"], before[name]["first"])
            # Of the larger one the sample alone is left.
            left = sum(count for value, count in after["w64"]["counts"].items()
                       if float(value) != 0)
            self.assertLessEqual(left, 0 if kind == "float" else 4096)
            again = self.dir / "again.onnx"
            self.check(run("strip", "-", "-o", again, stdin=path.read_bytes()), 0)
            self.assertEqual(again.read_bytes(), out.read_bytes())

    def test_published_onnx_models_predict_the_same(self):
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")
        out, stripped = self.dir / "stripped.onnx", 0
        for path in sorted((data_dir() / "models" / "onnx").rglob("*.onnx"),
                           key=lambda file: -file.stat().st_size)[:24]:
            with self.subTest(path.name):
                answer = run("strip", path, "-o", out, "--format", "json")
                if answer.code == 4:
                    self.assertIn("raw", answer.err)
                    continue
                self.assertEqual(self.check(answer, 0).json()["differ"], [])
                stripped += answer.json()["constants"] > 0
        self.assertGreater(stripped, 0)

    def test_an_onnx_is_refused_where_it_cannot_be_one(self):
        out = self.dir / "stripped.onnx"
        self.assertIn(".tflite", self.check(run("strip", self.network(), "-o", out), 2).err)
        require(self, runtimes(), "the onnx package in .venv (./dev setup)")
        self.onnx("make", "typed", self.dir / "typed.onnx")
        self.assertIn("raw", self.check(run("strip", self.dir / "typed.onnx", "-o", out), 4).err)
        self.assertFalse(out.exists())

    def test_what_has_no_weights_is_said_to(self):
        path = self.dir / "net.param"
        path.write_text("7767517\n2 2\nInput data 0 1 data 0=8 1=8 2=3\n"
                        "ReLU relu 1 1 data out\n")
        answer = self.check(run("strip", path, "-o", self.dir / "x.tflite"), 2)
        self.assertIn("as it is", answer.err)


class Terminals(ToolTest):
    def on_terminal(self, columns, *arguments):
        """What the tool writes on a terminal of so many columns."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([str(TOOL), *map(str, arguments)], stdout=slave, stderr=slave,
                                   stdin=subprocess.DEVNULL)
        os.close(slave)
        out = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        process.wait()
        os.close(master)
        return out.decode().replace("\r\n", "\n")

    def test_tables_keep_to_the_width(self):
        path = self.network()
        whole = self.check(run("inspect", path), 0).out
        self.assertEqual(self.on_terminal(1000, "inspect", path), whole)
        for columns in (40, 80):
            lines = self.on_terminal(columns, "inspect", path).split("\n")
            self.assertEqual(max(map(len, lines)), columns)
            for cut, line in zip(lines, whole.split("\n")):
                self.assertEqual(cut, line if len(line) <= columns else line[:columns - 1] + ">")

    def test_json_is_never_cut(self):
        path = self.network()
        self.assertEqual(self.on_terminal(40, "inspect", path, "--format", "json"),
                         self.check(run("inspect", path, "--format", "json"), 0).out)

    def test_colour_is_for_terminals_that_want_it(self):
        absent = self.dir / "absent.tflite"
        self.assertIn("\x1b[31m", self.on_terminal(200, "inspect", absent))
        self.assertNotIn("\x1b", self.on_terminal(200, "inspect", absent, "--no-color"))
        os.environ["NO_COLOR"] = "1"
        self.addCleanup(os.environ.pop, "NO_COLOR")
        self.assertNotIn("\x1b", self.on_terminal(200, "inspect", absent))
        self.assertNotIn("\x1b", run("inspect", absent).err)


class Devices(ToolTest):
    def test_one_device_is_told_in_full(self):
        for device in run("devices", "--format", "json").json()["devices"]:
            answer = self.check(run("devices", device["device"]), 0)
            self.assertIn(device["description"], answer.out)
            for side in ("predict", "measure"):
                if not device[side]["possible"]:
                    self.assertIn(device[side]["reason"], answer.out)
            one, = self.check(run("devices", device["device"], "--format", "json"),
                              0).json()["devices"]
            self.assertEqual(one, device)
        self.assertIn(NPU, self.check(run("devices", "ethos-u55-265"), 2).err)


class Names(ToolTest):
    def test_paths_of_every_kind(self):
        for name in ("\u00fcn\u00ef \u6f22\u5b57.tflite", "-dash.tflite", "a\nb.tflite", "100%.tflite",
                     "{}.tflite"):
            path = self.network(name)
            argument = path if not name.startswith("-") else f"./{name}"
            answer = self.check(run("inspect", argument, "--format", "json", cwd=self.dir), 0)
            self.assertTrue(answer.json()["model"].endswith(name))
            self.check(run("inspect", argument, "-o", self.dir / f"{name}.txt", cwd=self.dir), 0)

    def test_standard_input_is_a_model_for_all_who_take_one(self):
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        data = self.network().read_bytes()
        for arguments in (["inspect", "-"], ["predict", "-", "--device", NPU],
                          ["predict", "-", "--device", NPU, "--format", "html"],
                          ["advise", "-", "--device", NPU],
                          ["strip", "-", "-o", self.dir / "s.tflite"]):
            self.check(run(*arguments, stdin=data), 0)

    def test_wrong_names_get_a_suggestion(self):
        path = self.network()
        for arguments, close in ((["advize", path], "advise"), (["cmpare"], "compare"),
                                 (["check", path, "--bugdet", "x"], "--budget"),
                                 (["advise", path, "--device", "ethos-u55-265"], NPU),
                                 (["compare", path, path, "--device", "ethos-u55-265"], NPU),
                                 (["completion", "bsh"], "bash"),
                                 (["predict", path, "--device", NPU, "--format", "jsn"], "json")):
            answer = self.check(run(*arguments), 2)
            self.assertIn(close, answer.err)


if __name__ == "__main__":
    unittest.main()
