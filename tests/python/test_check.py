# SPDX-License-Identifier: Apache-2.0
"""mote.check: passing, failing, exceptions, contracts, what the function takes and returns."""

import math

import numpy as np
import pytest

import mote_kernels as mote
import right
import wrong

COUNT = 40


def test_a_right_function_passes_and_says_how_much_was_judged():
    r = mote.check(right.softmax, "softmax", axis=-1, count=COUNT, seed=1, isolate=False)
    assert r.passed and r and r.judged >= COUNT / 2 and r.failure is None
    assert str(r).startswith("softmax: softmax: passed (") and "seed 1" in str(r)
    assert not r.isolated


def test_the_smallest_case_fails_in_plain_numpy():
    r = mote.check(wrong.matmul_drops_tail, "matmul", count=COUNT, seed=1, isolate=False)
    f = r.failure
    assert not r.passed and f.verdict == "failed"
    got = wrong.matmul_drops_tail(f.inputs["a"], f.inputs["b"])
    np.testing.assert_array_equal(got, f.got["y"])
    assert not np.array_equal(got, f.expected["y"])
    assert f.inputs["a"].size + f.inputs["b"].size <= 4
    assert "missing term" in f.diagnosis
    text = str(r)
    assert "FAILED" in text and f.case in text and f"cases=['{f.case}']" in text
    assert len(text.splitlines()) < 25


def test_a_replay_line_runs_that_case_alone():
    f = mote.check(wrong.matmul_drops_tail, "matmul", count=COUNT, seed=1, isolate=False).failure
    again = mote.check(wrong.matmul_drops_tail, "matmul", cases=[f.case], isolate=False)
    assert again.judged == 1 and again.failure.case == f.case
    fixed = mote.check(right.matmul, "matmul", cases=[f.case], isolate=False)
    assert fixed.passed and fixed.judged == 1


def test_bounds_hold_the_reference_and_not_the_failure():
    def halved(x):
        return np.exp(x) * np.float32(0.5)

    f = mote.check(halved, "exp", count=COUNT, seed=2).failure
    lower, upper, expected = f.lower["y"], f.upper["y"], f.expected["y"]
    assert np.all((lower <= expected) & (expected <= upper))
    d = f.differences[0]
    assert not lower[d.index] <= f.got["y"][d.index] <= upper[d.index]


def test_an_exception_is_the_failure_and_is_made_smaller():
    def raises(x):
        if x.shape[-1] >= 3:
            raise IndexError(f"no column {x.shape[-1]}")
        return np.maximum(x, 0)

    r = mote.check(raises, "relu", count=COUNT, seed=3)
    f = r.failure
    assert f.reason == "IndexError: no column 3" and f.inputs["x"].size == 3
    assert f.traceback.startswith("Traceback") and "raise IndexError" in f.traceback
    assert "mote_kernels" not in f.traceback
    assert f.got == {} and "IndexError: no column 3" in str(r)


@pytest.mark.parametrize("returned, said", [
    (lambda x: x.astype(np.float64), "the function returned float64"),
    (lambda x: x[..., None], "the function returned float32"),
    (lambda x: None, "returned None"),
    (lambda x: (x, x), "returned 2 arrays, expected 1: y"),
])
def test_another_dtype_shape_or_number_of_results_is_the_failure(returned, said):
    f = mote.check(returned, "relu", count=10, seed=1).failure
    assert said in f.reason


def test_out_parameters_by_name_and_as_out():
    def into(x, y):
        np.maximum(x, 0, out=y)

    def into_out(x, out):
        np.maximum(x, 0, out=out)

    for fn in (into, into_out):
        assert mote.check(fn, "relu", count=COUNT, seed=1).passed


def test_an_output_that_is_not_written_is_found():
    def nothing(x, y):
        y[..., :-1] = np.maximum(x[..., :-1], 0)

    assert mote.check(nothing, "relu", count=COUNT, seed=1).failure.verdict == "unwritten"


def test_parameters_by_name_and_as_lists():
    def layer(x, gamma, beta, eps):
        return right.layer_norm(x, gamma, beta, eps)

    assert mote.check(layer, "layer_norm", count=COUNT, seed=1).passed
    seen = []

    def pool(x, kernel, stride, **params):
        seen.append((kernel, stride))
        raise NotImplementedError

    mote.check(pool, "max_pool2d", count=3, seed=1, shrink=0)
    assert all(len(k) == 2 and len(s) == 2 for k, s in seen) and seen


def test_an_input_that_the_function_lacks_is_declined_with_the_reason():
    def gemm(a, b, alpha):
        return (a.dtype.type(alpha) * (a @ b)).astype(a.dtype)

    r = mote.check(gemm, "gemm", count=80, seed=1)
    assert r.passed, str(r)
    assert any("takes no c" in reason or "takes no beta" in reason for reason in r.declined)


def test_parameters_that_do_not_fit_are_an_error():
    with pytest.raises(mote.Error, match="takes no input b"):
        mote.check(lambda a: a, "matmul", count=1)
    with pytest.raises(mote.Error, match="no input for the parameter z"):
        mote.check(lambda x, y, z: x, "relu", count=1)
    with pytest.raises(mote.Error, match="sofmax.*softmax"):
        mote.check(lambda x: x, "sofmax", count=1)
    with pytest.raises(mote.Error, match="works along no axis"):
        mote.check(lambda x: x, "relu", axis=-1, count=1)


