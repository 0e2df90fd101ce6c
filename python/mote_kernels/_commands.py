# SPDX-License-Identifier: Apache-2.0
"""Commands: ops with parameters, made once for each text, and what the registry says of an op."""

from __future__ import annotations

import functools
import inspect
import numbers
from typing import Any, Callable, Mapping

from ._door import Error, checked, ffi, lib, text

_KEPT = 4096
_commands: dict[Any, Any] = {}


def _words(op: str, params: Mapping[str, Any]) -> list[str]:
    words = [op]
    for name, value in params.items():
        many = isinstance(value, (tuple, list))
        members = [(f"{name}{k}", v) for k, v in enumerate(value)] if many else [(name, value)]
        words += [f"{n}={_scalar(op, n, v)}" for n, v in members]
    return words


def _scalar(op: str, name: str, value: Any) -> Any:
    """A number, or an array of one without axes. Raises Error for other values of a parameter."""
    if not isinstance(value, numbers.Real) and getattr(value, "ndim", None) == 0:
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise Error(f"{op}: {name}: expected a number, got {value!r}")
    if name == "axis" and not isinstance(value, numbers.Integral):
        raise Error(f"{op}: axis: expected a whole number, got {value!r}")
    return int(value) if isinstance(value, numbers.Integral) else value


def command_text(op: str, params: Mapping[str, Any]) -> str:
    """A command as text. A parameter that is a list is stride0, stride1, …"""
    return " ".join(_words(op, params))


def command(op: str, params: Mapping[str, Any]) -> Any:
    """The mote_command of an op with parameters. Raises Error for names and values of none."""
    key = (op, *params.items()) if params else op
    try:
        known = _commands.get(key)
    except TypeError:  # a list is no key
        key = command_text(op, params)
        known = _commands.get(key)
    if known is None:
        handle = ffi.new("mote_command**")
        checked(lib.mote_command_parse(command_text(op, params).encode(), handle))
        if len(_commands) >= _KEPT:
            _commands.clear()
        known = _commands[key] = ffi.gc(handle[0], lib.mote_command_free)
    return known


def definition(op: str) -> Any:
    """The mote_op_definition of an op. Raises Error, with similar names, if there is none."""
    found = ffi.new("const mote_op_definition**")
    checked(lib.mote_op_find(op.encode(), found))
    return found[0]


def _number(value: float, is_integer: bool) -> float:
    return int(value) if is_integer else value


def signature(op: str) -> inspect.Signature:
    """The parameters of an op as those of a function: its inputs by position, the rest by name."""
    found = definition(op)
    kinds = inspect.Parameter
    inputs = [kinds(text(x.name), kinds.POSITIONAL_ONLY,
                    default=None if x.optional else kinds.empty)
              for x in found.inputs[0:found.input_count]]
    inputs.sort(key=lambda p: p.default is not kinds.empty)  # stable; a default precedes none
    params = [kinds(text(p.name), kinds.KEYWORD_ONLY,
                    default=_number(p.default_value, p.is_integer) if p.has_default else kinds.empty)
              for p in found.params[0:found.param_count]]
    return inspect.Signature(inputs + params)


def _tensor(x: Any) -> str:
    axes = ", ".join(text(axis) for axis in x.axes[0:x.rank]) if x.rank else ""
    return f"    {text(x.name)} {text(x.dtype)}[{axes}]{', optional' if x.optional else ''}"


def documentation(op: str) -> str:
    """The equation of an op, its tensors with their axes, its parameters with their meaning."""
    found = definition(op)
    lines = [text(found.equation), "", "inputs (axes before these are a batch):",
             *map(_tensor, found.inputs[0:found.input_count]), "outputs:",
             *map(_tensor, found.outputs[0:found.output_count])]
    params = found.params[0:found.param_count]
    if params:
        lines.append("parameters:")
        lines += [f"    {text(p.name)}: {text(p.meaning)}" for p in params]
    return "\n".join(lines)


@functools.lru_cache(maxsize=None)
def op_function(op: str, graph_of: Callable[..., Any], module: str) -> Callable[..., Any]:
    """An op as a function of variables or symbols, whose graph `graph_of` finds."""

    def function(*inputs: Any, **options: Any) -> Any:
        return graph_of(inputs, op).apply(op, *inputs, **options)

    function.__name__ = function.__qualname__ = op
    function.__module__ = module
    function.__doc__ = documentation(op)
    function.__signature__ = signature(op)  # type: ignore[attr-defined]
    return function


def op_names() -> list[str]:
    """The ops that functions have the names of: all but gradients of ops."""
    count = ffi.new("size_t*")
    checked(lib.mote_op_names(ffi.NULL, 0, count))
    names = ffi.new("const char*[]", count[0])
    checked(lib.mote_op_names(names, count[0], count))
    return sorted(name for name in map(text, names) if "." not in name)


def check_op(name: str) -> None:
    """Raises AttributeError, as for any name that is not there, with similar ones."""
    try:
        definition(name)
    except Error as e:
        raise AttributeError(f"no op and no function {name}: {e}") from None
