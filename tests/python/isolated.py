# SPDX-License-Identifier: Apache-2.0
"""Kernels that break rules, for workers: a module that imports nothing but NumPy."""

import ctypes
import os
import subprocess
import sys
import time

import numpy as np


def relu(x):
    return np.maximum(x, 0)


def greater(x, least):
    return np.maximum(x, x.dtype.type(least))


def crashes_from_three(x):
    if x.size >= 3:
        ctypes.string_at(0)
    return np.maximum(x, 0)


def hangs_from_three(x):
    while x.size >= 3:
        time.sleep(1)
    return np.maximum(x, 0)


def raises_from_three(x):
    if x.size >= 3:
        raise ValueError("three")
    return np.maximum(x, 0)


def writes_before(x, y):
    y[...] = np.maximum(x, 0)
    ctypes.c_float.from_address(y.ctypes.data - 4).value = 1


def exp_by_shape(x):
    return _kept.setdefault(x.shape, np.exp(x))


_kept = {}


def raises_and_notes_its_process(x):
    with open(os.environ["MOTE_TEST_PROCESSES"], "a") as file:
        file.write(f"{os.getpid()}\n")
    raise ValueError("always")


def raises_as_a_gpu_does(x):
    with open(os.environ["MOTE_TEST_PROCESSES"], "a") as file:
        file.write(f"{os.getpid()}\n")
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def takes_its_time(x):
    time.sleep(0.03)
    return x + 1


def hangs_at_nan(x):
    while np.isnan(x).any():
        pass
    return np.maximum(x, 0)


def hangs_always(x):
    while True:
        pass


_calls = [0]


def compiles_at_first(x):
    """Right: its first call takes memory for 6 s, as a compiler does."""
    _calls[0] += 1
    until = time.monotonic() + 6
    while _calls[0] == 1 and time.monotonic() < until:
        bytearray(1 << 22)
    return np.maximum(x, 0)


def compiles_later(x):
    """Right: one of its calls waits for a compiler, a process of its own, for 4 s."""
    _calls[0] += 1
    if _calls[0] == 40:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(4)"], check=True)
    return np.maximum(x, 0)


def is_slow(x):
    """Right, and takes 11 ms for an element."""
    time.sleep(0.011 * x.size)
    return np.maximum(x, 0)
