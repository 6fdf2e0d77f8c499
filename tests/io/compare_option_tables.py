"""Compares which options table each operator has with what the Vela compiler's reader expects.

Usage: compare_option_tables.py REWRITE_TFLITE
"""

import json
import subprocess
import sys

from ethosu.vela import tflite_mapping

# Vela passes over the seeds of this one; LiteRT reads them from RandomOptions.
MULTINOMIAL = 149


def main():
    run = subprocess.run([sys.argv[1], "tables"], capture_output=True, check=True)
    ours = json.loads(run.stdout)
    bad = 0
    for code, entry in tflite_mapping.builtin_operator_map.items():
        theirs = getattr(entry[1], "name", "")
        if ours[str(code)] != theirs and code != MULTINOMIAL:
            print(f"operator {code}: ours '{ours[str(code)]}', theirs '{theirs}'")
            bad += 1
    print(f"compared {len(tflite_mapping.builtin_operator_map)} operators: {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
