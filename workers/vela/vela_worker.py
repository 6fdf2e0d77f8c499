#!/usr/bin/env python3
"""Estimates models with Vela's compiler for Arm Ethos-U, kept in one process (see docs/worker_protocol.md).

Options of a measure request: `accelerator` (default: the device's name), `config` (a vela.ini),
`system_config`, `memory_mode`, `arena_cache_size` (bytes), `optimise` ("Performance" or "Size").
What is not given is Vela's own default for the accelerator.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import worker_protocol  # noqa: E402
from worker_protocol import Refused  # noqa: E402

from ethosu import regor  # noqa: E402
from ethosu.vela import vela  # noqa: E402  (first: the package imports in a circle)
from ethosu.vela import architecture_features, scheduler  # noqa: E402
from ethosu.vela._version import __version__ as VELA_VERSION  # noqa: E402
from ethosu.vela.errors import VelaError  # noqa: E402
from ethosu.vela.nn_graph import TensorAllocator  # noqa: E402

import vela_report  # noqa: E402

OPTIONS = ("accelerator", "arena_cache_size", "config", "memory_mode", "optimise", "system_config")
ACCELERATORS = list(architecture_features.Accelerator.member_list())
DEFAULT = architecture_features.ArchitectureFeatures.DEFAULT_CONFIG


class CapturedOutput:
    """Collects what C++ and Python write to descriptor 1: Vela says there why it places an operator
    on the CPU, and nowhere else."""

    def __init__(self):
        self._file = os.memfd_create("vela-output")
        self._stdout = os.dup(1)
        self.text = ""

    def __enter__(self):
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        sys.stdout.flush()
        os.dup2(self._file, 1)
        return self

    def __exit__(self, *_):
        sys.stdout.flush()
        os.dup2(self._stdout, 1)
        size = os.lseek(self._file, 0, os.SEEK_CUR)
        self.text = os.pread(self._file, size, 0).decode("utf-8", "replace")


class Target:
    """One accelerator with its configuration, in the form that the compiler takes."""

    def __init__(self, accelerator, config, system_config, memory_mode, arena_cache_size, optimise):
        self.accelerator = accelerator
        self.optimise = optimise
        self.features = architecture_features.ArchitectureFeatures(
            vela_config_files=[config] if config else None,
            system_config=system_config or DEFAULT,
            memory_mode=memory_mode or DEFAULT,
            accelerator_config=accelerator,
            max_blockdep=architecture_features.ArchitectureFeatures.MAX_BLOCKDEP,
            verbose_config=False,
            arena_cache_size=arena_cache_size,
        )
        # "ethos-u55-256" -> "EthosU55"; the number of MACs goes into the configuration text.
        self.family = "".join(part.capitalize() for part in accelerator.split("-")[:-1])
        self.system_text = self._system_text()
        self.compiler_text = self._compiler_text()

    def _system_text(self):
        features = self.features
        text = f"[architecture]\nmacs={features.num_macs_per_cycle}\ncores={features.ncores}\n"
        text += f"[vela]\nsystem_config_name={features.system_config}\n"
        text += f"memory_mode_name={features.memory_mode}\n"
        for path in features.vela_config_files:
            with open(path, encoding="utf-8") as file:
                text += file.read()
        return text

    def _compiler_text(self):
        return vela.get_compiler_config(
            enable_debug_db=True,  # per-operator cycles and their source operators
            verbose_all=False,
            verbose_high_level_command_stream=False,
            verbose_register_command_stream=False,
            optimize=scheduler.OptimizationStrategy[self.optimise],
            arena_cache_size=self.features.arena_cache_size,
            verbose_schedule=False,
            verbose_allocation=False,
            verbose_graph=False,
            verbose_quantization=False,
            verbose_packing=False,
            verbose_performance=True,
            show_cpu_operations=True,
            output_format="tflite",
            disable_chaining=False,
            disable_fwd=False,
            disable_cascading=False,
            disable_buffering=False,
            disable_ifm_reuse=False,
            cop_format="COP1",
            separate_io_regions=False,
            cpu_tensor_alignment=16,
            tensor_allocator=TensorAllocator.HillClimb,
            softmax_int16_neg_exp_range=10.0,
        )

    def protocol(self):
        features = self.features
        return {
            "accelerator": self.accelerator,
            "config": ",".join(os.path.basename(path) for path in features.vela_config_files),
            "system_config": features.system_config,
            "memory_mode": features.memory_mode,
            "arena_cache_size_bytes": str(int(features.arena_cache_size)),
            "core_clock_hz": f"{features.core_clock:.0f}",
            "optimise": self.optimise,
            "cpu_operators_cost": "not included",
        }


class VelaDevice:
    """Answers measure requests; keeps the targets that were asked for."""

    def __init__(self):
        self._targets = {}
        self._output = CapturedOutput()

    def measure(self, request):
        started = time.perf_counter()
        target = self._target(request.get("device", ""), request.get("options") or {})
        data = worker_protocol.read_tflite(request.get("model"))
        try:
            with self._output:
                compiled = regor.compile(
                    target.family, data, "TFLITE", target.system_text, options=target.compiler_text
                )
        except (RuntimeError, ValueError, MemoryError) as error:
            code = "bad_model" if "Unable to parse" in str(error) else "device_failed"
            raise Refused(code, f"Vela could not compile it: {error}") from None
        except SystemExit as stop:
            raise Refused("device_failed", f"Vela stopped with {stop.code}") from None
        measurement = vela_report.measurement(target.features, compiled, data, self._output.text)
        measurement["device"] = request.get("device") or target.accelerator
        measurement["runtime"] = "vela"
        measurement["runtime_version"] = VELA_VERSION
        measurement["protocol"] = target.protocol()
        measurement["environment"] = {"compile_ms": f"{(time.perf_counter() - started) * 1e3:.1f}"}
        return measurement

    def _target(self, device, options):
        worker_protocol.refuse_unknown(options, OPTIONS)
        accelerator = options.get("accelerator") or device
        if accelerator not in ACCELERATORS:
            raise Refused("bad_options", f"accelerator {accelerator!r} is not one of {', '.join(ACCELERATORS)}")
        optimise = options.get("optimise") or "Performance"
        if optimise not in scheduler.OptimizationStrategy.__members__:
            raise Refused("bad_options", f"optimise {optimise!r} is neither Performance nor Size")
        arena = options.get("arena_cache_size")
        if arena is not None and (not isinstance(arena, int) or arena <= 0):
            raise Refused("bad_options", f"arena_cache_size {arena!r} is not a positive number of bytes")
        config = _config_file(options.get("config"))
        # A user edits the file between two requests: its time stamp is part of the key.
        stamp = os.stat(config).st_mtime_ns if config else None
        key = (accelerator, config, stamp, options.get("system_config"), options.get("memory_mode"), arena, optimise)
        if key not in self._targets:
            try:
                with self._output:
                    self._targets[key] = Target(*key[:2], *key[3:])
            except (VelaError, OSError, ValueError, KeyError) as error:
                raise Refused("bad_options", f"Vela refuses the configuration: {_reason(error)}") from None
            except SystemExit:
                raise Refused("bad_options", f"Vela refuses the configuration: {self._output.text}") from None
        return self._targets[key]


def _reason(error):
    return getattr(error, "data", None) or f"{type(error).__name__} {error}"


def _config_file(config):
    if not config:
        return None
    inside = os.path.join(architecture_features.CONFIG_FILES_PATH, config)
    path = config if os.path.isfile(config) or not os.path.isfile(inside) else inside
    if not os.path.isfile(path):
        raise Refused("bad_options", f"config {config}: no such file")
    return path


def main():
    arguments = worker_protocol.descriptors()
    device = VelaDevice()
    hello = {
        "worker": "vela",
        "runtime": "vela",
        "runtime_version": VELA_VERSION,
        "devices": ACCELERATORS,
        "quantities": vela_report.QUANTITIES,
        "host_fingerprint": "",
    }
    # The compiler holds the interpreter lock while it works, so that there is no beat to promise.
    worker_protocol.serve(arguments, hello, {"measure": device.measure}, beat_s=None)


if __name__ == "__main__":
    main()
