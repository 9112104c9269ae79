#!/usr/bin/env python3
"""One network by onnxruntime, for ./dev demo: the best class of an image and the latency.

    onnxruntime_latency.py MODEL.onnx IMAGE.ppm THREADS

The image has the extents of the model's input, which takes values in [0, 1], channels first.
"""
import sys
import time

import numpy

import network_peer

model, image, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
contents = open(image, "rb").read()
kind, width, height, most = contents.split(maxsplit=4)[:4]
if (kind, most) != (b"P6", b"255"):
    sys.exit(f"{image}: no PPM of 8 bits")
extents = int(height), int(width), 3
pixels = numpy.frombuffer(contents[-numpy.prod(extents):], "uint8").reshape(extents)
values = numpy.ascontiguousarray(pixels.transpose(2, 0, 1), "float32") / 255
peer = network_peer.OnnxRuntime(model, None, values, threads)
times = []
until = time.monotonic() + 1
while len(times) < 10 or time.monotonic() < until:
    start = time.perf_counter()
    peer.run()
    times.append((time.perf_counter() - start) * 1e3)
print(f"onnxruntime {peer.version}, {threads} thread{'s' if threads > 1 else ''}: {numpy.median(times):.3g} ms "
      f"(median of {len(times)} runs), best class {peer.result().ravel().argmax()}")
