"""`edgesage measure --energy` on a made-up sysfs, and on the machine's own sensors where it has some."""

import os
import threading
import time
import unittest
from pathlib import Path

from support import ToolTest, require, run, runtimes


class Energy(ToolTest):
    def setUp(self):
        super().setUp()
        require(self, runtimes(), "no device runtimes in .venv; ./dev setup installs them")
        self.model = self.network(space="mobile-classifier")

    def measure(self, root, device="host-litert"):
        answer = run("measure", self.model, "--device", device, "--energy", "--sensor-root", root,
                     "--format", "json")
        return self.check(answer, 0).json()["measurements"][0]

    def test_m02_without_a_sensor_it_is_null_with_a_reason(self):
        entry = self.measure(self.dir)
        self.assertIsNone(entry["energy_mj"])
        self.assertIn("rapl", entry["missing"]["energy_mj"])
        self.assertIsNotNone(entry["latency_ms"])

    def test_m02_a_stuck_counter_is_null_with_a_reason(self):
        zone = self.dir / "class" / "powercap" / "intel-rapl:0"
        zone.mkdir(parents=True)
        for name, text in (("name", "package-0"), ("energy_uj", "1000"),
                           ("max_energy_range_uj", "1000000")):
            (zone / name).write_text(text + "\n")
        entry = self.measure(self.dir)
        self.assertIsNone(entry["energy_mj"])
        self.assertIn("stuck", entry["missing"]["energy_mj"])

    def test_another_device_has_no_sensor_here(self):
        entry = self.measure(self.dir, "ethos-u55-256")
        self.assertIsNone(entry["energy_mj"])
        self.assertIn("another device", entry["missing"]["energy_mj"])

    def test_m02_a_counter_that_wraps_gives_energy(self):
        """The counter follows the processor time of the worker: a machine of 5 W a busy core and 1 W
        idle, whose counter begins anew again and again."""
        zone = self.dir / "class" / "powercap" / "intel-rapl:0"
        zone.mkdir(parents=True)
        span = 3_000_000
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text(f"{span}\n")
        counter = zone / "energy_uj"
        stop = threading.Event()

        def busy_seconds():
            """Processor time of what this test has started: other programs are none of its machine."""
            processes = {}
            for status in Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = status.read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                processes[int(status.parent.name)] = (int(fields[1]),
                                                      int(fields[11]) + int(fields[12]))
            total = 0
            for pid, (parent, ticks) in processes.items():
                while parent in processes and parent != os.getpid():
                    parent = processes[parent][0]
                total += ticks if parent == os.getpid() and pid != os.getpid() else 0
            return total / 100

        def follow():
            start, busy, used, last = time.monotonic(), 0.0, 0.0, busy_seconds()
            while not stop.is_set():
                now = busy_seconds()
                used += max(0.0, now - last)
                last = now
                joules = (time.monotonic() - start) * 1.0 + 4.0 * used
                temporary = self.dir / "next"
                temporary.write_text(f"{int(joules * 1e6) % span}\n")
                temporary.rename(counter)
                time.sleep(0.01)

        thread = threading.Thread(target=follow)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        while not counter.exists():
            time.sleep(0.01)
        for _ in range(3):
            entry = self.measure(self.dir)
            if entry["energy_mj"]:
                break
            # A machine so busy that the counter stood still: then that is the reason.
            self.assertRegex(entry["missing"]["energy_mj"], "are needed|idle machine|stuck")
        if not entry["energy_mj"]:
            self.skipTest("the machine is too busy for a counter in real time")
        self.assertEqual(entry["energy_mj"]["source"], "measured")
        self.assertEqual(entry["protocol"]["energy_source"], "rapl:package-0")
        # 4 W above idle while an inference runs; other programs share the processor.
        expected = 4.0 * entry["latency_ms"]["p50"]
        self.assertLess(entry["energy_mj"]["value"], 4 * expected)
        self.assertGreater(entry["energy_mj"]["value"], expected / 4)

    def test_the_machine_s_own_sensor(self):
        if not list(Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj")):
            self.skipTest("this machine has no RAPL")
        entry = self.measure("/sys")
        self.assertTrue(entry["energy_mj"] or entry["missing"]["energy_mj"])


if __name__ == "__main__":
    unittest.main()
