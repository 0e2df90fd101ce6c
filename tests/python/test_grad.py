# SPDX-License-Identifier: Apache-2.0
"""grad=True with JAX; test_torch.py has the same for PyTorch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mote_kernels as mote

OPTIONS = {"grad": True, "count": 12, "seed": 1, "flushes_denormals": True}


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def matmul(a, b):
    return jnp.matmul(a, b, precision="highest")


def tanh(x):
    return jnp.tanh(x)


@jax.custom_vjp
def square(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, g: (x * g,))  # without the factor 2


def wrong_sumsq(x):
    return square(x).sum(axis=-1)


@pytest.mark.parametrize("fn, op, axis", [(softmax, "softmax", -1), (matmul, "matmul", None),
                                          (tanh, "tanh", None)])
def test_right_gradients_pass(fn, op, axis):
    r = mote.check(fn, op, axis=axis, **OPTIONS)
    assert r.passed, str(r)


def test_a_wrong_backward_is_found():
    r = mote.check(wrong_sumsq, "sumsq", axis=-1, **OPTIONS)
    f = r.failure
    assert f is not None and set(f.expected) == {"gx"}, str(r)
    assert {"gy", "x"} == set(f.inputs)


def test_functions_that_autograd_cannot_differentiate_are_an_error():
    def tanh_of_numpy(x):
        return np.tanh(x)

    expected = "tanh: grad: expected a function of torch's or JAX's arrays, .* got one of NumPy's"
    with pytest.raises(mote.Error, match=expected):
        mote.check(tanh_of_numpy, "tanh", **OPTIONS)
    with pytest.raises(mote.Error, match=expected):
        mote.check(tanh, "tanh", arrays="numpy", **OPTIONS)


def test_the_library_may_be_imported_in_the_function():
    def tanh(x):
        import jax.numpy

        return jax.numpy.tanh(x)

    assert mote.check(tanh, "tanh", **OPTIONS).passed
