#!/usr/bin/env python3
"""Fuzzes targets one after the other with libFuzzer, and says what was executed and found.

  fuzz.py --build build-fuzz [--seconds 60] [--restart] [TARGET ...]      `./dev fuzz` builds first

Without targets all of fuzz/targets.h. The seconds are of each target in all: what earlier calls have
spent counts (progress.json in the build folder), so a run that was stopped goes on where it was;
--restart forgets it. What is new stays in the build folder: corpus/TARGET with the inputs that reach
further, findings/TARGET-* with those that break a promise or take too long. Ends with 1 where there
are findings; a target that has some is not fuzzed on before they are gone.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUND = 120  # seconds after which progress is written


def known_targets():
    text = (ROOT / "fuzz" / "targets.h").read_text(encoding="utf-8")
    return re.findall(r"(?m)^void (\w+)\(Bytes bytes\);", text)


def findings(build, target):
    return sorted((build / "findings").glob(f"{target}-*"))


def run_round(build, target, seconds):
    """Executions of one round; 0 where the program did not even begin."""
    corpus = build / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    (build / "findings").mkdir(exist_ok=True)
    folders = [corpus, ROOT / "fuzz" / "corpus" / target, build / "seeds" / target]
    environment = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"}
    with open(build / f"{target}.log", "w", encoding="utf-8") as log:
        subprocess.run(
            [build / f"fuzz_{target}", *(folder for folder in folders if folder.is_dir()),
             f"-max_total_time={seconds}", "-timeout=30", "-report_slow_units=30",
             "-rss_limit_mb=2048", "-max_len=16384", "-use_value_profile=1", "-print_final_stats=1",
             f"-artifact_prefix={build / 'findings' / target}-"],
            stdout=log, stderr=subprocess.STDOUT, env=environment, check=False)
    text = (build / f"{target}.log").read_text(encoding="utf-8", errors="replace")
    executed = re.search(r"stat::number_of_executed_units:\s+(\d+)", text)
    return int(executed.group(1)) if executed else 0


def fuzz(build, target, seconds, progress, keep):
    done = progress.setdefault(target, {"seconds": 0, "executions": 0})
    while done["seconds"] < seconds and not findings(build, target):
        begun = time.monotonic()
        executed = run_round(build, target, min(ROUND, seconds - done["seconds"]))
        if executed == 0:
            print(f"{target}: nothing was executed; see {build / (target + '.log')}",
                  file=sys.stderr)
            return False
        done["seconds"] += max(1, round(time.monotonic() - begun))
        done["executions"] += executed
        keep(progress)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build-fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="of each target, in all")
    parser.add_argument("--restart", action="store_true", help="forget what earlier calls have spent")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(known_targets()))
    options = parser.parse_args()
    if unknown := [name for name in options.targets if name not in known_targets()]:
        parser.error(f"no target {unknown[0]}; there are {', '.join(known_targets())}")
    build = options.build.resolve()
    file = build / "progress.json"
    progress = json.loads(file.read_text()) if file.is_file() and not options.restart else {}

    def keep(now):
        partial = file.with_suffix(".tmp")
        partial.write_text(json.dumps(now, indent=1) + "\n")
        partial.replace(file)

    print(f"{'target':16} seconds  executions  a second  corpus  findings", flush=True)
    sound = True
    for target in options.targets or known_targets():
        sound = fuzz(build, target, options.seconds, progress, keep) and sound
        done = progress[target]
        found = findings(build, target)
        print(f"{target:16} {done['seconds']:7} {done['executions']:11}"
              f" {done['executions'] / max(1, done['seconds']):9.0f}"
              f" {sum(1 for _ in (build / 'corpus' / target).glob('*')):7} {len(found):9}", flush=True)
        for path in found:
            print(f"  {path}")
        sound = sound and not found
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
