"""Published spaces and ncnn graphs on the command line."""

import json
import unittest

from support import ToolTest, run

CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|none~1|nor_conv_1x1~2|"
GRAPH = """7767517
2 2
Input data 0 1 data
Convolution c 1 1 data out 0=8 1=3 4=1 5=1 6=216
"""


class Published(ToolTest):
    def test_codes_become_files_that_name_their_code(self):
        (self.dir / "cells.csv").write_text(f"code,ms\n{CELL},1.5\n")
        for arguments in (["--code", CELL], ["--codes", "cells.csv", "--code-column", "code"]):
            answer = self.check(run("generate", "--space", "nas-bench-201", *arguments, "-o", "n",
                                    "--format", "json", cwd=self.dir), 0)
            (network,) = json.loads(answer.out)["networks"]
            self.assertEqual(network["name"], f"nas-bench-201/{CELL}")
            inspected = self.check(run("inspect", network["file"], "--format", "json",
                                       cwd=self.dir), 0)
            self.assertIn(CELL, inspected.out)

    def test_wrong_codes_are_one_line(self):
        for code in ("7-8", "x", CELL):
            answer = self.check(run("generate", "--space", "fbnet", "--code", code, "-o", "n",
                                    cwd=self.dir), 2)
            self.assertIn("0 to 8", answer.err)
            self.assertEqual(answer.err.count("\n"), 1)

    def test_labels_are_imported_and_bad_lines_named(self):
        def imported(text):
            (self.dir / "cells.csv").write_text(text)
            return run("dataset", "import", "cells.csv", "--space", "nas-bench-201",
                       "--code-column", "code", "--label-column", "ms", "--device", "pi", "-o",
                       "labels.csv.zst", "--format", "json", cwd=self.dir)
        answer = json.loads(self.check(imported(f"code,ms\n{CELL},1.5\n"), 0).out)
        self.assertEqual((answer["networks"], answer["device"]), (1, "pi"))
        answer = self.check(imported(f"code,ms\n{CELL},nan\n"), 2)
        self.assertIn("cells.csv:2", answer.err)
        self.assertEqual(answer.err.count("\n"), 1)

    def test_ncnn_graphs_take_the_shape_of_their_input(self):
        (self.dir / "net.param").write_text(GRAPH)
        answer = self.check(run("inspect", "net.param", cwd=self.dir), 2)
        self.assertIn("--shape data:3x224x224", answer.err)
        answer = self.check(run("inspect", "net.param", "--shape", "data:3x10x20", "--format",
                                "json", cwd=self.dir), 0)
        self.assertEqual(json.loads(answer.out)["macs"], 10 * 20 * 216)
        self.check(run("inspect", "net.param", "--shape", "data", cwd=self.dir), 2)


if __name__ == "__main__":
    unittest.main()
