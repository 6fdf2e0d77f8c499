"""PyTorch Geometric beside edgesage, in turn, in the same run: ./dev bench --pyg runs it.

    compare.py NN_BENCH [--only forward|training] [--hidden 64 128] [--nodes 30 100 300 3000]
               [--rounds 5] [--seconds 0.3] [--no-compile]

For every shape, both sides run `rounds` times, one after the other; the table has each side's
median and their ratio. Forward passes run on one thread and are measured in CPU time, so that a
busy machine does not matter; training in time on the clock. PyTorch gets warmed up, inference_mode, as many threads as edgesage, and
the faster of plain edge lists and PyG's sorted EdgeIndex; torch.compile stands in a column of its
own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "2")

import torch  # noqa: E402
import torch_geometric  # noqa: E402
from torch_geometric import EdgeIndex  # noqa: E402

from network import Network, chains, loss_of  # noqa: E402


def seconds_per_call(call, seconds, clock=time.perf_counter):
    for _ in range(3):
        call()
    calls, start = 0, clock()
    while (now := clock()) < start + seconds:
        call()
        calls += 1
    return (now - start) / calls


def nn_bench(program, name, seconds, clock):
    """Seconds of one iteration of a benchmark; `clock` is cpu_time or real_time."""
    output = subprocess.run(
        [program, f"--benchmark_filter=^{name}$", f"--benchmark_min_time={seconds}",
         "--benchmark_format=json"], capture_output=True, text=True, check=True).stdout
    row = json.loads(output)["benchmarks"][0]
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[row["time_unit"]]
    return row[clock] * unit


def in_turn(rounds, sides):
    """{name: median of what its function gives}, the functions being called in turn."""
    results = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            results[name].append(side())
    return {name: statistics.median(values) for name, values in results.items()}


def sorted_edges(inputs):
    nodes = inputs["x"].shape[0]
    result = dict(inputs)
    for name in ("producers", "consumers"):
        edges = EdgeIndex(inputs[name], sparse_size=(nodes, nodes), sort_order="col")
        result[name] = edges.fill_cache_()
    return result


def inference(network, inputs, mode=torch.inference_mode):
    def call():
        with mode():
            network(**inputs)
    return call


def compiled(network, inputs):
    """The compiled network's call, or None where this machine cannot compile."""
    try:
        call = inference(torch.compile(network), inputs)
        call()
        return call
    except Exception as error:  # whatever the compiler says
        print(f"torch.compile: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None


def forward_sides(args, hidden, nodes):
    inputs, _ = chains(nodes)
    network = Network(hidden).eval()
    sides = {"edgesage": lambda: nn_bench(args.program, f"BM_Predict/{hidden}/{nodes}",
                                          args.seconds, "cpu_time")}
    calls = {"edge list": inference(network, inputs),
             # Slices of an EdgeIndex are refused in inference_mode.
             "EdgeIndex": inference(network, sorted_edges(inputs), torch.no_grad)}
    if args.compile and (call := compiled(network, inputs)) is not None:
        calls["compiled"] = call
    for name, call in calls.items():
        sides[name] = lambda call=call: seconds_per_call(call, args.seconds, time.process_time)
    return sides


def forward_table(args):
    torch.set_num_threads(1)
    print("Forward pass of one graph, one thread, microseconds\n")
    print("| hidden | nodes | edgesage | PyG | PyG compiled | PyG / edgesage | compiled / edgesage |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for hidden in args.hidden:
        for nodes in args.nodes:
            torch.compiler.reset()
            times = in_turn(args.rounds, forward_sides(args, hidden, nodes))
            ours, plain = times["edgesage"], min(times["edge list"], times["EdgeIndex"])
            compiled_time = times.get("compiled")
            cells = [f"{1e6 * ours:.1f}", f"{1e6 * plain:.0f}",
                     f"{1e6 * compiled_time:.0f}" if compiled_time else "-", f"{plain / ours:.1f}",
                     f"{compiled_time / ours:.1f}" if compiled_time else "-"]
            print(f"| {hidden} | {nodes} | {' | '.join(cells)} |", flush=True)


GRAPHS, NODES, STEP = 512, 60, 32  # as BM_TrainEpoch and the default of TrainOptions


def training_epoch(network, optimiser, batches):
    """Batches that are already put together: what a loader would cost is left out."""
    for inputs, labels in batches:
        optimiser.zero_grad(set_to_none=True)
        loss_of(network, inputs, labels).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()


def training_sides(args, hidden, threads, batches):
    network = Network(hidden)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)

    def pyg():
        torch.set_num_threads(threads)
        call = lambda: training_epoch(network, optimiser, batches)
        return GRAPHS * NODES / seconds_per_call(call, 3 * args.seconds)

    def ours():
        name = f"BM_TrainEpoch/{hidden}/{threads}/real_time"
        return GRAPHS * NODES / nn_bench(args.program, name, 3 * args.seconds, "real_time")

    return {f"edgesage {threads}": ours, f"PyG {threads}": pyg}


def training_table(args):
    print(f"\nTraining, {GRAPHS} graphs of {NODES} nodes, {STEP} a step, thousand nodes a second\n")
    print("| hidden | threads | edgesage | PyG | edgesage / PyG | edgesage / itself on one |")
    print("|---:|---:|---:|---:|---:|---:|")
    batches = [chains(NODES, STEP) for _ in range(GRAPHS // STEP)]
    for hidden in args.hidden:
        sides = {}
        for threads in (1, 2):
            sides |= training_sides(args, hidden, threads, batches)
        rates = in_turn(args.rounds, sides)
        for threads in (1, 2):
            ours, pyg = rates[f"edgesage {threads}"], rates[f"PyG {threads}"]
            print(f"| {hidden} | {threads} | {ours / 1e3:.0f} | {pyg / 1e3:.0f} | {ours / pyg:.1f} | "
                  f"{ours / rates['edgesage 1']:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--nodes", type=int, nargs="+", default=[30, 100, 300, 3000])
    parser.add_argument("--only", choices=("forward", "training"))
    args = parser.parse_args()
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, torch_geometric {torch_geometric.__version__}, "
          f"{torch.backends.cpu.get_cpu_capability()}, medians of {args.rounds} rounds\n")
    if args.only != "training":
        forward_table(args)
    if args.only != "forward":
        training_table(args)


if __name__ == "__main__":
    main()
