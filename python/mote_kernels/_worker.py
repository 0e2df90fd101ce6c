# SPDX-License-Identifier: Apache-2.0
"""The process of workers: imports the function, then serves.

Nothing here is for users; mote.check launches it (_isolate.py).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import traceback
import types
import warnings
from typing import Any, NoReturn

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


def _script(path: str) -> types.ModuleType:
    """Runs a script up to where it checks; `if __name__ == "__main__"` is not entered."""
    module = types.ModuleType("__mp_main__")
    module.__file__ = path
    sys.modules["__mp_main__"] = module
    sys.argv = [path]
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    try:
        exec(code, module.__dict__)
    except _isolate.Reached:
        pass
    return module


def _function(place: dict[str, Any]) -> Any:
    os.environ[_isolate.IMPORTING] = "1"
    try:
        module = _script(place["script"]) if place["script"] else importlib.import_module(
            place["module"])
    finally:
        del os.environ[_isolate.IMPORTING]
    fn = _isolate.find(tuple(place["names"]), module)
    if fn is None:
        raise ImportError(f"{'.'.join(place['names'])} is not in {module.__name__}")
    return fn


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
    before = _threads()  # NumPy has been imported: its BLAS starts threads, and ends them to fork
    try:
        subject = _subject(spec)
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
