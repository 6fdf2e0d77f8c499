"""Compiles every .tflite of a folder with Vela for ethos-u55-256 into <folder>/vela."""
import pathlib
import sys

from ethosu.vela import vela


def main():
    folder = pathlib.Path(sys.argv[1])
    for path in sorted(folder.glob("*.tflite")):
        vela.main([str(path), "--accelerator-config", "ethos-u55-256",
                   "--output-dir", str(folder / "vela")])


if __name__ == "__main__":
    main()
