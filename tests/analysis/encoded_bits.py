"""Bits a weight that Ethos-U's codec needs: a JSON list on stdout.

Usage: encoded_bits.py FILE... with int8 values; each is encoded as one stream.
"""
import array
import json
import sys

from ethosu import mlw_codec


def bits(path):
    values = array.array("b")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return len(mlw_codec.encode(list(values))) * 8 / len(values)


print(json.dumps([bits(path) for path in sys.argv[1:]]))
