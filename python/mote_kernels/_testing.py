# SPDX-License-Identifier: Apache-2.0
"""The decorator of tests; the plug-in (pytest_plugin.py) collects and configures them."""

from __future__ import annotations

import functools
import inspect
import zlib
from typing import Any, Callable, Iterable

from ._door import Error
from ._ops import Op


def kernel_test(op: "str | Op", **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Makes a function that pytest runs as a test, which checks it against the op.

        @mote.kernel_test("layer_norm", dtypes=["f32"], budget="2s")
        def my_layer_norm(x, gamma, beta, eps): ...

    `options` are those of mote.check. Its name need not begin with test. Called with arrays it is
    the function itself. It may be a method of a test class, or a static one. The seed follows from the test's name, so that runs are repeatable;
    `--mote-seed N` gives another one, `--mote-budget 30s` another budget to all of them.

    `pytest.mark.parametrize` gives values to parameters of the function that are not the op's, and to
    options of mote.check:

        @pytest.mark.parametrize("dtypes", ["f32", "bf16"])
        @pytest.mark.parametrize("block", [16, 64])
        @mote.kernel_test("softmax", axis=-1)
        def my_softmax(x, block): ...
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
            if len(args) != is_method or not hasattr(request, "config"):
                return fn(*args, **named)
            del named["request"]
            run(fn.__get__(args[0]) if is_method else fn, op, options, named, request)
            return None

        made: Any = test
        del made.__wrapped__  # pytest would take its parameters for fixtures
        made.__mote_kernel__ = made.place_as = fn  # pytest says where the function is
        made.__signature__ = _signature(["self", "request"] if is_method else ["request"])
        return staticmethod(made) if is_static else made

    return decorate


def _signature(names: list[str]) -> inspect.Signature:
    return inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])


def parametrized(test: Any, marks: Iterable[Any]) -> Any:
    """The kernel test as one that takes the values of these marks of pytest too."""
    names = list(inspect.signature(test).parameters)
    for mark in marks:
        if mark.name == "parametrize":
            given = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
            given = given.split(",") if isinstance(given, str) else given
            names += [n.strip() for n in given if n.strip() and n.strip() not in names]
    if names == list(inspect.signature(test).parameters):
        return test

    @functools.wraps(test)
    def with_values(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        return test(*args, **named)

    made: Any = with_values
    del made.__wrapped__
    made.__signature__ = _signature(names)
    return made


def _split(fn: Callable[..., Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that parameters of the function have, and those of mote.check's options."""
    from ._check import check

    taken = inspect.signature(fn).parameters
    known = [n for n, p in inspect.signature(check).parameters.items() if p.kind == p.KEYWORD_ONLY]
    own = {n: v for n, v in values.items() if n in taken}
    options = {n: v for n, v in values.items() if n not in own}
    for name in options:
        if name not in known:
            raise Error(f"{fn.__name__}: parametrize: expected a parameter of the function or an "
                        f"option of mote.check, got {name}")
    return own, options


def run(fn: Callable[..., Any], op: "str | Op", options: dict[str, Any], values: dict[str, Any],
        request: Any) -> None:
    """Runs one test, and fails it with the report."""
    __tracebackhide__ = True
    import pytest

    from ._check import check

    mistake, options = "", dict(options)
    budget = request.config.getoption("--mote-budget")
    if budget:
        options["budget"] = budget
        options.pop("count", None)
    seed = request.config.getoption("--mote-seed")
    options.setdefault("seed", zlib.crc32(request.node.nodeid.encode()))
    if seed is not None:
        options["seed"] = seed
    try:
        own, others = _split(fn, values)
        result = check(functools.partial(fn, **own) if own else fn, op, **options | others)
    except Error as e:  # frames of this package would say no more
        mistake = str(e)
    if mistake:
        pytest.fail(mistake, pytrace=False)
    if result.interrupted:
        raise KeyboardInterrupt(str(result))
    if not result.passed:
        pytest.fail(str(result), pytrace=False)
