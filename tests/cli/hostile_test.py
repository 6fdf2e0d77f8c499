"""Exit codes and messages for odd, damaged and hostile files, by the ids of public bug reports."""

import subprocess
import unittest

from support import BUILD, ToolTest, data_dir, require, run

# File, arguments of `inspect`, exit code, what must stand in the answer or on standard error.
TABLE = [
    ("T01_open_sizes", [], 0, "the size of input image is open, [1,-1,-1,3]"),
    ("T01_open_sizes", ["--shape", "image:1x8x8x3"], 0, "768"),
    ("T01_open_sizes", ["--shape", "picture:1x8x8x3"], 2, "its inputs are: image"),
    ("T01_open_sizes", ["--shape", "image:8x8x3"], 2, "3 dimensions; the file has 4"),
    ("T01_open_sizes", ["--shape", "image:1x0x8x3"], 2, "sizes are 1 to"),
    ("T02_constant_target", ["--batch", "8"], 0, "cannot become [1,32]"),
    ("T02_constant_target", ["--batch", "8", "--strict"], 4, "cannot become [1,32]"),
    ("T03_old_field", [], 0, "CONV_2D"),
    ("T03_only_new", [], 0, "CONV_2D"),
    ("T03_both_absent", [], 0, "ADD"),
    ("T04_cut_to_a_hundredth", [], 3, "byte"),
    ("T04_cut_to_half", [], 3, "byte"),
    ("T04_cut_by_84", [], 3, "byte"),
    ("T04_cut_by_1", [], 3, "byte"),
    ("T05_eight_bytes", [], 3, "points to byte 24"),
    ("T07_lfs_pointer", [], 3, "git lfs pull"),
    ("T08_zip", [], 3, "zip archive"),
    ("T08_gzip", [], 3, "gunzip"),
    ("T08_html", [], 3, "HTML page"),
    ("T08_empty", [], 3, "is empty"),
    ("T08_noise", [], 3, "no model format"),
    ("T09_no_operators", [], 0, "nothing is computed"),
    ("T10_empty_second", ["--strict"], 0, "CONV_2D"),
    ("T11_no_outputs", [], 0, "ASSIGN_VARIABLE"),
    ("T12_loop", [], 0, "--trip-count"),
    ("T12_loop", ["--trip-count", "1000"], 0, "144,000"),
    ("T12_nested", ["--trip-count", "2"], 0, "the larger branch"),
    ("T12_recursive", [], 0, "contains itself"),
    ("T12_recursive", ["--strict"], 4, "contains itself"),
    ("T13_composites", [], 0, "nothing reads the results of operator 1"),
    ("T14_int4", [], 0, "int4"),
    ("T17_edge_tpu", [], 0, "Edge TPU"),
    ("T17_edge_tpu", ["--strict"], 4, "edgetpu-custom-op"),
    ("T18_vela", [], 0, "already compiled by Vela 3.11.0"),
    ("T18_vela", ["--strict"], 4, "ethos-u"),
    ("T19_detection", ["--strict"], 0, "known kernel"),
    ("T20_flex", [], 0, "counted as CONV_2D"),
    ("T20_flex", ["--strict"], 4, "FlexMystery"),
    ("T22_half_weights", ["--strict"], 0, "DEQUANTIZE"),
    ("T23_null", [], 0, "no shape"),
    ("T23_scalar", [], 0, "ABS"),
    ("T23_empty", [], 0, "ABS"),
    ("T24_hollow", [], 0, "ABS"),
    ("T25_strings", [], 0, "no fixed size"),
    ("T26_types", ["--strict"], 0, "complex64"),
    ("T26_unknown_type", [], 0, "element type"),
    ("T26_unknown_type", ["--strict"], 4, "element type"),
    ("T28_left_out", ["--strict"], 0, "MUL"),
    ("T29_reshape", [], 0, "cannot become"),
    ("T29_reshape", ["--strict"], 4, "cannot become"),
    ("T29_concatenation", ["--strict"], 4, "differ beside axis"),
    ("T29_split", ["--strict"], 4, "3 parts"),
    ("T31_channels_first", ["--shape", "image:1x8x8x3"], 2, "operator 1 (CONV_2D)"),
    ("T32_wrong_product", [], 3, "weights [3,7] do not fit"),
    ("entries", ["--signature", "large"], 0, "768"),
    ("entries", ["--signature", "middle"], 2, "small, large"),
]


