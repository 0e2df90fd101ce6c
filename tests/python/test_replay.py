# SPDX-License-Identifier: Apache-2.0
"""Replay lines: each runs its case again, by the same contract, and gives the same verdict."""

import numpy as np
import pytest

import mote_kernels as mote


def doubled(a, b):
    return 2 * (a @ b)


def run_again(failure, **names):
    """Evaluates the replay line, as a person pastes it."""
    return eval(failure.replay, {"mote": mote, "np": np} | names)


@pytest.mark.parametrize("options", [
    {"tf32": True}, {"accumulator": "f64"}, {"ignores_nan": True, "flushes_denormals": True},
    {"accuracy": {"exp": 4}, "deterministic": False, "indices": "valid"},
    {"arrays": "numpy", "isolate": False, "empty": True, "row_major": True, "timeout": 9.0},
])
def test_a_replay_line_has_all_that_the_verdict_follows_from(options):
    f = mote.check(doubled, "matmul", count=4, seed=1, **options).failure
    said = ", ".join(f"{name}={value!r}" for name, value in options.items())
    assert f.replay == f"mote.check(doubled, 'matmul', {said}, cases=['{f.case}'])"
    assert run_again(f, doubled=doubled).failure.case == f.case


def test_a_replay_line_names_no_option_that_is_the_default():
    f = mote.check(doubled, "matmul", count=4, seed=1, max_failures=2, tf32=False).failure
    assert f.replay == f"mote.check(doubled, 'matmul', cases=['{f.case}'])"


def test_a_name_of_the_report_is_no_name_of_the_function():
    f = mote.check(doubled, "matmul", count=4, seed=1, name="twice").failure
    assert "matmul: twice: FAILED" in str(f._result)
    assert run_again(f, doubled=doubled).failure.case == f.case


@mote.kernel_test("relu", count=4, seed=1)
def relu(x):
    return np.maximum(x, 0)


def test_a_kernel_test_is_checked_as_its_function():
    r = mote.check(relu, "exp", count=4, seed=1)
    assert r.isolated and r.failure.replay.startswith("mote.check(relu, 'exp', cases=")
    assert run_again(r.failure, relu=relu).failure.case == r.failure.case
    with pytest.raises(mote.Error, match="add: the function takes no input b"):
        mote.check(relu, "add", count=4)


DOUBLE = """
op double "y[i] = 2 x[i]"
input x f32[N]
output y = x + x
"""


def test_a_replay_line_of_one_s_own_op_holds_for_another_user(monkeypatch, tmp_path):
    def triple(x):
        return x * 3

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    theirs = mote.check(triple, mote.op(DOUBLE), count=4, seed=1).failure
    assert str(tmp_path) in theirs.replay
    (tmp_path / "theirs").rename(tmp_path / "gone")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    own = mote.op(DOUBLE)
    r = mote.check(triple, own, cases=[theirs.case])
    assert r.judged == 1 and own.text in r.failure.case
    again = run_again(theirs, triple=triple)
    assert again.failure.case == r.failure.case


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i32"])
def test_a_replay_line_runs_a_case_of_any_dtype(dtype):
    f = mote.check(doubled, "matmul", count=4, seed=1, dtypes=[dtype], isolate=False).failure
    again = run_again(f, doubled=doubled)
    assert again.judged == 1 and again.failure.case == f.case, str(again)


def test_random_cases_keep_their_dtypes_beside_given_ones():
    case = "matmul a=f64[1,1,1,1] b=f64[1,1,1,1] fill=index:0"
    r = mote.check(doubled, "matmul", count=4, seed=1, cases=[case], shrink=0, isolate=False)
    assert {row["dtype"] for row in r.rows} == {"f32", "f64"}
    with pytest.raises(mote.Error, match="matmul: cases: expected cases in f32, got one in f64"):
        mote.check(doubled, "matmul", dtypes=["f32"], cases=[case])
