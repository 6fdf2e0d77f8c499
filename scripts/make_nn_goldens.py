#!/usr/bin/env python3
"""Writes tests/nn/goldens/*.json.zst: networks, losses, gradients and a training run by PyTorch.

  make_nn_goldens.py [--output DIR] [--venv DIR]

The networks are those of scripts/nn_in_pytorch.py. What the tests compare with is computed in
float64; how far PyTorch's own float32 is from it stands beside it. The first run makes a virtual environment of its own with
the versions below (a few gigabytes, since the published wheel brings its CUDA libraries; only the
CPU is used). The same versions give the same files.

Both files are JSON, compressed with zstd. `null` is NaN in a label and minus infinity in a prior.
Matrices are row-major lists, weights as edgesage keeps them: inputs x outputs, by slice name.

  cases.json.zst     {"cases": [{
    "name", "config": the fields of ModelConfig, "loss_options": the fields of LossOptions,
    "batch": the fields of Batch, "weights": {slice: numbers},
    "totals", "overhead", "log_factor": graphs x quantities,
    "node_costs": nodes x quantities, "op_costs": operators x quantities,
    "node_levels": nodes x columns, "embedding": graphs x 2 hidden,
    "loss", "gradient": {slice: numbers},
    "float32_error": {slice: |float32 - float64| over |float64|, both as lengths}}]}
  training.json.zst  {"config", "loss_options", "batch", "weights" as above, "options": of
    TrainOptions, "losses": before each step, one step an epoch on all graphs,
    "final_weights": {slice: numbers}, averaged, "float32_losses", "float32_error" of the weights}
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

PINNED = ("torch==2.15.0", "numpy==2.4.6", "zstandard==0.25.0")
ROOT = Path(__file__).resolve().parent.parent

try:
    import numpy as np
    import torch
    import zstandard
    from nn_in_pytorch import CostNetwork, loss_of
except ImportError:
    torch = None


def run_in_venv(folder):
    """Makes the environment if need be and starts this script again in it."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINNED], check=True)
    os.execv(python, [str(python), *sys.argv, "--inside"])


# ---- graphs