class HostileFiles(ToolTest):
    def setUp(self):
        super().setUp()
        subprocess.run([str(BUILD / "tests" / "write_odd_files"), str(self.dir)], check=True)

    def path(self, name):
        return self.dir / f"{name}.tflite"

    def test_every_row_of_the_table(self):
        for name, flags, code, words in TABLE:
            with self.subTest(file=name, flags=flags):
                answer = self.check(run("inspect", self.path(name), *flags, timeout=20), code)
                self.assertIn(words, answer.out + answer.err)
                if code == 3:
                    self.assertEqual(len(answer.err.strip().splitlines()), 1, answer.err)

    def test_every_file_is_predicted_or_refused(self):
        """A compiled or unknown network has no figure, with a reason, or a wide one; never 0 ms."""
        files = sorted(self.dir.glob("*.tflite"))
        self.assertGreater(len(files), 40)
        answer = run("predict", *files, "--device", "ethos-u55-256", "--format", "json")
        self.check(answer, 3)
        for row in answer.json()["predictions"]:
            with self.subTest(row["model"]):
                if "error" in row:
                    self.assertEqual(row["error"]["code"], 3)
                    continue
                latency = row["latency_ms"]
                if latency is None:
                    self.assertTrue(row["missing"]["latency_ms"])
                else:
                    self.assertGreater(latency["value"], 0)
                self.assertEqual(row["per"], "inference")

    def test_m09_a_batch_is_one_inference(self):
        """M09: figures are of one inference, whatever its batch; the batch stands beside them."""
        path = self.network()
        rows = {}
        for batch in (1, 8):
            answer = self.check(run("predict", path, "--device", "ethos-u55-256", "--batch", batch,
                                    "--format", "json"), 0)
            rows[batch] = answer.json()["predictions"][0]
            self.assertEqual(rows[batch]["batch"], batch)
            self.assertEqual(rows[batch]["per"], "inference")
        self.assertEqual(rows[8]["macs"], 8 * rows[1]["macs"])
        self.assertEqual(rows[8]["weights_bytes"], rows[1]["weights_bytes"])
        self.assertGreater(rows[8]["activations_bytes"], 4 * rows[1]["activations_bytes"])

    def test_loops_are_priced_by_their_trip_count(self):
        """T12: the figures of a prediction grow with the iterations."""
        values = {}
        for trips in (1, 100):
            answer = self.check(run("predict", self.path("T12_loop"), "--device", "ethos-u55-256",
                                    "--trip-count", trips, "--format", "json"), 0)
            row = answer.json()["predictions"][0]
            self.assertEqual(len(row["operators"]), 1)
            self.assertEqual(row["operators"][0]["kind"], "WHILE")
            values[trips] = row
        self.assertEqual(values[100]["macs"], 100 * values[1]["macs"])
        self.assertGreater(values[100]["latency_ms"]["value"],
                           20 * values[1]["latency_ms"]["value"])

    def test_t32_a_model_that_cannot_be_prepared_is_not_measured(self):
        """T32: neither crashes; the code says that the model, or its device, is at fault."""
        answer = run("measure", self.path("T32_wrong_product"), "--device", "host-litert",
                     "--format", "json")
        self.assertIn(answer.code, (3, 5), answer.err)
        self.assertTrue(answer.err)

    def test_m07_predictor_files_of_another_kind(self):
        """M07: cut, damaged, swapped or older predictor files are exit 6."""
        whole = next((BUILD.parent / "predictors").glob("*.edgesage")).read_bytes()
        swapped = bytearray(whole)
        for at, size in ((8, 4), (12, 4), (16, 8), (24, 8)):
            swapped[at:at + size] = swapped[at:at + size][::-1]
        variants = {"cut": (whole[:len(whole) // 2], "the file is cut"),
                    "damaged": (whole[:-1] + bytes([whole[-1] ^ 1]), "checksum"),
                    "swapped": (bytes(swapped), "byte order"),
                    "older": (whole[:8] + bytes(4) + whole[12:], "version 0")}
        model = self.network()
        for name, (content, words) in variants.items():
            with self.subTest(name):
                path = self.dir / f"{name}.edgesage"
                path.write_bytes(content)
                answer = self.check(run("predict", model, "--predictor", path), 6)
                self.assertIn(words, answer.err)

    def test_published_models_are_strictly_fine_about_shapes(self):
        require(self, data_dir(), "no published models; set EDGESAGE_DATA_DIR")
        path = data_dir() / "models" / "tflite" / "tiny" / "618aeb15_kws_ref_model.tflite"
        self.check(run("inspect", path, "--strict"), 0)


if __name__ == "__main__":
    unittest.main()
