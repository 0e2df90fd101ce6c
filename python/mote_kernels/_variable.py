# SPDX-License-Identifier: Apache-2.0
"""Variables of dynamic graphs, with operators (dynamic.py)."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Callable, Sequence

from ._arrays import Tensor, as_asked, dl_dtype, dtype_name, numpy_dtype, unpacked
from ._callbacks import done
from ._commands import command
from ._door import Error, ffi, lib
from ._views import Indexed

if TYPE_CHECKING:
    import numpy as np

    from .dynamic import Graph


def _forwards(op: str) -> "Callable[[Variable, Any], Variable]":
    """A binary operator, with a number or an array on the right."""

    def operator(self: "Variable", other: Any) -> Any:
        other = self._operand(other)
        return other if other is NotImplemented else self._run(op, self, other)

    return operator


def _backwards(op: str) -> "Callable[[Variable, Any], Variable]":
    """A binary operator, with a number or an array on the left."""

    def operator(self: "Variable", other: Any) -> Any:
        other = self._operand(other)
        return other if other is NotImplemented else self._run(op, other, self)

    return operator


def _in_place(op: str) -> "Callable[[Variable, Any], Variable]":
    """An operator that gives the variable another value."""

    def operator(self: "Variable", other: Any) -> Any:
        other = self._operand(other)
        if other is NotImplemented:
            return other
        done(lib.mote_dynamic_run_to(self.graph.handle, self.handle, command(op, {}),
                                     [self.handle, other.handle], 2))
        return self

    return operator


class Variable(Indexed):
    """A tensor of a dynamic graph, which ops take and give: it has a value, which never changes.

    To write to a variable (`w -= 0.1 * gw`, `w[0] = 1`, `assign`, `set`) gives it another value, so
    that whatever needs the old one still finds it. `+ - * / @ **`, `< <= > >=` and `abs` run ops,
    with NumPy's broadcasting (`==` and `!=` say whether it is the same variable: the ops are `equal`
    and `not_equal`); a number is one of the variable's dtype, an array is a constant. Ops by name
    are functions of mote_kernels.dynamic. Errors of shapes and dtypes are mote's Error, with the op.
    """

    __slots__ = ("handle", "graph", "__weakref__")
    _noun = "variable"
    __array_ufunc__ = None  # NumPy's operators leave `array + variable` to the variable

    def __init__(self, handle: Any, graph: "Graph") -> None:
        self.handle = ffi.gc(handle, lib.mote_variable_free)
        self.graph = graph

    # ---- what it is

    def _form(self) -> tuple[Any, tuple[int, ...]]:
        dtype, rank = ffi.new("DLDataType*"), ffi.new("int32_t*")
        shape = ffi.new("int64_t[]", 12)
        done(lib.mote_variable_form(self.handle, dtype, rank, shape))
        return dtype[0], tuple(shape[0:rank[0]])

    @property
    def dtype(self) -> str:
        """mote's name: "f32"."""
        return dtype_name(self._form()[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self._form()[1]

    @property
    def version(self) -> int:
        """A number that grows with each write to the variable, or to one that it is a view of."""
        return self._number("uint64_t*", lib.mote_variable_version)

    @property
    def is_traced(self) -> bool:
        """Gradients with respect to it can be asked for."""
        return bool(self._number("int32_t*", lib.mote_variable_is_traced))

    @property
    def is_pending(self) -> bool:
        """The value is not computed yet."""
        return bool(self._number("int32_t*", lib.mote_variable_is_pending))

    def _number(self, kind: str, function: Any) -> Any:
        number = ffi.new(kind)
        done(function(self.handle, number))
        return number[0]

    # ---- its value

    def value(self) -> Tensor:
        """The value, in the variable's memory, which must not be written to.

        What is pending is computed first: its errors are raised here.
        """
        made = ffi.new("mote_tensor**")
        done(lib.mote_variable_value(self.handle, made))
        return Tensor(made[0])

    def numpy(self) -> "np.ndarray":
        """The value as an array in the variable's memory, read only."""
        array = self.value().numpy()
        array.flags.writeable = False
        return array

    def item(self) -> float:
        """The value of a variable of one element."""
        return self._number("double*", lib.mote_variable_item)

    def __float__(self) -> float:
        return self.item()

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        """Returns True if the one element is not 0: `while loss > 0.1:`."""
        return self.item() != 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> "np.ndarray":
        return as_asked(self.numpy(), dtype, copy)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.value().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.value().__dlpack_device__()

    def __repr__(self) -> str:
        dtype, shape = self._form()
        of = f"{dtype_name(dtype)}{list(shape)}"
        if self.is_pending:
            return f"<mote variable {of}, pending>"
        return f"<mote variable {of}{', traced' if self.is_traced else ''}>\n{self.numpy()}"

    # ---- other variables of the same value

    def _made(self, function: Any, *arguments: Any) -> "Variable":
        made = ffi.new("mote_variable**")
        done(function(self.handle, *arguments, made))
        return Variable(made[0], self.graph)

    def detach(self) -> "Variable":
        """A constant of the same value: no gradient flows through it."""
        return self._made(lib.mote_variable_detach)

    def convert(self, dtype: str, device: str | None = None) -> "Variable":
        """The variable in another dtype, and on another device if one is named."""
        made = ffi.new("mote_variable**")
        done(lib.mote_dynamic_convert(self.graph.handle, self.handle, dl_dtype(dtype),
                                      device.encode() if device else ffi.NULL, made))
        return Variable(made[0], self.graph)

    # Views have elements of this variable: a write to either is seen in the other.

    def slice(self, axis: int, begin: int, count: int, step: int = 1) -> "Variable":
        """The view of `count` indices of an axis: begin, begin + step, …"""
        return self._made(lib.mote_variable_slice, axis, begin, count, step)

    def select(self, axis: int, index: int) -> "Variable":
        """The view of one index of an axis, without that axis."""
        return self._made(lib.mote_variable_select, axis, index)

    def permute(self, *order: int | Sequence[int]) -> "Variable":
        """The view whose axis k is axis order[k]."""
        axes = unpacked(order)
        return self._made(lib.mote_variable_permute, len(axes), axes)

    def broadcast_to(self, *shape: int | Sequence[int]) -> "Variable":
        """The view that repeats axes of extent 1, and adds leading ones."""
        extents = unpacked(shape)
        return self._made(lib.mote_variable_broadcast_to, len(extents), extents)

    def reshape(self, *shape: int | Sequence[int]) -> "Variable":
        """The same elements in another shape; one extent may be -1, which the others determine."""
        extents = self._extents(unpacked(shape))
        return self._made(lib.mote_variable_reshape, len(extents), extents)

    # ---- writes

    def _like(self, value: Any) -> "Variable":
        """A number or an array as a variable of this one's dtype and shape."""
        if not isinstance(value, Variable):
            operand = self._operand(value, numpy_dtype(self.dtype))
            if operand is NotImplemented:
                raise Error(f"assign: expected a variable, an array or a number, "
                            f"got {type(value).__name__}")
            value = operand
        shape = self.shape
        return value if value.shape == shape else value.broadcast_to(*shape)

    def assign(self, value: Any) -> None:
        """Gives the variable, or the elements that a view has, another value of its shape.

        The value is a variable of its dtype, or a number or an array, which are converted.
        """
        done(lib.mote_variable_assign(self.handle, self._like(value).handle))

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key].assign(value)

    def set(self, value: Any) -> None:
        """Gives the variable, which is no view, an array of any shape, whose memory it shares."""
        done(lib.mote_variable_set(self.handle, Tensor.sharing(value).handle))

    # ---- gradients

    def backward(self, wrt: "Variable | Sequence[Variable]", *, seed: "Variable | None" = None,
                 into: "Variable | Sequence[Variable | None] | None" = None,
                 traced: bool = False) -> "tuple[Variable, ...]":
        """The gradient of this variable with respect to each of `wrt` (Graph.backward).

            (gw,) = loss.backward(w)
        """
        return self.graph.backward([self], wrt, seeds=None if seed is None else [seed], into=into,
                                   traced=traced)

    # ---- operators

    def _operand(self, value: Any, dtype: Any = None) -> Any:
        if isinstance(value, Variable):
            return value
        if isinstance(value, numbers.Real):
            made = ffi.new("mote_variable**")
            done(lib.mote_dynamic_scalar_like(self.graph.handle, self.handle, float(value), made))
            return Variable(made[0], self.graph)
        if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
            import numpy as np

            return self.graph.constant(value if dtype is None else np.asarray(value, dtype))
        return NotImplemented

    def _run(self, op: str, x: "Variable", y: "Variable") -> "Variable":
        made = ffi.new("mote_variable**")
        done(lib.mote_dynamic_run(self.graph.handle, command(op, {}), [x.handle, y.handle], 2,
                                  ffi.NULL, made, 1))
        return Variable(made[0], self.graph)

    def __neg__(self) -> "Variable":
        return self.graph.apply("neg", self)

    def __abs__(self) -> "Variable":
        return self.graph.apply("abs", self)

    __add__, __radd__ = _forwards("add"), _backwards("add")
    __sub__, __rsub__ = _forwards("sub"), _backwards("sub")
    __mul__, __rmul__ = _forwards("mul"), _backwards("mul")
    __truediv__, __rtruediv__ = _forwards("div"), _backwards("div")
    __pow__, __rpow__ = _forwards("pow"), _backwards("pow")
    __matmul__, __rmatmul__ = _forwards("matmul"), _backwards("matmul")
    __iadd__ = _in_place("add")
    __isub__ = _in_place("sub")
    __imul__ = _in_place("mul")
    __itruediv__ = _in_place("div")
    __ipow__ = _in_place("pow")
    __lt__ = _forwards("less")
    __le__ = _forwards("less_or_equal")
    __gt__ = _forwards("greater")
    __ge__ = _forwards("greater_or_equal")
