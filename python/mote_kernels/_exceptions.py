# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the user's function as messages and tracebacks."""

from __future__ import annotations

import os
import re
import traceback

_MESSAGE_BYTES = 900  #: a call's message and a worker's reply have room for these


class Returned(TypeError):
    """What the function returned is no output of the op."""


def stays(error: BaseException) -> bool:
    """True if later calls in this process may fail for this error's sake: one of a GPU.

    A worker is ended by the status FAILED, and kept by another, as a new one may take seconds.
    """
    return re.search(r"CUDA|\bHIP\b|cudaError|AcceleratorError",
                     f"{type(error).__name__}: {_text_of(error)}") is not None


def _text_of(error: BaseException) -> str:
    """The exception's text, if it has one."""
    try:
        return str(error)
    except Exception as e:  # noqa: BLE001: its own mistake
        return f"(its text raised {type(e).__name__})"


def in_one_line(error: BaseException) -> str:
    """The exception as a call's message, by which its traceback is found again.

    What the function returned has no name of an exception before it, as the function raised none.
    """
    kind = "" if isinstance(error, Returned) else f"{type(error).__name__}: "
    line = " ".join(f"{kind}{_text_of(error)}".split("\n")).removesuffix(": ")
    data = line.replace("\0", "\\0").encode("utf-8", "backslashreplace")
    if len(data) <= _MESSAGE_BYTES:
        return data.decode()
    return data[:_MESSAGE_BYTES].decode("utf-8", "ignore") + "…"


def traceback_of(error: BaseException) -> str:
    """The traceback with those of its causes, without this package's frames; "" for Returned."""
    if isinstance(error, Returned):
        return ""
    of = traceback.TracebackException.from_exception(error)
    _drop_own_frames(of)
    return "".join(of.format())


def _drop_own_frames(of: traceback.TracebackException) -> None:
    own = os.path.dirname(__file__)
    outside = [f for f in of.stack if os.path.dirname(f.filename) != own]
    of.stack = traceback.StackSummary.from_list(outside or list(of.stack))
    for other in (of.__cause__, of.__context__, *(getattr(of, "exceptions", None) or ())):
        if other is not None:
            _drop_own_frames(other)
