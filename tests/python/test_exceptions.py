# SPDX-License-Identifier: Apache-2.0
"""Exceptions that the function raises: each is its failure, with its message and traceback."""

import numpy as np
import pytest

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


LONG = "z" * 5000


def raises_a_long_text(x):
    raise ValueError(LONG)


@pytest.mark.parametrize("isolate", [False, True])
def test_a_long_text_keeps_its_traceback(isolate):
    f = mote.check(raises_a_long_text, "relu", **OPTIONS | {"isolate": isolate}).failure
    assert f.reason.startswith("ValueError: zzz") and f.reason.endswith("…") and len(f.reason) < 1000
    assert "raise ValueError(LONG)" in f.traceback and LONG in f.traceback


def test_an_exception_whose_text_raises_has_a_traceback():
    class Mute(Exception):
        def __str__(self):
            raise KeyError("no text")

    def raises(x):
        raise Mute

    f = mote.check(raises, "relu", **OPTIONS).failure
    assert f.reason == "Mute: (its text raised KeyError)" and "raise Mute" in f.traceback


def test_causes_are_in_the_traceback_without_frames_of_the_package():
    def raises(x):
        try:
            {}["a"]
        except KeyError as e:
            raise ValueError("outer") from e

    f = mote.check(raises, "relu", **OPTIONS).failure
    assert f.reason == "ValueError: outer"
    assert '{}["a"]' in f.traceback and "KeyError: 'a'" in f.traceback
    assert "direct cause of the following exception" in f.traceback
    assert "_subject.py" not in f.traceback
    assert str(mote.check(raises, "relu", **OPTIONS)).count("KeyError: 'a'") == 1


@pytest.mark.parametrize("fn, said", [
    (lambda x: np.maximum(x, 0).astype(np.float64),
     "y: the function returned float64[1, 1, 1, 1], expected float32[1, 1, 1, 1]"),
    (lambda x: x.tolist(), "y: the function returned list, expected float32[1, 1, 1, 1]"),
    (lambda x: None, "y: the function returned None, expected an array"),
    (lambda x: (x, x), "the function returned 2 arrays, expected 1: y")])
def test_what_is_returned_in_another_form_is_said_without_frames_of_the_package(fn, said):
    r = mote.check(fn, "relu", **OPTIONS)
    assert r.failure.reason == said and r.failure.traceback == ""
    assert f"\n  {said}\n" in str(r) and "Traceback" not in str(r) and "raised" not in str(r)
