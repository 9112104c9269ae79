#!/usr/bin/env python3
"""A search space that others measured and published, as a recording for `fettle-bench search`.

Takes cache files of Kernel Tuner (`"cache"` with one entry a point), such as those of the
auto-tuning community's benchmark hub, and tuning outputs of KTT (`"Results"`, a list of them),
gzipped or not. Searchers of ours and Kernel Tuner's strategies then see the same points:

    published_recording.py convolution_milo/A100.json.gz a100.jsonl.gz
    fettle-bench search a100.jsonl.gz --kernel-tuner PYTHON

A point without a time is a failure of its name; of one that was measured again its fastest time
counts. The kernel itself is not in such a file: the recording's text only says where the figures
are from.
"""

import argparse
import gzip
import json
import pathlib
import sys

# What the files call a point that has no time.
FAILURES = {
    "CompilationFailedConfig": ("Build", "BuildError"),
    "CompilationFailed": ("Build", "BuildError"),
    "InvalidConfig": ("Build", "BuildError"),
    "DeviceLimitsExceeded": ("Build", "BuildError"),
    "RuntimeFailedConfig": ("Run", "Crash"),
    "ComputationFailed": ("Run", "Crash"),
    "ValidationFailed": ("Check", "WrongAnswer"),
}
# KTT's units of a duration, in nanoseconds.
UNITS = {"Nanoseconds": 1, "Microseconds": 1e3, "Milliseconds": 1e6, "Seconds": 1e9}
# What the searchers read of a target: nothing. It must be one that is possible.
TARGET = {"backend": "opencl_c"}


def stop(path, what):
    raise SystemExit(f"{path}: {what}")


class Published:
    """What a file tells: of whom, the values of each knob, and (point, ns or the failure's name)."""

    def __init__(self, kernel, device, values, points):
        self.kernel, self.device, self.values, self.points = kernel, device, values, points


def kernel_tuner_cache(cache, path):
    for key in ("tune_params", "cache", "device_name", "kernel_name"):
        if key not in cache:
            stop(path, f'is no cache file of Kernel Tuner: it has no "{key}"')
    if cache.get("objective", "time") != "time":
        stop(path, f"was tuned for {cache['objective']}, not for time")
    points = []
    for entry in cache["cache"].values():
        time = entry.get("time")
        timed = isinstance(time, (int, float)) and 0 < time < float("inf")
        points.append((entry, time * 1e6 if timed else str(time)))
    return Published(cache["kernel_name"], cache["device_name"], cache["tune_params"], points)


def ktt_output(output, path):
    unit = UNITS.get(output["Metadata"].get("TimeUnit"))
    if unit is None:
        stop(path, f"has the unknown unit of time {output['Metadata'].get('TimeUnit')}")
    values, measured = {}, {}
    for result in output["Results"]:
        point = {one["Name"]: one["Value"] for one in result["Configuration"]}
        for name, value in point.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
        told = result["Status"]
        if told == "Ok":
            told = result["TotalDuration"] * unit
        place = repr(sorted(point.items()))
        before = measured.get(place, (point, told))[1]
        if isinstance(before, str) or (not isinstance(told, str) and told < before):
            before = told
        measured[place] = (point, before)
    if not measured:
        stop(path, "has no results")
    for some in values.values():
        some.sort()
    return Published(
        output["Results"][0]["KernelName"],
        output["Metadata"].get("Device"),
        values,
        list(measured.values()),
    )


def read_published(path):
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt") as file:
            content = json.load(file)
    except (OSError, EOFError, ValueError) as error:
        stop(path, f"is no JSON: {error}")
    if not isinstance(content, dict):
        stop(path, "is neither a cache file of Kernel Tuner nor an output of KTT")
    try:
        if "Results" in content and "Metadata" in content:
            return ktt_output(content, path)
        return kernel_tuner_cache(content, path)
    except (KeyError, TypeError, AttributeError) as error:
        stop(path, f"is not what such a file is: {error!r}")


def recording_of(published, path, title):
    # A knob of one value is none.
    values = {name: list(some) for name, some in published.values.items() if len(some) > 1}
    # Numbers stand for themselves where all are whole; anything else by its place.
    options = {
        name: [[v] if all(type(s) is int for s in some) else [i] for i, v in enumerate(some)]
        for name, some in values.items()
    }
    places = {name: {repr(v): i for i, v in enumerate(some)} for name, some in values.items()}
    trials = []
    for point, told in published.points:
        try:
            trial = {"s": 0, "c": [places[name][repr(point[name])] for name in values]}
        except KeyError as missing:
            stop(path, f"a point has no such value as its parameters: {missing}")
        if isinstance(told, str):
            stage, code = FAILURES.get(told, ("Run", "Crash"))
            trial.update(stage=stage, code=code, message=told)
        else:
            # Nobody tells which points made the same program: each is its own.
            trial.update(p=f"{len(trials):016x}", ns=told, low=told)
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
        "device": published.device or "",
        "features": [],
        "sketches": [
            {"name": "published", "knobs": [{"name": n, "options": o} for n, o in options.items()]}
        ],
        "trials": len(trials),
    }
    return [head, *trials]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("published", type=pathlib.Path, help="cache of Kernel Tuner, output of KTT")
    parser.add_argument("recording", type=pathlib.Path)
    parser.add_argument("--title", help="of the task (default: kernel and device)")
    args = parser.parse_args()
    published = read_published(args.published)
    device = published.device or args.published.name.split(".")[0]
    title = args.title or f"{published.kernel} on {device}"
    lines = recording_of(published, args.published, title)
    part = args.recording.with_name(args.recording.name + ".part")
    with gzip.open(part, "wt") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    part.replace(args.recording)
    print(f"{args.recording}: {title}, {len(lines) - 1} points", file=sys.stderr)


if __name__ == "__main__":
    main()
