# SPDX-License-Identifier: Apache-2.0
"""Workers: processes that import the user's function by its name, and run it there.

A launched process (_worker.py) imports the function and forks a worker for each start, so that a
worker begins within milliseconds; it launches each worker anew if the import has started threads,
which a fork would lack.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import pathlib
import sys
from typing import Any, Callable

from ._door import Error
from ._subject import Contract, Style

MAIN = "__main__"
#: Set in a worker while it imports the function.
IMPORTING = "MOTE_WORKER_IMPORTS"


class Reached(BaseException):
    """Ends the import of a script in a worker where the script checks the function."""


def refuse_within_worker(fn: Callable[..., Any]) -> None:
    if os.environ.get(IMPORTING):
        raise Reached(getattr(fn, "__qualname__", ""))


@dataclasses.dataclass(frozen=True)
class Place:
    """The location of a function: a module's name or a script's path, and names in it."""

    module: str
    script: str
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Worker:
    """The data that a worker needs; all of it is text and numbers."""

    place: Place
    op: str
    grad: bool
    label: str
    contract: Contract
    style: Style

    def what(self) -> str:
        return f"the worker that imports {'.'.join(self.place.names)} from " + (
            self.place.script or self.place.module)

    def command(self, errors: str) -> list[str]:
        """The command line of the process; tracebacks of exceptions go to the file `errors`."""
        spec = dataclasses.asdict(self) | {"path": _search_path(), "errors": errors}
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


def find(names: tuple[str, ...], module: Any) -> Any:
    value = module
    for name in names:
        value = getattr(value, name, None)
    return kernel_of(value)


def place_of(fn: Callable[..., Any]) -> Place | str:
    """Returns where a worker finds the function, or why it cannot."""
    module_name = getattr(fn, "__module__", None)
    qualified = getattr(fn, "__qualname__", None)
    if not module_name or not qualified:
        return "it has no name in a module"
    names = tuple(qualified.split("."))
    module = sys.modules.get(module_name)
    if "<locals>" in names or module is None or find(names, module) is not fn:
        return f"{qualified} is not found by that name in the module {module_name}"
    if module_name != MAIN:
        return Place(module_name, "", names)
    script = getattr(module, "__file__", None)
    if not script or not os.path.isfile(script):
        return "the main module is no file (a notebook, an interactive session)"
    spec = getattr(module, "__spec__", None)
    if spec is not None and spec.name:  # python -m
        return Place(spec.name, "", names)
    return Place("", os.path.abspath(script), names)


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
    return Worker(place, op, grad, label, contract, style)


def errors_in(path: str) -> dict[str, str]:
    """The tracebacks that workers noted, by message."""
    try:
        with open(path, encoding="utf-8") as file:
            return dict(ast.literal_eval(line) for line in file if line.endswith("\n"))
    except FileNotFoundError:
        return {}
