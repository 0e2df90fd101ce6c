# SPDX-License-Identifier: Apache-2.0
"""Replay lines: Python that runs a case again, to the same verdict."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from ._ops import Op

#: The options of mote.check that decide how one case is run and judged.
OPTIONS = (
    "axis", "arrays", "isolate", "grad", "accumulator", "tf32", "form", "accuracy", "deterministic",
    "ignores_nan", "flushes_denormals", "indices", "empty", "row_major", "device", "timeout",
    "warm_up",
)


def replay_line(check: Callable[..., Any], function: str, op: Op, given: Mapping[str, Any]) -> str:
    """The line with "{case}" in place of the case: `check` has the defaults, which it leaves out."""
    defaults = check.__kwdefaults__
    options = [f"{name}={given[name]!r}" for name in OPTIONS if given[name] != defaults[name]]
    return f"mote.check({', '.join([function, repr(op.text), *options])}, cases=['{{case}}'])"
