"""The checker finds what it is for: each test writes a small tree with one fault in it."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_sources.py"

TABLE = """
| folder | holds | may include |
|---|---|---|
| `include/edgesage/` | | standard library |
| `src/base/` | | public headers |
| `src/graph/` | | base |
| `src/io/` | | graph |
| `src/nn/` | | base |
| `src/app/` | | everything |
| `tools/edgesage/` | | app |
"""


class CheckSources(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = Path(self.directory.name)
        self.write("CONTRIBUTING.md", TABLE)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def check(self, name):
        run = subprocess.run([sys.executable, str(SCRIPT), "--root", str(self.root), name],
                             capture_output=True, text=True, check=False)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        self.assertEqual(run.returncode == 1, bool(run.stdout))
        return run.stdout

    def test_layers_accept_the_row_and_what_it_reaches(self):
        self.write("src/io/a.cc", '#include "src/graph/g.h"\n#include "src/base/b.h"\n'
                                  '#include "edgesage/result.h"\n#include "src/io/a.h"\n')
        self.write("src/app/a.cc", '#include "src/nn/n.h"\n#include "src/io/i.h"\n')
        self.assertEqual(self.check("layers"), "")

    def test_layers_reject_upward_and_sideways_includes(self):
        self.write("src/graph/a.cc", '\n#include "src/io/a.h"\n')
        self.write("src/nn/a.cc", '#include "src/graph/g.h"\n')
        found = self.check("layers")
        self.assertIn("src/graph/a.cc:2: src/graph may not include src/io/a.h", found)
        self.assertIn("src/nn/a.cc:1: src/nn may not include src/graph/g.h", found)

    def test_everything_is_not_handed_on(self):
        self.write("tools/edgesage/main.cc", '#include "src/app/a.h"\n#include "src/nn/n.h"\n')
        self.assertEqual(self.check("layers"),
                         "tools/edgesage/main.cc:2: tools/edgesage may not include src/nn/n.h\n")

    def test_a_folder_without_a_row_is_a_fault(self):
        self.write("src/magic/a.cc", "int a;\n")
        self.assertIn("no row in the layer table", self.check("layers"))

    def test_cmake_dependencies_follow_the_table(self):
        self.write("src/nn/CMakeLists.txt", "edgesage_layer(nn SOURCES a.cc DEPENDS io)\n")
        self.assertIn("src/nn may not depend on io", self.check("layers"))

    def test_an_empty_table_is_a_fault(self):
        self.write("CONTRIBUTING.md", "nothing\n")
        self.assertIn("no layer table", self.check("layers"))

    def test_third_party_headers_stay_with_their_owner(self):
        self.write("src/graph/a.cc", "#include <SQLiteCpp/SQLiteCpp.h>\n")
        self.write("src/base/a.h", "#pragma once\n#include <fmt/format.h>\n")
        self.write("include/edgesage/a.h", "#include <unistd.h>\n#include <vector>\n")
        found = self.check("owners")
        self.assertIn("src/graph/a.cc:1", found)
        self.assertIn("src/base/a.h:2: fmt only in .cc files", found)
        self.assertIn("include/edgesage/a.h:1", found)
        self.assertNotIn("a.h:2: public", found)

    def test_printing_and_ending_are_found_but_not_in_comments_and_strings(self):
        self.write("src/base/ok.cc", '// std::cout and abort()\nconst char* a = "exit(1)";\n'
                                     "int n = snprintf(b, 3, c); worker.exit(); on_exit(3);\n"
                                     "if (pid == 0) _exit(127);\n")
        self.assertEqual(self.check("quiet"), "")
        for line in ("std::cout << 1;", "std::exit(2);", "  abort();", 'printf("x");',
                     "std::terminate();", "assert(x);"):
            self.write("src/base/bad.cc", line + "\n")
            self.assertIn("src/base/bad.cc:1", self.check("quiet"), line)

    def test_text_rules(self):
        self.write("src/base/a.cc", "// caf\u00e9\n")
        self.assertIn("src/base/a.cc:1: not ASCII", self.check("ascii"))
        self.write("src/base/a.cc", "\n// TO" "DO later\n")
        self.assertIn("src/base/a.cc:2", self.check("todo"))
        self.write("src/base/a.cc", 'auto p = "/ho' 'me/me/model.tflite";\n')
        self.assertIn("src/base/a.cc:1", self.check("paths"))
        self.write("src/base/a.h", "int a;\n")
        self.assertIn("src/base/a.h:1: no #pragma once", self.check("pragma"))


if __name__ == "__main__":
    unittest.main()
