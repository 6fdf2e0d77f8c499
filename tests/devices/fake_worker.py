"""A worker that behaves as its first argument says, for the tests of the worker client."""

import json
import os
import random
import signal
import sys
import time

behaviour, state_dir = sys.argv[1], sys.argv[2]
in_fd, out_fd = int(sys.argv[sys.argv.index("--in-fd") + 1]), int(sys.argv[sys.argv.index("--out-fd") + 1])
requests, answers = os.fdopen(in_fd, "rb"), os.fdopen(out_fd, "wb", buffering=0)

GOOD = {
    "quantities": {"latency_ms": 2.5, "sram_bytes": None},
    "missing": {"sram_bytes": "not asked"},
    "statistic": "estimate",
    "operators": [{"index": 0, "cycles": 7, "macs": 3, "placement": "npu", "placement_reason": ""}],
}


def send(message):
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    answers.write(line + b"\n")


def starts():
    """How often a worker was started with this state directory, this time included."""
    open(os.path.join(state_dir, f"start-{os.getpid()}"), "w").close()
    return len(os.listdir(state_dir))


start = starts()
hello = {"protocol": "1.0", "worker": "fake", "runtime": "fake", "runtime_version": "0.1", "host_fingerprint": "abc"}
if behaviour == "exit_before_hello":
    print("no licence for this", file=sys.stderr)
    sys.exit(3)
if behaviour == "silent_start":
    time.sleep(600)
if behaviour == "no_hello":
    send({"answer": {}})
if behaviour == "newer_major":
    hello["protocol"] = "2.0"
if behaviour == "newer_minor":
    hello |= {"protocol": "1.7", "colour": "blue"}
if behaviour == "other_devices":
    hello["devices"] = ["something-else"]
if behaviour in ("beats_then_silence", "beats"):
    hello["beat_ms"] = 20
send({"hello": hello})

for number, line in enumerate(requests):
    request = json.loads(line)
    answer = {"id": request["id"], "answer": GOOD}
    body = request.get("measure", {})
    if behaviour == "by_size":  # answers late or early, by chance; what is divisible by 16 does not fit
        time.sleep(random.uniform(0, 0.01))
        size = os.path.getsize(body["model"])
        if size % 16 == 0:
            send({"id": request["id"], "error": {"code": "device_failed", "message": "it does not fit"}})
        else:
            send({"id": request["id"], "answer": GOOD | {"quantities": {"latency_ms": size / 1000}}})
        continue
    # Only the first worker misbehaves: the one that replaces it shows that the client recovered.
    trick = behaviour if start == 1 else "good"
    if trick == "crash":
        print("about to crash", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if trick == "exit":
        sys.exit(7)
    if trick == "hang":
        time.sleep(600)
    if trick == "hang_with_child":
        if os.fork() == 0:
            open(os.path.join(state_dir, f"child-{os.getpid()}"), "w").close()
            time.sleep(600)
        time.sleep(600)
    if trick == "orphan":
        if os.fork() == 0:  # keeps the pipe open after the worker is gone
            time.sleep(600)
        os._exit(9)
    if trick == "not_json":
        send(b"{this is not JSON")
        continue
    if trick == "not_object":
        send(b"[1, 2]")
        continue
    if trick == "binary":
        send(bytes(range(11, 256)))
        continue
    if trick == "wrong_id":
        send({"id": 999, "answer": GOOD})
        continue
    if trick == "unknown_message":
        send({"weather": "fine"})
        continue
    if trick == "nan":
        send(b'{"id":%d,"answer":{"quantities":{"latency_ms":NaN}}}' % request["id"])
        continue
    if trick == "huge_number":
        send(b'{"id":%d,"answer":{"quantities":{"latency_ms":1e999}}}' % request["id"])
        continue
    if trick == "text_for_number":
        send({"id": request["id"], "answer": {"quantities": {"latency_ms": "fast"}}})
        continue
    if trick == "negative":
        send({"id": request["id"], "answer": {"quantities": {"latency_ms": -1}}})
        continue
    if trick == "no_quantities":
        send({"id": request["id"], "answer": {}})
        continue
    if trick == "endless_line":
        try:
            while True:
                answers.write(b"x" * 65536)
        except BrokenPipeError:
            sys.exit(1)
    if trick == "closes_early":
        answers.close()
        time.sleep(600)
    if trick == "error":
        send({"id": request["id"], "error": {"code": "device_failed", "message": "it does not fit"}})
        continue
    if trick == "bad_options":
        send({"id": request["id"], "error": {"code": "bad_options", "message": "unknown option colour"}})
        continue
    if trick == "stray_lines":
        send(answer)
        send(answer)
        continue
    if trick == "chatter":
        for _ in range(2000):
            os.write(1, b"chatter " * 100 + b"\n")
    if trick == "beats":
        for _ in range(30):
            time.sleep(0.02)
            send({"beat": {"id": request["id"]}})
    if trick == "beats_then_silence":
        send({"beat": {"id": request["id"]}})
        time.sleep(600)
    if trick == "beats_for_ever":
        while True:
            time.sleep(0.02)
            send({"beat": {"id": request["id"]}})
    if trick == "newer_minor":
        send({"progress": {"share": 0.5}})
        answer["weather"] = "fine"
        answer["answer"] = GOOD | {"colour": "blue"}
    if trick == "samples":
        answer["answer"] = GOOD | {"samples_ms": body["options"]["samples"]}
    if trick == "echo":
        answer["answer"] = GOOD | {"protocol": {"request": json.dumps(body)}}
    send(answer)
