# SPDX-License-Identifier: Apache-2.0
"""The cases of speed.py: their data in memory, and mote's calls by its C interface."""

import ctypes
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
PAGE = 4096


def cases():
    lines = (ROOT / "oracle/cases/speed.cases").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def parsed(case):
    """Returns the op, {tensor: is_nhwc} and {parameter: value} of a case."""
    op, *words = case.split()
    nhwc, params = {}, {}
    for word in words:
        name, value = word.split("=", 1)
        if "[" in value:
            nhwc[name] = value.endswith(":nhwc")
        elif name != "fill":
            numbers = [int(n) for n in value.split(",")]
            names = [name] if len(numbers) == 1 else [f"{name}{k}" for k in range(len(numbers))]
            params.update(zip(names, numbers))
    return op, nhwc, params


def paged(shape, dtype):
    """Returns an array that begins on a page."""
    count = int(np.prod(shape))
    size = np.dtype(dtype).itemsize
    memory = np.empty(count * size + PAGE, np.uint8)
    begin = -memory.ctypes.data % PAGE
    return memory[begin:begin + count * size].view(dtype).reshape(shape)


def physical(logical, nhwc):
    """Returns the elements in memory that begins on a page: [N,H,W,C] for a tensor in NHWC."""
    axes = (0, 2, 3, 1) if nhwc else range(logical.ndim)
    array = paged([logical.shape[k] for k in axes], logical.dtype)
    array[...] = logical.transpose(*axes)
    return array


class Data:
    """A case's inputs and the reference's outputs. `x[name]` is the array in memory."""

    def __init__(self, tool, case):
        self.op, self.nhwc, self.params = parsed(case)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.npz"
            subprocess.run([tool, "run", case, "-o", path], check=True, stdout=subprocess.DEVNULL)
            loaded = dict(np.load(path))
        outputs = names_of(tool, self.op, "outputs")
        self.expected = {k: loaded[k] for k in outputs if k in loaded}
        self.x = {k: physical(v, self.nhwc.get(k, False)) for k, v in loaded.items()
                  if k not in outputs}

    def is_nhwc(self, name):
        return self.nhwc.get(name, False)


def names_of(tool, op, which):
    """Returns the names of the op's "inputs" or "outputs"."""
    text = subprocess.run([tool, "ops", op, "--json"], check=True, capture_output=True, text=True)
    return [tensor["name"] for tensor in json.loads(text.stdout)[which]]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Backend(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("backends", ctypes.c_void_p),
                ("backend_count", ctypes.c_size_t), ("workspace_limit", ctypes.c_size_t),
                ("workers", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("allocator", ctypes.c_void_p)]


class Mote:
    """Calls of the C interface that are prepared once."""

    def __init__(self, build):
        self.tool = str(build / "bin/mote")
        self.lib = ctypes.CDLL(str(build / "lib/libmote.so"))
        self.lib.mote_last_error.restype = ctypes.c_char_p
        self.contexts = {"mote": self.context([])}
        plugin = build / "lib/mote/plugins/mote_onednn.so"
        if plugin.exists():
            self.check(self.lib.mote_load_backends(str(plugin).encode(), 0))
            self.contexts["oneDNN"] = self.context([b"onednn"])

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.mote_last_error().decode())

    def context(self, names):
        made = ctypes.c_void_p()
        if not names:
            self.check(self.lib.mote_context_create(None, ctypes.byref(made)))
            return made
        count = ctypes.c_size_t()
        self.check(self.lib.mote_loaded_backends(None, ctypes.c_size_t(0), ctypes.byref(count)))
        room = (ctypes.c_void_p * count.value)()
        self.check(self.lib.mote_loaded_backends(room, count, ctypes.byref(count)))
        chosen = [b for b in room if ctypes.cast(b, ctypes.POINTER(Backend))[0].name in names]
        listed = (ctypes.c_void_p * len(chosen))(*chosen)
        options = ContextOptions(size=ctypes.sizeof(ContextOptions),
                                 backends=ctypes.cast(listed, ctypes.c_void_p),
                                 backend_count=len(chosen))
        self.check(self.lib.mote_context_create(ctypes.byref(options), ctypes.byref(made)))
        return made

    def tensor(self, array, nhwc):
        """Returns a tensor over an array in memory; its axes are N, C, H, W if that is NHWC."""
        axes = (0, 3, 1, 2) if nhwc else range(array.ndim)
        shape = (ctypes.c_int64 * array.ndim)(*[array.shape[k] for k in axes])
        strides = (ctypes.c_int64 * array.ndim)(
            *[array.strides[k] // array.itemsize for k in axes])
        dtype, made = DLDataType(), ctypes.c_void_p()
        name = {"float32": b"f32", "int64": b"i64"}[array.dtype.name]
        self.check(self.lib.mote_dtype(name, ctypes.byref(dtype)))
        self.check(self.lib.mote_tensor_over(
            array.ctypes.data_as(ctypes.c_void_p), dtype, ctypes.c_int32(array.ndim), shape,
            strides, ctypes.byref(made)))
        return made

    def is_taken(self, case, backend):
        """Returns whether the backend has a kernel that takes the case; a context would use the
        generated kernel instead."""
        lines = subprocess.run([self.tool, "bench", case, "--backend", backend, "--budget", "0s",
                                "--json"], capture_output=True, text=True, check=False).stdout
        return any(line.get("backends") for line in map(json.loads, lines.splitlines()))

    def subject(self, data, backend):
        """Returns the call and its outputs; raises RuntimeError for an invalid call."""
        text = " ".join([data.op] + [f"{k}={v}" for k, v in data.params.items()])
        command, prepared = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.mote_command_parse(text.encode(), ctypes.byref(command)))
        y = {k: physical(np.zeros_like(v), data.is_nhwc(k)) for k, v in data.expected.items()}
        inputs = [self.tensor(data.x[k], data.is_nhwc(k)) if k in data.x else None
                  for k in names_of(self.tool, data.op, "inputs")]
        outputs = [self.tensor(y[k], data.is_nhwc(k)) if k in y else None
                   for k in names_of(self.tool, data.op, "outputs")]
        as_array = lambda all: (ctypes.c_void_p * len(all))(*[t.value if t else None for t in all])
        self.check(self.lib.mote_prepare(
            command, as_array(inputs), ctypes.c_size_t(len(inputs)), as_array(outputs),
            ctypes.c_size_t(len(outputs)), self.contexts[backend], ctypes.byref(prepared)))
        run = self.lib.mote_prepared_run

        def call():
            if run(prepared, None) != 0:
                raise RuntimeError(self.lib.mote_last_error().decode())

        return call, lambda: y
