#!/usr/bin/env python3
"""The zoo's networks by fettle's reference evaluator, before and after its graph passes, beside onnxruntime.

    beside_onnxruntime.py FETTLE FETTLE_EVALUATE_ONNX [NETWORK…]
    beside_onnxruntime.py FETTLE FETTLE_EVALUATE_ONNX --int8 [NETWORK…]

Needs onnxruntime and numpy (PyPI); --int8 also onnx. Prints the largest difference relative to the largest
output; exit status 1 where one is above 1e-4.

--int8: of the quantised networks the largest difference of any quantised value, in units of the last place of
int8, and how many differ at all. First layer by layer: each convolution as a QLinearConv, which onnxruntime
computes in integers, of what the network gives it. Then from the image on, where one value that a half
decides changes others behind it; onnxruntime computes that in float32, since its integer convolutions take no
Relu that the zero point does not state. Where a residual is added behind the rounding (passes/quantized.h)
every half may go the other way. Exit status 1 where a layer differs by more than 1, or in more than 1 of
10,000 values, or the logits by more than 4.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

SMALL = ("squeezenet-1.1", "mobilenet-v1", "mobilenet-v2", "resnet-18", "densenet-121")
QUANTISED = ("resnet-18", "mobilenet-v1")


def sample(shape):
    return numpy.random.default_rng(1).standard_normal(shape).astype("float32")


def in_float(fettle, evaluate, networks, at):
    worst = 0.0
    for name in networks or SMALL:
        model = at / f"{name}.onnx"
        subprocess.run([fettle, "zoo", name, "-o", model], check=True, stderr=subprocess.DEVNULL)
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        given = session.get_inputs()[0]
        x = sample(given.shape)
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
    return worst <= 1e-4


def with_all_bytes(path):
    """The same network with every quantised value as an output; their names."""
    import onnx

    model = onnx.load(path)
    made = [node.output[0] for node in model.graph.node if node.op_type == "QuantizeLinear"]
    del model.graph.output[:]
    for name in made:
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT8, None))
    onnx.save(model, path)
    return made


def constants_of(model):
    import onnx

    return {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def layers_of(model):
    """Each convolution's parts: names of the bytes that it reads, and a model of it as a QLinearConv."""
    import onnx
    from onnx import TensorProto, helper

    known = constants_of(model)
    made_by = {node.output[0]: node for node in model.graph.node}
    readers = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, node)
    for node in model.graph.node:
        if node.op_type != "Conv":
            continue
        x, w, b = (made_by[name] for name in node.input)
        last = readers[node.output[0]]
        while last.op_type != "QuantizeLinear":
            if last.op_type != "Relu":
                break
            last = readers[last.output[0]]
        if last.op_type != "QuantizeLinear":
            continue  # a sum is in between
        names = [x.input[0], *x.input[1:3], w.input[0], w.input[1], "w_zero", *last.input[1:3], b.input[0]]
        scales = known[w.input[1]]
        known["w_zero"] = numpy.zeros(scales.shape, "int8")
        given = [onnx.numpy_helper.from_array(known[name], name) for name in dict.fromkeys(names[1:])]
        layer = helper.make_node("QLinearConv", names, ["y"])
        layer.attribute.extend(node.attribute)
        yield names[0], given, layer, helper, TensorProto


def layer_by_layer(evaluate, model, values, at):
    """Differences of all convolutions; values: the bytes of the whole network by name."""
    import onnx

    every = []
    for name, given, layer, helper, kinds in layers_of(onnx.load(model)):
        shape = values[name].shape
        graph = helper.make_graph(
            [layer],
            "layer",
            [helper.make_tensor_value_info(name, kinds.INT8, shape)],
            [helper.make_tensor_value_info("y", kinds.INT8, None)],
            given,
        )
        one = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(one, at / "layer.onnx")
        session = onnxruntime.InferenceSession(at / "layer.onnx", providers=["CPUExecutionProvider"])
        expected = session.run(None, {name: values[name]})[0]
        values[name].tofile(at / "in")
        subprocess.run([evaluate, at / "layer.onnx", at / "in", at / "out"], check=True)
        got = numpy.fromfile(at / "out", "int8")
        every.append(abs(got.astype(int) - expected.ravel().astype(int)))
    return every


def in_integers(fettle, evaluate, networks, at):
    fine = True
    for name in networks or QUANTISED:
        for scales in ([], ["--power-of-two"]):
            model = at / f"{name}.onnx"
            start = time.monotonic()
            subprocess.run([fettle, "zoo", name, "--int8", *scales, "-o", model], check=True, stderr=subprocess.DEVNULL)
            print(f"{name} --int8 {' '.join(scales)}: written in {time.monotonic() - start:.1f} s", flush=True)
            names = with_all_bytes(model)
            theirs = {}
            for words, level in (
                ("as stated", onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL),
                ("optimised", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL),
            ):
                options = onnxruntime.SessionOptions()
                options.graph_optimization_level = level
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                given = session.get_inputs()[0]
                x = sample(given.shape)
                theirs[words] = session.run(None, {given.name: x})
            layers = layer_by_layer(evaluate, model, dict(zip(names, theirs["as stated"], strict=True)), at)
            every = numpy.concatenate(layers)
            share = float((every > 0).mean())
            print(
                f"    {len(layers)} layers as QLinearConv: largest difference {every.max()}, {100 * share:.4f} % of "
                f"{every.size} values differ",
                flush=True,
            )
            fine &= share <= 1e-4 and int(every.max()) <= 1
            x.tofile(at / "in")
            ours = {}
            for words, passes in (("as imported", []), ("in integers", ["--passes"])):
                subprocess.run([evaluate, model, at / "in", at / "out", *passes], check=True)
                got = numpy.fromfile(at / "out", "int8")
                ends = numpy.cumsum([part.size for part in theirs["as stated"]])
                ours[words] = numpy.split(got, ends[:-1])
            for one, parts in ours.items():
                for other, expected in theirs.items():
                    off = [abs(a.astype(int) - b.ravel().astype(int)) for a, b in zip(parts, expected, strict=True)]
                    every = numpy.concatenate(off)
                    share = float((every > 0).mean())
                    print(
                        f"    {one:11} beside {other}: largest difference {every.max()}, {100 * share:.4f} % of "
                        f"{every.size} values differ; of the logits {off[-1].max()}",
                        flush=True,
                    )
                    fine &= int(off[-1].max()) <= 4
            model.unlink()
    return fine


def main():
    fettle, evaluate, *words = sys.argv[1:]
    networks = [word for word in words if word != "--int8"]
    with tempfile.TemporaryDirectory() as folder:
        compare = in_integers if "--int8" in words else in_float
        sys.exit(0 if compare(fettle, evaluate, networks, pathlib.Path(folder)) else 1)


if __name__ == "__main__":
    main()
