# SPDX-License-Identifier: Apache-2.0
"""Twenty wrong kernels are found within 5 s, with a smallest case; twenty right ones pass."""

import inspect
import os
import time

import numpy as np
import pytest

import mote_kernels as mote
from right import RIGHT
from wrong import WRONG

RIGHT_SECONDS = float(os.environ.get("MOTE_PYTHON_SECONDS", "1"))  # nightly: 300


def label(value):
    return getattr(value, "__name__", None) or (value if isinstance(value, str) else "")


@pytest.mark.parametrize("fn, op, options", WRONG, ids=label)
def test_wrong_kernels_are_found(fn, op, options):
    begin = time.process_time()
    r = mote.check(fn, op, seed=1, count=400, max_failures=1, isolate=False, **options)
    taken = time.process_time() - begin
    assert r.failures, f"not found in {r.judged} cases"
    # XLA compiles each shape anew, so JAX's kernels are found in time but made smaller for longer.
    if "jax" in fn.__name__:
        assert r.failure.found_after < 5
    else:
        assert taken < 5, f"{taken:.1f} s of processor time"
    again = mote.check(fn, op, cases=[r.failure.case], shrink=0, isolate=False, **options)
    if fn.__name__ == "exp_by_shape":  # its first call of a shape is right
        return
    assert again.failures and r.failure.verdict == again.failure.verdict
    confirm_in_plain_python(fn, op, options, r.failure)


def confirm_in_plain_python(fn, op, options, failure):
    """Calls the function on the arrays of the smallest case: it gives what was got."""
    if failure.traceback or failure.verdict != "failed" or inspect.signature(fn).parameters.keys() & {"y"}:
        return
    params = {k: float(v) for k, _, v in (w.partition("=") for w in failure.case.split())
              if k == "eps"}
    if "eps" in inspect.signature(fn).parameters:
        params.setdefault("eps", 1e-5)
    axis = options.get("axis")
    inputs = [x[..., 0] if axis == -1 and x.ndim == 3 else x for x in failure.inputs.values()]
    if "jax" in fn.__name__:
        import jax.numpy as jnp

        inputs = [jnp.asarray(x) for x in inputs]
    got = np.asarray(fn(*inputs, **params))
    (recorded,) = failure.got.values()
    np.testing.assert_array_equal(got.reshape(recorded.shape), recorded)


@pytest.mark.parametrize("fn, op, options", RIGHT, ids=label)
def test_right_kernels_pass(fn, op, options):
    r = mote.check(fn, op, seed=1, budget=RIGHT_SECONDS, isolate=False, **options)
    assert r.passed, str(r)
