#!/usr/bin/env python3
"""Rules about the sources that a machine can check; `./dev lint` and the tests run them.

  check_sources.py [--root DIR] [CHECK ...]      all checks without a name

Prints one line a fault, "file:line: what is wrong", and exits 1 if there is any.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

SOURCES = (".cc", ".h", ".c")
TEXTS = SOURCES + (".py", ".sh", ".md", ".txt", ".toml", ".cmake", ".json", ".fbs", ".ini", ".cfg")
TEXT_NAMES = ("dev", ".ci/run", "requirements.lock", "LICENSE")

# Third-party headers and the folders that may include them; exceptions and types of these
# libraries end there.
OWNERS = {
    "CLI/": ("tools/",),
    "fmt/": ("src/", "tools/", "workers/", "tests/", "bench/", "fuzz/"),
    "nlohmann/": ("src/base/", "workers/", "tests/"),
    "toml++/": ("src/base/",),
    "SQLiteCpp/": ("src/store/", "tests/store/"),
    "flatbuffers/": ("src/io/", "src/predict/", "tests/io/", "tests/predict/"),
    "protozero/": ("src/io/onnx/", "tests/io/"),
    "hwy/": ("src/kernels/", "src/simulate/", "tests/kernels/", "tests/simulate/"),
    "nlopt.h": ("src/predict/",),
    "Eigen/": ("src/predict/", "src/learn/", "tests/predict/", "tests/learn/"),
    "gtest/": ("tests/",),
    "gmock/": ("tests/",),
    "benchmark/": ("bench/",),
    "zstd.h": ("src/base/",),
    "xxhash.h": ("src/base/",),
    "sqlite3.h": ("src/store/", "tests/store/"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')
LONG_FILE = 500


def files(root, *folders, endings=SOURCES):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in endings:
                yield path


def tracked(root):
    """Files of the repository, or everything below `root` where there is no repository."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if listing.returncode == 0 and listing.stdout:
        names = listing.stdout.splitlines()
    else:
        names = [str(path.relative_to(root)) for path in sorted(root.rglob("*"))]
    for name in sorted(names):
        path = root / name
        if path.is_file() and (path.suffix in TEXTS or name in TEXT_NAMES):
            yield path


