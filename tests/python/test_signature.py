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


def test_a_parameter_whose_default_is_none_takes_an_input_that_is_left():
    def where(condition, x=None, y=None):
        return np.where(condition, x, y)

    def linear(x, weight=None, *, unknown=None):
        assert unknown is None
        return x @ weight

    for fn, op in ((where, "where"), (np.where, "where"), (linear, "matmul")):
        r = mote.check(fn, op, **OPTIONS)
        assert r.passed, str(r)


def test_jax_has_no_output_to_write():
    import jax.numpy as jnp

    options = OPTIONS | {"flushes_denormals": True, "ignores_nan": True}
    for fn, op in ((jnp.sum, "sum"), (jnp.maximum, "max"), (jnp.add, "add"), (jnp.mean, "mean"),
                   (jnp.where, "where"), (jnp.argmax, "argmax")):
        r = mote.check(fn, op, **options)
        assert r.passed, str(r)


class Clipped:
    """An object that is called, whose code names JAX."""

    def __call__(self, x):
        import jax

        return jax.numpy.maximum(x, 0)


def called(fn):
    def call(x):
        return fn(x)
    return call


def test_the_arrays_of_what_is_no_plain_function():
    import jax
    import jax.numpy as jnp

    def annotated(x: jax.Array):
        return x.clip(0)

    def written(x: "jax.Array"):
        return x.clip(0)

    def by_default(x, act=jnp.abs):
        return act(x)

    kept = jnp.ones(3)
    for fn in (Clipped(), called(jax.nn.relu), functools.partial(jnp.maximum, 0), annotated, written,
               by_default, lambda x: x + kept, functools.partial(lambda a, x: jnp.add(a, x), 0)):
        assert mote.arrays_of(fn) == "jax", fn
    assert mote.arrays_of(functools.partial(np.maximum, 0)) == "numpy"


def test_a_guess_of_arrays_that_was_wrong_is_told():
    import jax

    def relu(x):
        return x.at[x < 0].set(0)  # of JAX's arrays alone

    relu = type(relu)(relu.__code__, {"jax": jax, "np": np}, "relu")
    r = mote.check(relu, "relu", **OPTIONS)
    assert "raised AttributeError: 'numpy.ndarray'" in str(r)
    assert "It was given NumPy's arrays, as its code names no library: arrays='torch'" in str(r)
    assert mote.check(relu, "relu", arrays="jax", flushes_denormals=True, **OPTIONS).passed
