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


def schema_of(arguments):
    """The published schema of an answer, by the command and its format."""
    words = [str(word) for word in arguments]
    name = words[0] if words else ""
    if name == "devices" and "--check" in words:
        name = "devices-check"
    if name in ("store", "dataset"):
        name = "-".join(words[:2])
    if name == "evaluate" and "--protocol" in words:
        protocol = words[words.index("--protocol") + 1]
        # Many spaces are judged as one is.
        if protocol != "edgedlperf":
            name += "-compression" if protocol == "compression" else "-protocol"
    shown = words[words.index("--format") + 1] if "--format" in words[:-1] else ""
    if shown in ("trace", "model-explorer"):
        name = shown
    path = SOURCE / "schemas" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def validate(document, schema):
    """Fails where the document is not what the schema says. Without the library nothing is said,
    but under CI=true it must be there."""
    try:
        import jsonschema
    except ImportError:
        if os.environ.get("CI") == "true":
            raise
        return
    jsonschema.Draft202012Validator(schema).validate(document)


class Answer:
    """What a run of the tool left. Its JSON is held against the schema in schemas/."""

    def __init__(self, run, arguments=()):
        self.arguments = arguments
        self.code = run.returncode
        self.out = run.stdout.decode("utf-8", "replace")
        self.err = run.stderr.decode("utf-8", "replace")

    def json(self):
        document = json.loads(self.out)
        validate(document, schema_of(self.arguments))
        return document


def run(*arguments, stdin=b"", cwd=None, env=None, timeout=300):
    """Runs the tool; standard input is a pipe with `stdin`, never a terminal."""
    environment = {**os.environ, **(env or {})}
    answer = Answer(subprocess.run([str(TOOL), *map(str, arguments)], input=stdin, cwd=cwd,
                                   capture_output=True, timeout=timeout, env=environment,
                                   check=False), arguments)
    # Held against its schema whether the test reads it or not; the library takes seconds a megabyte.
    if "json" in arguments and answer.out.startswith("{") and len(answer.out) < 1 << 20:
        answer.json()
    return answer


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
