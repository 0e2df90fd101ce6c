# SPDX-License-Identifier: Apache-2.0
"""The gradient that autograd gives for a function, as the outputs of the op's derived gradient."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from . import _arrays
from ._door import Error, checked, ffi, lib, text
from ._exceptions import Returned
from ._lazy import Lazy
from ._ops import Op, op as op_named
from ._reference import Reference
from ._signature import kind_of, signature_of


if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")


_USUAL, _LEAST, _GREATEST = 0, 1, 2


@functools.lru_cache(maxsize=None)
def _derived(forward: Op, without: tuple[str, ...], at_kinks: int) -> tuple[Op, bool]:
    """The op |gy|x| -> |gx| of the op with these inputs left out, as a program of its own.

    At a kink, as that of relu at 0, it has the op's own gradient, or the least or the greatest of
    those that are right. Also returns whether all of these have the same sum.
    """
    pointer, ties_kept = ffi.new("char**"), ffi.new("int32_t*")
    checked(lib.mote_py_gradient(forward.text.encode(), ",".join(without).encode(), at_kinks,
                                 pointer, ties_kept))
    try:
        program = text(pointer[0])
    finally:
        lib.mote_py_text_free(pointer[0])
    return op_named(program), bool(ties_kept[0])


def kind_of_grad(fn: Callable[..., Any], op: Op, arrays: str | None) -> str:
    """The arrays of a function that autograd differentiates: "torch" or "jax"."""
    kind = arrays or kind_of(fn, differentiable=True)
    if kind == "numpy":
        raise Error(f"{op.name}: grad: expected a function of torch's or JAX's arrays, which "
                    "autograd differentiates (arrays='torch' and arrays='jax' say so), got one of NumPy's")
    return kind


def gradient_of(fn: Callable[..., Any], forward: Op) -> Op:
    """The op of the gradients of a function of `forward`, without the inputs that it lacks."""
    return _derived(forward, _without(signature_of(fn, forward).inputs(), forward), _USUAL)[0]


def _without(taken: set[str], forward: Op) -> tuple[str, ...]:
    return tuple(x.name for x in forward.inputs if x.optional and x.name not in taken)


def run_backward(subject: Any, inputs: dict[str, Any], params: dict[str, Any], call: Any) -> None:
    """Runs the function and its backward pass, and stores the gradients of its real inputs."""
    names = {x.name for x in subject.forward.inputs}
    seeds = [v for name, v in inputs.items() if name not in names]
    values = _full(subject, {n: v for n, v in inputs.items() if n in names}, call)
    gradients = (_by_torch if subject.kind == "torch" else _by_jax)(subject, values, seeds, params)
    outputs = [y.name for y in subject.op.outputs]
    wanted = [g for g in gradients if g is not None]
    if len(wanted) != len(outputs):
        raise Returned(f"autograd gave {len(wanted)} gradients, expected {len(outputs)}")
    for name, value in zip(outputs, wanted):
        subject.store_one(name, value, call)
    _settle_kinks(subject, params, call)


def _settle_kinks(subject: Any, params: dict[str, Any], call: Any) -> None:
    """Makes what an output has at a kink the op's own gradient, if it is one of those that are right
    there: any between those of the sides. At 0 relu has 1/2, PyTorch's has 0.
    """
    without = _without(subject.signature.inputs(), subject.forward)
    (least, ties_kept), (greatest, _) = [_derived(subject.forward, without, end)
                                         for end in (_LEAST, _GREATEST)]
    if least == greatest:  # no max, no min, no abs and no comparison
        return
    inputs = _inputs(subject, call)
    if not subject.contract.flushes_denormals:  # else denormals may be equal to 0
        ends = [_listed(Reference(op)(**_taken(op, inputs), **params)) for op in (least, greatest)]
        if not any(_differ(*pair).any() for pair in zip(*ends)):
            return
    bounds = [_listed(Reference(op).bound(**_taken(op, inputs), **params,
                                          contract=subject.contract))
              for op in (subject.op, least, greatest)]
    given = [None if call.outputs[k] == ffi.NULL else _arrays.numpy_over(call.outputs[k])
             for k in range(len(bounds[0]))]
    if any(y is not None and y.shape != of.lower.shape for y, of in zip(given, bounds[0])):
        return
    if ties_kept and not _has_right_sum(given, bounds):
        return
    own = _listed(Reference(subject.op)(**_taken(subject.op, inputs), **params))
    for y, usual, low, high in zip(given, own, *bounds[1:]):
        if y is not None:
            is_kink = _differ(low.lower, high.lower) | _differ(low.upper, high.upper)
            lower, upper = np.minimum(low.lower, high.lower), np.maximum(low.upper, high.upper)
            y[...] = np.where(is_kink & (lower <= y) & (y <= upper), usual, y)


def _inputs(subject: Any, call: Any) -> dict[str, Any]:
    """The inputs of the op's gradients; 0 for those whose data the op's own does not read, as for the
    function (_full).
    """
    zeros = {y.name.removeprefix("g"): np.zeros_like(_arrays.numpy_over(call.outputs[k]))
             for k, y in enumerate(subject.op.outputs) if call.outputs[k] != ffi.NULL}
    return zeros | {x.name: _arrays.numpy_over(call.inputs[k])
                    for k, x in enumerate(subject.op.inputs) if call.inputs[k] != ffi.NULL}


def _taken(op: Op, inputs: dict[str, Any]) -> dict[str, Any]:
    return {x.name: inputs[x.name] for x in op.inputs if x.name in inputs}


def _has_right_sum(given: list[Any], bounds: list[Any]) -> bool:
    """True if all gradients sum up to what the op's own do: equal arguments of a max share its
    gradient, and none gets what another has.

    Each value may be off by the width of its interval under the rule that the function follows. The
    ends of the intervals are rounded to the dtype, so that each may be off by a step.
    """
    total, lower, upper = [], [], []
    for y, *ends in zip(given, *bounds):
        if y is None or not all(np.isfinite(v).all() for v in (y, *_ends(ends))):
            return True
        widened = [(np.nextafter(of.lower, -np.inf), np.nextafter(of.upper, np.inf))
                   for of in ends]
        wide = [(np.float64(a), np.float64(b)) for a, b in widened]
        error = functools.reduce(np.maximum, [b - a for a, b in wide])
        total += y.astype(np.float64).ravel().tolist()
        lower += (wide[0][0] - error).ravel().tolist()
        upper += (wide[0][1] + error).ravel().tolist()
    return math.fsum(lower) <= math.fsum(total) <= math.fsum(upper)


def _ends(bounds: Iterable[Any]) -> Iterator[Any]:
    for of in bounds:
        yield from (of.lower, of.upper)


def _listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


def _differ(a: Any, b: Any) -> Any:
    return ~((a == b) | (np.isnan(a) & np.isnan(b)))


def _full(subject: Any, values: dict[str, Any], call: Any) -> dict[str, Any]:
    """The forward inputs in the function's order, at the extents of their gradients.

    A gradient does not repeat where its input does, and needs no data of some inputs: those are 0.
    """
    shapes = {y.name: _arrays.MAKERS["numpy"](call.outputs[k])
              for k, y in enumerate(subject.op.outputs)}
    taken = subject.signature.inputs()
    full: dict[str, Any] = {}
    for x in subject.forward.inputs:
        gradient = shapes.get("g" + x.name)
        if gradient is None:
            if x.name in values:
                full[x.name] = values[x.name]
            continue
        if x.name not in taken:
            continue
        shape = subject.seen(gradient, _named(subject.op.outputs, "g" + x.name)).shape
        if subject.kind == "torch":
            import torch

            value = values.get(x.name)
            zero = torch.zeros((), dtype=getattr(torch, str(gradient.dtype)))
            full[x.name] = torch.broadcast_to(zero if value is None else value, shape)
        else:
            import jax.numpy as jnp

            full[x.name] = jnp.broadcast_to(values.get(x.name, jnp.zeros((), gradient.dtype)), shape)
    return full


def _named(tensors: tuple[Any, ...], name: str) -> Any:
    return next(t for t in tensors if t.name == name)


def _called(subject: Any, values: dict[str, Any], params: dict[str, Any]) -> list[Any]:
    axis = subject.style.axis if subject.style.axis is not None else 1
    positional, named = subject.signature.arguments(values, {}, params, axis)
    returned = subject.fn(*positional, **named)
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def _by_torch(subject: Any, values: dict[str, Any], seeds: list[Any],
              params: dict[str, Any]) -> list[Any]:
    import torch

    leaves = {name: x.detach().clone().requires_grad_(x.is_floating_point())
              for name, x in values.items()}
    real = [x for x in leaves.values() if x.requires_grad]
    outputs = [y for y in _called(subject, leaves, params) if y.is_floating_point()]
    for y, seed in zip(outputs, seeds):
        if y.shape != seed.shape:
            raise Returned(f"the function returned {list(y.shape)}, expected {list(seed.shape)}")
    if not any(y.requires_grad for y in outputs):
        raise Returned("the function's outputs do not require gradients: it left autograd")
    found = torch.autograd.grad(outputs, real, seeds, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(real, found)]


def _by_jax(subject: Any, values: dict[str, Any], seeds: list[Any],
            params: dict[str, Any]) -> list[Any]:
    import jax
    import jax.numpy as jnp

    names = [n for n, x in values.items() if jnp.issubdtype(x.dtype, jnp.floating)]

    def of(*reals: Any) -> tuple[Any, ...]:
        return tuple(_called(subject, values | dict(zip(names, reals)), params))

    outputs, backward = jax.vjp(of, *[values[n] for n in names])
    return list(backward(tuple(jnp.reshape(s, y.shape) for s, y in zip(seeds, outputs))))


__all__ = ["gradient_of", "kind_of_grad", "run_backward"]
