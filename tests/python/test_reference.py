# SPDX-License-Identifier: Apache-2.0
"""References, bounds and assert_close on arrays of the caller's."""

import ml_dtypes
import numpy as np
import pytest

import mote_kernels as mote

RANDOM = np.random.default_rng(1)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("shape, axis", [((4, 5), 1), ((4, 5), -1), ((4, 5), 0), ((2, 3, 4, 5), 2)])
def test_softmax_along_any_axis_of_any_rank(shape, axis):
    x = RANDOM.standard_normal(shape).astype(np.float32)
    y = mote.reference("softmax")(x, axis=axis)
    wide = softmax(x.astype(np.float64), axis)
    assert y.dtype == np.float32 and y.shape == shape
    np.testing.assert_array_equal(y, wide.astype(np.float32))


def test_batches_broadcasts_and_strides():
    a = RANDOM.integers(-9, 10, (2, 1, 4, 3)).astype(np.float64)
    b = RANDOM.integers(-9, 10, (5, 6, 3)).astype(np.float64).swapaxes(1, 2)
    np.testing.assert_array_equal(mote.reference("matmul")(a, b), a @ b)
    x = RANDOM.standard_normal((4, 6)).astype(np.float32)[::-1, ::2]
    np.testing.assert_array_equal(mote.reference("add")(x, x[0]), x + x[0])


def test_parameters_and_names():
    x = RANDOM.integers(-9, 10, (1, 2, 6, 6)).astype(np.float32)
    w = RANDOM.integers(-9, 10, (3, 2, 3, 3)).astype(np.float32)
    y = mote.reference("conv2d")(x, w=w, stride=2)
    assert y.shape == (1, 3, 2, 2)
    expected = np.einsum("cij,ocij->o", x[0, :, 2:5, 2:5].astype(float), w.astype(float))
    np.testing.assert_array_equal(y[0, :, 1, 1], expected)
    with pytest.raises(mote.Error, match="no input or parameter 'strides'"):
        mote.reference("conv2d")(x, w, strides=2)
    with pytest.raises(mote.Error, match="input w is missing"):
        mote.reference("conv2d")(x)


def test_one_s_own_op_and_its_parameters():
    scaled = mote.op("""
op scaled "y[i] = s x[i]"
param s real
input x f32[N]
output y = $s * x
""")
    y = mote.reference(scaled)(np.float32([1, 2]), s=0.5)
    np.testing.assert_array_equal(y, np.float32([0.5, 1]))
    with pytest.raises(mote.Error, match="parameter s is missing"):
        mote.reference(scaled)(np.float32([1, 2]))


def test_the_bound_holds_any_order_of_a_sum():
    x = RANDOM.standard_normal((3, 1000)).astype(np.float32)
    bound = mote.reference("sum").bound(x, axis=1)
    assert bound.lower.shape == (3,) and np.all(bound.lower < bound.upper)
    for order in (np.arange(1000), RANDOM.permutation(1000)):
        assert bound.holds(np.cumsum(x[:, order], axis=1, dtype=np.float32)[:, -1]).all()
    assert not bound.holds(bound.upper * np.float32(1.01)).all()
    exact = mote.reference("relu").bound(x)
    np.testing.assert_array_equal(exact.lower, exact.upper)


def test_a_contract_widens_the_bound():
    a = RANDOM.standard_normal((4, 32)).astype(np.float32)
    b = RANDOM.standard_normal((32, 4)).astype(np.float32)
    narrow = mote.reference("matmul").bound(a, b)
    wide = mote.reference("matmul").bound(a, b, contract=mote.Contract(tf32=True))
    assert np.all(wide.upper - wide.lower > 4 * (narrow.upper - narrow.lower))


def test_assert_close():
    x = RANDOM.standard_normal((8, 100)).astype(np.float32)
    y = softmax(x, 1)
    mote.assert_close(y, "softmax", x, axis=1)
    y[3, 7] *= np.float32(1.001)
    with pytest.raises(AssertionError, match=r"softmax: elements outside of the bound\n.*y\["):
        mote.assert_close(y, "softmax", x, axis=1)
    with pytest.raises(mote.Error, match=r"y: expected f32\[8,100\], got f64\[8,100\]"):
        mote.assert_close(y.astype(np.float64), "softmax", x, axis=1)


