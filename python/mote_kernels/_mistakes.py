# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the arguments of mote.check, found before anything runs: they are no kernel's failure."""

from __future__ import annotations

import importlib.util
import math
import numbers
import sys
from typing import Any, Sequence

from ._arrays import numpy_dtype
from ._door import Error
from ._ops import Op, op as op_named
from ._replay import dtypes_in

MOST_SEED = (1 << 64) - 1
_LIBRARIES = {"torch": "PyTorch", "jax": "JAX"}


def check_function(fn: Any, op: Op) -> None:
    if not callable(fn):
        raise Error(f"{op.name}: fn: expected a function, got {fn!r} of type {type(fn).__name__}")


def check_numbers(op: Op, *, seed: Any, count: Any, max_failures: Any,
                  accuracy: Any, **seconds: Any) -> None:
    """Raises Error for options that are no numbers, or out of range."""
    for name, value in (("count", count), ("max_failures", max_failures)):
        if value is not None and not isinstance(value, numbers.Integral):
            raise Error(f"{op.name}: {name}: expected a whole number, got {value!r}")
    if max_failures is not None and max_failures < 1:
        raise Error(f"{op.name}: max_failures: expected 1 or more, got {max_failures}")
    if seed is not None and not (isinstance(seed, numbers.Integral) and 0 <= int(seed) <= MOST_SEED):
        raise Error(f"{op.name}: seed: expected a whole number from 0 to {MOST_SEED}, got {seed!r}")
    for name, value in seconds.items():
        if value is not None and not isinstance(value, numbers.Real):
            raise Error(f"{op.name}: {name}: expected a number of seconds, got {value!r}")
        if value is not None and not (float(value) > 0 or (value == 0 and name != "timeout")):
            least = "more than 0" if name == "timeout" else "0 or more"
            raise Error(f"{op.name}: {name}: expected {least} seconds, got {value!r}")
    if accuracy is not None and not (isinstance(accuracy, dict) and all(
            isinstance(ulps, numbers.Real) and 0 <= float(ulps) < math.inf for ulps in accuracy.values())):
        raise Error(f"{op.name}: accuracy: expected ulps as numbers from 0 on by function, "
                    f"got {accuracy!r}")


def check_texts(op: Op, name: Any, cases: Sequence[Any]) -> None:
    """Raises Error for a name or cases that are no texts."""
    if name is not None and not isinstance(name, str):
        raise Error(f"{op.name}: name: expected a text, got {name!r}")
    for case in cases:
        if not isinstance(case, str) or not case.strip():
            raise Error(f"{op.name}: cases: expected texts as a replay line has them, got {case!r}")


def check_some_run(op: Op, dtypes: Sequence[str], cases: Sequence[str], budget: float | None,
                   count: int | None) -> None:
    """Raises Error if no case can be judged, and for cases of other ops."""
    if dtypes and op.dtypes and not set(dtypes) & set(op.dtypes):
        raise Error(f"{op.name}: dtypes: expected some of {', '.join(op.dtypes)}, "
                    f"got {', '.join(dtypes)}")
    for case in cases:
        first = case.split(maxsplit=1)[0]
        if first != op.text and (other := op_named(first)).name != op.name:
            raise Error(f"{op.name}: cases: expected cases of {op.name}, got one of {other.name}")
        named = dtypes_in(case, op)
        if dtypes and named and not set(named) & set(dtypes):
            raise Error(f"{op.name}: cases: expected cases in {', '.join(dtypes)}, "
                        f"got one in {named[0]}")
    if cases:
        return
    if count is not None and count < 1:
        raise Error(f"{op.name}: count: expected 1 or more, got {count}")
    if budget is not None and budget <= 0:
        raise Error(f"{op.name}: budget: expected more than 0 seconds, got {budget:g}")


def check_environment(op: Op, kind: str, dtypes: Sequence[str], cases: Sequence[str],
                      device: str | None) -> None:
    """Raises Error if this Python lacks what arrays of that kind and those dtypes need."""
    if kind in _LIBRARIES and sys.modules.get(kind) is None and (
            importlib.util.find_spec(kind) is None):
        raise Error(f"{op.name}: arrays: {kind!r} needs {_LIBRARIES[kind]}, which is not installed")
    if device is not None:
        _check_device(op, kind, device)
    if kind != "torch" and ("bf16" in dtypes or any("=bf16[" in case for case in cases)):
        numpy_dtype("bf16")
    jax = sys.modules.get("jax")
    wide = [name for name in dtypes if name in ("f64", "i64")]
    if kind == "jax" and jax is not None and wide and not jax.config.jax_enable_x64:
        raise Error(f"{op.name}: dtypes: JAX has {wide[0]} only if jax_enable_x64 is set")


def _check_device(op: Op, kind: str, device: str) -> None:
    if kind != "torch":
        raise Error(f"{op.name}: device: expected arrays of torch, got device={device!r} and arrays "
                    f"of {kind}")
    import torch

    try:
        is_cuda = torch.device(device).type == "cuda"
    except RuntimeError as e:
        raise Error(f"{op.name}: device: {e}") from None
    if is_cuda and not torch.cuda.is_available():
        raise Error(f"{op.name}: device: expected one that PyTorch has here, got {device!r}")
