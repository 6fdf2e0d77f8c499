"""A compiled model's performance report as the body of an answer.

Vela's database of debug information says for every row of its schedule which operator of the source
model it came from (`perf.source_id` -> `source.ext_key`, the operator's index). The names that its
per-layer table prints are those of the tensors written and do not tell that.
"""

import math
import re

from ethosu.vela.tensor import MemArea, TensorPurpose
from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
from ethosu.vela.tflite.Model import Model

# Vela's name of a memory area -> ours
AREAS = {"Sram": "sram", "Dram": "dram", "OnChipFlash": "on_chip_flash", "OffChipFlash": "off_chip_flash"}
QUANTITIES = (
    ["latency_ms", "cycles_total", "cycles_npu", "nn_macs", "original_weights_bytes"]
    + ["npu_encoded_weights_bytes", "passes_before_fusing", "passes_after_fusing"]
    + [f"{area}_bytes" for area in AREAS.values()]
    + [f"{area}_traffic_bytes" for area in AREAS.values()]
    + [f"cycles_{area}_access" for area in AREAS.values()]
)
KINDS = {value: name for name, value in vars(BuiltinOperator).items() if isinstance(value, int)}
FOLDED = "no command of its own: folded into its neighbours"
CHAINED = "no cycles of its own: done by another operator's command"
WARNING = re.compile(r"^Warning \(supported operators\) operator: (.*), ofm: '(.*)'$")


def measurement(features, compiled, model_bytes, output):
    """The answer's body without device, runtime and protocol."""
    report = compiled.perf_report
    values, missing = _totals(features, report)
    operators = _operators(compiled, report, model_bytes, output)
    cycles = sum(operator["cycles"] for operator in operators)
    if cycles != report.totalCycles:
        raise RuntimeError(f"operators' cycles add up to {cycles}, the report's total is {report.totalCycles}")
    return {
        "quantities": values,
        "missing": missing,
        "statistic": "estimate",
        "cpu_operators": report.cpuOps,
        "operator_unit": "cycles",
        "operators": operators,
    }


def _totals(features, report):
    if report.npuOps == 0:
        return {}, dict.fromkeys(QUANTITIES, "no operator runs on the NPU")
    values = {
        "cycles_total": report.totalCycles,
        "cycles_npu": report.npuCycles,
        "nn_macs": report.macCount,
        "original_weights_bytes": report.originalWeights,
        "npu_encoded_weights_bytes": report.encodedWeights,
        "passes_before_fusing": report.cpuOps + report.npuOps,
        "passes_after_fusing": report.cpuOps + report.npuOps - report.cascadedOps + report.cascades,
    }
    missing = {}
    values["latency_ms"] = report.totalCycles / features.core_clock * 1e3
    for name, area in AREAS.items():
        memory = report.memories.get(name)
        if memory is None:
            reason = f"nothing is kept in {name} with this system configuration and memory mode"
            missing |= {f"{area}_bytes": reason, f"{area}_traffic_bytes": reason, f"cycles_{area}_access": reason}
            continue
        values[f"{area}_bytes"] = memory.peakUsage
        values[f"{area}_traffic_bytes"] = sum(a.bytesRead + a.bytesWritten for a in memory.accesses.values())
        values[f"cycles_{area}_access"] = memory.totalAccessCycles
    _split_shared_sram(features, report, values, missing)
    for name in [name for name, value in values.items() if not math.isfinite(value)]:
        missing[name] = f"the compiler said {values.pop(name)}"
    return values, missing


def _split_shared_sram(features, report, values, missing):
    """Where constants live in SRAM, Vela reports them as on-chip flash, and takes them off the SRAM."""
    weights_area = features.tensor_storage_mem_area[TensorPurpose.Weights]
    if report.readOnlyPeakUsage > 0 and weights_area == MemArea.OnChipFlash and "OnChipFlash" not in report.memories:
        values["on_chip_flash_bytes"] = report.readOnlyPeakUsage
        values["sram_bytes"] = values.get("sram_bytes", 0) - report.readOnlyPeakUsage
        missing.pop("on_chip_flash_bytes", None)


def _table(compiled, name):
    table = compiled.opt_database.tables.get(name)
    return [dict(zip(table.header, row)) for row in table.data] if table else []


def _operators(compiled, report, model_bytes, output):
    model = Model.GetRootAsModel(model_bytes, 0)
    graph = model.Subgraphs(0)
    count = graph.OperatorsLength()
    rows = _table(compiled, "perf")
    written = _writers(graph)
    owners = _owners(rows, _table(compiled, "source"), _table(compiled, "perf_debug_conn"), count, written)
    operators = [
        {"index": index, "cycles": 0, "macs": 0, "working_bytes": 0, "placement": "", "placement_reason": ""}
        for index in range(count)
    ]
    on_cpu = 0
    for row, owner in zip(rows, owners):
        operator = operators[owner]
        operator["cycles"] += int(row["op_cycles"])
        operator["macs"] += int(row["mac_count"])
        operator["working_bytes"] = max(operator["working_bytes"], int(row["staging_usage"]))
        passthrough = row["operator"] == "Passthrough"
        on_cpu += passthrough
        if operator["placement"] != "npu":
            operator["placement"] = "cpu" if passthrough else "npu"
    _place_rowless(operators, graph, compiled, report.cpuOps > on_cpu)
    _give_reasons(operators, model, graph, output)
    return operators


