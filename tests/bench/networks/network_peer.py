#!/usr/bin/env python3
"""The peers of `fettle-bench networks`, each in a process of its own: contender_protocol.py.

    network_peer.py PEER MODEL.onnx FOLDER --shape EXTENTS --convert
    network_peer.py PEER MODEL.onnx FOLDER --shape EXTENTS --input FILE --threads N

--convert makes what PEER runs of the model, in FOLDER, and ends. The network has one input, of which
FILE holds the raw values, and one output, both float32. Every peer computes in float32 with its graph
optimisations and its fast algorithms (Winograd) on, and its input lies where it wants it before a run.
"""

import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy

import contender_protocol


class Peer:
    def prepare(self):
        """Before each run, not timed."""

    def output(self):
        self.prepare()
        self.run()
        return self.result().tobytes()


class OnnxRuntime(Peer):
    name = "onnxruntime"
    optimised = True

    def __init__(self, model, folder, values, threads):
        import onnxruntime

        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if self.optimised else level.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        # Bound once: no run copies an input or allocates an output.
        given, made = self.session.get_inputs()[0], self.session.get_outputs()[0]
        self.out = numpy.empty(made.shape, "float32")
        self.binding = self.session.io_binding()
        self.given = onnxruntime.OrtValue.ortvalue_from_numpy(values.reshape(given.shape))
        self.binding.bind_ortvalue_input(given.name, self.given)
        self.binding.bind_output(made.name, "cpu", 0, numpy.float32, made.shape, self.out.ctypes.data)
        self.run()

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def result(self):
        return self.out


class Unoptimised(OnnxRuntime):
    """What the others' outputs are held to: node by node as the model says."""

    name = "onnxruntime, unoptimised"
    optimised = False


class OpenVino(Peer):
    name = "openvino"

    def __init__(self, model, folder, values, threads):
        import openvino

        self.version = openvino.__version__.partition("-")[0]
        options = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # else it takes bfloat16 where the CPU has it
            "INFERENCE_NUM_THREADS": threads,
        }
        compiled = openvino.Core().compile_model(model, "CPU", options)
        self.request = compiled.create_infer_request()
        self.given = openvino.Tensor(values.reshape(compiled.input(0).shape))
        self.request.set_input_tensor(self.given)
        self.run()

    def run(self):
        self.request.infer(share_outputs=True)

    def result(self):
        return self.request.get_output_tensor().data


class Mnn(Peer):
    name = "mnn"

    @staticmethod
    def converted(folder):
        return str(folder / "model.mnn")

    @staticmethod
    def convert(model, folder, shape):
        # The program mnnconvert does the same, but then reports to its makers, for which it installs
        # packages into the first Python of PATH.
        import _tools

        options = ["--optimizePrefer", "2", "--transformerFuse", "--bizCode", "MNN"]
        _tools.mnnconvert(["", "-f", "ONNX", "--modelFile", model, "--MNNModel", Mnn.converted(folder), *options])

    def __init__(self, model, folder, values, threads):
        import importlib.metadata

        import MNN

        self.version = importlib.metadata.version("MNN")
        self.network = MNN.Interpreter(self.converted(folder))
        how = {"backend": "CPU", "numThread": threads, "precision": "high", "power": "high", "memory": "high"}
        self.session = self.network.createSession(how)
        self.given = self.network.getSessionInput(self.session)
        self.kinds = MNN.Halide_Type_Float, MNN.Tensor_DimensionType_Caffe
        self.tensor = MNN.Tensor
        self.values = self.host(values.reshape(self.given.getShape()))
        self.prepare()
        self.run()

    def host(self, values):
        return self.tensor(values.shape, self.kinds[0], values, self.kinds[1])

    def prepare(self):
        # A run lets other values take the input's place.
        self.given.copyFrom(self.values)

    def run(self):
        self.network.runSession(self.session)

    def result(self):
        made = self.network.getSessionOutput(self.session)
        host = self.host(numpy.zeros(made.getShape(), "float32"))
        made.copyToHostTensor(host)
        return numpy.array(host.getData(), "float32")


class Ncnn(Peer):
    name = "ncnn"

    @staticmethod
    def convert(model, folder, shape):
        import ncnn

        program = pathlib.Path(ncnn.__file__).parents[1] / "pnnx" / "pnnx"
        # It writes beside the model.
        (folder / "ncnn").mkdir(exist_ok=True)
        link = folder / "ncnn" / "model.onnx"
        link.unlink(missing_ok=True)
        link.symlink_to(pathlib.Path(model).resolve())
        extents = ",".join(map(str, shape))
        subprocess.run([program, link.name, f"inputshape=[{extents}]", "fp16=0"], cwd=link.parent, check=True)

    def __init__(self, model, folder, values, threads):
        import ncnn

        self.version = ncnn.__version__
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        options.use_vulkan_compute = False
        for name in dir(options):
            if re.match("use_(fp16|bf16)_", name):
                setattr(options, name, False)
        for name in ("use_winograd_convolution", "use_sgemm_convolution", "use_packing_layout", "lightmode"):
            setattr(options, name, True)
        # As its own benchmark has them.
        self.pools = ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator()
        options.blob_allocator, options.workspace_allocator = self.pools
        parts = [str(folder / "ncnn" / f"model.ncnn.{part}") for part in ("param", "bin")]
        if self.net.load_param(parts[0]) or self.net.load_model(parts[1]):
            sys.exit("ncnn cannot load what pnnx made")
        # It has no batch.
        self.values = numpy.ascontiguousarray(values.reshape(values.shape[1:]))
        self.given = ncnn.Mat(self.values)
        self.run()

    def run(self):
        extractor = self.net.create_extractor()
        extractor.input("in0", self.given)
        status, self.made = extractor.extract("out0")
        if status != 0:
            sys.exit(f"ncnn's extract says {status}")

    def result(self):
        return numpy.array(self.made).astype("float32")


PEERS = {
    "onnxruntime": OnnxRuntime,
    "onnxruntime-unoptimised": Unoptimised,
    "ncnn": Ncnn,
    "mnn": Mnn,
    "openvino": OpenVino,
}


def converted(peer, model, folder, shape):
    """Unless it was, of this very model, by this very file's options."""
    state = hashlib.sha256(pathlib.Path(__file__).read_bytes())
    with open(model, "rb") as file:
        for piece in iter(lambda: file.read(1 << 24), b""):
            state.update(piece)
    stamp = folder / f"{peer.name}.converted"
    if stamp.exists() and stamp.read_text() == state.hexdigest():
        return
    stamp.unlink(missing_ok=True)
    peer.convert(model, folder, shape)
    stamp.write_text(state.hexdigest())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shape", required=True, help="of the input: 1,3,224,224")
    parser.add_argument("--convert", action="store_true")
    parser.add_argument("--input")
    parser.add_argument("--threads", type=int, default=1)
    told = parser.parse_args()
    shape = [int(extent) for extent in told.shape.split(",")]
    peer = PEERS[told.peer]
    if told.convert:
        if hasattr(peer, "convert"):
            converted(peer, told.model, told.folder, shape)
        return
    out = contender_protocol.private_output()
    values = numpy.fromfile(told.input, "float32").reshape(shape)
    start = time.perf_counter()
    engine = peer(told.model, told.folder, values, told.threads)
    contender_protocol.serve(engine, (time.perf_counter() - start) * 1e3, out)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    main()
