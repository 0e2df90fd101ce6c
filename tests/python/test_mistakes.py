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


def test_no_case_that_could_run():
    mistake("softmax: dtypes: expected some of f32, f64, f16, bf16, got i32", op="softmax", axis=-1,
            dtypes=["i32"])
    mistake("relu: count: expected 1 or more, got 0", count=0)
    mistake("relu: budget: expected more than 0 seconds, got 0", count=None, budget=0)
    mistake("relu: cases: expected cases of relu, got one of exp",
            cases=["exp x=f32[1,1,1,1] fill=index:0"])
    case = "relu x=f32[1,1,1,1] fill=index:0"
    assert mote.check(relu, "relu", count=0, cases=[case], isolate=False).judged == 1


def test_the_reason_for_no_case_and_for_declined_ones():
    r = mote.check(relu, "softmax", axis=-1, cases=["softmax x=f32[2,3,4] fill=index:0"])
    assert str(r) == "softmax: relu: no case was judged: axis=-1: C is 4"
    assert r.declined == {"axis=-1: C is 4": 1}
    r = mote.check(np.maximum, "max", count=60, seed=5)
    assert "its contract does not let y take the memory" not in str(r)


def test_the_reason_that_is_shown_is_the_most_frequent():
    def gemm(a, b, alpha):
        return (a.dtype.type(alpha) * (a @ b)).astype(a.dtype)

    r = mote.check(gemm, "gemm", count=80, seed=1)
    most = max(r.declined, key=r.declined.get)
    assert f"{sum(r.declined.values())} declined: {most}" in str(r), str(r)
    assert all("another kernel" not in reason for reason in r.declined)
    assert list(r.declined.values()) == sorted(r.declined.values(), reverse=True)


@pytest.mark.parametrize("given", [3, None, np.float32])
def test_what_is_no_op(given):
    mistake("op: expected a name, a path, a program's text or an Op, got ", op=given)
    with pytest.raises(mote.Error, match="op: expected a name"):
        mote.op(given)


def test_an_op_may_be_a_path(tmp_path):
    path = tmp_path / "double.mote"
    path.write_text('op double "y[i] = 2 x[i]"\ninput x f32[N]\noutput y = x + x\n')
    assert mote.op(path).name == mote.op(str(path)).name == "double"
    r = mote.check(lambda x: 2 * x, pathlib.Path(path), count=3, seed=1)
    assert r.passed


def test_values_of_other_kinds():
    mistake("dtype: expected f64, .*, got .*float32.*: f32 is its name", dtypes=[np.float32])
    mistake("dtype: expected f64, .*, got 'float32': f32 is its name", dtypes="float32")
    for budget in ("1.2.3s", "", "s", "."):
        mistake(r"budget: expected seconds as in 2, '2s' or '500ms', got ", budget=budget)
    mistake(r"budget: expected seconds as in 2, '2s' or '500ms', got \[2\]", budget=[2])
    for seed in (-1, "x", 1 << 64, 1.5):
        mistake(f"relu: seed: expected a whole number from 0 to {(1 << 64) - 1}, got {seed!r}",
                seed=seed)
    for count in ("5", 1.5):
        mistake(f"relu: count: expected a whole number, got {count!r}", count=count)
    for ulps in ("4", -1, float("nan")):
        mistake("relu: accuracy: expected ulps as numbers from 0 on by function, got {'exp': .*}",
                accuracy={"exp": ulps})
    mistake("relu: shrink: expected a number of seconds, got 'long'", shrink="long")


def test_a_case_alone_needs_no_list():
    r = mote.check(relu, "relu", cases="relu x=f32[1,1,1,1] fill=index:0", isolate=False)
    assert r.passed and r.judged == 1
    assert mote.check(relu, "relu", count=np.int64(3), seed=np.uint32(1), isolate=False).seed == 1


def test_numbers_out_of_range_and_what_is_no_text():
    for name in ("shrink", "warm_up"):
        mistake(f"relu: {name}: expected 0 or more seconds, got -1", **{name: -1})
    for timeout in (0, -1, float("nan")):
        mistake(f"relu: timeout: expected more than 0 seconds, got {timeout}", timeout=timeout)
    mistake("relu: max_failures: expected 1 or more, got 0", max_failures=0)
    mistake("budget: expected seconds .* got nan", budget=float("nan"))
    mistake("relu: name: expected a text, got 3", name=3)
    for case in (3, "", " "):
        mistake(f"relu: cases: expected texts as a replay line has them, got {case!r}", cases=[case])
