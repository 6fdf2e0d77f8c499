"""`edgesage compare`: the parts sum to the difference, and operators find their counterparts."""

import csv
import io
import unittest

from support import SOURCE, ToolTest, require, run

NPU = "ethos-u55-256"


class Compare(ToolTest):
    def setUp(self):
        super().setUp()
        self.predictor = SOURCE / "predictors" / f"{NPU}.edgesage"
        require(self, self.predictor.is_file(), "no predictor")

    def compare(self, *arguments):
        return self.check(run("compare", *arguments, "--format", "json"), 0).json()

    def latency(self, path):
        answer = self.check(run("predict", path, "--device", NPU, "--format", "json"), 0)
        return answer.json()["predictions"][0]["latency_ms"]["value"]

    def test_the_parts_sum_to_the_difference_of_two_predictions(self):
        a, b = (self.network(f"{seed}.tflite", space="mobile-classifier", seed=seed)
                for seed in (3, 4))
        answer = self.compare(a, b, "--device", NPU)
        difference = self.latency(b) - self.latency(a)
        self.assertAlmostEqual(answer["difference_ms"], difference)
        parts = sum(pair["difference_ms"] for pair in answer["operators"])
        self.assertAlmostEqual(parts + answer["overhead_difference_ms"], difference, places=5)
        kinds = sum(kind["b_ms"] - kind["a_ms"] for kind in answer["kinds"])
        self.assertAlmostEqual(kinds, parts, places=6)
        for side in "ab":
            indexes = [pair[side]["index"] for pair in answer["operators"] if pair[side]]
            self.assertEqual(indexes, list(range(answer[side]["operators"])))
        for pair in answer["operators"]:
            self.assertEqual(pair["match"] in ("same", "changed"), bool(pair["a"] and pair["b"]))

    def test_a_model_is_as_itself(self):
        path = self.network()
        answer = self.compare(path, path, "--device", NPU)
        self.assertEqual(answer["difference_ms"], 0)
        self.assertEqual({pair["match"] for pair in answer["operators"]}, {"same"})

    def test_the_other_way_round_is_the_negative(self):
        a, b = (self.network(f"{seed}.tflite", seed=seed) for seed in (5, 6))
        there, back = self.compare(a, b, "--device", NPU), self.compare(b, a, "--device", NPU)
        self.assertAlmostEqual(there["difference_ms"], -back["difference_ms"])
        self.assertEqual(len(there["operators"]), len(back["operators"]))

    def test_two_predictors_of_one_model(self):
        path = self.network()
        other = self.dir / f"{NPU}.edgesage"
        other.write_bytes(self.predictor.read_bytes())
        for arguments in (["--device", NPU, "--predictor", other],
                          ["--predictor", self.predictor, "--predictor", other]):
            answer = self.compare(path, *arguments)
            self.assertEqual(answer["difference_ms"], 0)

    def test_tables_say_the_same(self):
        a, b = (self.network(f"{seed}.tflite", seed=seed) for seed in (7, 8))
        answer = self.compare(a, b, "--device", NPU)
        arguments = ["compare", a, b, "--device", NPU]
        rows = list(csv.DictReader(io.StringIO(self.check(run(*arguments, "--format", "csv"),
                                                          0).out)))
        self.assertEqual([float(row["difference_ms"]) for row in rows],
                         [pair["difference_ms"] for pair in answer["operators"]])
        text = self.check(run(*arguments, "--top", 2), 0).out
        self.assertIn(f"{len(rows) - 2} others", text)
        self.assertNotIn("others", self.check(run(*arguments, "--top", 0), 0).out)
        markdown = self.check(run(*arguments, "--format", "markdown"), 0).out
        self.assertIn("|--:", markdown)

    def test_anything_but_two_predictions_is_a_usage_error(self):
        path = self.network()
        self.check(run("compare", path, "--device", NPU), 2)
        self.check(run("compare", path, path), 2)
        self.check(run("compare", path, path, path, "--device", NPU), 2)
        self.check(run("compare", path, path, "--predictor", self.predictor, "--predictor",
                       self.predictor), 2)
        self.check(run("compare", path, self.dir / "absent.tflite", "--device", NPU), 3)


if __name__ == "__main__":
    unittest.main()
