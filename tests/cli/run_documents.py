#!/usr/bin/env python3
"""Runs the console blocks of the documents that are marked as checked, and compares their output.

A block after a line `<!-- checked -->` is run; with `<!-- checked if PATH -->` only where PATH exists
in the source tree (under CI=true it must). Lines that start with `$ ` are commands, which go on in
lines that start with `> ` and after a backslash; the lines below each are its output. All blocks of
a document run in one directory that holds nothing but two links, `build` to the build tree and
`fuzz` to the sources' folder of that name. Any number stands for any other, blanks for any blanks,
and a line `...` for any lines.

  run_documents.py [--build DIR] [--update] [DOCUMENT ...]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
MARK = re.compile(r"<!-- checked(?: if (?P<path>\S+))? -->\s*$")
NUMBER = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")


def blocks(lines):
    """(first line inside, line of the closing fence, needed path) of each marked block."""
    for index, line in enumerate(lines):
        mark = MARK.match(line)
        if not mark:
            continue
        if index + 1 >= len(lines) or lines[index + 1] != "```console":
            raise ValueError(f"line {index + 1}: a mark without a console block below it")
        end = lines.index("```", index + 2)
        yield index + 2, end, mark.group("path")


def commands(lines):
    """[(command, [line of output], [line as it is shown])]; a command goes on below a backslash."""
    out = []
    continued = False
    for line in lines:
        if continued or (line.startswith("> ") and out and not out[-1][1]):
            out[-1][0] += "\n" + line.removeprefix("> ")
            out[-1][2].append(line)
        elif line.startswith("$ "):
            out.append([line[2:], [], [line]])
        elif out:
            out[-1][1].append(line)
        else:
            raise ValueError(f"output before the first command: {line}")
        continued = line.endswith("\\") and (continued or line.startswith("$ "))
    return out


def pattern(lines):
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        words = []
        for word in line.split():
            pieces = NUMBER.split(word)
            words.append(NUMBER.pattern.join(map(re.escape, pieces)))
        parts.append(r"[^\S\n]*" + r"[^\S\n]+".join(words) + r"[^\S\n]*\n")
    return re.compile("".join(parts) + r"\Z")


def run(command, directory):
    done = subprocess.run(["bash", "-c", command], cwd=directory, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def check_document(path, build, update):
    """Faults, and the document's lines with the output of this run."""
    lines = path.read_text(encoding="utf-8").splitlines()
    faults, replaced = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "build").symlink_to(build)
        (Path(scratch) / "fuzz").symlink_to(ROOT / "fuzz")
        for start, end, needed in blocks(lines):
            if needed and not (ROOT / needed).exists():
                if os.environ.get("CI") == "true":
                    faults.append(f"{path.name}:{start}: needed under CI=true: {needed}")
                continue
            fresh = []
            for command, expected, prompt in commands(lines[start:end]):
                code, output = run(command, scratch)
                if code != 0:
                    faults.append(f"{path.name}:{start}: exit code {code} of: {command}\n{output}")
                elif not update and not pattern(expected).match(output):
                    faults.append(f"{path.name}:{start}: another output of: {command}\n{output}")
                fresh += [*prompt, *kept(expected, output.rstrip("\n").splitlines())]
            replaced[(start, end)] = fresh
    for (start, end), fresh in sorted(replaced.items(), reverse=True):
        lines[start:end] = fresh
    return faults, lines


def kept(expected, output):
    """The output, cut where the document cuts: it keeps as many lines on both sides of `...`."""
    if "..." not in expected:
        return output
    head = expected.index("...")
    tail = len(expected) - head - 1
    return output[:head] + ["..."] + (output[-tail:] if tail else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--update", action="store_true", help="write the output into the documents")
    parser.add_argument("documents", nargs="*", type=Path)
    options = parser.parse_args()
    failed = False
    for path in options.documents or [ROOT / name for name in DOCUMENTS]:
        faults, lines = check_document(path, options.build.resolve(), options.update)
        for fault in faults:
            print(fault)
        failed = failed or bool(faults)
        if options.update and not faults:
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
