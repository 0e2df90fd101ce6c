# SPDX-License-Identifier: Apache-2.0
"""The process of workers: imports the function, then serves.

Nothing here is for users; mote.check launches it (_isolate.py).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import sys
import threading
import traceback
import types
import warnings
from typing import Any, Callable, NoReturn

from . import _isolate
from ._door import ffi, lib
from ._grad import gradient_of
from ._ops import op as op_named
from ._subject import Contract, Style, Subject

_SOCKET = "MOTE_WORKER_SOCKET"  #: of a worker that is launched, not forked


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def _script(path: str) -> tuple[types.ModuleType, Callable[[], None]]:
    """A script as a module, and what runs it; `if __name__ == "__main__"` is not entered."""
    module = types.ModuleType("__mp_main__")
    module.__file__ = path
    sys.modules["__mp_main__"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    return module, lambda: exec(code, module.__dict__)


def _module(name: str) -> tuple[types.ModuleType, Callable[[], None]]:
    """A module that is not imported yet, and what imports it; it stays if that is ended early."""
    spec = importlib.util.find_spec(name)  # imports its packages, one of which may import it
    if name in sys.modules:
        return sys.modules[name], lambda: None
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    package, _, own = name.rpartition(".")
    if package:
        setattr(sys.modules[package], own, module)
    return module, lambda: spec.loader.exec_module(module)


def _function(place: dict[str, Any]) -> Any:
    """Imports up to a check at which the function exists; what it prints is dropped."""
    names, line = tuple(place["names"]), place["line"]
    found: list[types.ModuleType] = []

    def function() -> Any:
        return _isolate.find(names, found[0], line) if found else None

    with (_isolate.importing(lambda: function() is not None), open(os.devnull, "w") as nowhere,
          contextlib.redirect_stdout(nowhere)):
        try:
            module, run = _script(place["script"]) if place["script"] else _module(place["module"])
            found.append(module)
            run()
        except SystemExit as e:
            if function() is None:
                raise _isolate.Absent(f"the import ended with the exit code {e.code}") from None
        except Exception as e:
            if not _isolate.has_skipped():
                raise
            if function() is None:  # code after a check that was not run missed its result
                raise _isolate.Absent(f"{type(e).__name__}: {e}") from e
    fn = function()
    if fn is None:
        raise _isolate.Absent(f"{'.'.join(names)} is not in {place['script'] or place['module']} "
                              "when it is imported")
    return functools.partial(fn, **place["keywords"]) if place["keywords"] else fn


def _subject(spec: dict[str, Any]) -> Subject:
    fn = _function(spec["place"])
    forward = op_named(spec["op"])
    grad = spec["grad"]
    checked = gradient_of(fn, forward) if grad else forward
    return Subject(fn, checked, spec["label"], Contract(**spec["contract"]),
                   Style(**spec["style"]), forward if grad else None)


def main(spec: dict[str, Any]) -> NoReturn:
    import numpy as np  # before threads are counted

    np.seterr(all="ignore")  # cases overflow, and have NaN
    os.environ["MOTE_WORKER_ERRORS"] = spec["errors"]
    sys.argv = spec["arguments"]
    before = _threads()  # NumPy has been imported: its BLAS starts threads, and ends them to fork
    try:
        subject = _subject(spec)
    except _isolate.Absent as e:
        with open(spec["absent"], "w", encoding="utf-8") as file:
            file.write(str(e))
        os._exit(1)
    except BaseException:  # noqa: BLE001: the process that checks says the rest
        traceback.print_exc()
        os._exit(1)
    given = os.environ.pop("MOTE_WORKER").encode()
    socket = os.environ.pop(_SOCKET, None)
    if socket is not None:
        lib.mote_py_serve_one(given, int(socket), subject.backend)
    fork = _launching(given.decode()) if _threads() > before else _forking()
    # A new thread: runtimes of threads (OpenMP) keep state by thread, and this one has none.
    thread = threading.Thread(target=lib.mote_py_serve, args=(given, subject.backend, fork))
    thread.start()
    thread.join()
    os._exit(0)


def _forking() -> Any:
    warnings.simplefilter("ignore", DeprecationWarning)  # of os.fork() with threads
    warnings.simplefilter("ignore", RuntimeWarning)

    @ffi.callback("int32_t(int32_t)", error=-1)
    def fork(_socket: int) -> int:
        return os.fork()

    return fork


def _launching(given: str) -> Any:
    """Launches this program again for each worker, with the worker's socket."""
    arena = int(given.split()[1])

    @ffi.callback("int32_t(int32_t)", error=-1)
    def launch(socket: int) -> int:
        process = os.fork()
        if process == 0:
            try:
                os.set_inheritable(socket, True)
                os.set_inheritable(arena, True)
                os.environ["MOTE_WORKER"] = given
                os.environ[_SOCKET] = str(socket)
                os.execv(sys.executable, sys.orig_argv)
            finally:
                os._exit(127)
        return process

    return launch
