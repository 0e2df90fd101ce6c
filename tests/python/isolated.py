# SPDX-License-Identifier: Apache-2.0
"""Kernels that break rules, for workers: a module that imports nothing but NumPy."""

import ctypes
import os
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