def _writers(graph):
    """The operator that writes each tensor, by the tensor's name, where only one has that name."""
    writers, several = {}, set()
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        for output in range(operator.OutputsLength()):
            name = (graph.Tensors(operator.Outputs(output)).Name() or b"").decode("utf-8", "replace")
            several |= {name} if name in writers else set()
            writers[name] = index
    return {name: index for name, index in writers.items() if name and name not in several}


def _owners(rows, sources, connections, count, writers):
    """For each row of the schedule the index of the operator that it belongs to."""
    # The sources of the main subgraph come first; those of called subgraphs repeat their keys.
    keys = {}
    seen = set()
    for source in sources:
        key = int(source["ext_key"])
        if key < count and key not in seen:
            seen.add(key)
            keys[source["id"]] = key
    owners = [keys.get(row["source_id"]) for row in rows]
    if None not in owners:
        return owners
    # A row that Vela invented (a conversion of booleans, the steps of an ARG_MAX) belongs to the
    # operator whose tensor it writes, else to what reads it, else to what it reads, else to its
    # neighbour in the schedule.
    owners = [writers.get(row["name"]) if owner is None else owner for row, owner in zip(rows, owners)]
    position = {row["id"]: index for index, row in enumerate(rows)}
    readers, read = {}, {}
    for connection in connections:
        reader, producer = position.get(connection["id"]), position.get(connection["input_op_id"])
        if reader is not None and producer is not None:
            readers.setdefault(producer, []).append(reader)
            read.setdefault(reader, []).append(producer)
    for links in (readers, read, _neighbours(len(rows))):
        changed = True
        while changed and None in owners:
            changed = False
            for index in reversed(range(len(rows))):
                if owners[index] is None:
                    known = [owners[other] for other in links.get(index, []) if owners[other] is not None]
                    if known:
                        owners[index] = known[0]
                        changed = True
    return [0 if owner is None else owner for owner in owners]


def _neighbours(count):
    return {index: [other for other in (index + 1, index - 1) if 0 <= other < count] for index in range(count)}


def _place_rowless(operators, graph, compiled, some_on_cpu):
    """Operators without a row: left to the CPU where the compiled model still writes their tensor
    outside of the NPU's operator, folded otherwise."""
    left = _tensors_written_on_cpu(compiled.model) if some_on_cpu else set()
    for operator in operators:
        if operator["placement"]:
            continue
        written = graph.Operators(operator["index"])
        names = {graph.Tensors(written.Outputs(i)).Name() for i in range(written.OutputsLength())}
        if names & left or (some_on_cpu and not names):
            operator["placement"] = "cpu"
        else:
            operator["placement"] = "npu"
            operator["placement_reason"] = FOLDED


def _tensors_written_on_cpu(compiled_bytes):
    model = Model.GetRootAsModel(compiled_bytes, 0)
    graph = model.Subgraphs(0)
    names = set()
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        if model.OperatorCodes(operator.OpcodeIndex()).CustomCode() == b"ethos-u":
            continue
        names |= {graph.Tensors(operator.Outputs(i)).Name() for i in range(operator.OutputsLength())}
    return names


def _give_reasons(operators, model, graph, output):
    """Vela's words for what it left to the CPU, matched by the tensor written and the operator's kind."""
    for operator in operators:
        if operator["placement"] == "npu" and operator["cycles"] == 0 and not operator["placement_reason"]:
            operator["placement_reason"] = CHAINED
    if not any(operator["placement"] == "cpu" for operator in operators):
        return
    said = _reasons(output)
    for operator in operators:
        if operator["placement"] != "cpu":
            continue
        written = graph.Operators(operator["index"])
        code = model.OperatorCodes(written.OpcodeIndex())
        kind = KINDS.get(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()), "")
        name = graph.Tensors(written.Outputs(0)).Name() if written.OutputsLength() else b""
        name = (name or b"").decode("utf-8", "replace")
        reasons = said.get((kind, name)) or said.get((kind, name + "_act"))
        if not reasons:  # it may name the fused activation, which the compiler takes off the operator
            reasons = [text for (_, other), texts in said.items() if other == name for text in texts]
        if not reasons:  # renamed by the compiler: take the reason if its kind has only one
            of_kind = {text for (other, _), texts in said.items() if other == kind for text in texts}
            reasons = list(of_kind) if len(of_kind) == 1 else []
        operator["placement_reason"] = reasons[0] if reasons else "left to the CPU; Vela gives no reason"


def _reasons(output):
    said = {}
    lines = output.splitlines()
    for number, line in enumerate(lines):
        match = WARNING.match(line)
        if match:
            words = []
            for following in lines[number + 1 :]:
                if not following.strip():
                    break
                words.append(following.strip().removeprefix("Reason: "))
            said.setdefault(match.groups(), []).append(". ".join(words))
    return said
