# SPDX-License-Identifier: Apache-2.0
"""The pytest plug-in: the options --mote-budget and --mote-seed, and tests by mote.kernel_test.

Nothing is shared between tests, so they run under pytest-xdist in any order.
"""

from __future__ import annotations

import inspect
from typing import Any

from ._testing import parametrized


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("mote", "kernels checked by mote")
    group.addoption("--mote-budget", default=None, metavar="TIME",
                    help="time of random cases of each kernel test: 2s, 500ms, 1min")
    group.addoption("--mote-seed", default=None, type=int, metavar="N",
                    help="the seed of all kernel tests; default: it follows from the test's name")


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    """Collects kernel tests whatever their names."""
    obj = obj.__func__ if isinstance(obj, staticmethod) else obj
    if getattr(obj, "__mote_kernel__", None) is None:
        return None
    module = collector.obj
    if inspect.ismodule(module) and getattr(obj, "__module__", None) != module.__name__:
        return None  # imported from another test file, which has it
    marks = [*getattr(module, "pytestmark", []), *getattr(obj, "pytestmark", [])]
    return list(collector._genfunctions(name, parametrized(obj, marks)))
