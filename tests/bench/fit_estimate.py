#!/usr/bin/env python3
"""Weights of the estimated time of a CPU program (host/lower/cpu/core_work.cpp).

Takes what `fettle-bench prior --db RECORDS... --samples FILE` wrote: trials of many tasks. Finds the
weighted sum of what a program asks of a core whose logarithm differs from that of the measured
time by a constant of the task as nearly as can be: least squares, fast programs counting more than
slow ones, errors beyond a factor of 4.5 by their size only. Prints the weights, as parts of a cycle
of arithmetic, and the mean rank correlation within tasks:

    fit_estimate.py samples.tsv

Needs NumPy and SciPy.
"""

import sys

import numpy as np
from scipy.optimize import minimize
from scipy.stats import spearmanr

TERMS = ["arithmetic_cycles", "load_cycles", "latency_cycles", "spills", "masked_loads",
         "reloaded", "reloaded_spread", "shuffles", "unaligned", "bodies_of_all", "instructions",
         "branches", "stored_bytes", "l1_traffic_of_all", "l2_traffic_of_all"]
FAR = 1.5  # natural logarithm
LIKELY, TRUST = -2.0, 2e-5  # a weight's logarithm without data, and how firmly


def read(path):
    with open(path) as file:
        names = file.readline().rstrip("\n").split("\t")
        table = np.array([[float(v) for v in line.split("\t")] for line in file])
    terms = [np.exp2(table[:, names.index("log_" + term)]) - 1 for term in TERMS]
    task = np.unique(table[:, 0], return_inverse=True)[1]
    return task, table[:, 1], np.column_stack(terms)


def fit(task, time, terms):
    counts = task.max() + 1
    fastest = np.full(counts, np.inf)
    np.minimum.at(fastest, task, time)
    weight = fastest[task] / time
    weight /= np.bincount(task, weight)[task]
    log_time = np.log(time)

    def loss(logs):
        parts = terms * np.exp(logs)
        total = parts.sum(axis=1)
        wrong = np.log(total) - log_time
        wrong -= np.bincount(task, weight * wrong)[task]
        near = np.abs(wrong) < FAR
        cost = np.where(near, wrong**2, FAR * (2 * np.abs(wrong) - FAR))
        slope = weight * np.where(near, 2 * wrong, 2 * FAR * np.sign(wrong))
        slope -= weight * np.bincount(task, slope)[task]
        gradient = (slope[:, None] * parts / total[:, None]).sum(axis=0) / counts
        return (cost @ weight / counts + TRUST * ((logs - LIKELY) ** 2).sum(),
                gradient + 2 * TRUST * (logs - LIKELY))

    starts = [np.random.RandomState(seed).normal(LIKELY, 1, terms.shape[1]) for seed in range(3)]
    found = [minimize(loss, start, jac=True, method="L-BFGS-B") for start in starts]
    best = min(found, key=lambda one: one.fun)
    return np.exp(best.x)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    task, time, terms = read(sys.argv[1])
    weights = fit(task, time, terms)
    weights /= weights[0]
    for name, weight in zip(TERMS, weights):
        print(f"{name:20} {weight:.4g}")
    estimate = terms @ weights
    ranks = [spearmanr(estimate[task == t], time[task == t])[0] for t in range(task.max() + 1)]
    print(f"{len(time)} trials of {len(ranks)} tasks, mean rank correlation {np.mean(ranks):.3f}")


if __name__ == "__main__":
    main()
