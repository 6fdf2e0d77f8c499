"""The checker of the documents accepts what is equal but for numbers, and nothing else."""

import tempfile
import unittest
from pathlib import Path

import run_documents


class RunDocuments(unittest.TestCase):
    def faults(self, text, update=False):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "doc.md"
            path.write_text(text, encoding="utf-8")
            faults, lines = run_documents.check_document(path, Path(directory), update)
            self.lines = lines
            return faults

    def test_numbers_and_blanks_are_free(self):
        self.assertEqual(self.faults("<!-- checked -->\n```console\n$ echo 'a  1,234.5 b'\n"
                                     "a 7 b\n```\n"), [])

    def test_words_are_not(self):
        self.assertTrue(self.faults("<!-- checked -->\n```console\n$ echo a\nb\n```\n"))
        self.assertTrue(self.faults("<!-- checked -->\n```console\n$ echo a; echo b\na\n```\n"))

    def test_a_failing_command_is_a_fault(self):
        self.assertTrue(self.faults("<!-- checked -->\n```console\n$ exit 3\n```\n"))

    def test_what_is_not_run_says_why(self):
        self.assertEqual(self.faults("<!-- not run: hours -->\n```console\n$ exit 3\n```\n"), [])
        self.assertEqual(self.faults("<!-- not run: hours -->\n    exit 3\n    exit 4\n"), [])
        for text in ("```console\n$ exit 3\n```\n", "```\nexit 3\n```\n", "a\n\n    exit 3\n",
                     "<!-- not run: -->\n    exit 3\n"):
            self.assertEqual(len(self.faults(text)), 1, text)
        self.assertEqual(self.faults("```text\na\n```\n- a list\n    goes on\n"), [])

    def test_what_is_not_run_must_exist(self):
        for command in ("scripts/absent.py", "./dev absent", "A=1 ./dev absent --flag"):
            self.assertEqual(len(self.faults(f"<!-- not run: hours -->\n    {command}\n")), 1)
        self.assertEqual(self.faults("<!-- not run: hours -->\n    ./dev bench --pyg\n"), [])

    def test_dots_stand_for_lines_and_updates_keep_them(self):
        text = "<!-- checked -->\n```console\n$ seq 1 9 | sed s/^/x/\nx1\n...\nx0\n```\n"
        self.assertEqual(self.faults(text), [])
        self.assertEqual(self.faults(text, update=True), [])
        self.assertEqual(self.lines[3:6], ["x1", "...", "x9"])

    def test_commands_of_several_lines_have_a_prompt_of_their_own(self):
        text = "<!-- checked -->\n```console\n$ cat <<END\n> a\n> b\n> END\na\nb\n```\n"
        self.assertEqual(self.faults(text), [])
        self.assertEqual(self.faults(text, update=True), [])
        self.assertEqual("\n".join(self.lines) + "\n", text)

    def test_commands_go_on_below_a_backslash(self):
        self.assertEqual(self.faults("<!-- checked -->\n```console\n$ echo a \\\n    b\na b\n```\n"),
                         [])


if __name__ == "__main__":
    unittest.main()
