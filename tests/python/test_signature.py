# SPDX-License-Identifier: Apache-2.0
"""What parameters of a function mean: inputs, outputs and parameters of the op, by name and place."""

import functools

import numpy as np
import pytest

import mote_kernels as mote

OPTIONS = {"count": 20, "seed": 1, "isolate": False}


def test_a_name_of_an_output_is_an_input_where_one_is_missing():
    for fn in (lambda x, y: x + y, lambda y, x: y + x, lambda a, y: a + y):
        r = mote.check(fn, "add", **OPTIONS)
        assert r.passed, str(r)

    def into(x, y):
        y[...] = np.maximum(x, 0)

    assert mote.check(into, "relu", **OPTIONS).passed


def test_an_output_may_come_first():
    def relu(out, x):
        np.maximum(x, 0, out=out)

    def add(a, out, b):
        np.add(a, b, out=out)

    def scaled(eps, x, gamma):
        scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(eps))
        return (x / scale * gamma).astype(x.dtype)

    for fn, op in ((relu, "relu"), (add, "add"), (scaled, "rms_norm")):
        r = mote.check(fn, op, **OPTIONS)
        assert r.passed, str(r)


def test_a_parameter_that_the_op_lacks_keeps_its_default_wherever_it_stands():
    def rms_norm(x, scaled_by=1, gamma=None, *, eps):
        assert scaled_by == 1
        scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(eps))
        return (x / scale * (1 if gamma is None else gamma)).astype(x.dtype)

    def add(a, sign=1, *rest):
        return a + sign * rest[0]

    for fn, op in ((rms_norm, "rms_norm"), (add, "add"), (functools.partial(add), "add")):
        r = mote.check(fn, op, **OPTIONS)
        assert r.passed, str(r)


def test_an_input_that_no_parameter_can_take_is_an_error():
    with pytest.raises(mote.Error, match="add: the function takes no input b"):
        mote.check(lambda a, out: a, "add", **OPTIONS)
