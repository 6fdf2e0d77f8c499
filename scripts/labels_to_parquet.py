#!/usr/bin/env python3
"""Writes label files (.csv.zst) as one Parquet file, figures per operator as a nested column.

  pip install -r requirements-parquet.txt
  scripts/labels_to_parquet.py labels/edgedlperf -o edgedlperf.parquet
  scripts/labels_to_parquet.py labels/ethos-u55-256.csv.zst -o u55.parquet

Folders are searched for label files; labels of several devices make one table. `operators` is a list of
structs: index, cycles, macs, working_bytes, placement.
"""

import argparse
import csv
import io
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet

TEXTS = ["name", "graph_hash", "device", "runtime", "runtime_version", "host_fingerprint", "statistic",
         "operator_unit"]
COUNTS = {"repeats": 1, "cpu_operators": 0}
OPERATOR = pyarrow.struct([("index", pyarrow.int32()), ("cycles", pyarrow.float64()),
                           ("macs", pyarrow.int64()), ("working_bytes", pyarrow.float64()),
                           ("placement", pyarrow.string())])
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def label_files(paths):
    """The files themselves, and those in folders but for the failures."""
    files = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        files += sorted(file for file in path.rglob("*.csv*")
                        if file.name.endswith((".csv", ".csv.zst")) and file.name != "failures.csv.zst")
    return files


def read_rows(path):
    with open(path, "rb") as file:
        magic = file.read(4)
    compression = "zstd" if magic == ZSTD_MAGIC else None
    with pyarrow.input_stream(str(path), compression=compression) as stream:
        text = stream.read().decode("utf-8")
    yield from csv.DictReader(io.StringIO(text, newline=""))


def indexes(cell):
    """[0, 1, 2, 5] of "0-2 5"."""
    found = []
    for item in cell.split():
        first, _, last = item.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def runs(cell):
    """["npu", "npu", "cpu"] of "npu*2 cpu"."""
    found = []
    for item in cell.split():
        text, star, count = item.rpartition("*")
        found += [text] * int(count) if star else [item]
    return found


def operators(row):
    columns = [indexes(row.get("operator_index") or "")]
    columns += [runs(row.get(f"operator_{name}") or "")
                for name in ("cycles", "macs", "working_bytes", "placement")]
    if len({len(column) for column in columns}) != 1:
        raise ValueError(f"{row['name']}: its operator columns are of different lengths")
    return [{"index": index, "cycles": float(cycles), "macs": int(macs),
             "working_bytes": float(working), "placement": None if placement == "-" else placement}
            for index, cycles, macs, working, placement in zip(*columns)]


def table_of(files):
    rows = [row for file in files for row in read_rows(file)]
    known = set(TEXTS) | set(COUNTS)
    quantities = sorted({name for row in rows for name in row
                         if name not in known and not name.startswith("operator_")})
    columns = {name: pyarrow.array([row.get(name) or None for row in rows], pyarrow.string())
               for name in TEXTS}
    for name, otherwise in COUNTS.items():
        columns[name] = pyarrow.array([int(row.get(name) or otherwise) for row in rows],
                                      pyarrow.int32())
    for name in quantities:
        columns[name] = pyarrow.array([float(row[name]) if row.get(name) else None for row in rows],
                                      pyarrow.float64())
    columns["operators"] = pyarrow.array([operators(row) for row in rows], pyarrow.list_(OPERATOR))
    return pyarrow.table(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="label files or folders")
    parser.add_argument("-o", "--output", required=True, type=Path)
    arguments = parser.parse_args()
    files = label_files(arguments.paths)
    if not files:
        sys.exit("no label files (*.csv.zst) here")
    table = table_of(files)
    pyarrow.parquet.write_table(table, arguments.output, compression="zstd")
    print(f"{arguments.output}: {table.num_rows} labels of {len(files)} files")


if __name__ == "__main__":
    main()
