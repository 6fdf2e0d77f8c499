"""The published schemas: sound, complete, and not satisfied with anything."""

import copy
import json
import re
import signal
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, data_dir, require, run, schema_of, validate

SCHEMAS = SOURCE / "schemas"
NPU = "ethos-u55-256"


def library(test):
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    require(test, jsonschema, "no jsonschema; ./dev setup installs it")
    return jsonschema


def subcommands(*words):
    sections = run(*words, "--help").out.split("Subcommands:")
    return re.findall(r"(?m)^  ([a-z]+)  ", sections[1].split("\n\n")[0]) if len(sections) > 1 else []


def with_json():
    """The commands that answer in JSON, as words."""
    for command in subcommands():
        for words in [[command, inner] for inner in subcommands(command)] or [[command]]:
            if "json" in run(*words, "--help").out:
                yield words


class Schemas(ToolTest):
    def test_each_is_a_schema(self):
        jsonschema = library(self)
        for path in SCHEMAS.glob("*.json"):
            schema = json.loads(path.read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertIn("title", schema, path.name)

    def test_every_command_with_json_has_one(self):
        for words in with_json():
            self.assertTrue((SCHEMAS / f"{'-'.join(words)}.json").is_file(), words)

    def test_a_key_less_or_a_wrong_type_is_found(self):
        jsonschema = library(self)
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        path = self.network()
        for command, place in ((["inspect", path], []),
                               (["predict", path, "--device", NPU], ["predictions", 0]),
                               (["compare", path, path, "--device", NPU], ["a"])):
            document = self.check(run(*command, "--format", "json"), 0).json()
            schema = json.loads((SCHEMAS / f"{command[0]}.json").read_text(encoding="utf-8"))
            for change in ("drop", "type"):
                damaged = copy.deepcopy(document)
                inner = damaged
                for key in place:
                    inner = inner[key]
                if change == "drop":
                    del inner["macs"]
                else:
                    inner["macs"] = "many"
                with self.assertRaises(jsonschema.ValidationError):
                    validate(damaged, schema)

    def test_unknown_keys_are_allowed(self):
        library(self)
        document = self.check(run("devices", "--format", "json"), 0).json()
        document["devices"][0]["new_key"] = 1
        validate(document, json.loads((SCHEMAS / "devices.json").read_text(encoding="utf-8")))

    def test_protocols_of_evaluate_have_schemas_of_their_own(self):
        library(self)
        require(self, data_dir(), "no published measurements; set EDGESAGE_DATA_DIR")
        answer = self.check(run("evaluate", "--protocol", "latbench", "--data", data_dir() / "data",
                                "--board", "desktop-gpu", "--count", 10, "--seeds", 1,
                                "--virtual-devices", 20, "--format", "json", "--quiet"), 0)
        self.assertTrue(answer.json()["rows"])
        # The study takes minutes: what is left when it is stopped.
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        arguments = ["evaluate", "--protocol", "compression", "--board", NPU, "--network",
                     "reference/mobilenet-v2@32", "--arm", "macs", "--evaluations", "32",
                     "--budget", "20", "--results", str(self.dir / "study"), "--format", "json"]
        study = subprocess.Popen([str(TOOL), *arguments], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        study.stderr.readline()  # it has begun
        study.send_signal(signal.SIGINT)
        out, _ = study.communicate(timeout=300)
        document = json.loads(out)
        validate(document, schema_of(arguments))
        self.assertTrue(document["unfinished"])
        self.assertEqual(study.returncode, 130)


if __name__ == "__main__":
    unittest.main()
