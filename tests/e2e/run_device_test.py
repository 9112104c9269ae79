#!/usr/bin/env python3
"""`fettle run --device`: a whole network on a device, through its agent.

    run_device_test.py --fettle PROGRAM --agent PROGRAM

On `local` and, where a driver is installed, on `local-opencl`, its answers must be those of the same
network run in the process itself, and what is told must be there. FETTLE_RUN_NETWORK names another
network of the zoo (squeezenet-1.1).
"""
import array
import ast
import glob
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest

DEVICES = ("local", "local-opencl")
NETWORK = os.environ.get("FETTLE_RUN_NETWORK", "squeezenet-1.1")
IMAGE = (1, 3, 224, 224)
TINY = pathlib.Path("/usr/share/libonnx-testdata/data/pytorch-operator/test_operator_mm/model.onnx")
PROGRAMS = {}  # by option
SECONDS = 500


def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (tuple(shape),)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     array.array("f", values).tobytes())


def read_npy(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["descr"] == "<f4", header
    return list(array.array("f", data[10 + length:]))


class RunDevice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fettle-run-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.environment = {**os.environ, "FETTLE_HOME": str(cls.folder / "home"),
                           "FETTLE_AGENT": PROGRAMS["agent"]}
        cls.model = cls.file("net.onnx")
        cls.fettle("zoo", NETWORK, "-o", cls.model)
        cls.image = cls.file("image.npy")
        numbers = random.Random(1)
        write_npy(cls.image, IMAGE, [numbers.uniform(-1, 1) for _ in range(3 * 224 * 224)])
        cls.client = cls.fettle("keys", "new", "client")[0].split()[-1]
        cls.built = {}
        cls.expected = cls.answer("here", cls.network("local"), "--threads", "1")[0]

    @classmethod
    def file(cls, name):
        return cls.folder / name

    @classmethod
    def start(cls, *words):
        return subprocess.Popen([PROGRAMS["fettle"], *map(str, words)], env=cls.environment,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    @classmethod
    def fettle(cls, *words, status=0):
        """What it says on both; fails where it ends otherwise."""
        program = cls.start(*words)
        out, err = program.communicate(timeout=SECONDS)
        if program.returncode != status:
            raise AssertionError(f"fettle {words}: status {program.returncode}\n{out}{err}")
        return out, err

    @classmethod
    def complaint(cls, *words):
        err = cls.fettle(*words, status=1)[1]
        assert err.count("\n") == 1, err
        return err

    @classmethod
    def network(cls, device):
        """Built for it, once."""
        if device not in cls.built:
            to = cls.file(device + ".fettle")
            told = json.loads(cls.fettle("build", cls.model, "--device", device, "--json", "-o", to)[0])
            cls.built[device] = (to, told)
        return cls.built[device][0]

    @classmethod
    def answer(cls, name, network, *words):
        """The output's numbers, and what the run tells as JSON."""
        to = cls.file(name + ".out")
        out, err = cls.fettle("run", network, "--input", cls.image, "--output", to, "--json", *words)
        (only,) = to.iterdir()
        return read_npy(only), json.loads(out), err

    def device(self, device):
        if device != "local" and not glob.glob("/etc/OpenCL/vendors/*.icd"):
            self.skipTest("no OpenCL driver is installed")
        return device

    def assert_as_expected(self, numbers, device):
        self.assertEqual(len(numbers), len(self.expected))
        largest = max(map(abs, self.expected))
        self.assertGreater(largest, 0)
        worst = max(abs(a - b) for a, b in zip(numbers, self.expected))
        print(f"{device}: {worst / largest:.2g} of the largest output", file=sys.stderr)
        self.assertLessEqual(worst, 1e-4 * largest)

    def run_there(self, device):
        device = self.device(device)
        network = self.network(device)
        told = self.built[device][1]
        self.assertEqual((told["device"], told["untuned"]), (device, told["layers"]))
        page = self.file(device + ".html")
        numbers, report, _ = self.answer(device, network, "--device", device, "--runs", "3",
                                         "--profile", "--html", page, "--top", "3")
        self.assert_as_expected(numbers, device)
        self.assertTrue(report["device"].startswith(device + " ("), report["device"])
        self.assertEqual((report["runs"], report["emulated"]), (3, False))
        self.assertGreater(report["latency_ms"], 0)
        self.assertLessEqual(report["p10_ms"], report["p90_ms"])
        best = sorted(range(len(numbers)), key=lambda i: -numbers[i])[:3]
        self.assertEqual([one["index"] for one in report["classes"]], best)
        # Each layer has its time, and each node of the model is in one.
        layers = report["layers"]
        self.assertEqual(len(layers), told["layers"])
        self.assertTrue(all(layer["ms"] > 0 for layer in layers), layers)
        here = json.loads(self.fettle("run", self.network("local"), "--runs", "1", "--profile",
                                      "--json", "--threads", "1")[0])["layers"]
        nodes = lambda of: sorted(node for layer in of for node in layer["nodes"])
        self.assertEqual(nodes(layers), nodes(here))
        self.assertLess(sum(layer["ms"] for layer in layers), 20 * report["latency_ms"])
        text = page.read_text()
        for layer in layers:
            self.assertIn(layer["title"].replace("&", "&amp;"), text)
        self.assertNotIn("<script", text)

    def test_on_this_cpu(self):
        self.run_there("local")

    def test_on_opencl(self):
        self.run_there("local-opencl")

    def test_as_text(self):
        out = self.fettle("run", self.network("local"), "--device", "local", "--runs", "2",
                          "--profile")[0]
        for words in ("on local (", "(median of 2 runs; p10 ", "100.0%  all layers", "GFLOP/s"):
            self.assertIn(words, out)

    def test_a_file_of_another_kind_says_what_it_needs(self):
        network = self.network(self.device("local-opencl"))
        self.assertIn("is built for OpenCL, which this program does not run: `fettle run --device "
                      "KEY` runs it on a device", self.complaint("run", network))
        self.assertIn("is built for OpenCL, local is of kind Cpu",
                      self.complaint("run", network, "--device", "local"))
        self.assertIn("is built for a CPU, local-opencl is of kind OpenCl",
                      self.complaint("run", self.network("local"), "--device", "local-opencl"))
        self.assertIn("only a CPU's launches are shared by threads", self.complaint(
            "build", self.model, "--device", "local-opencl", "--threads", "2"))

    def test_mistakes_are_one_line_each(self):
        network = self.network("local")
        wrong = self.file("wrong.npy")
        write_npy(wrong, (1, 3, 8, 8), [0] * 192)
        self.assertIn("the array is float32 1x3x8x8, the input ", self.complaint(
            "run", network, "--device", "local", "--input", wrong))
        self.assertIn('not "nothing"', self.complaint("run", network, "--device", "nothing"))
        self.assertIn("--runs 100001: a device times 100000 at most", self.complaint(
            "run", network, "--device", "local", "--runs", "100001"))
        self.assertIn("tcp://127.0.0.1:1", self.complaint(
            "run", network, "--device", "local", "--broker", "tcp://127.0.0.1:1",
            "--broker-key", self.client))
        cut = self.file("cut.fettle")
        cut.write_bytes(network.read_bytes()[:5000])
        self.assertIn("the network file ends early", self.complaint("run", cut, "--device", "local"))

    def test_runs_are_as_many_as_are_asked_for(self):
        _, report, err = self.answer("runs", self.network("local"), "--device", "local",
                                     "--runs", "200")
        self.assertEqual(report["runs"], 200, err)
        if not TINY.exists():
            self.skipTest("all that a device takes: no ONNX test data here")
        tiny = self.file("tiny.fettle")
        self.fettle("build", TINY, "-o", tiny)
        out, err = self.fettle("run", tiny, "--device", "local", "--runs", "100000", "--json")
        self.assertEqual(json.loads(out)["runs"], 100000, err)

    def test_percent_of_peak_by_a_database(self):
        db = self.file("tuning.db")
        tasks = self.file("tasks.json")
        tasks.write_text(json.dumps([{"op": "dense", "batch": 1, "in_features": 64,
                                      "out_features": 32, "dtype": "float32"}]))
        self.fettle("tune", tasks, "--device", "local", "--trials", "2", "--quiet", "--db", db)
        words = ("run", self.network("local"), "--device", "local", "--runs", "2", "--profile",
                 "--db", db)
        out, err = self.fettle(*words, "--threads", "1")
        if "no calibration" in err:  # tuned with another number of threads
            out = self.fettle(*words)[0]
        self.assertIn("% peak", out)
        report = json.loads(self.fettle(*words, "--json")[0])
        self.assertGreater(report["peak_gflops"], 0)

    def test_through_a_broker(self):
        broker = self.start("broker", "--listen", "tcp://127.0.0.1:*", "--json")
        self.addCleanup(self.end, broker)
        listening = json.loads(broker.stdout.readline())
        where, key = listening["endpoint"], listening["public_key"]
        board = self.fettle("keys", "new", "board")[0].split()[-1]
        self.fettle("keys", "allow", "board", board, "--role", "agent")
        self.fettle("keys", "allow", "client", self.client, "--role", "client")
        agent = subprocess.Popen(
            [PROGRAMS["agent"], "--broker", where, "--broker-key", key, "--key-file",
             self.file("home") / "board.key", "--key", "board-1"],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, agent)
        there = ("--broker", where, "--broker-key", key)
        for _ in range(100):
            if "board-1" in self.fettle("devices", *there)[0]:
                break
            time.sleep(0.2)
        numbers, report, _ = self.answer("broker", self.network("local"), "--device", "board-1",
                                         *there, "--runs", "2")
        self.assert_as_expected(numbers, "board-1")
        self.assertTrue(report["device"].startswith("board-1 ("))
        self.assertIn("nobody", self.complaint("run", self.network("local"), "--device", "nobody",
                                               *there))

    @staticmethod
    def end(program):
        program.terminate()
        program.communicate(timeout=30)


if __name__ == "__main__":
    while len(sys.argv) > 2 and sys.argv[1] in ("--fettle", "--agent"):
        PROGRAMS[sys.argv[1][2:]] = sys.argv[2]
        del sys.argv[1:3]
    unittest.main(verbosity=2)
