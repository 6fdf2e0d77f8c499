"""`cmake --install`: what was installed works without the source tree."""

import json
import os
import shutil
import subprocess
import unittest

from support import BUILD, SOURCE, ToolTest, require, run, runtimes


class Install(ToolTest):
    def setUp(self):
        super().setUp()
        cmake = shutil.which("cmake")
        require(self, cmake, "cmake is not on the path")
        self.prefix = self.dir / "prefix"
        subprocess.run([cmake, "--install", BUILD, "--prefix", self.prefix], check=True,
                       capture_output=True)

    def installed(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EDGESAGE_")}
        return subprocess.run([self.prefix / "bin" / "edgesage", *map(str, arguments)],
                              capture_output=True, check=False, cwd=self.dir, env=environment)

    def test_predicts_what_the_build_predicts(self):
        model = self.network()
        require(self, (SOURCE / "predictors" / "ethos-u55-256.edgesage").is_file(),
                "the shipped predictor is not here")
        arguments = ["predict", model, "--device", "ethos-u55-256", "--format", "json"]
        here = self.check(run(*arguments), 0)
        there = self.installed(*arguments)
        self.assertEqual(there.returncode, 0, there.stderr)
        self.assertEqual(json.loads(there.stdout), here.json())

    def test_devices_and_predictors_are_the_installed_ones(self):
        answer = self.installed("devices", "--format", "json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(str(self.prefix.resolve() / "share" / "edgesage" / "predictors"),
                      answer.stdout.decode())
        self.assertNotIn(f'"{SOURCE}/', answer.stdout.decode())

    def test_man_pages_completion_and_schemas_are_there(self):
        share = self.prefix / "share"
        for name in ("man/man1/edgesage.1", "man/man1/edgesage-predict.1",
                     "bash-completion/completions/edgesage", "zsh/site-functions/_edgesage",
                     "fish/vendor_completions.d/edgesage.fish", "edgesage/schemas/predict.json"):
            self.assertTrue((share / name).stat().st_size > 0, name)

    def test_measures_once_the_runtimes_are_there(self):
        require(self, runtimes(), "no .venv with the device runtimes")
        model = self.network()
        for device in ("host-litert", "ethos-u55-256"):
            arguments = ["measure", model, "--device", device, "--format", "json"]
            with self.subTest(device, runtimes=False):
                before = self.installed(*arguments)
                self.assertEqual(before.returncode, 5)
                self.assertIn(b".venv", before.stderr + before.stdout)
        (self.prefix / "share" / "edgesage" / ".venv").symlink_to(SOURCE / ".venv")
        for device in ("host-litert", "ethos-u55-256"):
            arguments = ["measure", model, "--device", device, "--format", "json"]
            with self.subTest(device, runtimes=True):
                after = self.installed(*arguments)
                self.assertEqual(after.returncode, 0, after.stderr)
                self.assertTrue(json.loads(after.stdout)["measurements"][0]["latency_ms"])


if __name__ == "__main__":
    unittest.main()
