# SPDX-License-Identifier: Apache-2.0
"""Finds out how a function takes the tensors and parameters of an op."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import functools
import inspect
import os
import pathlib
import re
import sys
from typing import Any, Callable

from ._door import Error
from ._ops import Op

_KINDS = inspect.Parameter


@dataclasses.dataclass
class Signature:
    """The arguments of a call of the function, in order."""

    op: Op
    #: role (input, output, param, axis, kept: its default stays), name, its Parameter
    slots: list[tuple[str, str, Any]]
    all_params: bool = False  #: it takes every parameter by name (**kwargs)
    outputs: tuple[str, ...] = ()  #: outputs that it writes

    def inputs(self) -> set[str]:
        return {name for role, name, _ in self.slots if role == "input"}

    def needs(self) -> set[str]:
        """Inputs without which it cannot be called: their parameters have no default."""
        return {name for role, name, p in self.slots
                if role == "input" and p is not None and p.default is _KINDS.empty}

    def params(self) -> set[str]:
        """The op's parameters that it takes."""
        if self.all_params:
            return {p.name for p in self.op.params}
        families = self.op.families()
        taken: set[str] = set()
        for role, name, _ in self.slots:
            if role == "param":
                taken.update(families.get(name, (name,)))
        return taken

    def arguments(self, inputs: dict[str, Any], outputs: dict[str, Any], params: dict[str, Any],
                  axis: int) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call; inputs and outputs that it lacks are None."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        places = self._places()
        for k, (role, name, parameter) in enumerate(self.slots):
            if role == "kept" and k >= places:
                continue
            value = self._value(role, name, parameter, inputs, outputs, params, axis)
            if k < places:
                positional.append(value)
            else:
                named[parameter.name] = value
        if self.all_params:
            named.update((k, v) for k, v in params.items() if k not in named)
        return positional, named

    def _places(self) -> int:
        """How many slots are given by position: up to the last input that can be, if none is kept."""
        places = 0
        for k, (role, _, parameter) in enumerate(self.slots):
            if role == "kept" or (parameter is not None and parameter.kind == _KINDS.KEYWORD_ONLY):
                break
            places = k + 1 if role == "input" else places
        for k, (_, _, parameter) in enumerate(self.slots):
            if parameter is None or parameter.kind == _KINDS.POSITIONAL_ONLY:
                places = max(places, k + 1)
        return places

    def _value(self, role: str, name: str, parameter: Any, inputs: dict[str, Any],
               outputs: dict[str, Any], params: dict[str, Any], axis: int) -> Any:
        if role == "input":
            value = inputs.get(name)
            has_default = parameter is not None and parameter.default is not _KINDS.empty
            return parameter.default if value is None and has_default else value
        if role == "output":
            return outputs.get(name)
        if role == "axis":
            return axis
        if role == "kept":
            return parameter.default
        members = self.op.families().get(name)
        return tuple(params[m] for m in members) if members else params[name]


def _parameters(fn: Callable[..., Any]) -> list[inspect.Parameter] | None:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(fn, torch.nn.Module):
        fn = fn.forward  # calling a module gives this all arguments
    try:
        return list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # a ufunc, a builtin
        return None


def _output_of(name: str, op: Op) -> str | None:
    outputs = [y.name for y in op.outputs]
    if name in outputs:
        return name
    return outputs[0] if name == "out" and len(outputs) == 1 else None


