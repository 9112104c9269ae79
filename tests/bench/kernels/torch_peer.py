#!/usr/bin/env python3
"""PyTorch's kernels for `fettle-bench kernels --torch PYTHON`: cuDNN and cuBLAS on a CUDA device,
oneDNN on a CPU. PYTHON has the package torch (2.15 was tried, on a CPU).

Started once and told what to do by lines of JSON on its standard input; each is answered by one:

  {"layer": {…}}               its fields and files of raw values: the ways in which PyTorch computes
                               it, or why it does not
  {"run": WAY, "times": N}     nanoseconds of that many runs, one behind the other
  {"output": WAY, "file": F}   one run's output as raw float32, in the workload's own layout

Each way has the layout that it likes, made before anything is timed. Tails follow as operations of
their own, in place where there is one; where cuDNN has a convolution with the tail in it, that is a way,
too. float32 stays so unless the layer allows TF32.
"""

import argparse
import ctypes
import json
import sys
import time

import torch
import torch.nn.functional as F

RUNS_OF_GRAPH = 64
WARM_UPS = 3


class Refused(Exception):
    pass


def read(path, shape, device, dtype):
    with open(path, "rb") as file:
        values = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
    return values.reshape(shape).to(device=device, dtype=dtype)


class Layer:
    """A layer's tensors as PyTorch orders their axes, and the ways to compute it."""

    def __init__(self, told, device):
        if told["int8"]:
            raise Refused("PyTorch has no int8 kernels for this")
        self.told, self.kind, self.device = told, told["kind"], device
        dtype = torch.float16 if told["half"] else torch.float32

        def tensor(name):
            return read(told["files"][name], told[name], device, dtype) if name in told["files"] else None

        self.input, self.weight = tensor("input"), tensor("weight")
        self.bias, self.residual = tensor("bias"), tensor("residual")
        self.ways = {name: way for name, way in self.made()}

    def made(self):
        if self.kind == "convolution":
            yield from self.convolutions()
        elif self.kind == "dense":
            yield "addmm", self.with_tail(self.product())
            transposed = self.weight.t().contiguous()
            yield "linear", self.with_tail(lambda: F.linear(self.input, transposed, self.bias))
        elif self.kind == "batch_matmul":
            yield "bmm", lambda: torch.bmm(self.input, self.weight)
        elif self.kind == "softmax":
            yield "softmax", lambda: torch.softmax(self.input, -1)
        elif self.kind == "layer_norm":
            shape = self.input.shape[-1:]
            yield "layer_norm", lambda: F.layer_norm(self.input, shape, self.weight, self.bias, 1e-5)
        else:
            raise Refused(f"no layer of the kind {self.kind}")

    def product(self):
        if self.bias is None:
            return lambda: torch.mm(self.input, self.weight)
        return lambda: torch.addmm(self.bias, self.input, self.weight)

    def convolutions(self):
        deep = self.told["volume"]
        convolution = F.conv3d if deep else F.conv2d
        last = torch.channels_last_3d if deep else torch.channels_last
        how = {key: self.told[key] for key in ("stride", "padding", "dilation", "groups")}
        self.input = self.channels_first(self.input)
        if self.residual is not None:
            self.residual = self.channels_first(self.residual)
        if not self.told["channels_first"]:
            # [window][in][out] → [out][in][window]
            window = range(self.weight.dim() - 2)
            self.weight = self.weight.permute(self.weight.dim() - 1, self.weight.dim() - 2, *window)
        for name, layout in (("contiguous", torch.contiguous_format), ("channels_last", last)):
            x, w = (t.contiguous(memory_format=layout) for t in (self.input, self.weight))
            r = None if self.residual is None else self.residual.contiguous(memory_format=layout)
            run = lambda x=x, w=w: convolution(x, w, self.bias, **how)
            yield name, self.with_tail(run, r)
            if self.device == "cuda" and self.told["relu"] and not self.told["gelu"]:
                yield name + "_fused", self.fused(x, w, r, how)

    def fused(self, x, w, r, how):
        """cuDNN's own convolution with bias, residual and relu in one kernel."""
        if r is None:
            return lambda: torch.cudnn_convolution_relu(x, w, self.bias, **how)
        return lambda: torch.cudnn_convolution_add_relu(x, w, r, 1.0, self.bias, **how)

    def channels_first(self, tensor):
        if self.told["channels_first"]:
            return tensor
        return tensor.permute(0, tensor.dim() - 1, *range(1, tensor.dim() - 1))

    def with_tail(self, run, residual=None):
        residual = self.residual if residual is None else residual

        def all_of_it():
            out = run()
            if residual is not None:
                out += residual
            if self.told["relu"]:
                out.relu_()
            return F.gelu(out) if self.told["gelu"] else out

        return all_of_it

    def output(self, way):
        # The allocator gives this memory to the next output, which then holds no earlier answer.
        self.ways[way]().fill_(float("nan"))
        out = self.ways[way]()
        if self.kind == "convolution" and not self.told["channels_first"]:
            out = out.permute(0, *range(2, out.dim()), 1)
        return out.to(device="cpu", dtype=torch.float32).contiguous()


