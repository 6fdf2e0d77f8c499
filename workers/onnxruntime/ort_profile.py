"""Times of a model's operators and its memory, from the profile that ONNX Runtime itself writes."""

import json
import os
import statistics
import tempfile

import onnx

import ort_nodes

_KERNEL = "_kernel_time"
_MAX_EVENTS = 200_000  # the runtime's profile ends at a million
MEMORY = {"arena_peak_bytes": "mem_in_use_peak", "arena_held_bytes": "mem_arena_held"}
# A kernel is timed by the wall clock in whole microseconds; other programs only make it longer.
STATISTIC = "mean of the fastest quarter"


def _lowest_quarter(durations):
    durations = sorted(durations)
    return statistics.fmean(durations[: max(1, len(durations) // 4)])


class Profile:
    """A second session of the model, with profiling: `events` of kernels, `graph` of the file, `kernels`
    of the model as optimised. `session_of(model, options)` opens a session, `run_of(session)` gives
    what is one inference."""

    def __init__(self, path, session_options, session_of, run_of, runs):
        model = onnx.load(path, load_external_data=False)
        self.names = ort_nodes.with_names(model)
        self.graph = model.graph
        options = session_options()
        with tempfile.TemporaryDirectory(prefix="edgesage-ort-") as folder:
            optimized = os.path.join(folder, "optimized.onnx")
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(folder, "profile")
            options.optimized_model_filepath = optimized
            # The bytes have no folder, and the optimised weights are of no use here.
            options.add_session_config_entry(
                "session.model_external_initializers_file_folder_path", os.path.dirname(os.path.abspath(path))
            )
            options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
            options.add_session_config_entry(
                "session.optimized_model_external_initializers_min_size_in_bytes", "1024"
            )
            session = session_of(model.SerializeToString(), options)
            self.kernels = list(onnx.load(optimized, load_external_data=False).graph.node)
            run = run_of(session)
            self.runs = max(2, min(runs, _MAX_EVENTS // max(1, len(self.kernels))))
            run()
            for _ in range(self.runs):
                run()
            with open(session.end_profiling(), encoding="utf-8") as file:
                self.events = json.load(file)

    def _kernel_events(self):
        for event in self.events:
            name = event.get("name", "")
            if event.get("cat") == "Node" and name.endswith(_KERNEL):
                yield name.removesuffix(_KERNEL), event

    def memory(self):
        """The arena's figures over all runs, where the runtime gives them."""
        found = {}
        for _, event in self._kernel_events():
            for quantity, key in MEMORY.items():
                if key in event["args"]:
                    found[quantity] = max(found.get(quantity, 0), int(event["args"][key]))
        return found

    def kernel_times(self):
        """ns and execution provider of each kernel of the main graph, in the order in which they ran.
        Kernels of bodies count in their If, Loop or Scan."""
        names = {kernel.name for kernel in self.kernels}
        durations, providers = {}, {}
        for name, event in self._kernel_events():
            if name in names:
                durations.setdefault(name, []).append(event["dur"])
                providers[name] = event["args"].get("provider", "")
        # The first run allocates.
        times = {name: _lowest_quarter(taken[1:] or taken) * 1e3 for name, taken in durations.items()}
        return times, providers

    def operators(self):
        """Every node of the file, then the kernels that the runtime added; together all that it timed."""
        attribution = ort_nodes.Attribution(self.graph, self.names, self.kernels)
        nodes = attribution.nodes
        times, providers = self.kernel_times()
        cost, place = {}, {}
        reasons = dict(self._reasons(attribution, set(times)))
        added = []
        for name, ns in times.items():
            members = attribution.members.get(name)
            if not members:
                added.append(_entry(len(nodes) + len(added), [], ns, _placement(providers[name])))
                added[-1]["placement_reason"] = f"{_kind(self.kernels, name)}, added by the runtime"
                continue
            cost[members[0]] = cost.get(members[0], 0) + ns
            for member in members:
                place[member] = _placement(providers[name])
        entries = []
        for index in range(len(nodes)):
            entry = _entry(index, attribution.outputs_near(index), cost.get(index, 0), place.get(index, ""))
            entry["placement_reason"] = reasons.get(index, "")
            entries.append(entry)
        return entries + added

    def _reasons(self, attribution, timed):
        for index, node in enumerate(attribution.nodes):
            kernel = attribution.kernel_of.get(index)
            if index in attribution.constant and kernel is None:
                yield index, "computed once, when the model is loaded"
            elif kernel is None:
                yield index, "not executed: removed by the runtime, or nothing needs it"
            elif kernel not in timed:
                yield index, "not executed in this run"
            elif attribution.members[kernel][0] != index:
                first = attribution.members[kernel][0]
                yield index, f"computed with {attribution.nodes[first].op_type} {attribution.names[first]}"


def _kind(kernels, name):
    return next(kernel.op_type for kernel in kernels if kernel.name == name)


def _placement(provider):
    return provider.removesuffix("ExecutionProvider").lower()


def _entry(index, outputs, ns, placement):
    return {"index": index, "outputs": outputs, "cycles": ns, "placement": placement}

