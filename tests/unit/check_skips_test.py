#!/usr/bin/env python3
"""toolchains/check_skips.py on what ctest itself writes, of tests that are shell commands."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "toolchains" / "check_skips.py"

GTEST = """[ RUN      ] Worker.Good
[       OK ] Worker.Good (0 ms)
[ RUN      ] Worker.OpensFile
/some/where/worker_test.cpp:7: Skipped
no seccomp here

[  SKIPPED ] Worker.OpensFile (0 ms)
[ RUN      ] Real/Gpu.Traps/1
/some/where/gpu_test.cpp:9: Skipped
libcuda.so.1: cannot open shared object file

[  SKIPPED ] Real/Gpu.Traps/1 (12 ms)
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Worker.OpensFile
[  SKIPPED ] Real/Gpu.Traps/1
"""
UNITTEST = """test_plain (__main__.Run.test_plain) ... ok
test_opencl (__main__.Run.test_opencl)
Its text. ... skipped 'no OpenCL driver is installed'
"""
ALL = ["worker_test Worker.* no seccomp here",
       "worker_test */Gpu.* libcuda.so.1: *",
       "run_device test_opencl no OpenCL driver is installed",
       "rtl_lint * skipped: no verilator here*"]


class CheckSkips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        noise = "x" * 5000 + "\n"  # more than ctest keeps of a test that passed, if nobody asks
        (cls.folder / "worker.txt").write_text(GTEST + noise)
        (cls.folder / "run_device.txt").write_text(UNITTEST)
        (cls.folder / "CTestTestfile.cmake").write_text(f"""
add_test(worker_test cat {cls.folder}/worker.txt)
add_test(run_device cat {cls.folder}/run_device.txt)
add_test(rtl_lint sh -c "echo 'skipped: no verilator here (./dev setup)'; exit 77")
set_tests_properties(rtl_lint PROPERTIES SKIP_RETURN_CODE 77)
""")
        subprocess.run(["ctest", "--test-dir", cls.folder, "--output-junit", "tests.xml",
                        "--test-output-size-passed", "100000000"],
                       check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def check(self, lines, *words):
        expected = self.folder / "expected.txt"
        expected.write_text("# of this machine\n\n" + "\n".join(lines) + "\n")
        done = subprocess.run([sys.executable, SCRIPT, self.folder / "tests.xml", expected, *words],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_all_are_expected(self):
        status, said = self.check(ALL)
        self.assertEqual(status, 0, said)
        self.assertIn("worker_test: 1 skipped: no seccomp here", said)

    def test_each_that_is_not_is_named(self):
        names = ["worker_test Worker.OpensFile: no seccomp here",
                 "worker_test Real/Gpu.Traps/1: libcuda.so.1: cannot open shared object file",
                 "run_device test_opencl: no OpenCL driver is installed",
                 "rtl_lint *: skipped: no verilator here (./dev setup)"]
        for i, name in enumerate(names):
            status, said = self.check(ALL[:i] + ALL[i + 1:])
            self.assertEqual(status, 1, said)
            self.assertEqual(said.count("UNEXPECTED"), 1, said)
            self.assertIn("UNEXPECTED skip: " + name, said)

    def test_another_reason_is_another_skip(self):
        status, said = self.check(["worker_test Worker.* no candidates"] + ALL[1:])
        self.assertEqual(status, 1, said)

    def test_a_heading_holds_where_it_is_said(self):
        lines = ALL[:3] + ["[no-verilator]"] + ALL[3:]
        self.assertEqual(self.check(lines)[0], 1)
        self.assertEqual(self.check(lines, "no-verilator")[0], 0)
        self.assertEqual(self.check(lines, "asan-ubsan")[0], 1)

    def test_a_line_without_a_reason_is_an_error(self):
        status, said = self.check(ALL + ["worker_test Worker.*"])
        self.assertEqual(status, 1)
        self.assertIn("expected.txt:7", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
