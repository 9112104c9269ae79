#!/usr/bin/env python3
"""Functions of the project's shell scripts that are easily wrong and seldom seen to be."""
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bash(script):
    return subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=60)


class WhileTimeAllows(unittest.TestCase):
    """Of .ci/run: a phase is cut off by the clock alone."""

    def phase(self, command, left, before=""):
        text = (ROOT / ".ci" / "run").read_text()
        functions = [re.search(rf"^{name}\(\) {{$.*?^}}$", text, re.M | re.S).group()
                     for name in ("ended", "while_time_allows", "summary")]
        return bash("\n".join(["times=()", before, f"limit_s=$((SECONDS + {left}))", *functions,
                               f"while_time_allows phase bash -c '{command}'", "summary"]))

    def test_what_is_killed_before_its_time_has_failed(self):
        for status, command in ((137, "kill -KILL $$"), (124, "exit 124"), (1, "exit 1")):
            ran = self.phase(command, 1000)
            self.assertEqual(ran.returncode, status, ran.stdout)
            self.assertIn("phase  FAILED", ran.stdout)

    def test_what_the_clock_ends_is_cut_off(self):
        for status in (124, 137):
            late = f"timeout() {{ SECONDS=$((SECONDS + $2)); return {status}; }}"
            ran = self.phase("true", 1000, late)
            self.assertIn("phase: CUT OFF, the time is over", ran.stdout)
            self.assertEqual(ran.returncode, 0, ran.stderr)
        ran = self.phase("false", 50)
        self.assertIn("phase: NOT RUN, the time is over", ran.stdout)
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_what_ends_well_is_well(self):
        self.assertEqual(self.phase("true", 1000).returncode, 0)


class LinuxPartition(unittest.TestCase):
    """Of board_images, with whichever awk is here: mawk's numbers of %d are small."""

    def partition(self, entries, image_bytes):
        with tempfile.NamedTemporaryFile() as image:
            image.seek(446)
            for kind, first, count in entries:
                image.write(struct.pack("<4xB3xII", kind, first, count))
            image.truncate(image_bytes)
            image.flush()
            return bash(f". {ROOT}/board_images/linux_partition.sh\nlinux_partition {image.name}")

    def test_its_offset_may_be_beyond_2_gib(self):
        first, count = (5 << 30) // 512, (20 << 30) // 512
        ran = self.partition([(0x0C, 2048, 1 << 20), (0x83, first, count)], 25 << 30)
        self.assertEqual(ran.stdout, f"2 {5 << 30} {20 << 30}\n", ran.stderr)

    def test_the_largest_counts_and_none_is_none(self):
        ran = self.partition([(0x83, 2048, 100), (0x83, 4096, 200)], 1 << 20)
        self.assertEqual(ran.stdout, f"2 {4096 * 512} {200 * 512}\n", ran.stderr)
        self.assertEqual(self.partition([(0x0C, 2048, 100)], 1 << 20).returncode, 1)


if __name__ == "__main__":
    unittest.main()
