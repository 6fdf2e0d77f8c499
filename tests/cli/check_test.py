"""`edgesage check`: limits, growth, reports, and the example workflow."""

import json
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from support import BUILD, SOURCE, ToolTest, require, run

NPU = "ethos-u55-256"
EXAMPLE = SOURCE / "examples" / "ci"


def steps(workflow):
    """[(name, script)] of the `run: |` blocks of a workflow, in order."""
    found, name, script, indent = [], "", None, 0
    for line in workflow.splitlines() + ["end"]:
        depth = len(line) - len(line.lstrip())
        if script is not None and (depth >= indent or not line.strip()):
            script.append(line[indent:])
            continue
        if script is not None:
            found.append((name, "\n".join(script)))
            script = None
        if match := re.match(r"\s*- name: (.*)", line):
            name = match.group(1)
        if re.match(r"\s*run: \|$", line):
            script, indent = [], depth + 2
    return found


class Check(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        self.model = self.network()

    def budget(self, *lines, head=(), tail=(), device=NPU):
        path = self.dir / "budget.toml"
        path.write_text("\n".join([*head, "[[limits]]", f'device = "{device}"', *lines, *tail]) +
                        "\n", encoding="utf-8")
        return path

    def judge(self, *arguments, code=0):
        answer = self.check(run("check", self.model, "--format", "json", *arguments), code)
        return answer.json()

    def predicted(self, *arguments):
        answer = self.check(run("predict", self.model, "--device", NPU, "--format", "json",
                                *arguments), 0)
        return answer.json()["predictions"][0]

    def test_the_upper_end_of_the_interval_is_judged(self):
        for level in (0.5, 0.95):
            latency = self.predicted("--level", level)["latency_ms"]
            for limit, code in ((latency["hi"] * 1.0001, 0), (latency["hi"] * 0.9999, 1)):
                answer = self.judge("--budget", self.budget(f"latency_ms = {limit}",
                                                            head=[f"level = {level}"]), code=code)
                finding, = answer["checks"][0]["findings"]
                self.assertEqual(finding["judged"], latency["hi"])
                self.assertEqual(answer["passed"], code == 0)
                if code:
                    self.assertAlmostEqual(finding["excess"], latency["hi"] - limit)
                else:
                    self.assertIsNone(finding["excess"])
                other = self.judge("--budget", self.budget(f"latency_ms = {limit}"), "--level",
                                   level, code=code)
                self.assertEqual(other["checks"][0]["findings"], [finding])

    def test_what_is_not_known_does_not_pass(self):
        for quantity in ("flash_bytes",):
            answer = self.judge("--budget", self.budget(f"{quantity} = 1000000"), code=1)
            finding, = answer["checks"][0]["findings"]
            self.assertEqual((finding["verdict"], finding["value"]), ("unknown", None))
            self.assertTrue(finding["reason"])

    def test_sizes_have_units(self):
        weights = self.predicted()["weights_bytes"]
        for text, limit in (("2 KiB", 2048), ("2.5 kB", 2500), ("1 MiB", 1 << 20), ("900", 900)):
            code = 1 if weights > limit else 0
            answer = self.judge("--budget", self.budget(f'weights_bytes = "{text}"'), code=code)
            self.assertEqual(answer["checks"][0]["findings"][0]["limit"], limit)

    def test_growth_is_over_the_baseline(self):
        budget = self.budget("latency_ms = 100", tail=["[growth_percent]", "latency_ms = 10",
                                                       "weights_bytes = 0"])
        baseline = self.dir / "baseline.json"
        self.judge("--budget", budget, "--baseline", baseline, "--write-baseline", baseline)
        answer = self.judge("--budget", budget, "--baseline", baseline)
        growth = [f for f in answer["checks"][0]["findings"] if f["rule"] == "growth"]
        self.assertEqual([f["verdict"] for f in growth], ["met", "met"])
        document = json.loads(baseline.read_text())
        entry, = document["predictions"]
        value = self.predicted()["latency_ms"]["value"]
        self.assertEqual(entry["latency_ms"], value)
        for before, code in ((value / 1.09, 0), (value / 1.11, 1)):
            entry["latency_ms"] = before
            baseline.write_text(json.dumps(document))
            self.judge("--budget", budget, "--baseline", baseline, code=code)
        entry["predictor_id"] = "000000000000"
        baseline.write_text(json.dumps(document))
        answer = self.judge("--budget", budget, "--baseline", baseline, code=1)
        growth = {f["quantity"]: f for f in answer["checks"][0]["findings"]
                  if f["rule"] == "growth"}
        self.assertEqual(growth["latency_ms"]["verdict"], "unknown")
        self.assertIn("--write-baseline", growth["latency_ms"]["reason"])
        self.assertEqual(growth["weights_bytes"]["verdict"], "met")
        entry["model"] = "another.tflite"
        baseline.write_text(json.dumps(document))
        answer = self.judge("--budget", budget, "--baseline", baseline)
        self.assertEqual({f["verdict"] for f in answer["checks"][0]["findings"]
                          if f["rule"] == "growth"}, {"new"})

    def test_an_answer_of_predict_is_a_baseline(self):
        baseline = self.dir / "predicted.json"
        self.check(run("predict", self.model, "--device", NPU, "--format", "json", "-o", baseline), 0)
        quantities = ["latency_ms", "peak_ram_bytes", "litert_arena_bytes", "tflm_arena_bytes",
                      "macs", "activations_bytes"]
        answer = self.judge("--baseline", baseline, "--budget", self.budget(
            tail=["[growth_percent]", *(f"{name} = 0" for name in quantities)]))
        findings = answer["checks"][0]["findings"]
        self.assertEqual([f["verdict"] for f in findings], ["met"] * len(quantities), findings)

    def test_limits_hold_for_the_models_they_name(self):
        other = self.network("other.tflite", seed=4)
        budget = self.budget("macs = 1", 'model = "oth*"')
        answer = self.check(run("check", other, "--budget", budget), 1)
        self.assertNotIn("model.tflite on", answer.out)
        answer = self.check(run("check", other, self.model, "--budget", budget), 2)
        self.assertIn("model.tflite", answer.err)

    def test_mistakes_in_the_budget_are_named(self):
        for lines, words in ((["latency = 3"], "latency_ms"), (["latency_ms = -1"], "-1"),
                             (['latency_ms = "3 ms"'], "3 ms"), (["latency_ms = nan"], "latency_ms"),
                             (['weights_bytes = "3 parsec"'], "parsec")):
            answer = self.check(run("check", self.model, "--budget", self.budget(*lines)), 2)
            self.assertIn(words, answer.err)
            self.assertIn("limits[0]", answer.err)
        for text, words in (("", "[[limits]]"), ("level = 0.7\n", "0.95"), ("leveel = 1", "level"),
                            ("limits = 3", "[[limits]]"), ("[[limits]]\nmacs = 3", "device"),
                            ("x = ", "budget.toml:1")):
            path = self.dir / "budget.toml"
            path.write_text(text)
            answer = self.check(run("check", self.model, "--budget", path), 2)
            self.assertIn(words, answer.err)
        self.check(run("check", self.model, "--budget", self.dir / "absent.toml"), 2)
        answer = self.check(run("check", self.model, "--budget",
                                self.budget("macs = 1", device="ethos-u55-265")), 2)
        self.assertIn("ethos-u55-256", answer.err)
        (self.dir / "b.json").write_text("{}")
        answer = self.check(run("check", self.model, "--budget", self.budget("macs = 1"),
                                "--baseline", self.dir / "b.json"), 2)
        self.assertIn("--write-baseline", answer.err)

    def test_one_bad_file_does_not_spoil_the_others(self):
        bad = self.dir / "bad.tflite"
        bad.write_bytes(b"PK\3\4")
        answer = self.check(run("check", bad, self.model, "--budget", self.budget("macs = 1"),
                                "--format", "json"), 3).json()
        self.assertEqual(answer["checks"][0]["error"]["code"], 3)
        self.assertFalse(answer["checks"][1]["passed"])

    def test_reports_say_the_same(self):
        odd = self.dir / 'a&b <i>|"x" \u00e9.tflite'
        odd.write_bytes(self.model.read_bytes())
        bad = self.dir / "bad.tflite"
        bad.write_bytes(b"PK\3\4")
        names = [self.dir / f"report{ending}" for ending in (".xml", ".md", ".json", ".txt")]
        reports = [word for name in names for word in ("--report", name)]
        budget = self.budget("macs = 1", "latency_ms = 1000", "flash_bytes = 1")
        answer = self.check(run("check", odd, bad, "--budget", budget, *reports), 3)
        self.assertEqual(answer.out, names[3].read_text())
        suites = ElementTree.parse(names[0]).getroot().findall("testsuite")
        self.assertEqual([suite.get("failures") for suite in suites], ["2", "0"])
        self.assertEqual([suite.get("errors") for suite in suites], ["0", "1"])
        cases = {case.get("name"): case.find("failure") for case in suites[0]}
        self.assertIsNone(cases["latency_ms"])
        self.assertIn("missed by", cases["macs"].get("message"))
        self.assertIn("not known", cases["flash_bytes"].get("message"))
        markdown = names[1].read_text()
        self.assertIn("**not kept**", markdown)
        self.assertNotIn("<i>", markdown)
        rows = [line for line in markdown.splitlines() if line.startswith("|")]
        self.assertEqual(len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}), 1, rows)
        self.check(run("check", odd, "--budget", budget, "--report", self.dir / "x.pdf"), 2)

    def test_standard_input_is_a_model(self):
        budget = self.budget("latency_ms = 1000")
        self.check(run("check", "-", "--budget", budget, stdin=self.model.read_bytes()), 0)