class _Binder:
    def __init__(self, op: Op, not_outputs: frozenset[str], writes_defaults: bool) -> None:
        self.op, self.not_outputs, self.writes_defaults = op, not_outputs, writes_defaults
        self.signature = Signature(op, [])
        self.left = [x.name for x in op.inputs]

    def take_input(self, parameter: inspect.Parameter | None) -> None:
        name = parameter.name if parameter is not None else self.left[0]
        if name not in self.left:
            name = self.left[0]
        self.left.remove(name)
        self.signature.slots.append(("input", name, parameter))

    def take(self, p: inspect.Parameter) -> None:
        slots = self.signature.slots
        is_param = p.name in self.op.families() or any(p.name == q.name for q in self.op.params)
        if p.kind == _KINDS.VAR_KEYWORD:
            self.signature.all_params = True
        elif p.kind == _KINDS.VAR_POSITIONAL:
            while self.left:
                self.take_input(None)
        elif p.name in self.left:
            self.take_input(p)
        elif is_param:
            slots.append(("param", p.name, p))
        elif p.name in ("axis", "dim") and self.op.axis is not None:
            slots.append(("axis", p.name, p))
        elif p.name in self.not_outputs and self.left:
            self.take_input(p)
        elif p.name not in self.not_outputs and self.is_written(p) and (
                output := _output_of(p.name, self.op)) is not None:
            slots.append(("output", output, p))
            self.signature.outputs += (output,)
        elif p.default is not _KINDS.empty or p.kind == _KINDS.KEYWORD_ONLY:
            if p.default is _KINDS.empty:
                raise Error(self.misfit(f"nothing is known about its parameter {p.name}"))
            if p.kind != _KINDS.KEYWORD_ONLY:
                slots.append(("kept", p.name, p))
        elif self.left:
            self.take_input(p)
        else:
            raise Error(self.misfit(f"it has no input for the parameter {p.name}"))

    def knows(self, name: str) -> bool:
        """True for the name of an input, an axis or a parameter."""
        return (name in ("axis", "dim") or any(name == x.name for x in self.op.inputs)
                or name in self.op.families() or any(name == q.name for q in self.op.params))

    def is_written(self, p: inspect.Parameter) -> bool:
        """False for `out=None` of JAX's functions, whose arrays nothing can write to."""
        return self.writes_defaults or p.default is _KINDS.empty

    def missing(self) -> list[str]:
        """The inputs that the op needs and no parameter takes."""
        return [x.name for x in self.op.inputs if x.name in self.left and not x.optional]

    def misfit(self, what: str) -> str:
        inputs = ", ".join(x.name + ("?" if x.optional else "") for x in self.op.inputs)
        outputs = ", ".join(y.name for y in self.op.outputs)
        params = ", ".join(p.name for p in self.op.params) or "none"
        return (f"{self.op.name}: {what}; the op has the inputs {inputs}, the outputs {outputs}, "
                f"parameters {params}")


def signature_of(fn: Callable[..., Any], op: Op, kind: str = "numpy") -> Signature:
    """Binds the function's parameters to the op's inputs, outputs and parameters.

    A parameter with the name of an op's input, output ("out" if there is one) or parameter is that;
    others take the inputs that are left, in order. An optional input whose parameter has no default
    is always given. A parameter with a default that the op does not know keeps it, and so does one of
    an output if the arrays are JAX's. If inputs are left over, parameters with names of outputs take
    them, and then those whose default is None. Raises Error if an input is left over still, or a
    parameter has no meaning.
    """
    parameters = _parameters(fn)
    binder = _bound(op, parameters, frozenset(), kind)
    by_place = [p for p in parameters or []
                if p.kind in (_KINDS.POSITIONAL_ONLY, _KINDS.POSITIONAL_OR_KEYWORD)]
    outputs = [y.name for y in op.outputs]
    # As in `lambda x, y: x + y`, where y is no output that is written but the second input, and in
    # `where(condition, x=None, y=None)`.
    for may_be_input in (
            lambda p: p.default is _KINDS.empty and p.name in outputs,
            lambda p: p.name in outputs or (p.default is None and not binder.knows(p.name))):
        if not binder.missing():
            break
        named = [p.name for p in by_place if may_be_input(p)]
        other = _bound(op, parameters, frozenset(named[:len(binder.missing())]), kind)
        binder = binder if other.missing() else other
    if missing := binder.missing():
        raise Error(binder.misfit(f"the function takes no input {', '.join(missing)}"))
    return binder.signature


def _bound(op: Op, parameters: list[inspect.Parameter] | None, not_outputs: frozenset[str],
           kind: str) -> _Binder:
    binder = _Binder(op, not_outputs, writes_defaults=kind != "jax")
    if parameters is None:
        while binder.left:
            binder.take_input(None)
    for p in parameters or []:
        binder.take(p)
    return binder


def kind_of(fn: Callable[..., Any], differentiable: bool = False) -> str:
    """The arrays that a function wants: "torch", "jax" or "numpy", by what its code names.

    differentiable: a function whose code names no package does not want NumPy's arrays.
    """
    root = _package(type(fn))
    if root in ("jaxlib", "jax"):
        return "jax"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(fn, torch.nn.Module):
        return "torch"
    named = {root} | _names_of(fn)
    for kind, packages in (("torch", {"torch", "triton"}), ("jax", {"jax", "jaxlib"})):
        if named & packages:
            return kind
    if "numpy" in named:
        return "numpy"
    # Its code names no package, as in x.sum(dim=-1): its module may use only one of them.
    roots = _modules_of(fn)
    used = roots & ({"torch", "jax"} if differentiable else {"numpy", "torch", "jax"})
    return used.pop() if len(used) == 1 else "numpy"