def test_assert_close_of_several_outputs():
    x = RANDOM.standard_normal((1, 1, 4, 4)).astype(np.float32)
    y, at = mote.reference("max_pool2d_with_indices")(x, kernel=2, stride=2)
    mote.assert_close((y, at), "max_pool2d_with_indices", x, kernel=2, stride=2)
    with pytest.raises(AssertionError):
        mote.assert_close((y, at + 1), "max_pool2d_with_indices", x, kernel=2, stride=2)


def test_bf16():
    x = RANDOM.standard_normal((4, 8)).astype(ml_dtypes.bfloat16)
    y = mote.reference("softmax")(x, axis=1)
    assert y.dtype == ml_dtypes.bfloat16
    mote.assert_close(y, "softmax", x, axis=1)


def test_arrays_of_jax():
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(RANDOM.standard_normal((4, 8)).astype(np.float32))
    mote.assert_close(jax.nn.relu(x), "relu", x)
    mote.assert_close(jax.nn.softmax(x, axis=1), "softmax", x, axis=1)


def test_texts_of_the_tool():
    assert "mote_softmax_f32" in mote.emit("softmax")
    assert "__global__" in mote.emit("softmax", "cuda")
    assert "for " in mote.explain("softmax")
    kernels = mote.explain("softmax", "schedule", lang="cuda", dtype="f16")
    assert "steps: grid r c, row_vectors r\n" in kernels
    text = mote.emit("softmax", "cuda", dtype="f16", schedule="grid r c, row_vectors r")
    assert "mote_softmax_f16_row_vectors(" in text
    with pytest.raises(mote.Error, match="step 'grid n' cannot be taken: iterations of n fold into max"):
        mote.emit("softmax", "cuda", schedule="grid n")
    with pytest.raises(mote.Error, match="softmax"):
        mote.emit("sofmax")
    assert "softmax" in mote.ops() and len(mote.ops()) > 100


@pytest.mark.parametrize("axis", [-3, 2])
def test_an_axis_that_is_none_is_an_error_with_the_range(axis):
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    with pytest.raises(mote.Error, match=rf"softmax: axis must be in -2..1, got {axis} "):
        mote.reference("softmax")(x, axis=axis)


def test_without_an_axis_it_is_the_op_s_own():
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    softmax = mote.reference("softmax")
    np.testing.assert_array_equal(softmax(x), softmax(x, axis=0))  # the second last of [R, N, C]
    assert "its last axis but one" in mote.reference.__doc__


def test_nothing_to_judge_is_an_error():
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    for got in (None, (), (None,)):
        with pytest.raises(mote.Error, match="softmax: got: expected an array of y, got none"):
            mote.assert_close(got, "softmax", x, axis=1)


def test_mistakes_in_a_call_say_the_op_and_what():
    x = np.ones((2, 2), np.float32)
    for call, said in (
            (lambda: mote.reference("matmul")(x, x, a=x),
             "matmul: input a is given twice, by its position and by its name"),
            (lambda: mote.reference("softmax")(x, axis="rows"),
             "softmax: axis: expected a number, got 'rows'"),
            (lambda: mote.reference("softmax")(x, axis=1.5),
             "softmax: axis: expected a whole number, got 1.5"),
            (lambda: mote.reference("layer_norm")(x, eps="1 axis=0"),
             "layer_norm: eps: expected a number, got '1 axis=0'"),
            (lambda: mote.reference("exp").bound(x, contract=mote.Contract(accuracy={"exp": -1})),
             "accuracy: expected ulps as numbers from 0 on, got -1 for exp"),
            (lambda: mote.reference("exp").bound(x).holds(x[0]),
             "bound: got must have the shape [2, 2], got [2]")):
        with pytest.raises(mote.Error) as e:
            call()
        assert str(e.value) == said
    assert mote.reference("softmax")(x, axis=np.array(1)).shape == (2, 2)


def test_a_contract_s_accuracy_decides_bounds():
    x = np.float32([0.5, 3])
    by_default = mote.reference("exp").bound(x)
    wide = mote.reference("exp").bound(x, contract=mote.Contract(accuracy={"exp": 1000}))
    assert (wide.upper - wide.lower > 50 * (by_default.upper - by_default.lower)).all()
    inexact = np.exp(x) * np.float32(1.00003)
    with pytest.raises(AssertionError):
        mote.assert_close(inexact, "exp", x)
    mote.assert_close(inexact, "exp", x, contract=mote.Contract(accuracy={"exp": 1000}))
    with pytest.raises(mote.Error, match=r"contract: unknown function 'expp' \(did you mean: exp"):
        mote.reference("exp").bound(x, contract=mote.Contract(accuracy={"expp": 4}))