class Workflow(ToolTest):
    """The example's steps, run as the service would."""

    def test_it_runs(self):
        require(self, (SOURCE / "predictors" / f"{NPU}.edgesage").is_file(), "no predictor")
        scripts = steps((EXAMPLE / "edgesage.yml").read_text(encoding="utf-8"))
        self.assertEqual(len(scripts), 3)
        (self.dir / "models").mkdir()
        self.network("models/kws.tflite")
        (self.dir / "budget.toml").write_bytes((EXAMPLE / "budget.toml").read_bytes())
        (self.dir / "edgesage").mkdir()
        (self.dir / "edgesage" / "build").symlink_to(BUILD)
        summary = self.dir / "summary.md"
        for attempt, code in (("first", 0), ("second", 0), ("grown", 1)):
            if attempt == "second":
                (self.dir / "new-baseline.json").rename(self.dir / "baseline.json")
            if attempt == "grown":
                self.network("models/kws.tflite", seed=5)
            codes = []
            for name, script in scripts:
                done = subprocess.run(["bash", "-e", "-c", script], cwd=self.dir, check=False,
                                      env={"PATH": "/usr/bin:/bin", "HOME": str(self.dir),
                                           "GITHUB_STEP_SUMMARY": str(summary)},
                                      capture_output=True, text=True)
                codes.append(done.returncode)
                if code == 0:
                    self.assertEqual(done.returncode, 0, (name, done.stdout, done.stderr))
            self.assertEqual(codes, [0, code, 0], attempt)
        self.assertEqual(summary.read_text().count("### Budget"), 3)
        self.assertIn("not kept", summary.read_text())


if __name__ == "__main__":
    unittest.main()
