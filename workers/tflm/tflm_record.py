"""What TensorFlow Lite Micro's recording allocator prints, as numbers."""

import re

# The runtime's name of a kind of allocation -> ours
KINDS = {
    "TfLiteEvalTensor data": "eval_tensors",
    "Persistent TfLiteTensor data": "persistent_tensors",
    "Persistent TfLiteTensor quantization data": "quantization",
    "Persistent buffer data": "persistent_buffers",
    "TfLiteTensor variable buffer data": "variables",
    "NodeAndRegistration struct": "nodes",
    "Operator runtime data": "operator_data",
    "Persistent compression data": "compression",
}
PARTS = ("total", "head", "tail")
QUANTITIES = [f"arena_{part}_bytes" for part in PARTS] + [
    f"{kind}_{what}" for kind in KINDS.values() for what in ("bytes", "requested_bytes", "count")
]

_PART = re.compile(r"Arena allocation (\w+) (\d+) bytes")
_KIND = re.compile(
    r"'([^']+)' used (\d+) bytes with alignment overhead \(requested (\d+) bytes for (\d+) "
)


def quantities(printed):
    """Bytes and counts by quantity, kinds that we do not know included. A known kind that is not
    printed has taken nothing: that is what the runtime's silence means."""
    values = dict.fromkeys(QUANTITIES, 0)
    parts = dict(_PART.findall(printed))
    for part in PARTS:
        if part not in parts:
            raise RuntimeError(f"the runtime's record has no arena {part}: {printed[:200]!r}")
        values[f"arena_{part}_bytes"] = int(parts[part])
    for name, used, requested, count in _KIND.findall(printed):
        kind = KINDS.get(name, name.lower().replace(" ", "_"))
        values[f"{kind}_bytes"] = int(used)  # with what alignment adds
        values[f"{kind}_requested_bytes"] = int(requested)
        values[f"{kind}_count"] = int(count)
    return values