class Graphs:
    """Random directed acyclic graphs; the numbers as float32, read in any precision."""

    def __init__(self, config, sizes, rng, free=0.1, labelled=0.8, weighted=True):
        columns = sum(2 if q["read_out"] == "max_plus_sum" else 1 for q in config["quantities"])
        count = len(config["quantities"])
        nodes, graphs = sum(sizes), len(sizes)
        operators = [max(1, (2 * size + 2) // 3) for size in sizes]
        op_offset = np.concatenate([[0], np.cumsum(operators)])
        offset = np.concatenate([[0], np.cumsum(sizes)])
        before = [[] for _ in range(nodes)]
        for g, size in enumerate(sizes):
            for i in range(1, size):
                for _ in range(rng.integers(0, 4)):
                    before[offset[g] + i].append(int(offset[g] + rng.integers(0, i)))
        after = [[] for _ in range(nodes)]
        for i, sources in enumerate(before):
            for source in sources:
                after[source].append(i)
        op_of = [int(op_offset[g] + rng.integers(0, operators[g]))
                 for g, size in enumerate(sizes) for _ in range(size)]
        prior = rng.uniform(-2, 2, (nodes, columns))
        prior[rng.random(nodes) < free] = -np.inf

        def with_gaps(values):
            return np.where(rng.random(values.shape) < labelled, values, np.nan)

        op_label = np.exp(rng.uniform(-3, 3, (op_offset[-1], count)))
        op_label[rng.random(op_label.shape) < 0.15] = 0
        f32 = np.float32
        self.data = {
            "features": config["features"], "globals_width": config["globals"],
            "columns": columns, "quantities": count,
            "graph_offset": offset, "op_graph_offset": op_offset,
            "globals": rng.normal(size=(graphs, config["globals"])).round(3).astype(f32),
            "x": rng.normal(size=(nodes, config["features"])).round(3).astype(f32),
            "kind": rng.integers(0, config["kinds"], nodes),
            "producers": self.csr(before), "consumers": self.csr(after),
            "log_prior": prior.round(4).astype(f32), "node_op": np.array(op_of),
            "log_total": with_gaps(rng.uniform(0, 4, (graphs, count))).astype(f32),
            "weight": (rng.uniform(0.5, 2, graphs) if weighted else np.ones(graphs)).astype(f32),
            "op_label": with_gaps(op_label).astype(f32),
        }

    @staticmethod
    def csr(lists):
        return {"offset": np.cumsum([0] + [len(one) for one in lists]),
                "index": np.array([i for one in lists for i in one], dtype=np.int64)}

    def tensors(self, dtype):
        return Tensors(self.data, dtype)


class Tensors:
    def __init__(self, data, dtype):
        for name in ("globals", "x", "log_prior", "log_total", "weight", "op_label"):
            setattr(self, name, torch.tensor(data[name], dtype=dtype))
        self.kind, self.node_op = torch.tensor(data["kind"]), torch.tensor(data["node_op"])
        self.graph_offset, self.op_offset = data["graph_offset"], data["op_graph_offset"]
        self.graphs, self.node_count = len(self.graph_offset) - 1, len(data["kind"])
        self.operators = int(self.op_offset[-1])
        self.graph_of_node = torch.repeat_interleave(
            torch.arange(self.graphs), torch.tensor(np.diff(self.graph_offset)))
        self.producers, self.consumers = (
            self.edges(data["producers"]), self.edges(data["consumers"]))

    @staticmethod
    def edges(csr):
        target = np.repeat(np.arange(len(csr["offset"]) - 1), np.diff(csr["offset"]))
        return torch.tensor(csr["index"]), torch.tensor(target)

    def nodes(self, g):
        return slice(int(self.graph_offset[g]), int(self.graph_offset[g + 1]))

    def operators_of(self, g):
        return slice(int(self.op_offset[g]), int(self.op_offset[g + 1]))


# ---- one case


def config_of(quantities, **changed):
    config = {"features": 5, "kinds": 4, "embedding": 3, "globals": 2, "hidden": 10, "layers": 2,
              "max_power": 16.0, "quantities": [
                  dict(zip(("name", "read_out", "node_labels", "overhead_scale"), quantity))
                  for quantity in quantities]}
    return config | changed


def loss_options(config, **changed):
    count = len(config["quantities"])
    options = {"delta": 0.05, "node_delta": 0.1, "total_weight": [1.0] * count,
               "node_weight": [0.5] * count, "node_floor": 1e-3, "node_share_power": 0.5,
               "peak_share_power": 2.0}
    return options | changed


def random_network(config, rng, dtype=None):
    """A network whose weights are float32 numbers; the same ones whatever the precision."""
    network = CostNetwork(config)
    with torch.no_grad():
        for name, (parameter, transposed) in network.slices().items():
            shape = tuple(reversed(parameter.shape)) if transposed else tuple(parameter.shape)
            spread = math.sqrt(1.5 / shape[0]) if name.endswith(".weight") else 0.3
            values = rng.normal(size=shape) * spread + (1 if name.endswith(".gain") else 0)
            values = torch.tensor(values.round(3).astype(np.float32))
            parameter.copy_(values.T if transposed else values)
    return network.to(dtype or torch.float64)


def stored(network, of=lambda parameter: parameter, precision="float64"):
    """{slice: flat numpy array in edgesage's order}."""
    found = {}
    for name, (parameter, transposed) in network.slices().items():
        value = of(parameter)
        value = torch.zeros_like(parameter) if value is None else value.detach()
        found[name] = (value.T if transposed else value).numpy().astype(precision).ravel()
    return found


def relative_lengths(found, wanted):
    return {name: float(np.linalg.norm(found[name] - wanted[name]) /
                        max(np.linalg.norm(wanted[name]), 1e-300)) for name in wanted}


def evaluate(config, options, graphs, weights_seed, dtype):
    network = random_network(config, np.random.default_rng(weights_seed), dtype)
    batch = graphs.tensors(dtype)
    out = network(batch)
    loss = loss_of(config, options, batch, out)
    loss.backward()
    return network, out, loss


def make_case(name, seed, config, sizes, options=None, **graph_options):
    options = options or loss_options(config)
    graphs = Graphs(config, sizes, np.random.default_rng(seed), **graph_options)
    network, out, loss = evaluate(config, options, graphs, seed + 1000, torch.float64)
    rough = evaluate(config, options, graphs, seed + 1000, torch.float32)[0]
    gradient = stored(network, lambda parameter: parameter.grad)
    case = {"name": name, "config": config, "loss_options": options, "batch": graphs.data,
            "weights": stored(network, precision="float32")}
    for field in ("totals", "overhead", "log_factor", "node_costs", "op_costs", "node_levels",
                  "embedding"):
        case[field] = getattr(out, field).detach().numpy()
    case |= {"loss": loss.item(), "gradient": gradient, "float32_error": relative_lengths(
        stored(rough, lambda parameter: parameter.grad), gradient)}
    return case


def cases():
    total_only = {"node_weight": [0.0]}
    nodes_only = {"total_weight": [0.0], "node_weight": [1.0]}
    latency, sram = ("latency_ms", "sum", True, 0.7), ("sram_bytes", "max", True, 0.1)
    dram = ("dram_bytes", "max_plus_sum", False, 0.5)
    one, many = [9, 1, 14, 5], [7, 12, 0, 1, 20]
    every = config_of([latency, sram, dram])

    def case(name, seed, config, sizes, changed=None, **graph_options):
        return make_case(name, seed, config, sizes, loss_options(config, **(changed or {})),
                         **graph_options)

    yield case("one layer", 1, config_of([latency], layers=1), one, total_only)
    yield case("no overhead, no globals", 2, config_of([latency[:3] + (0.0,)], globals=0), many)
    yield case("sum, total loss", 3, config_of([latency]), many, total_only)
    yield case("maximum, total loss", 4, config_of([sram]), many, total_only)
    yield case("maximum plus sum, total loss", 5, config_of([dram]), many)
    yield case("sum, node loss", 6, config_of([latency]), many, nodes_only)
    yield case("maximum, node loss", 7, config_of([sram]), many, nodes_only)
    yield case("sum, both losses, every label", 8, config_of([latency]), many, labelled=1.1)
    yield case("maximum, both losses, few labels", 9, config_of([sram]), many, labelled=0.4)
    yield case("quadratic part", 10, config_of([latency]), many,
               {"delta": 20.0, "node_delta": 20.0})
    yield case("no weights of graphs", 11, every, many, weighted=False)
    yield case("weights, floors and powers", 12, every, many,
               {"total_weight": [0.3, 2.0, 0.0], "node_weight": [1.5, 0.2, 1.0],
                "node_floor": 0.1, "node_share_power": 1.0, "peak_share_power": 0.7})
    yield case("free nodes", 13, every, one, free=0.6)
    yield case("another power of the maximum", 14, config_of([sram, dram], max_power=4.0), one)
    yield case("wide", 15, config_of([latency, sram, dram], hidden=34, features=19, layers=3,
                                     globals=7, embedding=5), [60, 33, 2])


# ---- training


def one_cycle(options, step):
    """Rises linearly from 4 % of the peak, then falls to 0.1 % as half a cosine."""
    position = (step + 1) / options["epochs"]
    if position < options["warm_up"]:
        return options["learning_rate"] * (0.04 + 0.96 * position / options["warm_up"])
    fall = (position - options["warm_up"]) / (1 - options["warm_up"])
    return options["learning_rate"] * (1e-3 + (1 - 1e-3) * 0.5 * (1 + math.cos(math.pi * fall)))


def train(config, loss, options, graphs, dtype):
    network = random_network(config, np.random.default_rng(77), dtype)
    start = stored(network, precision="float32")
    batch = graphs.tensors(dtype)
    decayed = [p for name, (p, _) in network.slices().items() if name.endswith(".weight")]
    others = [p for name, (p, _) in network.slices().items() if not name.endswith(".weight")]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": options["weight_decay"]},
         {"params": others, "weight_decay": 0.0}], lr=1.0, betas=(0.9, 0.999), eps=1e-8)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: one_cycle(options, step))
    average = CostNetwork(config).to(dtype)
    average.load_state_dict(network.state_dict())
    losses, clipped = [], 0
    for step in range(options["epochs"]):
        optimiser.zero_grad()
        value = loss_of(config, loss, batch, network(batch))
        value.backward()
        losses.append(value.item())
        length = torch.nn.utils.clip_grad_norm_(network.parameters(), options["clip_norm"])
        clipped += int(length > options["clip_norm"])
        optimiser.step()
        schedule.step()
        keep = min(options["average_decay"], (2 + step) / (11 + step))
        with torch.no_grad():
            for mean, now in zip(average.parameters(), network.parameters()):
                mean.lerp_(now, 1 - keep)
    return start, losses, stored(average), clipped


