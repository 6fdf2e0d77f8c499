"""scripts/fuzz.py: goes on where it was stopped, counts, and ends with 1 where something was found."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fuzz.py"
# Stands in for a libFuzzer program: takes a second, says what it executed, finds what FIND names.
PROGRAM = """#!/bin/sh
sleep 1
for word in "$@"; do
  case $word in -artifact_prefix=*) prefix=${word#*=} ;; esac
done
[ ! -f FIND ] || touch "${prefix}crash-1"
echo "stat::number_of_executed_units: 100"
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.build = Path(directory.name)
        for target in ("ncnn", "onnx"):
            program = self.build / f"fuzz_{target}"
            program.write_text(PROGRAM.replace("FIND", str(self.build / "find")))
            program.chmod(0o755)

    def fuzz(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, "--build", self.build, *arguments],
                              capture_output=True, text=True, check=False)

    def test_it_goes_on_and_counts(self):
        self.assertEqual(self.fuzz("--seconds", "1", "ncnn").returncode, 0)
        again = self.fuzz("--seconds", "1", "ncnn", "onnx")
        self.assertEqual(again.returncode, 0, again.stderr)
        progress = json.loads((self.build / "progress.json").read_text())
        self.assertEqual(progress["ncnn"]["executions"], 100)  # nothing was left to do
        self.assertEqual(progress["onnx"]["executions"], 100)
        self.fuzz("--seconds", "2", "ncnn")
        progress = json.loads((self.build / "progress.json").read_text())
        self.assertEqual(progress["ncnn"]["executions"], 200)

    def test_findings_stop_their_target_and_fail(self):
        (self.build / "find").touch()
        done = self.fuzz("--seconds", "5", "ncnn")
        self.assertEqual(done.returncode, 1)
        self.assertIn("findings/ncnn-crash-1", done.stdout)
        progress = json.loads((self.build / "progress.json").read_text())
        self.assertEqual(progress["ncnn"]["executions"], 100)

    def test_what_cannot_run_is_no_success(self):
        (self.build / "fuzz_ncnn").write_text("#!/bin/sh\nexit 3\n")
        self.assertEqual(self.fuzz("--seconds", "5", "ncnn").returncode, 1)
        self.assertEqual(self.fuzz("--seconds", "5", "nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main()
