"""Compiles every .tflite of a folder with Vela into <folder>/vela, for ethos-u55-256 or another."""
import pathlib
import sys

from ethosu.vela import vela


def main():
    folder = pathlib.Path(sys.argv[1])
    accelerator = sys.argv[2] if len(sys.argv) > 2 else "ethos-u55-256"
    for path in sorted(folder.glob("*.tflite")):
        vela.main([str(path), "--accelerator-config", accelerator,
                   "--output-dir", str(folder / "vela")])


if __name__ == "__main__":
    main()
