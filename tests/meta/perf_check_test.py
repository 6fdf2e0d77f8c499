"""What perf-check forgives and what it does not; counting itself is valgrind's."""

import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "perf_check.py"
spec = importlib.util.spec_from_file_location("perf_check", SCRIPT)
perf_check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(perf_check)


class Compare(unittest.TestCase):
    def faults(self, now, base, recorded=None, reasons=None):
        return perf_check.compare({"forward": now}, {"forward": base} if base else {},
                                  {"forward": recorded} if recorded else {}, reasons or {})[1]

    def test_three_percent_are_forgiven_and_more_is_not(self):
        self.assertEqual(self.faults(102_999, 100_000), [])
        self.assertEqual(self.faults(50_000, 100_000), [])
        fault, = self.faults(103_100, 100_000)
        self.assertIn("forward takes +3.1 %", fault)
        self.assertIn("- perf: forward +4 %: reason", fault)

    def test_the_line_that_a_fault_suggests_is_the_one_that_is_read(self):
        fault, = self.faults(117_300, 100_000)
        line = fault[fault.index("- perf:"):]
        reasons = perf_check.explained("# Changelog\n\n## Unreleased\n\n" + line + "\n")
        self.assertEqual(self.faults(117_300, 100_000, reasons=reasons), [])

    def test_an_explanation_covers_what_it_says_and_no_more(self):
        self.assertEqual(self.faults(112_400, 100_000, reasons={"forward": 0.12}), [])
        self.assertEqual(len(self.faults(113_000, 100_000, reasons={"forward": 0.12})), 1)
        self.assertEqual(len(self.faults(112_000, 100_000, reasons={"labels": 0.5})), 1)

    def test_a_file_in_the_tree_that_says_less_is_out_of_date(self):
        fault, = self.faults(110_000, 100_000, recorded=100_000, reasons={"forward": 0.10})
        self.assertIn("--update", fault)
        self.assertEqual(
            self.faults(110_000, 100_000, recorded=110_000, reasons={"forward": 0.10}), [])

    def test_improvements_are_said_and_pass(self):
        lines, faults = perf_check.compare({"forward": 80}, {"forward": 100}, {"forward": 100}, {})
        self.assertEqual(faults, [])
        self.assertIn("--update keeps that", lines[0])

    def test_new_and_gone_workloads_pass(self):
        lines, faults = perf_check.compare({"new": 10}, {"old": 10}, {}, {})
        self.assertEqual(faults, [])
        self.assertIn("nothing to compare with", lines[0])
        self.assertIn("old        is gone", lines)


class Changelog(unittest.TestCase):
    def test_reads_the_newest_two_sections(self):
        text = ("# Changelog\n\n- perf: labels +90 %: before any section\n\n## Unreleased\n\n"
                "### Changed\n\n- perf: forward +12.5 %: ties by name\n"
                "- perf: forward +4%: smaller\n\n"
                "## 0.2.0\n\n- perf: spaces +8 %: more of them\n\n"
                "## 0.1.0\n\n- perf: features +70 %: long ago\n")
        self.assertEqual(perf_check.explained(text), {"forward": 0.125, "spaces": 0.08})

    def test_a_line_without_a_reason_or_sign_does_not_count(self):
        for line in ("- perf: forward +12 %:", "- perf: forward 12 %: reason",
                     "- forward +12 %: reason", "perf: forward +12 %: reason"):
            self.assertEqual(perf_check.explained(f"## Unreleased\n{line}\n"), {}, line)


class Counts(unittest.TestCase):
    def test_parses_valgrind_and_refuses_anything_else(self):
        self.assertEqual(perf_check.parse_count("SSE4\n==7== \n==7== I   refs:      1,234,567\n"),
                         1234567)
        with self.assertRaises(perf_check.Unable):
            perf_check.parse_count("Segmentation fault")


class Base(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        (self.root / "bench").mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        return subprocess.run(
            ["git", "-C", str(self.root), "-c", "user.name=t", "-c", "user.email=t@t",
             *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")
        self.git("add", name)
        self.git("commit", "--quiet", "--message", text)
        return self.git("rev-parse", "HEAD")

    def test_is_where_head_left_the_landed_branch(self):
        landed = self.commit("a", "landed")
        self.git("update-ref", "refs/remotes/origin/main", landed)
        self.commit("a", "one")
        self.commit(perf_check.COUNTS, "{}")
        self.assertEqual(perf_check.base_revision(self.root), landed)

    def test_is_before_the_last_change_of_the_counts_when_all_has_landed(self):
        self.commit(perf_check.COUNTS, "{}")
        before = self.commit("a", "work")
        self.commit(perf_check.COUNTS, '{"a": {}}')
        head = self.commit("a", "more work")
        self.assertEqual(perf_check.base_revision(self.root), before)
        self.git("update-ref", "refs/remotes/origin/main", head)
        self.assertEqual(perf_check.base_revision(self.root), before)

    def test_is_none_without_a_past(self):
        self.assertIsNone(perf_check.base_revision(self.root))
        self.commit(perf_check.COUNTS, "{}")
        self.assertIsNone(perf_check.base_revision(self.root))

    def test_raised_counts_are_a_fault_even_if_the_file_was_raised_with_them(self):
        (self.root / "CHANGELOG.md").write_text("## Unreleased\n", encoding="utf-8")
        base = self.commit(perf_check.COUNTS, '{"gcc": {"forward": 100}}')
        self.commit(perf_check.COUNTS, '{"gcc": {"forward": 120}}')
        check = lambda: perf_check.check(self.root, "gcc", {"forward": 120}, base, False)
        self.assertEqual(check(), 1)
        (self.root / "CHANGELOG.md").write_text("## Unreleased\n- perf: forward +20 %: better\n",
                                                encoding="utf-8")
        self.assertEqual(check(), 0)

    def test_an_unknown_compiler_falls_back_to_building_the_base(self):
        (self.root / "CHANGELOG.md").write_text("", encoding="utf-8")
        base = self.commit(perf_check.COUNTS, '{"gcc": {"forward": 100}}')
        built = []
        kept = perf_check.count_base
        self.addCleanup(setattr, perf_check, "count_base", kept)
        perf_check.count_base = lambda root, revision: built.append(revision) or {"forward": 50}
        self.assertEqual(perf_check.check(self.root, "clang", {"forward": 100}, base, False), 1)
        self.assertEqual(built, [base])
        self.assertEqual(perf_check.check(self.root, "gcc", {"forward": 100}, base, False), 0)
        self.assertEqual(built, [base])
        # A base without workloads has nothing to build.
        self.assertEqual(kept(self.root, base), {})


if __name__ == "__main__":
    unittest.main()
