#!/usr/bin/env python3
"""Writes a feature file as a list of graphs of PyTorch Geometric.

  edgesage train --labels labels.csv.zst --features labels.features -o predictor.edgesage
  scripts/features_to_pyg.py labels.features -o labels.pt          # needs torch and torch_geometric
  scripts/features_to_pyg.py labels.features --list                # needs numpy alone

A graph is one network as a predictor sees it (docs/feature_file.md): `x` nodes x features, `edge_index`
from producers to consumers, `kind` and `op` of each node, `u` the features of the whole graph,
`log_prior` what rules of thumb say of each node, `y` the labels (NaN: none) in the order of
`quantities`, `y_op` quantities x operators, and the network's `name` and `graph_hash`. The list is
`torch.load(FILE, weights_only=False)`.
"""

import argparse
import json
import struct
import sys
from pathlib import Path

import numpy as np

MAGIC, VERSION = b"EDGEFEAT", 1
HEADER = struct.Struct("<8sII6Q4Iq32sQ")
ENTRY = struct.Struct("<Q5i3I48sQ")


def prior_columns(quantities):
    return sum(2 if name == "dram_bytes" else 1 for name in quantities)


def read(path):
    """A dictionary a network, its arrays views of the mapped file."""
    data = np.memmap(path, np.uint8, "r")
    if len(data) < HEADER.size or bytes(data[:8]) != MAGIC:
        sys.exit(f"{path}: not a feature file")
    (_, version, _, file_bytes, _, index_at, origin_at, count, _, features, globals_, quantities,
     *_) = HEADER.unpack(bytes(data[:HEADER.size]))
    if version != VERSION or file_bytes != len(data):
        sys.exit(f"{path}: version {version}, {len(data)} of {file_bytes} bytes; make it anew")
    names = json.loads(bytes(data[origin_at:]))["quantities"]
    if len(names) != quantities:
        sys.exit(f"{path}: {quantities} quantities, of which {len(names)} have a name")
    for i in range(count):
        entry = bytes(data[index_at + i * ENTRY.size:index_at + (i + 1) * ENTRY.size])
        (at, nodes, operators, cpu, made, used, _, name_bytes, _, graph_hash, _) = ENTRY.unpack(entry)

        def take(kind, *shape):
            nonlocal at
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            values = data[at:at + size].view(kind).reshape(shape)
            at += size
            return values

        network = {"quantities": names, "cpu_operators": cpu,
                   "graph_hash": graph_hash.split(b"\0")[0].decode(),
                   "y": take("<f8", quantities), "y_op": take("<f8", quantities, operators),
                   "x": take("<f4", nodes, features), "u": take("<f4", globals_),
                   "log_prior": take("<f4", nodes, prior_columns(names)),
                   "kind": take("<i4", nodes), "op": take("<i4", nodes)}
        offsets, producers = take("<i4", nodes + 1), take("<i4", made)
        take("<i4", nodes + 1), take("<i4", used)  # the same edges, from the other end
        consumers = np.repeat(np.arange(nodes), np.diff(offsets))
        network["edge_index"] = np.stack([producers, consumers]).astype(np.int64)
        network["name"] = bytes(data[at:at + name_bytes]).decode()
        yield network


def graph(network):
    import torch
    from torch_geometric.data import Data
    return Data(**{key: torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
                   for key, value in network.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="the file of the list (.pt)")
    parser.add_argument("--list", action="store_true",
                        help="a line of JSON a network instead: name, labels, sizes, edges")
    arguments = parser.parse_args()
    if arguments.list:
        for network in read(arguments.features):
            labels = dict(zip(network["quantities"], network["y"].tolist()))
            print(json.dumps({"name": network["name"], "graph_hash": network["graph_hash"],
                              "labels": {name: value if value == value else None
                                         for name, value in labels.items()},
                              "x": network["x"].shape, "u": network["u"].shape,
                              "operators": network["y_op"].shape[1],
                              "op": network["op"].tolist(),
                              "edges": network["edge_index"].T.tolist()}))
        return 0
    if arguments.output is None:
        parser.error("name the file to write: -o FILE, or --list")
    import torch
    graphs = [graph(network) for network in read(arguments.features)]
    torch.save(graphs, arguments.output)
    print(f"{arguments.output}: {len(graphs)} graphs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
