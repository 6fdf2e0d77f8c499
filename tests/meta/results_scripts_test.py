"""What docs/results.md is generated with: tables and plots from the rows of `evaluate`."""

import csv
import io
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
DEVICE = "ethos-u55-256"


def csv_text(rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def predictions():
    return [{"quantity": quantity, "space": "s", "name": f"s/1/{i}", "operators": 3 + 9 * i,
             "kinds": "add conv" if i % 2 else "conv", "truth": 0.01 * 1.3 ** i,
             "predicted": 0.01 * 1.3 ** i * (1.1 if i % 2 else 1), "lo": 0, "hi": 1,
             "in_range": int(i != 7)}
            for quantity in ("latency_ms", "energy_mj") for i in range(40)]


def protocol_rows():
    common = {"device": DEVICE, "quantity": "latency_ms", "model": "edgesage", "placement": "all",
              "space": "all", "n_test": 10, "median_ape": 1, "own": 0, "most": 0}
    rows = [{**common, "setting": "curve", "most": n, "mape": 100 / n ** 0.5} for n in (1000, 3000)]
    rows += [{**common, "setting": "ablation", "variant": v, "mape": m}
             for v, m in (("", 3), ("no-edges", 5))]
    rows += [{**common, "setting": "left-out", "left_out": s, "space": s, "own": n, "mape": m}
             for s in ("a", "b") for n, m in ((0, 8), (30, 4))]
    return rows


def real_rows():
    def row(name, truth, predicted, flagged, space="real-networks", placement="placed"):
        error = 100 * abs(predicted / truth - 1)
        return {"device": DEVICE, "setting": "real-files", "variant": name, "space": space,
                "quantity": "latency_ms", "model": "edgesage", "placement": placement, "n_test": 1,
                "mape": error, "truth": truth, "predicted": predicted, "flagged": flagged}
    return [row("01234567_good.tflite", 1, 1.04, 0), row("bad.tflite", 1, 1.3, 0),
            row("odd.tflite", 1, 2, 100), row("one.tflite", 1, 5, 0, "single-operators"),
            {"device": DEVICE, "setting": "real-files", "variant": "no.tflite", "n_test": 0,
             "space": "real-networks", "quantity": "latency_ms", "model": "edgesage",
             "note": "nothing of it runs on the device"}]


class ResultsScripts(unittest.TestCase):
    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, SCRIPTS / name, *arguments], text=True, check=True,
                              capture_output=True).stdout

    def plots(self, rows, flag):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "rows.csv"
            source.write_text(csv_text(rows))
            names = self.run_script("results_plots.py", flag, source, "--device", DEVICE,
                                    "--output", folder).split()
            return {name: (Path(folder) / name).read_text() for name in names}

    def check(self, files, names):
        self.assertEqual(sorted(files), sorted(f"{DEVICE}-{name}.svg" for name in names))
        for name, text in files.items():
            ElementTree.fromstring(text)
            # The name space is no request.
            self.assertNotIn("http", text.replace("http://www.w3.org/2000/svg", ""), name)
            self.assertNotIn("nan", text, name)
            self.assertLess(len(text), 60_000, name)

    def test_predictions_become_small_wellformed_pictures(self):
        files = self.plots(predictions(), "--predictions")
        self.check(files, ("predicted", "size", "kind"))
        # 20 of 40 networks are off by 10 %, and they alone hold an addition.
        self.assertIn("add (20): 10.00 %", files[f"{DEVICE}-kind.svg"])
        self.assertIn("conv (40): 5.00 %", files[f"{DEVICE}-kind.svg"])

    def test_rows_become_curves_ablations_and_new_spaces(self):
        files = self.plots(protocol_rows(), "--rows")
        self.check(files, ("curve", "ablation", "new-space"))
        self.assertIn("no-edges: 5.00 %", files[f"{DEVICE}-ablation.svg"])
        self.assertIn("latency_ms, 30: 4.00", files[f"{DEVICE}-new-space.svg"])

    def test_a_study_becomes_its_fronts_and_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            setting = Path(folder) / f"reference_net@96__{DEVICE}__1000__1"
            for arm, said in (("hardware", 5), ("estimator", 5.5), ("macs", 5), ("stopped", 0)):
                (setting / arm).mkdir(parents=True)
                if said:
                    (setting / arm / "front.csv").write_text(csv_text(
                        [{"quality": 0.9, "searched_ms": said, "measured_ms": 5, "original_ms": 10,
                          "values": "4-1"},
                         {"quality": 0.5, "searched_ms": 1, "measured_ms": "nan", "original_ms": 10,
                          "values": "1-1"}]))
            name = self.run_script("results_plots.py", "--study", folder, "--output",
                                   folder).split()
            self.assertEqual(name, [f"compression-net@96-{DEVICE}-1000.svg"])
            text = (Path(folder) / name[0]).read_text()
        ElementTree.fromstring(text)
        self.assertIn("hardware, 0.5: 0.10", text)
        self.assertIn("estimator, 0.5: 10.00", text)
        self.assertNotIn("macs, 0.5: 0.00", text)  # it foretells no latency

    def test_the_table_of_real_files_names_what_misses_the_bar(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "rows.csv"
            source.write_text(csv_text(real_rows()))
            text = self.run_script("results_tables.py", source)
        self.assertIn("| good | 1 | 1.04 | +4.0 |", text)
        self.assertIn("real-networks, placed: 3 files, median 30.0 %", text)
        self.assertIn("beyond 15 % and not flagged: bad", text)
        self.assertNotIn("odd,", text)
        self.assertIn("no: nothing of it runs on the device", text)


if __name__ == "__main__":
    unittest.main()
