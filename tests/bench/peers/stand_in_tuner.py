#!/usr/bin/env python3
"""Plays tvm_meta_schedule.py for tests, without TVM: it computes convolutions itself, slowly.

STAND_IN_FAULT in the environment: "" none; "wrong", its output is off; "refuse", it tunes nothing;
"busy", a thread of it never rests.
"""

import array
import itertools
import json
import os
import sys
import threading

FAULT = os.environ.get("STAND_IN_FAULT", "")
TUNING = {"seconds": 90.0, "failed": 1, "best_ns": 2000.0}
RUN_NS = 5000.0


def values_of(path):
    with open(path, "rb") as file:
        return array.array("f", file.read())


def convolution(layer):
    read = {name: values_of(path) for name, path in layer["files"].items()}
    _, height, width, channels = layer["input"]
    ky, kx, _, outs = layer["weight"]
    out = array.array("f")
    for _, y, x, c in itertools.product(*map(range, layer["output"])):
        total = read["bias"][c] if "bias" in read else 0.0
        for i, j in itertools.product(range(ky), range(kx)):
            row = y * layer["stride"][0] + i - layer["padding"][0]
            column = x * layer["stride"][1] + j - layer["padding"][1]
            if not (0 <= row < height and 0 <= column < width):
                continue
            for k in range(channels):
                weight = read["weight"][((i * kx + j) * channels + k) * outs + c]
                total += read["input"][(row * width + column) * channels + k] * weight
        out.append(max(total, 0.0) if layer["relu"] else total)
    return out


def answer(asked, layers):
    if "tune" in asked:
        if FAULT == "refuse":
            return {"refused": "a bad day"}
        layers[asked["tune"]] = asked["layer"]
        return {**TUNING, "trials": asked["trials"]}
    if "run" in asked:
        return {"ns": RUN_NS * asked["times"]}
    if "output" in asked:
        out = convolution(layers[asked["output"]])
        if FAULT == "wrong":
            out[0] += 1000
        with open(asked["file"], "wb") as file:
            out.tofile(file)
    return {}


def spin():
    while True:
        pass


def main():
    if FAULT == "busy":
        threading.Thread(target=spin, daemon=True).start()
    print(json.dumps({"tvm": "stand-in", "target": "nothing"}), flush=True)
    layers = {}
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), layers)), flush=True)


main()
