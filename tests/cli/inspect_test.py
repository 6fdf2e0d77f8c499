"""`edgesage inspect` against an independent reader's counts, and against published figures."""

import csv
import unittest

from support import ToolTest, data_dir, require, run

# MLPerf Tiny v1.0: multiply-accumulates as its authors give them, in millions, rounded.
PUBLISHED_MACS = {
    "2d6dd487_pretrainedResnet_quant": 12.50,
    "618aeb15_kws_ref_model": 2.66,
    "f0b01141_vww_96_int8": 7.49,
    "361fa1b1_model_ToyCar_quant_fullint_micro_intio": 0.264,
}


def indexed():
    with open(data_dir() / "models" / "index.csv", encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["kind"] == "tflite"]


class InspectPublishedModels(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")

    def test_counts_are_those_of_an_independent_reader(self):
        rows = indexed()
        self.assertEqual(len(rows), 144)
        paths = [data_dir() / "models" / row["file"] for row in rows]
        answer = self.check(run("inspect", *paths, "--format", "json"), 0)
        models = answer.json()["models"]
        self.assertEqual(len(models), len(rows))
        for row, path, model in zip(rows, paths, models):
            with self.subTest(row["file"]):
                self.assertEqual(model["model"], str(path))
                self.assertEqual(model["format"], "tflite")
                self.assertEqual(model["file_bytes"], path.stat().st_size)
                subgraphs = model["subgraphs"]
                self.assertEqual(len(subgraphs), int(row["subgraphs"]))
                self.assertEqual(sum(s["tensors"] for s in subgraphs), int(row["tensors"]))
                self.assertEqual(sum(s["operators"] for s in subgraphs), int(row["ops"]))
                self.assertEqual(len(model["operators"]), int(row["ops"]))
                counted = {}
                for entry in model["operator_counts"]:
                    counted[entry["code"]] = counted.get(entry["code"], 0) + entry["count"]
                expected = {int(code): int(count) for code, count in
                            (pair.split(":") for pair in row["opset"].split(";") if pair)}
                self.assertEqual(counted, expected)

    def test_macs_are_the_published_ones(self):
        for name, millions in PUBLISHED_MACS.items():
            path = data_dir() / "models" / "tflite" / "tiny" / f"{name}.tflite"
            model = self.check(run("inspect", path, "--format", "json"), 0).json()
            self.assertAlmostEqual(model["macs"] / 1e6, millions, delta=0.006, msg=name)
            self.assertEqual(sum(op["macs"] for op in model["operators"]), model["macs"])

    def test_one_bad_file_does_not_spoil_the_others(self):
        good = data_dir() / "models" / "tflite" / "tiny" / "618aeb15_kws_ref_model.tflite"
        bad = self.dir / "bad.tflite"
        bad.write_bytes(b"\x18\0\0\0TFL3")
        answer = self.check(run("inspect", good, bad, good, "--format", "json"), 3)
        first, second, third = answer.json()["models"]
        self.assertEqual({**first}, {**third})
        self.assertEqual(second["model"], str(bad))
        self.assertEqual(second["error"]["code"], 3)
        self.assertTrue(second["error"]["message"])
        self.assertNotIn("macs", second)
        self.assertIn("bad.tflite", answer.err)

    def test_standard_input_gives_the_same(self):
        path = data_dir() / "models" / "tflite" / "tiny" / "618aeb15_kws_ref_model.tflite"
        named = self.check(run("inspect", path, "--format", "json"), 0).json()
        piped = self.check(run("inspect", "-", "--format", "json", stdin=path.read_bytes()),
                           0).json()
        for key in ("operators", "macs", "weights_bytes", "peak_ram_bytes", "subgraphs"):
            self.assertEqual(named[key], piped[key])

    def test_strict_refuses_what_is_not_known(self):
        for row, path in ((row, data_dir() / "models" / row["file"]) for row in indexed()):
            codes = {int(pair.split(":")[0]) for pair in row["opset"].split(";") if pair}
            if 32 not in codes:
                continue
            model = self.check(run("inspect", path, "--format", "json"), 0).json()
            self.assertTrue(any("CUSTOM" in warning for warning in model["warnings"]))
            strict = self.check(run("inspect", path, "--strict", "--format", "json"), 4)
            self.assertEqual(strict.json()["error"]["code"], 4)
            return
        self.fail("no file with a custom operator")


class InspectOwnNetwork(ToolTest):
    def test_totals_are_the_sums_of_the_operators(self):
        model = self.check(run("inspect", self.network(), "--format", "json"), 0).json()
        self.assertEqual(model["dtype"], "int8")
        self.assertEqual(model["warnings"], [])
        self.assertEqual(sum(op["macs"] for op in model["operators"]), model["macs"])
        peak = model["peak_ram_bytes"]
        self.assertEqual(peak["activations"], max(op["live_bytes"] for op in model["operators"]))
        self.assertEqual(peak["activations"], sum(t["bytes"] for t in peak["tensors"]))
        arena = peak["tflm_arena"]
        self.assertEqual(arena["abi"], "32")
        self.assertEqual(arena["total_bytes"], arena["activations_bytes"] + arena["scratch_bytes"]
                         + arena["runtime_bytes"])
        self.assertEqual(arena["runtime_bytes"], sum(one["used_bytes"]
                                                     for one in arena["allocations"]))

    def test_a_device_adds_rows_and_placements(self):
        path = self.network()
        for device, place in (("ethos-u55-256", "npu"), ("host-litert", "delegate")):
            model = self.check(run("inspect", path, "--device", device, "--format", "json"), 0)
            model = model.json()
            self.assertTrue(model["target"]["rows"])
            self.assertIn(place, model["target"]["placements"])
            self.assertEqual(sum(model["target"]["placements"].values()), len(model["operators"]))
            for op in model["operators"]:
                if op["placement"] == "cpu":
                    self.assertTrue(op["placement_reason"])
        unknown = self.check(run("inspect", path, "--device", "ethos-u55-255"), 2)
        self.assertIn("ethos-u55-256", unknown.err)

    def test_the_text_names_every_operator(self):
        path = self.network()
        kinds = [op["kind"] for op in run("inspect", path, "--format", "json").json()["operators"]]
        text = self.check(run("inspect", path), 0).out
        for index, kind in enumerate(kinds):
            self.assertRegex(text, rf"(?m)^ +{index}  {kind} ")
        self.assertNotIn("\033", text)


if __name__ == "__main__":
    unittest.main()
