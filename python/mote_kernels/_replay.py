# SPDX-License-Identifier: Apache-2.0
"""Replay lines: Python that runs a case again, to the same verdict."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Mapping

from ._ops import Op

#: The options of mote.check that decide how one case is run and judged.
OPTIONS = (
    "axis", "arrays", "isolate", "grad", "accumulator", "tf32", "form", "accuracy", "deterministic",
    "ignores_nan", "flushes_denormals", "indices", "empty", "row_major", "device", "timeout",
    "warm_up",
)


def with_own_path(case: str, op: Op) -> str:
    """The case with the path of the op's file here, if it names that file in another folder."""
    path, blank, rest = case.strip().partition(" ")
    same = op.is_file and os.path.basename(path) == os.path.basename(op.text)
    return op.text + blank + rest if same else case


def dtypes_in(case: str, op: Op) -> list[str]:
    """The dtypes of the op that the case's tensors have, one of which is that of its instance."""
    return [dtype for dtype in re.findall(r"=(\w+)\[", case) if dtype in op.dtypes]


def replay_line(check: Callable[..., Any], function: str, op: Op, given: Mapping[str, Any]) -> str:
    """The line with "{case}" in place of the case: `check` has the defaults, which it leaves out."""
    defaults = check.__kwdefaults__ or {}
    options = [f"{name}={given[name]!r}" for name in OPTIONS if given[name] != defaults[name]]
    return f"mote.check({', '.join([function, repr(op.text), *options])}, cases=['{{case}}'])"
