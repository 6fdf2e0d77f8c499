"""The planned arena against the runtime's own addresses, and the page that shows it."""

import importlib.util
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree

from support import SOURCE, TOOL, ToolTest, data_dir, require, run, runtimes



def check_arena():
    spec = importlib.util.spec_from_file_location("check_arena",
                                                  SOURCE / "scripts" / "check_arena.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class LiteRtAddresses(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, runtimes(), "LiteRT in .venv (./dev setup)")
        self.check_arena = check_arena()

    def agree(self, paths, least):
        """All files that the runtime takes are planned to the byte, each address included."""
        oracle = self.check_arena.Oracle("litert")
        self.addCleanup(oracle.close)
        compared, wrong = 0, []
        for path in paths:
            actual = oracle.ask(path)
            plan = self.check_arena.planned(str(TOOL), path)
            if "refused" in actual or plan is None or plan["not_counted"]:
                continue
            compared += 1
            differs = self.check_arena.addresses_differ(plan, actual)
            if plan["arena_bytes"] != actual["arena_bytes"] or differs:
                wrong.append(f"{path}: {plan['arena_bytes']} for {actual['arena_bytes']}; {differs}")
        print(f"{compared} networks compared, {len(wrong)} differ", file=sys.stderr)
        self.assertGreaterEqual(compared, least)
        return wrong

    def test_published_files(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        wrong = self.agree(self.check_arena.published_files(data_dir()), 110)
        # Three LSTM files leave out the shapes of results of a few bytes.
        self.assertEqual([line for line in wrong if "lstm" not in line], [])
        self.assertLessEqual(len(wrong), 3, wrong)

    def test_networks_of_every_space(self):
        for space in self.check_arena.spaces(str(TOOL)):
            paths = self.check_arena.generate(str(TOOL), space, 2, 411, self.dir / space)
            if not paths:
                continue
            wrong = self.agree(paths, 2)
            # An attention's operands and their transposed copies are of one size: which of them comes
            # first is left to the runtime's sort, and moves a copy, not the arena.
            moved = [line for line in wrong if re.search(r": (\d+) for \1; .*transposed", line)]
            self.assertEqual([line for line in wrong if line not in moved], [], space)
            self.assertLessEqual(len(moved), 1, moved)


class TflmAllocations(ToolTest):
    """TensorFlow Lite Micro's own record: head, tail and every kind of allocation."""

    def setUp(self):
        super().setUp()
        require(self, runtimes(), "tflite-micro in .venv (./dev setup)")
        self.check_arena = check_arena()

    def agree(self, paths, least):
        oracle = self.check_arena.Oracle("tflm")
        compared, wrong = 0, []
        for path in paths:
            actual = oracle.ask(path)
            plan = self.check_arena.planned(str(TOOL), path, "tflm")
            if plan is not None and plan["not_counted"]:
                # A custom kernel: its own buffers come on top, where the package has it.
                if actual.get("total_bytes", plan["total_bytes"]) < plan["total_bytes"]:
                    wrong.append(f"{path}: {plan['total_bytes']} planned, {actual}")
                continue
            if "refused" in actual:
                # It prepares a file without a fixed shape, and crashes when it runs it.
                if plan is not None and "crashed" not in actual["refused"]:
                    wrong.append(f"{path}: planned, but {actual['refused']}")
                continue
            if plan is None:
                reason = self.check_arena.why_not_planned(str(TOOL), path, "tflm")
                if actual["runs"]:
                    wrong.append(f"{path}: not planned, {reason}")
                continue
            compared += 1
            sizes = [(plan["arena_bytes"], actual["arena_bytes"]),
                     (plan["persistent_bytes"], actual["persistent_bytes"]),
                     (plan["total_bytes"], actual["total_bytes"])]
            differs = self.check_arena.allocations_differ(plan, actual)
            tight = oracle.ask(f"{path}\t{plan['sufficient_bytes']}")
            if tight.get("total_bytes") != actual["total_bytes"]:
                wrong.append(f"{path}: does not fit into {plan['sufficient_bytes']} bytes: {tight}")
            if differs or any(ours != theirs for ours, theirs in sizes):
                wrong.append(f"{path}: {sizes}; {differs}")
        oracle.close()
        print(f"{compared} networks compared, {len(wrong)} differ", file=sys.stderr)
        self.assertGreaterEqual(compared, least)
        return wrong

    def test_published_files(self):
        require(self, data_dir(), "the published models (EDGESAGE_DATA_DIR)")
        wrong = self.agree(self.check_arena.published_files(data_dir()), 100)
        self.assertEqual(wrong, [])

    def test_networks_of_every_space(self):
        for space in self.check_arena.spaces(str(TOOL)):
            paths = self.check_arena.generate(str(TOOL), space, 3, 977, self.dir / space)
            if paths:
                # Some have operators that the runtime has not: GELU of a transformer.
                self.assertEqual(self.agree(paths, 1), [], space)


class WithXnnpack(ToolTest):
    PARTS = ("arena", "runtime", "workspace", "packed_weights", "indirection", "tables")

    def test_the_parts_sum_to_the_total(self):
        model = self.check(run("inspect", self.network(), "--format", "json"), 0).json()
        memory = model["peak_ram_bytes"]["litert_xnnpack"]
        self.assertEqual(memory["total_bytes"],
                         sum(memory[f"{part}_bytes"] for part in self.PARTS))

    def test_the_arena_is_exact_and_the_total_near_the_growth_of_the_heap(self):
        require(self, runtimes(), "LiteRT in .venv (./dev setup)")
        module = check_arena()
        oracle = module.Oracle("xnnpack")
        self.addCleanup(oracle.close)
        for space in ("mobile-classifier", "keyword-sound", "segmentation"):
            for path in module.generate(str(TOOL), space, 2, 411, self.dir / space):
                actual = oracle.ask(path)
                plan = module.planned(str(TOOL), path, "xnnpack")
                self.assertEqual(plan["arena_bytes"], actual["arena_bytes"], path)
                self.assertLess(abs(plan["total_bytes"] / actual["heap_growth_bytes"] - 1), 0.25,
                                path)


class ArenaPage(ToolTest):
    def page(self, *models):
        text = self.check(run("inspect", *models, "--format", "html"), 0).out
        text.encode("ascii")
        return text

    def test_the_page_is_well_formed_and_asks_nothing_of_others(self):
        text = self.page(self.network())
        root = ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
        self.assertEqual(root.tag, "html")
        self.assertIsNone(re.search(r"https?:|//[a-z]|src=|@import|url\(", text))
        for element in root.iter():
            self.assertFalse({"src", "href"} & set(element.attrib), element.tag)

    def test_every_tensor_of_the_arena_is_a_rectangle_with_its_name(self):
        path = self.network()
        model = run("inspect", path, "--format", "json").json()
        plan = model["peak_ram_bytes"]["litert_arena"]
        root = ElementTree.fromstring(self.page(path).replace("<!DOCTYPE html>", ""))
        titles = [title.text for title in root.iter("title")]
        for entry in plan["entries"]:
            if entry["memory"] != "arena":
                continue
            found = [t for t in titles if f"{entry['bytes']:,} bytes at {entry['offset']:,}" in t]
            self.assertTrue(found, entry)
        text = "".join(root.itertext())
        self.assertIn(f"{plan['arena_bytes']:,} bytes", text)
        self.assertIn(f"peak at operator {plan['peak_operator']}", text)
        for saving in plan["savings"]:
            self.assertIn(f"{saving['arena_bytes']:,}", text)

    def test_a_failure_among_models_is_on_the_page(self):
        bad = self.dir / "a<b>.tflite"
        bad.write_bytes(b"\x18\0\0\0TFL3")
        answer = self.check(run("inspect", self.network(), bad, "--format", "html"), 3)
        root = ElementTree.fromstring(answer.out.replace("<!DOCTYPE html>", ""))
        self.assertIn("a<b>.tflite", "".join(root.itertext()))


if __name__ == "__main__":
    unittest.main()
