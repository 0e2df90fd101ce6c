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


def relu_by_rule(slope_at_0):
    """relu whose gradient has this slope at 0, where the op's own has 1/2."""
    @jax.custom_vjp
    def relu(x):
        return jnp.maximum(x, 0)

    def backward(x, g):
        is_0 = jnp.abs(x) < np.finfo(np.float32).tiny
        return (jnp.where(is_0, g * slope_at_0, jnp.where(x > 0, g, 0)),)

    relu.defvjp(lambda x: (jnp.maximum(x, 0), x), backward)
    return lambda x: relu(x)


KINKS = OPTIONS | {"count": 25, "seed": 2, "shrink": 2, "max_failures": 1}


def op_of(inputs, formula):
    """An op of one shape: JAX compiles a function for each shape anew."""
    return mote.op("op kinked\n" + "".join(f"input {x} f32[9]\n" for x in inputs) +
                   f"output y = {formula}\n")


@pytest.mark.parametrize("slope", [0, 0.25, 1])
def test_any_slope_between_those_of_the_sides_is_right_at_a_kink(slope):
    r = mote.check(relu_by_rule(slope), op_of("x", "max(x, 0)"), arrays="jax", **KINKS)
    assert r.passed, str(r)


@pytest.mark.parametrize("slope", [-0.25, 1.25])
def test_another_slope_at_a_kink_is_wrong(slope):
    r = mote.check(relu_by_rule(slope), "relu", arrays="jax", **KINKS)
    assert r.failure is not None, str(r)
    (expected,), (got,) = r.failure.expected.values(), r.failure.got.values()
    assert (got != expected).any() and (r.failure.inputs["x"][got != expected] == 0).all()


def test_libraries_differ_at_kinks():
    def leaky(x, alpha):
        return jnp.where(x > 0, x, x * alpha)

    def greatest(x):  # its gradient goes to the first of several
        return jnp.take_along_axis(x, x.argmax(axis=-1)[..., None], axis=-1)[..., 0]

    for fn, op, axis in ((jax.nn.relu, "relu", None), (leaky, "leaky_relu", None),
                         (greatest, "reduce_max", -1)):
        r = mote.check(fn, op, axis=axis, **KINKS | {"row_major": True, "count": 10})
        assert r.passed, str(r)


def with_backward(forward, backward):
    """A function of JAX's arrays, and its gradients, which `backward` gives from x, w and g."""
    fn = jax.custom_vjp(forward)
    fn.defvjp(lambda *x: (forward(*x), x), lambda x, g: backward(*x, g))
    return lambda *x: fn(*x)


def maximum_by_share(of_a, of_b):
    """max(a, b) whose gradient goes to a and b in these shares where both are equal."""
    def backward(a, b, g):
        return (jnp.where(a == b, g * of_a, jnp.where(a > b, g, 0)),
                jnp.where(a == b, g * of_b, jnp.where(b > a, g, 0)))

    fn = with_backward(jnp.maximum, backward)

    def maximum(a, b):
        return fn(a, b)

    return maximum


@pytest.mark.parametrize("of_a, of_b, passes", [
    (0.5, 0.5, True), (1, 0, True), (0, 1, True), (0.25, 0.75, True), (1, 1, False), (0, 0, False),
    (1.5, -0.5, False)])
def test_equal_arguments_share_one_gradient(of_a, of_b, passes):
    r = mote.check(maximum_by_share(of_a, of_b), op_of("ab", "max(a, b)"), arrays="jax",
                   **KINKS)
    assert r.passed == passes, str(r)


def test_abs_has_any_slope_between_its_sides_at_0():
    def abs_of(slope):
        fn = with_backward(jnp.abs, lambda x, g: (jnp.where(x == 0, slope * g, jnp.sign(x) * g),))

        def absolute(x):
            return fn(x)

        return absolute

    for slope, passes in ((1, True), (-1, True), (0.5, True), (2, False)):
        r = mote.check(abs_of(slope), op_of("x", "abs(x)"), arrays="jax", **KINKS)
        assert r.passed == passes, str(r)


@pytest.mark.parametrize("factor, passes", [(1, True), (2, False)])
def test_overlapping_windows_each_choose_among_equal_elements(factor, passes):
    def greatest(x):  # each window's gradient goes to one of its greatest elements
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (3,), (1,), "VALID")

    def backward(x, g):
        return (factor * jax.vjp(greatest, x)[1](g)[0],)

    fn = with_backward(greatest, backward)

    def windows(x):
        return fn(x)

    r = mote.check(windows, op_of("x", "max[1](x[i0 + i1 over 7, 3])"), arrays="jax",
                   **KINKS)
    assert r.passed == passes, str(r)


@pytest.mark.parametrize("at_0, passes", [(False, True), (True, False)])
def test_a_comparison_that_decides_between_other_values_stands(at_0, passes):
    forward = lambda x, w: jnp.where(x > 0, w, 2)  # noqa: E731
    fn = with_backward(forward, lambda x, w, g: (
        jnp.zeros_like(x), jnp.where((x >= 0) if at_0 else (x > 0), g, 0)))

    def chosen(x, w):
        return fn(x, w)

    r = mote.check(chosen, op_of("xw", "where(x > 0, w, 2)"), arrays="jax", **KINKS)
    assert r.passed == passes, str(r)
