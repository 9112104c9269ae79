#!/usr/bin/env python3
"""Which tests skipped, and whether they may: those that tests/expected_skips.txt does not name are
printed, and the exit status is 1.   check_skips.py RESULTS EXPECTED [WORD ...]
RESULTS is ctest's --output-junit with whole outputs (--test-output-size-passed): a program of many
cases passes when some of them skip, and only its output tells. WORDs: headings of EXPECTED that
hold here."""
import collections
import re
import sys
import xml.etree.ElementTree

# googletest, and Python's unittest with verbosity 2, where a test's text may stand on a second line.
RUN = re.compile(r"\[ RUN      \]")
WHY = re.compile(r": Skipped$")
SKIPPED = re.compile(r"\[  SKIPPED \] (\S+?)(?:, where .*)? \(\d+ ms\)")
UNITTEST = re.compile(r"^(test\w*) \([^)\n]*\)(?:\n[^\n]*?)? \.\.\. skipped (['\"])(.*)\2$", re.M)


def skipped_cases(output):
    """Pairs of a case and what it said."""
    said, listening = [], False
    for line in output.splitlines():
        case = SKIPPED.search(line)
        if RUN.search(line):
            said, listening = [], False
        elif case:
            yield case[1], " ".join(said)
            said, listening = [], False
        elif WHY.search(line):
            listening = True
        elif listening and line.strip():
            said.append(line.strip())
    for case, _, why in UNITTEST.findall(output):
        yield case, why


def skips(results):
    """Each skip as (test, case, what it said); the case is * where the test as such did not run."""
    for test in xml.etree.ElementTree.parse(results).iter("testcase"):
        output = test.findtext("system-out") or ""
        if test.get("status") in ("notrun", "disabled"):
            lines = output.split("\n")
            yield test.get("name"), "*", next((x for x in reversed(lines) if x.strip()), "nothing")
        else:
            for case, why in skipped_cases(output):
                yield test.get("name"), case, why


def pattern(text):
    return re.compile(".*".join(re.escape(part) for part in text.split("*")), re.S)


def expectations(file, words):
    """Triples of patterns. Lines are `TEST CASE what it says`, headings `[WORD]`."""
    out, holds = [], True
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                holds = line.strip("[]") in words
                continue
            parts = line.split(None, 2)
            if len(parts) != 3:
                sys.exit(f"{file}:{number}: a test, a case and what it says, not '{line}'")
            if holds:
                out.append([pattern(part) for part in parts])
    return out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    may = expectations(sys.argv[2], sys.argv[3:])
    expected, bad = collections.Counter(), []
    for skip in skips(sys.argv[1]):
        if any(all(p.fullmatch(text) for p, text in zip(each, skip)) for each in may):
            expected[skip[0], skip[2]] += 1
        else:
            bad.append(skip)
    for (test, why), count in sorted(expected.items()):
        print(f"   {test}: {count} skipped: {why}")
    for test, case, why in bad:
        print(f"   UNEXPECTED skip: {test} {case}: {why}")
    if bad:
        print(f"   {len(bad)} skipped that {sys.argv[2]} does not name")
        sys.exit(1)


if __name__ == "__main__":
    main()