def lines(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    return enumerate(text.splitlines(), start=1)


def without_comments(path):
    """Lines with comments and the contents of string literals blanked, numbers kept."""
    text = path.read_text(encoding="utf-8", errors="replace")
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    blank = pattern.sub(lambda match: "\n" * match.group(0).count("\n") or '""', text)
    return enumerate(blank.splitlines(), start=1)


# ---- layers


def layer_table(root):
    """{folder: list of folders it may include} from the table of CONTRIBUTING.md.

    A row reads "| `src/io/` | what it holds | graph |". "everything" stands for every layer and is
    not handed on: who includes `app` may not include everything because of that.
    """
    table = {}
    for _, line in lines(root / "CONTRIBUTING.md"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 3 or not cells[0].startswith("`"):
            continue
        allowed = [word.strip().strip("`") for word in cells[2].split(",")]
        for folder in re.findall(r"`([^`]+)`", cells[0]):
            table[folder.rstrip("/")] = allowed
    return table


def folder_of_layer(word):
    return "include/edgesage" if word == "public headers" else f"src/{word}"


def allowed_folders(table, folder):
    """Folders whose headers `folder` may include: its row, what those may include, and base."""
    if "everything" in table[folder]:
        return {name for name in table if name.startswith(("src/", "include/"))}
    reached, waiting = {folder}, [folder]
    if folder.startswith(("src/", "tools/")):
        waiting.append("src/base")
    while waiting:
        here = waiting.pop()
        reached.add(here)
        for word in table.get(here, []):
            target = folder_of_layer(word)
            if target in table and target not in reached and "everything" not in table[here]:
                waiting.append(target)
    return reached


def longest_prefix(table, name):
    matches = [folder for folder in table if name == folder or name.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def layer_of_include(table, spelled):
    if spelled.startswith("edgesage/"):
        return "include/edgesage"
    if spelled.startswith(("src/", "tools/", "tests/", "workers/")):
        return longest_prefix(table, spelled) or spelled
    return None


def check_layers(root):
    """A folder includes only what its row in CONTRIBUTING.md allows."""
    table = layer_table(root)
    if not table:
        yield "CONTRIBUTING.md:1: no layer table"
        return
    for path in files(root, "src", "include", "tools", "workers"):
        name = str(path.relative_to(root))
        folder = longest_prefix(table, name)
        if folder is None:
            yield f"{name}:1: its folder has no row in the layer table of CONTRIBUTING.md"
            continue
        allowed = allowed_folders(table, folder)
        for number, line in lines(path):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = layer_of_include(table, match.group(2))
            if target is not None and target not in allowed:
                yield f"{name}:{number}: {folder} may not include {match.group(2)}"
            bare = match.group(1) == '"' and "/" not in match.group(2)
            if bare and not match.group(2).endswith("_generated.h"):
                yield f"{name}:{number}: spell the path from the root: {match.group(2)}"
    yield from check_cmake_layers(root, table)


def check_cmake_layers(root, table):
    for path in sorted(root.glob("src/*/CMakeLists.txt")):
        folder = str(path.parent.relative_to(root))
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"\bDEPENDS\s+([a-z_ \n]+)", text):
            for word in match.group(1).split():
                if folder in table and f"src/{word}" not in allowed_folders(table, folder):
                    yield f"{path.relative_to(root)}:1: {folder} may not depend on {word}"


def check_owners(root):
    """Third-party headers stay in the folders that own them; fmt stays out of headers."""
    for path in files(root, "src", "include", "tools", "workers", "tests", "bench", "fuzz"):
        name = str(path.relative_to(root))
        for number, line in lines(path):
            match = INCLUDE.match(line)
            if not match:
                continue
            spelled = match.group(2)
            for prefix, folders in OWNERS.items():
                if spelled.startswith(prefix) and not name.startswith(folders):
                    yield f"{name}:{number}: {spelled} belongs to {', '.join(folders)}"
            if spelled.startswith("fmt/") and path.suffix == ".h" and not name.startswith("tests/"):
                yield f"{name}:{number}: fmt only in .cc files"
            if name.startswith("include/"):
                ours = spelled.startswith(("edgesage/", "tl/"))
                if not ours and ("/" in spelled or spelled.endswith(".h")):
                    yield f"{name}:{number}: public headers include the standard library only"


# ---- behaviour


def check_quiet(root):
    """The library never prints, exits or aborts; programs do."""
    forbidden = re.compile(
        r"std::(?:cout|cerr|clog)\b|\b(?:v?f?printf|puts|perror|putchar)\s*\(|\bfmt::print\b"
        r"|(?:\bstd::|[^\w.:>])(?:exit|_exit|abort|quick_exit|terminate)\s*\(|\bassert\s*\(")
    # A child process between fork and exec has no other way to end.
    exit_after_fork = re.compile(r"\b_exit\s*\(")
    for path in files(root, "src", "include"):
        name = str(path.relative_to(root))
        for number, line in without_comments(path):
            if forbidden.search(line) and not exit_after_fork.search(line):
                yield f"{name}:{number}: the library does not print or end the process"


def check_ascii(root):
    for path in tracked(root):
        for number, line in lines(path):
            bad = next((char for char in line if ord(char) > 126 or ord(char) < 32 and char != "\t"),
                       None)
            if bad is not None:
                yield f"{path.relative_to(root)}:{number}: not ASCII: {ascii(bad)}"


def check_todo(root):
    """What is not done is in the tracker, not in the sources."""
    word = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
    for path in tracked(root):
        for number, line in lines(path):
            if word.search(line):
                yield f"{path.relative_to(root)}:{number}: an open end; finish it or file it"


def check_paths(root):
    """No directory of somebody's machine."""
    machine = re.compile(r"(?<![\w.$}/])/(?:work|home|root|Users|mnt|tmp)/")
    for path in tracked(root):
        name = str(path.relative_to(root))
        for number, line in lines(path):
            if machine.search(line) and name != "scripts/check_sources.py":
                yield f"{name}:{number}: a path of one machine: {line.strip()[:80]}"


def check_pragma(root):
    for path in files(root, "src", "include", "tools", "workers", "tests", endings=(".h",)):
        if "#pragma once" not in path.read_text(encoding="utf-8"):
            yield f"{path.relative_to(root)}:1: no #pragma once"


def long_files(root):
    for path in files(root, "src", "include", "tools", "tests", "workers"):
        count = sum(1 for _ in lines(path))
        if count > LONG_FILE:
            yield f"{path.relative_to(root)}:{count}: warning: more than {LONG_FILE} lines"


CHECKS = {
    "layers": check_layers,
    "owners": check_owners,
    "quiet": check_quiet,
    "ascii": check_ascii,
    "todo": check_todo,
    "paths": check_paths,
    "pragma": check_pragma,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    options = parser.parse_args()
    unknown = [name for name in options.checks if name not in CHECKS]
    if unknown:
        parser.error(f"no check {unknown[0]}; there are {', '.join(CHECKS)}")
    faults = 0
    for name in options.checks or CHECKS:
        for fault in CHECKS[name](options.root.resolve()):
            print(fault)
            faults += 1
    if not options.checks:
        for warning in long_files(options.root.resolve()):
            print(warning)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
