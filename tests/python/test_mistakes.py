# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the arguments of mote.check, and what this Python lacks: errors, no failures."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import mote_kernels as mote


def relu(x):
    return np.maximum(x, 0)


def mistake(match, fn=relu, op="relu", **options):
    with pytest.raises(mote.Error, match=match):
        mote.check(fn, op, **{"count": 3, "seed": 1, "isolate": False} | options)


def test_what_is_no_function():
    mistake(r"relu: fn: expected a function, got 3 of type int", fn=3)


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_arrays_of_a_library_that_is_not_installed():
    mistake("relu: arrays: 'torch' needs PyTorch, which is not installed", arrays="torch")


def test_a_device_of_arrays_that_have_none():
    mistake("relu: device: expected arrays of torch, got device='cuda' and arrays of numpy",
            device="cuda")


def test_bf16_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for options in ({"dtypes": ["f32", "bf16"]}, {"cases": ["relu x=bf16[1,1,1,1] fill=index:0"]}):
        mistake("bf16: NumPy has no such dtype; the package ml_dtypes adds it", **options)


def test_jax_without_64_bits():
    import jax

    mistake("relu: dtypes: JAX has f64 only if jax_enable_x64 is set", fn=jax.nn.relu,
            dtypes=["f64"])