def training():
    config = config_of([("latency_ms", "sum", True, 0.7), ("sram_bytes", "max", True, 0.1),
                        ("dram_bytes", "max_plus_sum", False, 0.5)], hidden=16)
    loss = loss_options(config, delta=0.5, node_delta=0.5)
    options = {"epochs": 60, "learning_rate": 1e-2, "warm_up": 0.15, "weight_decay": 1e-2,
               "clip_norm": 5.0, "average_decay": 0.9}
    graphs = Graphs(config, [8 + 3 * (i % 5) for i in range(12)], np.random.default_rng(16))
    start, losses, weights, clipped = train(config, loss, options, graphs, torch.float64)
    _, rough_losses, rough_weights, _ = train(config, loss, options, graphs, torch.float32)
    apart = max(abs(a / b - 1) for a, b in zip(rough_losses, losses))
    error = relative_lengths(rough_weights, weights)
    print(f"training: loss {losses[0]:.4f} to {losses[-1]:.4f}, {clipped} of {len(losses)} steps "
          f"clipped; float32 apart by {apart:.1e} (loss), {max(error.values()):.1e} (weights)")
    if apart > 2e-4 or max(error.values()) > 2e-4:
        sys.exit("the run is too sensitive to rounding to compare with: choose another")
    return {"config": config, "loss_options": loss, "batch": graphs.data, "weights": start,
            "options": options, "losses": losses, "final_weights": weights,
            "float32_losses": rough_losses, "float32_error": error}


# ---- the files


def plain(value):
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.ravel()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, np.float32):
        return float(str(value)) if math.isfinite(value) else None  # the shortest exact text
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def write(path, content):
    text = json.dumps(plain(content), separators=(",", ":")).encode()
    path.write_bytes(zstandard.ZstdCompressor(level=22).compress(text))
    print(f"{path.name}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "tests" / "nn" / "goldens")
    parser.add_argument("--venv", type=Path, default=ROOT / "build" / "goldens-venv")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        run_in_venv(options.venv)
    if torch is None:
        sys.exit(f"PyTorch is not in {options.venv}: remove that folder and run again")
    torch.set_num_threads(1)
    options.output.mkdir(parents=True, exist_ok=True)
    write(options.output / "training.json.zst", training())
    made = list(cases())
    for case in made:
        print(f"{case['name']}: loss {case['loss']:.4f}, gradient in float32 within "
              f"{max(case['float32_error'].values()):.1e}")
    write(options.output / "cases.json.zst", {"cases": made})


if __name__ == "__main__":
    main()
