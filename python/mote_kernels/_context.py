# SPDX-License-Identifier: Apache-2.0
"""The kernels that graphs run, and what was measured of them: backends and contexts (graphs.py)."""

from __future__ import annotations

import os
from typing import Any, Sequence

from ._door import Error, checked, ffi, lib, text


def load_backends(path: "str | os.PathLike[str] | None" = None) -> tuple[str, ...]:
    """Loads a plug-in, or those of $MOTE_PLUGIN_PATH and the installation; returns backends().

    A child process loads it first, so that one that crashes is an error. Backends stay until the
    process ends. Raises Error, with a line for each plug-in that is refused; the others are loaded.
    """
    if path is None:
        checked(lib.mote_load_found_backends(1))
    else:
        checked(lib.mote_load_backends(os.fspath(path).encode(), 1))
    return backends()


def _loaded() -> list[Any]:
    count = ffi.new("size_t*")
    checked(lib.mote_loaded_backends(ffi.NULL, 0, count))
    found = ffi.new("const mote_backend*[]", count[0])
    checked(lib.mote_loaded_backends(found, count[0], count))
    return [found[k] for k in range(count[0])]


def backends() -> tuple[str, ...]:
    """The names of all loaded backends, in the order of loading."""
    return tuple(text(backend.name) for backend in _loaded())


class Context:
    """What graphs run with: kernels, threads, workspace, and the measurements of kernels.

    backends are names of loaded ones (load_backends), whose kernels are asked before mote's own;
    workers is the number of threads for streams, by default that of processors; workspace_limit the most
    bytes of workspace of all calls together, by default no limit. Many threads and graphs may use one.
    """

    def __init__(self, backends: Sequence[str] = (), *, workers: int = 0,
                 workspace_limit: int = 0) -> None:
        known = {text(backend.name): backend for backend in _loaded()}
        lacking = [name for name in backends if name not in known]
        if lacking:
            raise Error(f"context: expected backends that are loaded ({', '.join(known) or 'none is'}), "
                        f"got {lacking[0]!r}")
        asked = ffi.new("const mote_backend*[]", [known[name] for name in backends])
        options, made = ffi.new("mote_context_options*"), ffi.new("mote_context**")
        options.size, options.workers = ffi.sizeof("mote_context_options"), workers
        options.backends, options.backend_count = asked, len(backends)
        options.workspace_limit = workspace_limit
        checked(lib.mote_context_create(options, made))
        self.handle = ffi.gc(made[0], lib.mote_context_free)

    def save_tuning(self, path: "str | os.PathLike[str]") -> None:
        """Writes what Executable.autotune() measured in this context to a file."""
        checked(lib.mote_save_tuning(self.handle, os.fspath(path).encode()))

    def load_tuning(self, path: "str | os.PathLike[str]") -> None:
        """Reads such a file, if there is one.

        Raises Error, and takes nothing from it, if it is damaged or comes from another machine or
        other libraries.
        """
        checked(lib.mote_load_tuning(self.handle, os.fspath(path).encode()))
