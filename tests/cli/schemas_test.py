"""The published schemas: sound, complete, and not satisfied with anything."""

import copy
import json
import re
import unittest

from support import SOURCE, ToolTest, require, run, validate

SCHEMAS = SOURCE / "schemas"
NPU = "ethos-u55-256"


def library(test):
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    require(test, jsonschema, "no jsonschema; ./dev setup installs it")
    return jsonschema


class Schemas(ToolTest):
    def test_each_is_a_schema(self):
        jsonschema = library(self)
        for path in SCHEMAS.glob("*.json"):
            schema = json.loads(path.read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertIn("title", schema, path.name)

    def test_every_command_with_json_has_one(self):
        commands = re.findall(r"(?m)^  ([a-z]+)  ",
                              run("--help").out.split("Subcommands:")[1].split("\n\n")[0])
        # A subcommand's name is in the file's; what dataset and search write is in docs/.
        others = {"store": "store-info", "dataset": None, "search": None}
        for command in commands:
            if "json" not in run(command, "--help").out and command != "store":
                continue
            name = others.get(command, command)
            if name is not None:
                self.assertTrue((SCHEMAS / f"{name}.json").is_file(), command)

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


if __name__ == "__main__":
    unittest.main()