def test_one_s_own_op_by_its_text():
    double = mote.op("""
op double "y[i] = 2 x[i]"
input x f32[N]
output y = x + x
""")
    assert double.name == "double" and [x.name for x in double.inputs] == ["x"]
    assert mote.check(lambda x: x * 2, double, count=COUNT, seed=1).passed
    f = mote.check(lambda x: x * 3, double, count=COUNT, seed=1).failure
    assert f.expected["y"].size == 1
    with pytest.raises(mote.Error, match="line"):
        mote.op('op wrong "y"\ninput x f32[N]\noutput y = x +')


def test_contracts_decide_what_is_right():
    def in_half(a, b):
        return (a.astype(np.float16) @ b.astype(np.float16)).astype(np.float32)

    def tf32(x):
        return ((x.view(np.int32) + 0x1000) & ~0x1FFF).view(np.float32)  # to the nearest

    def by_tf32(a, b):
        return tf32(np.ascontiguousarray(a)) @ tf32(np.ascontiguousarray(b))

    assert not mote.check(in_half, "matmul", count=COUNT, seed=1, tf32=True).passed
    assert not mote.check(by_tf32, "matmul", count=COUNT, seed=1).passed
    assert mote.check(by_tf32, "matmul", count=COUNT, seed=1, tf32=True, ignores_nan=True).passed
    with pytest.raises(mote.Error, match="accumulator: expected native, f32 or f64, got 'f8'"):
        mote.check(by_tf32, "matmul", count=1, accumulator="f8")
    with pytest.raises(mote.Error, match="form"):
        mote.check(by_tf32, "matmul", count=1, form="of_another_kind")


def test_sixteen_bits():
    def softmax(x):
        wide = x.astype(np.float32)
        e = np.exp(wide - wide.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)

    r = mote.check(softmax, "softmax", axis=-1, dtypes=["f16", "bf16"], count=COUNT, seed=1)
    assert r.passed, str(r)
    assert {row["dtype"] for row in r.rows} == {"f16", "bf16"}


def test_three_places_of_the_axis():
    def softmax(x, axis):
        assert x.ndim == (3 if axis == 1 else 2)
        return right.softmax_along(x, axis)

    for axis in (-1, 0, 1):
        r = mote.check(softmax, "softmax", axis=axis, count=COUNT, seed=1)
        assert r.passed and r.judged > COUNT / 2, str(r)


def test_the_page_and_the_json():
    r = mote.check(wrong.matmul_drops_tail, "matmul", count=COUNT, seed=1, isolate=False)
    page = r.html()
    assert page.startswith("<!DOCTYPE html>") and r.failure.verdict in page
    assert r._repr_html_().startswith("<iframe srcdoc=")
    assert '"type":"failure"' in r.json().replace(" ", "")


def test_the_same_seed_gives_the_same_cases():
    def shapes(seed):
        seen = []

        def relu(x):
            seen.append(x.shape)
            return np.maximum(x, 0)

        mote.check(relu, "relu", count=20, seed=seed)
        return seen

    assert shapes(5) == shapes(5) != shapes(6)


def test_the_environment_gives_a_seed(monkeypatch):
    monkeypatch.setenv("MOTE_SEED", "7")
    assert mote.check(right.relu, "relu", count=1, isolate=False).seed == 7
    assert mote.check(right.relu, "relu", count=1, isolate=False, seed=8).seed == 8
    monkeypatch.setenv("MOTE_SEED", "seven")
    with pytest.raises(mote.Error, match="MOTE_SEED: expected a whole number .* got 'seven'"):
        mote.check(right.relu, "relu", count=1, isolate=False)


def test_ctrl_c_keeps_what_was_found():
    calls = []

    def relu(x):
        calls.append(x)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return np.maximum(x, 0)

    r = mote.check(relu, "relu", budget=60, seed=1)
    assert r.interrupted and not r.passed and not r.failures and 0 < r.judged < 40
    assert "interrupted" in str(r)


def test_ctrl_c_in_a_function_that_does_not_end_says_where_it_was():
    def waits_for_nobody(x):
        raise KeyboardInterrupt

    r = mote.check(waits_for_nobody, "relu", budget=60, seed=1)
    assert r.interrupted and not r.passed and r.judged == 0
    assert str(r).startswith("relu: waits_for_nobody: interrupted before a case was judged, in\n")
    assert "in waits_for_nobody\n    raise KeyboardInterrupt\n" in str(r)


def test_budgets_are_texts_too():
    r = mote.check(right.relu, "relu", budget="200ms", seed=1, isolate=False)
    assert r.passed and r.judged > 0
    with pytest.raises(mote.Error, match="budget: expected seconds"):
        mote.check(right.relu, "relu", budget="soon")
    assert math.isclose(mote._check.seconds("2min"), 120)


def test_the_library_is_that_of_functions_that_are_called():
    """A function may only launch a kernel; what else is in its module says nothing then."""
    names = {}
    exec("import numpy\nimport jax.numpy as jnp\n"
         "def launch(x, sign):\n    return launch(x, 1) if sign < 0 else jnp.tanh(x)\n"
         "def kernel(x):\n    return launch(x, 1)\n"
         "def other(x):\n    return numpy.tanh(x)\n", names)
    assert mote.arrays_of(names["kernel"]) == "jax"
    assert mote.arrays_of(names["other"]) == "numpy"
