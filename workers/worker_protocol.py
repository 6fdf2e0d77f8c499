"""The worker's end of the worker protocol (docs/worker_protocol.md), for workers in Python.

    serve(arguments, hello, {"measure": answer_measure})

`arguments` are those of descriptors(), `hello` is the body of the first message. A handler takes the body of a request and returns the body
of the answer; Refused becomes an error answer, and so does every other exception, so that one model
costs one answer. The runtime may print: the protocol has descriptors of its own.
"""

import argparse
import contextlib
import json
import os
import sys
import threading
import traceback

PROTOCOL = "1.0"


class Refused(Exception):
    """A request that cannot be answered. `code`: bad_model, bad_options or device_failed."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Channel:
    """Lines of JSON on two descriptors; sending is safe from several threads."""

    def __init__(self, in_fd, out_fd):
        self._in = os.fdopen(in_fd, "rb")
        self._out = os.fdopen(out_fd, "wb", buffering=0)
        self._lock = threading.Lock()

    def send(self, message):
        line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            while line:
                line = line[self._out.write(line) :]

    def lines(self):
        return iter(self._in.readline, b"")


class _Beat(threading.Thread):
    """Beats until stopped."""

    def __init__(self, channel, request_id, beat_s):
        super().__init__(daemon=True)
        self._channel = channel
        self._id = request_id
        self._beat_s = beat_s
        self._stop_event = threading.Event()

    def run(self):
        while not self._stop_event.wait(self._beat_s):
            self._channel.send({"beat": {"id": self._id}})

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self._stop_event.set()
        self.join()


def _answer(channel, handlers, line, beat_s):
    try:
        request = json.loads(line)
        request_id = request["id"]
    except (ValueError, KeyError, TypeError):
        message = "not a JSON object with an id"
        channel.send({"id": None, "error": {"code": "bad_request", "message": message}})
        return
    kind = next((key for key in request if key in handlers), None)
    if kind is None:
        known = ", ".join(handlers)
        message = f"unknown request {list(request)!r}; this worker knows {known}"
        channel.send({"id": request_id, "error": {"code": "unknown_request", "message": message}})
        return
    try:
        with _Beat(channel, request_id, beat_s) if beat_s else contextlib.nullcontext():
            message = {"answer": handlers[kind](request[kind])}
    except Refused as refused:
        message = {"error": {"code": refused.code, "message": one_line(str(refused))}}
    except (Exception, SystemExit) as error:  # pylint: disable=broad-except
        traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        message = {"error": {"code": "device_failed", "message": one_line(what)}}
    channel.send({"id": request_id, **message})


def one_line(text):
    return " ".join(text.split())


def refuse_unknown(options, allowed):
    """Refuses an option of a request that is none of the worker's."""
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise Refused("bad_options", f"unknown option {unknown[0]}; allowed: {', '.join(allowed)}")


def read_tflite(path):
    """The bytes of a .tflite file; Refused for anything else."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, TypeError) as error:
        raise Refused("bad_model", f"cannot read the model: {error}") from None
    if data[4:8] != b"TFL3":
        raise Refused("bad_model", "not a .tflite file (no TFL3 at byte 4)")
    return data


def descriptors(parser=None):
    """Adds --in-fd and --out-fd to `parser` and returns its arguments."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--in-fd", type=int, required=True, help="descriptor of the requests")
    parser.add_argument("--out-fd", type=int, required=True, help="descriptor of the answers")
    return parser.parse_args()


def serve(arguments, hello, handlers, beat_s=2.0):
    """Says hello and answers until the peer closes its end. `beat_s`: None for a runtime that holds
    the interpreter lock while it works; the peer then has only its deadline."""
    channel = Channel(arguments.in_fd, arguments.out_fd)
    promise = {"beat_ms": int(beat_s * 1000)} if beat_s else {}
    try:
        channel.send({"hello": {"protocol": PROTOCOL, **promise, **hello}})
        for line in channel.lines():
            _answer(channel, handlers, line, beat_s)
    except BrokenPipeError:
        sys.exit(0)
