#!/usr/bin/env python3
"""Runs the console blocks of the documents that are marked as checked, and compares their output.

A block after a line `<!-- checked -->` is run; with `<!-- checked if PATH -->` only where PATH exists
in the source tree (under CI=true it must). A block after `<!-- not run: REASON -->` is not run; its
options, subcommands and scripts must exist. A block of neither kind is a fault, so nothing but
commands is indented, and what is no command stands in a fence with its language. Lines that start with `$ ` are commands, which go on in
lines that start with `> ` and after a backslash; the lines below each are its output. All blocks of
a document run in one directory that holds nothing but two links, `build` to the build tree and
`fuzz` to the sources' folder of that name. Any number stands for any other, blanks for any blanks,
and a line `...` for any lines.

  run_documents.py [--build DIR] [--update] [DOCUMENT ...]
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")))
MARK = re.compile(r"<!-- checked(?: if (?P<path>\S+))? -->\s*$")
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\s*$")
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


def unmarked(lines):
    """Lines on which a block of commands begins that is neither checked nor said not to be run."""
    fence, before = None, ""
    for number, line in enumerate(lines, start=1):
        if fence is not None:
            fence = None if line == "```" else fence
        elif line.startswith("```"):
            fence = line.removeprefix("```")
            if fence in ("", "console", "bash", "sh") and not (MARK.match(before) or
                                                               NOT_RUN.match(before)):
                yield number
        elif (line.startswith("    ") and (not before.strip() or before.startswith("<!--")) and
              not NOT_RUN.match(before)):
            yield number
        before = line


def not_run(lines):
    """The commands of blocks that are not run, each as one line with the number of its block."""
    for index, line in enumerate(lines):
        if not NOT_RUN.match(line):
            continue
        fenced = lines[index + 1].startswith("```")
        joined = ""
        for text in lines[index + 1 + fenced:]:
            if text == "```" or not fenced and not text.startswith("    "):
                break
            joined += text.strip().removeprefix("$ ").removesuffix("\\")
            if not text.endswith("\\"):
                yield index + 2, joined
                joined = ""


def unknown_words(command, build):
    """What a command names and is not there: a subcommand, an option, a script."""
    words = shlex.split(command, comments=True)
    while words and re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    program, *rest = words or [""]
    if program.startswith("scripts/") and not (ROOT / program).is_file():
        yield program
    if program == "./dev" and f"[{rest[0]}]=" not in (ROOT / "dev").read_text(encoding="utf-8"):
        yield f"./dev {rest[0]}"
    if program not in ("edgesage", "build/edgesage"):
        return
    words = [rest[0]] + ([rest[1]] if rest[0] in ("store", "dataset") else [])
    code, told = run(" ".join(map(shlex.quote, [str(build / "edgesage"), *words, "--help"])), ROOT)
    if code != 0:
        yield " ".join(words)
    options = set(re.findall(r"--[a-z0-9-]+", told))
    yield from (word for word in rest if re.match(r"--[a-z]", word) and word not in options)


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
    faults = [f"{path.name}:{number}: a block that is neither checked nor `not run: REASON`"
              for number in unmarked(lines)]
    faults += [f"{path.name}:{number}: there is no {word}: {command}"
               for number, command in not_run(lines) for word in unknown_words(command, build)]
    replaced = {}
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
