# SPDX-License-Identifier: Apache-2.0
"""The C library behind the package: it is loaded here, and its statuses become exceptions."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from ._ffi import ffi

OK, INVALID, UNSUPPORTED, OUT_OF_MEMORY, FAILED = range(5)


class Error(ValueError):
    """A mistake in a call: an unknown op, other shapes or dtypes than the op takes.

    The message says the op, what is wrong, what was got and what was expected.
    """


class Unsupported(Error):
    """What was asked for does not exist: a gradient of code without one, the bound of an exact output."""


def library_path() -> str:
    """The shared library: $MOTE_PYTHON_LIBRARY, or the one in the package."""
    given = os.environ.get("MOTE_PYTHON_LIBRARY")
    return given or str(pathlib.Path(__file__).parent / "libmote_python.so")


# RTLD_LOCAL: names of the library meet no other library's. RTLD_NOW would resolve all of them.
lib: Any = ffi.dlopen(library_path(), ffi.RTLD_LAZY | ffi.RTLD_LOCAL)


def lasting(callback: Any) -> Any:
    """A callback that is never freed: C may call it while Python's modules go at the end."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(callback))
    return callback


def text(pointer: Any) -> str:
    """A C text; "" for NULL."""
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "backslashreplace")


def encoded(what: str, value: Any) -> bytes:
    """A text as C takes it. Raises Error for what is none."""
    if not isinstance(value, str):
        raise Error(f"{what}: expected a text, got {value!r}")
    return value.encode()


def checked(status: int) -> None:
    """Raises the error of a call that did not return MOTE_OK."""
    if status == OK:
        return
    message = text(lib.mote_last_error())
    # mote_last_error() begins with the function's name, which says nothing in Python.
    name, _, rest = message.partition(": ")
    message = rest if name.startswith("mote_") else message
    if status == OUT_OF_MEMORY:
        raise MemoryError(message)
    raise Unsupported(message) if status == UNSUPPORTED else Error(message)


class Texts:
    """C texts and arrays of them, which live as long as this object."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value

    def text(self, value: str) -> Any:
        return self.keep(ffi.new("char[]", value.encode()))

    def texts(self, values: list[str]) -> Any:
        if not values:
            return ffi.NULL
        return self.keep(ffi.new("const char*[]", [self.text(v) for v in values]))
