# SPDX-License-Identifier: Apache-2.0
"""Exceptions that the function raises: each is its failure, with its message and traceback."""

import numpy as np

import mote_kernels as mote

OPTIONS = {"count": 10, "seed": 1, "isolate": False}


def test_a_memory_error_is_a_failure_like_any_other():
    def raises(x):
        raise MemoryError("no room")

    r = mote.check(raises, "relu", **OPTIONS)
    assert not r.passed and r.failure is not None, str(r)
    assert r.failure.reason == "MemoryError: no room" and "raise MemoryError" in str(r)


def test_a_memory_error_of_some_cases_is_no_silent_pass():
    def raises(x):
        if x.size >= 3:
            raise MemoryError
        return np.maximum(x, 0)

    r = mote.check(raises, "relu", **OPTIONS)
    assert not r.passed, str(r)
    assert r.failure.reason == "MemoryError" and r.failure.inputs["x"].size in (3, 4)
