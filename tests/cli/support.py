"""How the tests of the command line run it and find their data."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("EDGESAGE_BINARY_DIR", SOURCE / "build"))
TOOL = BUILD / "edgesage"


class Answer:
    def __init__(self, run):
        self.code = run.returncode
        self.out = run.stdout.decode("utf-8", "replace")
        self.err = run.stderr.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.out)


def run(*arguments, stdin=b"", cwd=None, env=None, timeout=300):
    """Runs the tool; standard input is a pipe with `stdin`, never a terminal."""
    environment = {**os.environ, **(env or {})}
    return Answer(subprocess.run([str(TOOL), *map(str, arguments)], input=stdin, cwd=cwd,
                                 capture_output=True, timeout=timeout, env=environment,
                                 check=False))


def data_dir():
    configured = os.environ.get("EDGESAGE_DATA_DIR")
    folder = Path(configured) if configured else SOURCE.parent / "shared"
    return folder if (folder / "models" / "index.csv").is_file() else None


def runtimes():
    python = SOURCE / ".venv" / "bin" / "python"
    return python if python.is_file() else None


def require(test, condition, reason):
    """Skips with a reason on a user's machine, and fails where CI=true."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        test.fail(f"needed under CI=true: {reason}")
    test.skipTest(reason)


class ToolTest(unittest.TestCase):
    """A test with a directory of its own, which also holds model.tflite once asked for."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def network(self, name="model.tflite", space="keyword-sound", seed=3):
        """A network of ours under the given name."""
        made = run("generate", "--space", space, "--seed", seed, "-o", self.dir / "made",
                   "--format", "json")
        self.assertEqual(made.code, 0, made.err)
        target = self.dir / name
        Path(made.json()["networks"][0]["file"]).rename(target)
        return target

    def check(self, answer, code):
        self.assertEqual(answer.code, code, f"stdout: {answer.out[-2000:]}\nstderr: {answer.err}")
        return answer
