"""This machine, for workers in Python: what identifies it for labels, and its state while measuring.
The fingerprint is the one of workers/litert/host.cc."""

import os
import platform
from pathlib import Path

_KEYS = {
    "vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU part",
    "CPU variant", "CPU revision", "CPU implementer", "CPU architecture",
}  # fmt: skip


def _first_line(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().rstrip("\n")
    except OSError:
        return ""


def _cpu_lines():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return [(key.rstrip(" \t"), value) for key, colon, value in (line.partition(":") for line in lines) if colon]


def _caches():
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    entries = folder.iterdir() if folder.is_dir() else []
    levels = [
        f"L{_first_line(entry / 'level')} {_first_line(entry / 'type')} {_first_line(entry / 'size')}"
        for entry in entries
        if (entry / "size").exists()
    ]
    return ", ".join(sorted(levels))


def fingerprint():
    """16 hexadecimal digits over the CPU's model, its flags, the number of its threads and its caches;
    not the host's name, its clock or its memory."""
    facts = {
        f"{key}: " + "".join(word + " " for word in sorted(set(value.split())))
        for key, value in _cpu_lines()
        if key in _KEYS
    }
    text = f"{os.sysconf('SC_NPROCESSORS_ONLN')} threads; {_caches()}"
    text += "".join("; " + fact for fact in sorted(facts))
    value = 0xCBF29CE484222325  # FNV-1a
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def environment():
    model = next((value.strip() for key, value in _cpu_lines() if key in ("model name", "Model")), "unknown")
    kernel = platform.uname()
    governor = _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "cpu_model": model,
        "cpus": str(os.sysconf("SC_NPROCESSORS_ONLN")),
        "caches": _caches(),
        "kernel": f"{kernel.system} {kernel.release} {kernel.machine}",
        "load_average": _first_line("/proc/loadavg"),
        "governor": governor or "unknown: the system does not say",
    }
