#!/usr/bin/env python3
"""Kernel Tuner's strategies on recorded spaces, in the lines of `fettle-bench search --json`.

Called by `fettle-bench search --kernel-tuner PYTHON`; PYTHON has the package kernel-tuner
(1.5 was tried). A recording becomes a cache file of Kernel Tuner's, whose simulation mode
answers from it: each strategy sees the points that our searchers see. A strategy whose own
packages are not installed is named and left out.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import statistics
import sys
import tempfile

import numpy
from kernel_tuner import interface, util
from kernel_tuner.runners import simulation

SHARES = {"95": 0.95, "98": 1 / 1.02, "99": 0.99}
NO_SEARCH = {"brute_force"}


def read_recording(path):
    with gzip.open(path, "rt") as lines:
        head = json.loads(next(lines))
        trials = [json.loads(line) for line in lines]
    if len(head["sketches"]) != 1:
        raise SystemExit(f"{path}: Kernel Tuner has no spaces of several sketches")
    return head, trials


def title_of(head):
    workload = head["workload"]
    if "op" not in workload and isinstance(workload.get("kernel"), dict):
        return workload["kernel"]["title"]
    return workload.get("title", workload.get("op", "?"))


def cache_of(head, trials, path):
    """Writes the cache file; returns the space's parameters and points."""
    knobs = head["sketches"][0]["knobs"]
    # A knob of several factors becomes the number of its option.
    values = {
        k["name"]: [o[0] if len(o) == 1 else i for i, o in enumerate(k["options"])] for k in knobs
    }
    names = list(values)
    cache = {}
    for trial in trials:
        point = [values[name][c] for name, c in zip(names, trial["c"])]
        entry = dict(zip(names, point))
        time = trial["ns"] / 1e6 if "ns" in trial else "RuntimeFailedConfig"
        entry.update(time=time, compile_time=0, verification_time=0, benchmark_time=0)
        if "ns" in trial:
            entry["times"] = [time]
        cache[",".join(str(v) for v in point)] = entry
    with open(path, "w") as file:
        json.dump(
            {
                "device_name": "recorded",
                "kernel_name": "kernel",
                "problem_size": 1,
                "tune_params_keys": names,
                "tune_params": values,
                "objective": "time",
                "cache": cache,
            },
            file,
        )
    return values, cache


def run_once(strategy, values, cache, path, trials, seed):
    """Times of the points in the order in which the strategy first asked for them."""
    order = []
    util.print_config_output = lambda params, result, *rest: order.append(result["time"])
    names = list(values)

    def recorded(*args, **by_name):  # Kernel Tuner calls it both ways
        point = args or [by_name[name] for name in names]
        return ",".join(str(value) for value in point) in cache

    random.seed(seed)
    numpy.random.seed(seed)
    simulation.util = util
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        interface.tune_kernel(
            "kernel",
            "__kernel void kernel() {}",
            1,
            [],
            values,
            restrictions=[recorded],
            lang="OpenCL",
            strategy=strategy,
            strategy_options={"max_fevals": trials},
            simulation_mode=True,
            cache=path,
            quiet=True,
            seed=seed,
        )
    return order


def reached(order, best, share, trials):
    for i, time in enumerate(order):
        if isinstance(time, float) and best / time >= share:
            return i + 1
    return trials + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--strategy", action="append")
    args = parser.parse_args()
    for recording in args.recordings:
        head, trials = read_recording(recording)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cache.json")
            values, cache = cache_of(head, trials, path)
            best = min(e["time"] for e in cache.values() if isinstance(e["time"], float))
            most = min(args.trials, len(cache))
            for strategy in args.strategy or interface.strategy_map:
                if strategy in NO_SEARCH:
                    continue
                line = {
                    "benchmark": "search",
                    "searcher": f"kernel_tuner {strategy}",
                    "task": title_of(head),
                    "points": len(cache),
                }
                try:
                    orders = [
                        run_once(strategy, values, cache, path, most, args.first_seed + i)
                        for i in range(args.seeds)
                    ]
                except ImportError as error:
                    print(f"{strategy} is left out: {str(error).splitlines()[0]}", file=sys.stderr)
                    continue
                except Exception as error:  # a strategy that cannot do this space
                    print(f"{strategy} is left out: {type(error).__name__}: {error}", file=sys.stderr)
                    continue
                for name, share in SHARES.items():
                    each = [reached(order, best, share, most) for order in orders]
                    line[f"trials_to_{name}"] = statistics.mean(each)
                    line[f"trials_to_{name}_median"] = statistics.median(each)
                    line[f"each_to_{name}"] = each
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
