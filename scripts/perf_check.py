#!/usr/bin/env python3
"""Counts the instructions of bench/perf_workloads.cc and compares them with those of the base.

  perf_check.py --build DIR [--base REVISION] [--rebuild-base]
  perf_check.py --build DIR --update

Counts are kept in bench/instruction_counts.json, by compiler and C library; --update writes it.
They are compared with the file as it was in the base revision, so that nothing of the past is
built again; only where that file does not know this compiler and library, or with --rebuild-base,
the base revision is built and counted here. The base is where HEAD left origin/main, and where
that is HEAD itself, the revision before the last change of the file.

More than 3 % above the base fails, unless CHANGELOG.md says why, under its first two headings:

  - perf: forward +12 %: ties are now broken by name

More than 3 % above the file in the tree fails too: it is out of date then. Counts are made by
valgrind with the instruction set below, since valgrind emulates fused multiply-adds a hundred times
slower than anything else, and knows no AVX-512.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = "bench/instruction_counts.json"
LIMIT = 0.03
INSTRUCTION_SET = {"x86_64": ["SSE4"]}.get(platform.machine(), [])
# "- perf: forward +12 %: reason"
EXPLANATION = re.compile(r"^\s*[-*]\s+perf: ([\w-]+) \+(\d+(?:\.\d+)?) ?%: *\S", re.MULTILINE)


class Unable(Exception):
    """What keeps the check from being made, and what to do about it."""


# ---- counting


def parse_count(report):
    match = re.search(r"I +refs: +([\d,]+)", report)
    if match is None:
        raise Unable(f"valgrind gave no count: {report.strip()[-300:]}")
    return int(match.group(1).replace(",", ""))


def count(program, workload):
    environment = {"LC_ALL": "C", "PATH": os.environ.get("PATH", ""),
                   "TMPDIR": tempfile.gettempdir()}
    run = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
         str(program), workload, *INSTRUCTION_SET],
        capture_output=True, text=True, check=False, env=environment)
    if run.returncode != 0:
        raise Unable(f"{workload} failed: {run.stderr.strip()[-300:]}")
    return parse_count(run.stderr)


def count_all(program):
    if shutil.which("valgrind") is None:
        raise Unable("valgrind is missing: apt-get install valgrind")
    names = subprocess.run([str(program)], capture_output=True, text=True,
                           check=True).stdout.split()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(lambda name: count(program, name), names)))


def toolchain(build):
    """Compiler and C library: what counts of the same source depend on."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE).group(1)
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                             check=True).stdout.splitlines()[0]
    return f"{platform.machine()}, {version}, {' '.join(platform.libc_ver())}"


# ---- the base


def git(root, *arguments):
    """The output, or None where git refuses."""
    run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True,
                         check=False)
    return run.stdout.strip() if run.returncode == 0 else None


def base_revision(root):
    """None where there is no past to compare with."""
    head = git(root, "rev-parse", "HEAD")
    fork = git(root, "merge-base", "HEAD", "origin/main")
    if fork and fork != head:
        return fork
    changed = git(root, "log", "-1", "--format=%H", "--", COUNTS)
    return git(root, "rev-parse", "--verify", "--quiet", f"{changed}^") if changed else None


def counts_in(text):
    return json.loads(text) if text else {}


def count_base(root, base):
    """Builds the revision beside this one; {} where it has no workloads."""
    if git(root, "cat-file", "-e", f"{base}:bench/perf_workloads.cc") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        tree, build = Path(folder) / "tree", Path(folder) / "build"
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        steps = (["git", "-C", str(root), "worktree", "add", "--detach", str(tree), base],
                 ["cmake", "-S", str(tree), "--preset", "release", "-B", str(build), *launcher],
                 ["cmake", "--build", str(build), "--target", "perf_workloads"])
        try:
            for step in steps:
                run = subprocess.run(step, cwd=tree if tree.exists() else root, check=False,
                                     capture_output=True, text=True)
                if run.returncode != 0:
                    raise Unable(f"the base revision cannot be built: {run.stdout[-500:]}"
                                 f"{run.stderr[-500:]}")
            return count_all(build / "perf_workloads")
        finally:
            git(root, "worktree", "remove", "--force", str(tree))


# ---- the verdict


def explained(changelog):
    """{workload: largest increase that is explained, as a share}, of the newest two sections."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:3]
    found = {}
    for name, percent in EXPLANATION.findall("\n".join(sections)):
        found[name] = max(found.get(name, 0.0), float(percent) / 100)
    return found


def compare(now, base, recorded, reasons):
    """(lines of the report, faults). `base` and `recorded` may lack workloads."""
    lines, faults = [], []
    for name, value in now.items():
        line = f"{name:<10} {value:>14,}"
        if name in base:
            change = value / base[name] - 1
            line += f" {100 * change:+7.2f} %"
            # Explanations are rounded.
            allowed = max(LIMIT, reasons.get(name, 0.0) + 0.005)
            if change > LIMIT and change <= allowed:
                line += "  explained in CHANGELOG.md"
            if change > allowed:
                faults.append(
                    f"{name} takes {100 * change:+.1f} % instructions against the base, "
                    f"{100 * allowed:.0f} % are allowed: make it cheaper, or run "
                    f"./dev perf-check --update and say why in CHANGELOG.md: "
                    f"- perf: {name} +{int(100 * change) + 1} %: reason")
        else:
            line += "   new, nothing to compare with"
        if name in recorded:
            drift = value / recorded[name] - 1
            if drift > LIMIT:
                faults.append(f"{name} is {100 * drift:+.1f} % off {COUNTS}: "
                              "run ./dev perf-check --update")
            elif drift < -LIMIT:
                line += f"  {100 * drift:.1f} % off {COUNTS}: ./dev perf-check --update keeps that"
        lines.append(line)
    lines += [f"{name:<10} is gone" for name in base if name not in now]
    return lines, faults


def update(root, key, now):
    path = root / COUNTS
    counts = counts_in(path.read_text(encoding="utf-8") if path.exists() else "")
    counts[key] = now
    path.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"written: {COUNTS}")


def check(root, key, now, base, rebuild):
    past = counts_in(git(root, "show", f"{base}:{COUNTS}") if base else "")
    known = past.get(key, {})
    if base and (rebuild or (past and not known)):
        print(f"building {base[:12]}: " + ("asked for" if rebuild else
                                           f"its {COUNTS} does not know {key}"))
        known = count_base(root, base)
    path = root / COUNTS
    recorded = counts_in(path.read_text(encoding="utf-8") if path.exists() else "").get(key, {})
    lines, faults = compare(now, known, recorded,
                            explained((root / "CHANGELOG.md").read_text(encoding="utf-8")))
    print(f"against {base[:12]}" if base else "there is no base revision")
    print("\n".join(lines))
    for fault in faults:
        print(f"perf-check: {fault}", file=sys.stderr)
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, required=True, help="where perf_workloads is built")
    parser.add_argument("--update", action="store_true", help=f"write {COUNTS}")
    parser.add_argument("--base", help="the revision to compare with")
    parser.add_argument("--rebuild-base", action="store_true",
                        help="build the base and count it, whatever its file says")
    options = parser.parse_args()
    try:
        key, now = toolchain(options.build), count_all(options.build / "perf_workloads")
        if options.update:
            update(options.root, key, now)
            return 0
        base = options.base or base_revision(options.root)
        return check(options.root, key, now, base, options.rebuild_base)
    except (Unable, OSError, subprocess.CalledProcessError) as error:
        print(f"perf-check: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