def is_guessed(fn: Callable[..., Any]) -> bool:
    """True if nothing says which arrays the function wants, and its module uses several libraries."""
    return (not _names_of(fn) & {"numpy", "torch", "triton", "jax", "jaxlib"}
            and len(_modules_of(fn) & {"numpy", "torch", "jax"}) > 1)


def _package(of: Any) -> str:
    """The package whose module defines it; "": it says none."""
    module = getattr(of, "__name__" if inspect.ismodule(of) else "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


def _code_of(fn: Callable[..., Any]) -> Any:
    """What has the code of a call: a partial's function, the method __call__ of an object."""
    while True:
        inner = inspect.unwrap(fn)
        if isinstance(inner, (functools.partial, functools.partialmethod)):
            inner = inner.func
        elif not hasattr(inner, "__code__") and not inspect.isclass(inner) and (
                inspect.ismethod(getattr(inner, "__call__", None))):
            inner = inner.__call__
        if inner is fn:
            return fn
        fn = inner


def _modules_of(fn: Callable[..., Any]) -> set[str]:
    """The packages of the modules that the function's own module has imported."""
    return {_package(value) for value in getattr(_code_of(fn), "__globals__", {}).values()
            if inspect.ismodule(value)}


def _names_of(fn: Callable[..., Any]) -> set[str]:
    """The packages that a function names: in its code, its annotations, its defaults and closure, and
    those of the class whose method it is."""
    inner = _code_of(fn)
    owner = getattr(inner, "__self__", None)
    bases = owner.__mro__ if inspect.isclass(owner) else type(owner).__mro__
    found = {_package(inner), _package(getattr(inner, "__objclass__", None))}
    found |= {_package(base) for base in bases}
    kept = [*(getattr(inner, "__defaults__", None) or ()),
            *(getattr(inner, "__kwdefaults__", None) or {}).values()]
    for cell in getattr(inner, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # of a cell that is empty still
            kept.append(cell.cell_contents)
    for value in kept:
        found |= {_package(value), _package(type(value))}
        if inspect.isfunction(value) and value is not inner:
            found |= _packages(value.__code__, value.__globals__)
    names = getattr(inner, "__globals__", {})
    for annotation in (getattr(inner, "__annotations__", None) or {}).values():
        if isinstance(annotation, str):  # of "from __future__ import annotations"
            first = re.split(r"\W", annotation, maxsplit=1)[0]
            found.add(first)
            annotation = names.get(first)
        found.add(_package(annotation))
    return found | _packages(getattr(inner, "__code__", None), names)


def _packages(code: Any, names: dict[str, Any], seen: "set[Any] | None" = None) -> set[str]:
    """The packages of the globals and imports that the code names, and of code within it.

    Functions that it names are followed, if they are of its module, its package or its folder: one
    may only launch a kernel.
    """
    seen = set() if seen is None else seen
    if code is None or code in seen:
        return set()
    seen.add(code)
    found: set[str] = set()
    for name in _named(code):
        value = names.get(name)
        if inspect.isfunction(value) and (value.__globals__ is names or _is_near(value, code, names)):
            found |= _packages(value.__code__, value.__globals__, seen)
        module = getattr(value, "__name__", None) if inspect.ismodule(value) else getattr(
            value, "__module__", None)
        if value is None and name.partition(".")[0] in ("torch", "jax"):
            module = name  # an import within the function
        found.add((module or "").partition(".")[0] if isinstance(module, str) else "")
    for constant in code.co_consts:
        if inspect.iscode(constant):
            found |= _packages(constant, names, seen)
    return found


def _is_near(value: Any, code: Any, names: dict[str, Any]) -> bool:
    """True for a function of the same package, or of a file in the same folder, if none is installed."""
    file = value.__code__.co_filename
    if not {"site-packages", "dist-packages"}.isdisjoint(pathlib.PurePath(file).parts):
        return False
    own = str(names.get("__package__") or "").partition(".")[0]
    return (own != "" and _package(value) == own) or (
        os.path.dirname(file) == os.path.dirname(code.co_filename))


def _named(code: Any) -> "set[str]":
    """The globals and imports that code names; attributes, as tanh of np.tanh, are not among them."""
    return {step.argval for step in dis.get_instructions(code)
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME")}
