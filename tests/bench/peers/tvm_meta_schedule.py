#!/usr/bin/env python3
"""TVM's meta_schedule for `fettle-bench tvm`: tunes convolutions of this CPU, and runs the best kernels.

toolchains/tvm.sh prints a Python that has TVM (0.27 was tried). Started once and told what to do by
lines of JSON on its standard input; each is answered by one:

  {"tune": NAME, "layer": {…}, "trials": N, "seed": S}   tunes; how long it took, trials that gave a
                                                         time, that gave none, the best time told
  {"cores": […]}                                         kernels run on these from now on
  {"run": NAME, "times": N}                              nanoseconds of that many runs of the best
  {"output": NAME, "file": F}                            its output as raw float32, [n][y][x][c]

Weights may be packed: meta_schedule measures kernels whose weights lie as they like, and so does
"run". "output" is of the same schedule with the packing in front. TVM_NUM_THREADS is the number of
threads. A layer: "input", "weight" ([y][x][in][out]), "bias", "residual" (the last two may be
absent) and their "files", "output" (its shape), "stride", "padding", "dilation", "relu".
"""

import json
import math
import os
import sys
import tempfile
import time

BUILD_SECONDS = 150  # TVM gives up after 30, too early where builders share a core


class Refused(Exception):
    pass


