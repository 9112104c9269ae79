"""Networks of torchvision, timm and transformers, with seeded weights, exported by PyTorch, compiled by
fettle without records, and run beside onnxruntime on one input. Started by exported_networks.sh.

A line each: the name, then "agrees" (the largest difference is at most 0.2 % of the largest number),
"differs", "refused: WHY" by fettle, or "not exported: WHY" by PyTorch; at the end how many of each.
Exit status 1 where one differs.
"""

import argparse
import collections
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).parent
TOLERANCE = 2e-3
SECONDS = 900  # of fettle for one network


def shaken(model):
    """Norms and scales that do something: fresh ones are 1 and 0, or nearly 0."""
    import torch

    numbers = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() <= 1:
                parameter.add_(torch.randn(parameter.shape, generator=numbers) * 0.1)
            elif parameter.abs().max() == 0:
                parameter.copy_(torch.randn(parameter.shape, generator=numbers) * 0.02)
        for name, value in model.named_buffers():
            if name.endswith("running_mean"):
                value.copy_(torch.randn(value.shape, generator=numbers) * 0.1)
            if name.endswith("running_var"):
                value.copy_(torch.rand(value.shape, generator=numbers) * 0.5 + 0.75)
    return model.eval()


def made(name):
    """The model, its inputs and their names."""
    import torch

    kind, _, what = name.partition(":")
    if kind == "small":
        import small_models

        return small_models.MODELS[what]()
    if kind == "timm":
        import timm

        model = timm.create_model(what, pretrained=False)
        shape = model.default_cfg.get("input_size", (3, 224, 224))
    else:
        import torchvision

        backbone = {"weights_backbone": None} if what.startswith(("deeplab", "fcn", "lraspp")) else {}
        model = torchvision.models.get_model(what, weights=None, **backbone)
        shape = (3, 16, 112, 112) if what.startswith("r3d") else (3, 224, 224)
        shape = (3, 299, 299) if what == "inception_v3" else shape
    image = torch.randn((1, *shape), generator=torch.Generator().manual_seed(2))
    return model, (image,), None


def export(name, folder):
    """By a process of its own, as exporters leave much behind. What went wrong, or ""."""
    told = subprocess.run(
        [sys.executable, __file__, "--export", name, "--folder", folder], capture_output=True, text=True
    )
    lines = [line for line in told.stderr.splitlines() if line.strip()]
    return "" if told.returncode == 0 else lines[-1][:200] if lines else f"status {told.returncode}"


def export_here(name, folder):
    import numpy
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, inputs, names = made(name)
    model = shaken(model)
    torch.onnx.export(
        model, inputs, f"{folder}/model.onnx", dynamo=True, external_data=False, verbose=False, input_names=names
    )
    numpy.savez(f"{folder}/inputs.npz", *[value.numpy() for value in inputs])


def fettle(arguments, folder):
    """What it said where it failed, or ""."""
    try:
        told = subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    lines = [line for line in told.stderr.splitlines() if "error" in line]
    return "" if told.returncode == 0 else lines[-1] if lines else f"status {told.returncode}"


def compared(program, folder):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
    stored = numpy.load(f"{folder}/inputs.npz")
    values = {put.name: stored[name] for put, name in zip(session.get_inputs(), stored.files)}
    build = fettle([program, "build", "model.onnx", "-o", "model.fettle", "--quiet"], folder)
    if build:
        return f"refused: {build}"
    arguments = [program, "run", "model.fettle", "--runs", "1", "--output", "outputs.npz"]
    for i, (name, value) in enumerate(values.items()):
        numpy.save(f"{folder}/input{i}.npy", value)
        arguments += ["--input", f"{name}=input{i}.npy"]
    run = fettle(arguments, folder)
    if run:
        return f"refused: {run}"
    ours = numpy.load(f"{folder}/outputs.npz")
    for put, right in zip(session.get_outputs(), session.run(None, values)):
        if put.name not in ours.files or ours[put.name].shape != right.shape:
            return f"differs: output {put.name} is not there, or of another shape"
        largest = float(numpy.abs(right).max())
        difference = float(numpy.abs(right.astype("f8") - ours[put.name]).max())
        if not difference <= TOLERANCE * max(largest, 1e-6):
            return f"differs: output {put.name} by {difference:.3g} of {largest:.3g}"
    return "agrees"


def main():
    parser = argparse.ArgumentParser(prog="exported_networks.sh", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="timm:…, torchvision:… or small:…")
    parser.add_argument("--fettle", default="fettle", help="the program")
    parser.add_argument("--keep", metavar="FOLDER", help="leaves what it makes there, a folder for each network")
    parser.add_argument("--export", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    if given.export:
        export_here(given.export, given.folder)
        return 0
    listed = [line.split("#")[0].strip() for line in (HERE / "networks.txt").read_text().splitlines()]
    names = given.names or [line for line in listed if line]
    counts = collections.Counter()
    for i, name in enumerate(names, 1):
        with tempfile.TemporaryDirectory() as scratch:
            folder = scratch
            if given.keep:
                folder = os.path.join(given.keep, name.replace(":", "_"))
                os.makedirs(folder, exist_ok=True)
            why = export(name, folder)
            told = f"not exported: {why}" if why else compared(given.fettle, os.path.abspath(folder))
        counts[told.split(":")[0]] += 1
        print(f"{i}/{len(names)} {name}: {told}", flush=True)
    print("; ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
