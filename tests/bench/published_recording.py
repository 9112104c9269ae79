#!/usr/bin/env python3
"""A published search space of Kernel Tuner as a recording for `fettle-bench search`.

Takes cache files (`"cache"` with one entry a point), such as those of the auto-tuning
community's benchmark hub, gzipped or not: what others measured on their GPUs, every point that
their constraints allow. Searchers of ours and Kernel Tuner's strategies then see the same points:

    kernel_tuner_recording.py convolution_milo/A100.json.gz a100.jsonl.gz
    fettle-bench search a100.jsonl.gz --kernel-tuner PYTHON

A point's time is the entry's "time" in milliseconds; one without is a failure of its name. The
kernel itself is not in such a file: the recording's text only says where the figures are from.
"""

import argparse
import gzip
import json
import pathlib
import sys

FAILURES = {
    "CompilationFailedConfig": ("Build", "BuildError"),
    "InvalidConfig": ("Build", "BuildError"),
    "RuntimeFailedConfig": ("Run", "Crash"),
}
# What the searchers read of a target: nothing. It must be one that is possible.
TARGET = {"backend": "opencl_c"}


def stop(path, what):
    raise SystemExit(f"{path}: {what}")


def read_cache(path):
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt") as file:
            cache = json.load(file)
    except (OSError, EOFError, ValueError) as error:
        stop(path, f"is no JSON: {error}")
    for key in ("tune_params", "cache", "device_name", "kernel_name"):
        if key not in cache:
            stop(path, f'is no cache file of Kernel Tuner: it has no "{key}"')
    if cache.get("objective", "time") != "time":
        stop(path, f"was tuned for {cache['objective']}, not for time")
    return cache


def recording_of(cache, path, title):
    # A knob of one value is none.
    values = {name: list(some) for name, some in cache["tune_params"].items() if len(some) > 1}
    # Numbers stand for themselves where all are whole; anything else by its place.
    options = {
        name: [[v] if all(type(s) is int for s in some) else [i] for i, v in enumerate(some)]
        for name, some in values.items()
    }
    places = {name: {repr(v): i for i, v in enumerate(some)} for name, some in values.items()}
    trials = []
    for entry in cache["cache"].values():
        try:
            trial = {"s": 0, "c": [places[name][repr(entry[name])] for name in values]}
        except KeyError as missing:
            stop(path, f"a point has no such value as its parameters: {missing}")
        time = entry.get("time")
        if isinstance(time, (int, float)) and 0 < time < float("inf"):
            # Nobody tells which points made the same program: each is its own.
            trial.update(p=f"{len(trials):016x}", ns=time * 1e6, low=time * 1e6)
        else:
            stage, code = FAILURES.get(str(time), ("Run", "Crash"))
            trial.update(stage=stage, code=code, message=str(time))
        trials.append(trial)
    if not any("ns" in trial for trial in trials):
        stop(path, "no point of it has a time")
    kernel = {
        "title": title,
        "file": "published.cl",
        "source": f"// {title}: figures that others measured.\n"
        "__kernel void published(__global float* out) {}\n",
        "knobs": {name: [o[0] for o in some] for name, some in options.items()},
        "constants": {},
        "constraints": [],
        "options": "",
        "operations": "1",
        "argument": [{"name": "out", "role": "output", "shape": ["1"], "type": "float32"}],
        "launch": [
            {"entry": "published", "arguments": ["out"], "blocks": ["1"], "threads": ["1"], "shared_bytes": "0"}
        ],
        "reference": {"file": "none.c", "function": "none", "text": "void none(float* out) {}\n"},
    }
    head = {
        "fettle_recording": 1,
        "workload": {"kernel": kernel},
        "target": TARGET,
        "device": cache["device_name"],
        "features": [],
        "sketches": [
            {"name": "published", "knobs": [{"name": n, "options": o} for n, o in options.items()]}
        ],
        "trials": len(trials),
    }
    return [head, *trials]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=pathlib.Path)
    parser.add_argument("recording", type=pathlib.Path)
    parser.add_argument("--title", help="of the task (default: kernel and device)")
    args = parser.parse_args()
    cache = read_cache(args.cache)
    device = cache["device_name"] or args.cache.name.split(".")[0]
    title = args.title or f"{cache['kernel_name']} on {device}"
    lines = recording_of(cache, args.cache, title)
    part = args.recording.with_name(args.recording.name + ".part")
    with gzip.open(part, "wt") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    part.replace(args.recording)
    print(f"{args.recording}: {title}, {len(lines) - 1} points", file=sys.stderr)


if __name__ == "__main__":
    main()