class Cpu:
    def __init__(self):
        self.name = "CPU"

    def prepare(self, layer):
        pass

    def run(self, way, times):
        start = time.perf_counter_ns()
        for _ in range(times):
            way()
        return time.perf_counter_ns() - start


class Cuda:
    """By events around graphs of several runs: the CPU's launches cost nothing."""

    def __init__(self):
        if not torch.cuda.is_available():
            raise Refused("PyTorch sees no CUDA device here")
        torch.backends.cudnn.benchmark = True
        self.name = torch.cuda.get_device_name()
        self.graphs = {}
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def prepare(self, layer):
        torch.backends.cuda.matmul.allow_tf32 = layer.told["tf32"]
        torch.backends.cudnn.allow_tf32 = layer.told["tf32"]
        self.graphs = {}
        torch.cuda.empty_cache()

    def graph(self, way, runs):
        if (way, runs) not in self.graphs:
            beside = torch.cuda.Stream()
            beside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(beside):  # cuDNN tries its algorithms at the first call
                for _ in range(WARM_UPS):
                    way()
            torch.cuda.current_stream().wait_stream(beside)
            made = torch.cuda.CUDAGraph()
            with torch.cuda.graph(made):
                for _ in range(runs):
                    way()
            self.graphs[way, runs] = made
        return self.graphs[way, runs]

    def run(self, way, times):
        runs = 1
        while runs * 2 <= min(times, RUNS_OF_GRAPH):
            runs *= 2
        many, one = self.graph(way, runs), self.graph(way, 1)
        self.start.record()
        for _ in range(times // runs):
            many.replay()
        for _ in range(times % runs):
            one.replay()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end) * 1e6


def answer(asked, device, state):
    if "layer" in asked:
        state["layer"] = None
        layer = state["layer"] = Layer(asked["layer"], "cuda" if isinstance(device, Cuda) else "cpu")
        device.prepare(layer)
        return {"ways": list(layer.ways)}
    layer = state["layer"]
    if "run" in asked:
        return {"ns": device.run(layer.ways[asked["run"]], asked["times"])}
    out = layer.output(asked["output"])
    with open(asked["file"], "wb") as file:
        file.write(ctypes.string_at(out.data_ptr(), out.numel() * out.element_size()))
    return {}


def say(line):
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--threads", type=int, default=1, help="of a CPU")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    try:
        device = Cuda() if args.device == "cuda" else Cpu()
    except Refused as why:
        say({"refused": str(why)})
        return
    say({"torch": torch.__version__, "device": device.name, "cudnn": torch.backends.cudnn.version()})
    state = {"layer": None}
    for line in sys.stdin:
        try:
            say(answer(json.loads(line), device, state))
        except Refused as why:
            say({"refused": str(why)})
        except RuntimeError as error:  # of PyTorch's operations: no memory, no such kernel
            say({"refused": (str(error).splitlines() or ["it failed"])[0]})


if __name__ == "__main__":
    main()
