# SPDX-License-Identifier: Apache-2.0
"""Workers: processes that import the user's function by its name, and run it there.

A launched process (_worker.py) imports the function and forks a worker for each start, so that a
worker begins within milliseconds; it launches each worker anew if the import has started threads,
which a fork would lack.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import inspect
import json
import os
import pathlib
import sys
from typing import Any, Callable, Iterator

from ._door import Error
from ._subject import Contract, Style

MAIN = "__main__"


class Reached(BaseException):
    """Ends the import in a worker where what is imported checks something and the function exists."""


class Absent(ImportError):
    """The function is not in what the worker has imported."""


#: In a worker while it imports: whether the function exists, and whether a check was left out.
_exists: Callable[[], bool] | None = None
_skipped = False


@contextlib.contextmanager
def importing(exists: Callable[[], bool]) -> Iterator[None]:
    """A scope in which checks end the import once `exists()`, and else check nothing."""
    global _exists
    _exists = exists
    try:
        yield
    except Reached:
        pass
    finally:
        _exists = None


def is_importing() -> bool:
    """True in a worker that imports and has not met the function yet. Raises Reached if it has."""
    global _skipped
    if _exists is None:
        return False
    if _exists():
        raise Reached
    _skipped = True
    return True


def has_skipped() -> bool:
    """True if the import went on after a check that was not run."""
    return _skipped


@dataclasses.dataclass(frozen=True)
class Place:
    """The location of a function: a module's name or a script's path, and names in it."""

    module: str
    script: str
    names: tuple[str, ...]
    line: int = 0  #: where its code begins, if it has any: a name may be that of several functions
    #: of a functools.partial of it
    keywords: dict[str, bool | int | float | str | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Worker:
    """The data that a worker needs; all of it is text and numbers."""

    place: Place
    op: str
    grad: bool
    label: str
    contract: Contract
    style: Style
    is_asked_for: bool  #: isolate=True: it is an error if it cannot find the function

    def what(self) -> str:
        return f"the worker that imports {'.'.join(self.place.names)} from " + (
            self.place.script or self.place.module)

    def absent(self, errors: str) -> str:
        """The file in which the process says why it has not found the function."""
        return errors + ".absent"

    def command(self, errors: str) -> list[str]:
        """The command line of the process; tracebacks of exceptions go to the file `errors`."""
        spec = dataclasses.asdict(self) | {
            "path": _search_path(), "errors": errors, "absent": self.absent(errors),
            "arguments": sys.argv}
        code = ("import sys, json; spec = json.loads(sys.argv[1]); sys.path[:] = spec['path']; "
                "from mote_kernels._worker import main; main(spec)")
        flags = [f"-W{w}" for w in sys.warnoptions]
        return [sys.executable, *flags, "-c", code, json.dumps(spec)]


def _search_path() -> list[str]:
    package = str(pathlib.Path(__file__).parent.parent)
    path = [os.path.abspath(p) if p else os.getcwd() for p in sys.path]
    return path if package in path else [*path, package]


def kernel_of(value: Any) -> Any:
    """The kernel of a test that mote.kernel_test made, or the value itself."""
    return getattr(value, "__mote_kernel__", value)


def line_of(fn: Any) -> int:
    """The line where the function's code begins; 0: it has none that Python sees."""
    return getattr(getattr(inspect.unwrap(fn), "__code__", None), "co_firstlineno", 0)


def find(names: tuple[str, ...], module: Any, line: int = 0) -> Any:
    """The function of that name and, unless it is 0, of that line; None: there is none."""
    value = module
    for name in names:
        value = getattr(value, name, None)
    value = kernel_of(value)
    return value if value is not None and line in (0, line_of(value)) else None


def place_of(fn: Callable[..., Any]) -> Place | str:
    """Returns where a worker finds the function, or why it cannot."""
    if isinstance(fn, functools.partial):
        place = place_of(fn.func)
        if isinstance(place, str):
            return place
        values = fn.keywords.values()
        if fn.args or any(type(v) not in (bool, int, float, str, type(None)) for v in values):
            return "it is a partial of more than numbers and texts by name"
        return dataclasses.replace(place, keywords=place.keywords | fn.keywords)
    module_name = getattr(fn, "__module__", None)
    qualified = getattr(fn, "__qualname__", None)
    if not module_name or not qualified:
        return "it has no name in a module"
    names = tuple(qualified.split("."))
    module = sys.modules.get(module_name)
    found = find(names, module)
    if "<locals>" in names or module is None or not (
            found is fn or (inspect.ismethod(found) and found == fn)):
        return f"{qualified} is not found by that name in the module {module_name}"
    line = line_of(fn)
    if module_name != MAIN:
        return Place(module_name, "", names, line)
    script = getattr(module, "__file__", None)
    if not script or not os.path.isfile(script):
        return "the main module is no file (a notebook, an interactive session)"
    spec = getattr(module, "__spec__", None)
    if spec is not None and spec.name:  # python -m
        return Place(spec.name, "", names, line)
    return Place("", os.path.abspath(script), names, line)


def worker_of(fn: Callable[..., Any], isolate: bool | None, op: str, grad: bool, label: str,
              contract: Contract, style: Style) -> Worker | None:
    """The worker; None: the function runs in this process."""
    if isolate is False:
        return None
    place = place_of(fn)
    if isinstance(place, str) or not sys.executable:
        if isolate is None:
            return None
        raise Error(f"isolate: a worker cannot import the function: {place}")
    return Worker(place, op, grad, label, contract, style, isolate is True)


def errors_in(path: str) -> dict[str, str]:
    """The tracebacks that workers noted, by message."""
    try:
        with open(path, encoding="utf-8") as file:
            return dict(ast.literal_eval(line) for line in file if line.endswith("\n"))
    except FileNotFoundError:
        return {}


def absence_in(path: str) -> str:
    """Why the worker has not found the function; "" if it has."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""
