#!/usr/bin/env python3
"""The zoo's networks by fettle's reference evaluator, before and after its graph passes, beside onnxruntime.

    beside_onnxruntime.py FETTLE FETTLE_EVALUATE_ONNX [NETWORK…]

Needs onnxruntime and numpy (PyPI). Prints the largest difference relative to the largest output; exit
status 1 where one is above 1e-4.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

SMALL = ("squeezenet-1.1", "mobilenet-v1", "mobilenet-v2", "resnet-18", "densenet-121")


def main():
    fettle, evaluate, *networks = sys.argv[1:]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        for name in networks or SMALL:
            model = at / f"{name}.onnx"
            subprocess.run([fettle, "zoo", name, "-o", model], check=True, stderr=subprocess.DEVNULL)
            session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            given = session.get_inputs()[0]
            x = numpy.random.default_rng(1).standard_normal(given.shape).astype("float32")
            x.tofile(at / "in")
            expected = session.run(None, {given.name: x})[0]
            for passes in ([], ["--passes"]):
                start = time.monotonic()
                subprocess.run([evaluate, model, at / "in", at / "out", *passes], check=True)
                got = numpy.fromfile(at / "out", "float32").reshape(expected.shape)
                off = float(abs(got - expected).max() / abs(expected).max())
                worst = max(worst, off)
                took = time.monotonic() - start
                print(f"{name:15} {'after passes' if passes else 'as imported':12} {off:.1e}  {took:.1f} s", flush=True)
            model.unlink()
    sys.exit(1 if worst > 1e-4 else 0)


if __name__ == "__main__":
    main()
