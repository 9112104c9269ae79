#!/usr/bin/env python3
"""A network in a Python program: NumPy arrays in and out, through libfettle_rt.so.

  run_network.py net.fettle input.npy output.npy

The library is found by the system, or where FETTLE_RT says."""
import ctypes
import os
import sys

import numpy

DTYPES = [numpy.bool_, numpy.int8, numpy.uint8, numpy.int16, numpy.int32, numpy.int64,
          numpy.float16, numpy.float32, numpy.float64]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_uint32),
                ("core_count", ctypes.c_uint32), ("cores", ctypes.POINTER(ctypes.c_uint32)),
                ("memory_limit", ctypes.c_uint64), ("cpu", ctypes.c_char_p)]


class Tensor(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dtype", ctypes.c_int),
                ("rank", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_uint64), ("data", ctypes.c_void_p)]


class Network:
    """A loaded network: call it with an array per input, and get one per output."""

    def __init__(self, path, threads=0):
        self.library = ctypes.CDLL(os.environ.get("FETTLE_RT", "libfettle_rt.so"))
        self.library.fettle_error.restype = ctypes.c_char_p
        for function in ("fettle_input_count", "fettle_output_count"):
            getattr(self.library, function).restype = ctypes.c_size_t
        options = Options(size=ctypes.sizeof(Options), threads=threads)
        self.handle = ctypes.c_void_p()
        self.check(self.library.fettle_load(os.fsencode(path), ctypes.byref(options),
                                            ctypes.byref(self.handle)))
        self.inputs = self.tensors(self.library.fettle_input, self.library.fettle_input_count)
        self.outputs = self.tensors(self.library.fettle_output, self.library.fettle_output_count)

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.fettle_free(self.handle)

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.fettle_error().decode())

    def tensors(self, function, count):
        """Name, type and shape of each."""
        found = []
        for index in range(count(self.handle)):
            tensor = Tensor(size=ctypes.sizeof(Tensor))
            self.check(function(self.handle, ctypes.c_size_t(index), ctypes.byref(tensor)))
            found.append((tensor.name.decode(), numpy.dtype(DTYPES[tensor.dtype]),
                          tuple(tensor.shape[:tensor.rank])))
        return found

    def __call__(self, *arrays):
        if len(arrays) != len(self.inputs):
            raise ValueError(f"{len(self.inputs)} inputs wanted, not {len(arrays)}")
        given = []
        for array, (name, dtype, shape) in zip(arrays, self.inputs):
            if array.shape != shape:
                raise ValueError(f"the input {name} has the shape {shape}, not {array.shape}")
            given.append(numpy.ascontiguousarray(array, dtype=dtype))
        made = [numpy.empty(shape, dtype) for _, dtype, shape in self.outputs]
        pointers = lambda all: (ctypes.c_void_p * len(all))(*(each.ctypes.data for each in all))
        self.check(self.library.fettle_run(self.handle, pointers(given), pointers(made), None))
        return made


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        network = Network(sys.argv[1])
        outputs = network(numpy.load(sys.argv[2]))
    except (RuntimeError, ValueError, OSError) as error:
        sys.exit(f"run_network.py: {error}")
    numpy.save(sys.argv[3], outputs[0])
    print(f"{network.outputs[0][0]}: best {int(outputs[0].argmax())}")


if __name__ == "__main__":
    main()
