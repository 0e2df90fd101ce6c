# SPDX-License-Identifier: Apache-2.0
"""The decorator of tests; the plug-in (pytest_plugin.py) collects and configures them."""

from __future__ import annotations

import functools
import inspect
import zlib
from typing import Any, Callable

from ._door import Error
from ._ops import Op


def kernel_test(op: "str | Op", **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Makes a function that pytest runs as a test, which checks it against the op.

        @mote.kernel_test("layer_norm", dtypes=["f32"], budget="2s")
        def my_layer_norm(x, gamma, beta, eps): ...

    `options` are those of mote.check. Its name need not begin with test. Called with arrays it is
    the function itself. It may be a method of a test class, or a static one. The seed follows from the test's name, so that runs are repeatable;
    `--mote-seed N` gives another one, `--mote-budget 30s` another budget to all of them.
    """

    def decorate(given: Any) -> Any:
        is_static = isinstance(given, staticmethod)
        fn = given.__func__ if is_static else given
        first = next(iter(inspect.signature(fn).parameters), "") if inspect.isroutine(fn) else ""
        is_method = first == "self" and not is_static

        @functools.wraps(fn)
        def test(*args: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            request = named.get("request")
            if len(args) != is_method or set(named) != {"request"} or not hasattr(request, "config"):
                return fn(*args, **named)
            run(fn.__get__(args[0]) if is_method else fn, op, options, request)
            return None

        made: Any = test
        del made.__wrapped__  # pytest would take its parameters for fixtures
        made.__mote_kernel__ = made.place_as = fn  # pytest says where the function is
        names = ["self", "request"] if is_method else ["request"]
        made.__signature__ = inspect.Signature(
            [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
        return staticmethod(made) if is_static else made

    return decorate


def run(fn: Callable[..., Any], op: "str | Op", options: dict[str, Any], request: Any) -> None:
    """Runs one test, and fails it with the report."""
    __tracebackhide__ = True
    import pytest

    from ._check import check

    options = dict(options)
    budget = request.config.getoption("--mote-budget")
    if budget:
        options["budget"] = budget
        options.pop("count", None)
    seed = request.config.getoption("--mote-seed")
    options.setdefault("seed", zlib.crc32(request.node.nodeid.encode()))
    if seed is not None:
        options["seed"] = seed
    mistake = ""
    try:
        result = check(fn, op, **options)
    except Error as e:  # frames of this package would say no more
        mistake = str(e)
    if mistake:
        pytest.fail(mistake, pytrace=False)
    if result.interrupted:
        raise KeyboardInterrupt(str(result))
    if not result.passed:
        pytest.fail(str(result), pytrace=False)