def own_output():
    """Standard output for answers alone: what libraries and workers print goes to the errors."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def best_of(run_secs):
    """The best time in seconds of all trials, and how many gave one. TVM stores a failure as 1e10 s."""
    means = [sum(times) / len(times) for times in run_secs if times]
    good = [mean for mean in means if 0 < mean < 1e9]
    return (min(good) if good else math.inf), len(good)


def out_extent(extent, kernel, stride, pad, dilation):
    return (extent + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1


def check_layer(layer):
    """What this peer computes: a plain 2-D convolution, NHWC."""
    for name in ("input", "weight", "output"):
        if len(layer[name]) != 4:
            raise Refused(f"no convolution of images: {name} has {len(layer[name])} axes")
    n, height, width, channels = layer["input"]
    ky, kx, into, outof = layer["weight"]
    if into != channels:
        raise Refused("no grouped convolutions here")
    want = [n]
    for extent, kernel, axis in ((height, ky, 0), (width, kx, 1)):
        want.append(
            out_extent(extent, kernel, *(layer[key][axis] for key in ("stride", "padding", "dilation")))
        )
    if want + [outof] != layer["output"]:
        raise Refused(f"an output of {want + [outof]} was expected, not {layer['output']}")


class Kernel:
    """A tuned layer: its best schedule, compiled with the packing and without."""

    def __init__(self, tvm, target, layer):
        check_layer(layer)
        self.tvm, self.target, self.layer = tvm, target, layer
        self.function = self.written()

    def written(self):
        tvm, layer = self.tvm, self.layer
        from tvm import te
        from tvm.tirx import all as both, const, if_then_else, max as larger

        n, height, width, channels = layer["input"]
        (sy, sx), (py, px), (dy, dx) = layer["stride"], layer["padding"], layer["dilation"]
        ky, kx, into, _ = layer["weight"]
        given = {
            name: te.placeholder(layer[name], "float32", name=name)
            for name in ("input", "weight", "bias", "residual")
            if name in layer["files"]
        }
        x, w = given["input"], given["weight"]
        zero = const(0, "float32")
        if py or px:
            source = x

            def padded(n, y, x, c):
                inside = both(y >= py, y < height + py, x >= px, x < width + px)
                return if_then_else(inside, source[n, y - py, x - px, c], zero)

            x = te.compute((n, height + 2 * py, width + 2 * px, channels), padded, name="padded")
        i, j = te.reduce_axis((0, ky), "i"), te.reduce_axis((0, kx), "j")
        k = te.reduce_axis((0, into), "k")
        out = te.compute(
            layer["output"],
            lambda n, y, v, c: te.sum(
                x[n, y * sy + i * dy, v * sx + j * dx, k] * w[i, j, k, c], axis=[i, j, k]
            ),
            name="convolution",
        )
        conv = out

        def tail(n, y, v, c):
            value = conv[n, y, v, c]
            if "bias" in given:
                value = value + given["bias"][c]
            if "residual" in given:
                value = value + given["residual"][n, y, v, c]
            return larger(value, zero) if layer["relu"] else value

        if len(given) > 2 or layer["relu"]:
            out = te.compute(layer["output"], tail, name="tail")
        function = te.create_prim_func([*given.values(), out])
        return function.with_attr("layout_free_buffers", [1])  # the weights

    def tune(self, trials, seed):
        from tvm.s_tir import meta_schedule
        from tvm.s_tir.meta_schedule.tir_integration import tune_tir
        from tvm.s_tir.meta_schedule.tune_context import _normalize_mod

        with tempfile.TemporaryDirectory() as folder:
            builder = meta_schedule.builder.LocalBuilder(timeout_sec=BUILD_SECONDS)
            start = time.monotonic()
            database = tune_tir(self.function, self.target, folder, trials, seed=seed, builder=builder)
            seconds = time.monotonic() - start
            records = database.get_all_tuning_records()
            best, good = best_of([[float(t) for t in r.run_secs or []] for r in records])
            if not good:
                raise Refused(f"none of {len(records)} trials gave a time")
            schedule = database.query_schedule(_normalize_mod(self.function), self.target, "main")
            self.compile(schedule.mod)
        return {
            "seconds": seconds,
            "trials": len(records),
            "failed": len(records) - good,
            "best_ns": best * 1e9,
        }

    def compile(self, module):
        import numpy
        import tvm.s_tir.tensor_intrin  # registers what schedules may call
        from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

        tvm = self.tvm
        packed = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module)
        self.whole = tvm.compile(module, self.target).jit()
        self.bare = tvm.compile(packed, self.target).jit()
        self.tensors = [self.read(p.name) for p in self.function.params[:-1]]
        # As the packing leaves them. How fast a kernel is does not depend on their values.
        self.packed_shape = [int(extent) for extent in packed["main"].params[1].shape]
        self.packed = list(self.tensors)
        values = numpy.random.default_rng(0).standard_normal(self.packed_shape, dtype="float32")
        self.packed[1] = self.tensor(values)
        self.out = self.blank()

    def tensor(self, values):
        return self.tvm.runtime.tensor(values, self.tvm.cpu())

    def read(self, name):
        import numpy

        return self.tensor(numpy.fromfile(self.layer["files"][name], "float32").reshape(self.layer[name]))

    def blank(self):
        """No answer yet: NaN."""
        import numpy

        return self.tensor(numpy.full(self.layer["output"], numpy.nan, "float32"))

    def run(self, times):
        timed = self.bare.time_evaluator("main", self.tvm.cpu(), number=times, repeat=1)
        return timed(*self.packed, self.out).mean * times * 1e9

    def output(self):
        """Of the whole kernel; the one that is timed must agree on weights that packing leaves alone."""
        import numpy

        outputs = []
        for kernel, shape in ((self.whole, self.layer["weight"]), (self.bare, self.packed_shape)):
            given, out = list(self.tensors), self.blank()
            given[1] = self.tensor(numpy.ones(shape, "float32"))
            kernel["main"](*given, out)
            outputs.append(out.numpy())
        if not numpy.allclose(*outputs, rtol=1e-3, atol=1e-3):
            raise Refused("with packed weights it computes something else")
        out = self.blank()
        self.whole["main"](*self.tensors, out)
        return out.numpy()


def answer(asked, tvm, target, kernels):
    if "tune" in asked:
        kernel = Kernel(tvm, target, asked["layer"])
        told = kernel.tune(asked["trials"], asked["seed"])
        kernels[asked["tune"]] = kernel
        return told
    if "cores" in asked:
        os.sched_setaffinity(0, asked["cores"])
        return {}
    name = asked.get("run", asked.get("output"))
    if name not in kernels:
        raise Refused(f"{name} was not tuned")
    if "run" in asked:
        return {"ns": kernels[name].run(asked["times"])}
    kernels[name].output().tofile(asked["file"])
    return {}


def main():
    answers = own_output()

    def say(line):
        print(json.dumps(line), file=answers, flush=True)

    import tvm

    threads = int(os.environ["TVM_NUM_THREADS"])
    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
    say({"tvm": tvm.__version__, "target": str(target)})
    kernels = {}
    for line in sys.stdin:
        try:
            say(answer(json.loads(line), tvm, target, kernels))
        except Refused as why:
            say({"refused": str(why)})
        except Exception as error:  # of TVM: it cannot tune or build this one
            say({"refused": f"{type(error).__name__}: {(str(error).splitlines() or ['?'])[0]}"})


if __name__ == "__main__":
    main()
