"""How a contender of `fettle-bench networks` speaks: lines on standard input, each answered by one.

  ready {"name": …, "version": …, "load_ms": …}   unasked, once it can run
  run N         → the times of N runs one behind the other, in nanoseconds, separated by spaces
  output FILE   → ok: the outputs for the input that it was given, as raw float32, are in FILE

What it cannot do ends it with a line on standard error. The parent stops it (SIGSTOP) between turns.
"""

import json
import os
import sys
import time


def private_output():
    """A standard output of our own: libraries print on the usual one."""
    ours = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return ours


def serve(engine, load_ms, out):
    """engine: name, version; run(), and output(), which returns bytes; prepare() precedes each run."""
    greeting = {"name": engine.name, "version": engine.version, "load_ms": load_ms}
    print("ready", json.dumps(greeting), file=out)
    for line in sys.stdin:
        word, _, argument = line.rstrip("\n").partition(" ")
        if word == "run":
            times = []
            for _ in range(int(argument)):
                engine.prepare()
                start = time.perf_counter_ns()
                engine.run()
                times.append(time.perf_counter_ns() - start)
            print(*times, file=out)
        elif word == "output":
            with open(argument, "wb") as file:
                file.write(engine.output())
            print("ok", file=out)
        else:
            sys.exit(f"'{line.rstrip()}' is no request")
