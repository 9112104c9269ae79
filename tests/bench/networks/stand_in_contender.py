#!/usr/bin/env python3
"""A contender that tests play: `stand_in_contender.py FACTOR FAULT INPUT`.

Its output is the input times FACTOR. FAULT: none; "start", it cannot load; "run", it ends when it is
to run; "words", it answers with words; "few", with too few times; "short", half of its output is missing.
"""

import array
import sys

import contender_protocol


class StandIn:
    name, version = "stand-in", "1.5"

    def __init__(self, factor, fault, path):
        if fault == "start":
            sys.exit("no such library")
        with open(path, "rb") as file:
            values = array.array("f", file.read())
        self.values = array.array("f", (factor * value for value in values))
        self.fault = fault

    def prepare(self):
        pass

    def run(self):
        if self.fault == "run":
            sys.exit("a bad day")

    def output(self):
        whole = self.values.tobytes()
        return whole[: len(whole) // 2] if self.fault == "short" else whole


def main():
    factor, fault, path = sys.argv[1:]
    out = contender_protocol.private_output()
    print("libraries print")
    engine = StandIn(float(factor), fault, path)
    if fault in ("words", "few"):
        print("ready {}", file=out)
        file = sys.stdin.readline().split()[1]
        if fault == "few":
            with open(file, "wb") as output:
                output.write(engine.output())
        print("ok" if fault == "few" else "12 mice", file=out)
        sys.stdin.readline()
        print("12", file=out)
        sys.stdin.readline()
    contender_protocol.serve(engine, 2.5, out)


if __name__ == "__main__":
    main()
