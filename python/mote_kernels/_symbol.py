# SPDX-License-Identifier: Apache-2.0
"""Symbols of symbolic graphs, with operators (graphs.py)."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._arrays import dl_dtype, dtype_name, numpy_dtype, unpacked
from ._door import Error, checked, ffi, lib, text
from ._lazy import Lazy
from ._views import Indexed

if TYPE_CHECKING:
    import numpy as np

    from .graphs import Graph
else:
    np = Lazy("numpy")  # an import of this package does not wait for it


#: stands in lists for an optional input or output that is left out
NO_SYMBOL = {"graph": 0, "index": 0xFFFFFFFF}


def _operator(op: str, is_reflected: bool = False) -> "Callable[[Symbol, Any], Symbol]":
    """A binary operator, with a number or an array on the other side."""

    def run(self: "Symbol", other: Any) -> Any:
        operand = self._operand(other)
        if operand is NotImplemented:
            return operand
        x, y = (operand, self) if is_reflected else (self, operand)
        return self.graph.apply(op, x, y)

    return run


class Symbol(Indexed):
    """A tensor of a graph, without data.

    `+ - * / @ **`, `< <= > >=` and `abs` add nodes, with NumPy's broadcasting; a number is one of the
    symbol's dtype, an array is a constant. `==` and `!=` say whether it is the same object.
    """

    __array_ufunc__ = None  # NumPy's operators leave `array + symbol` to the symbol
    _noun = "symbol"

    def __init__(self, graph: "Graph", of: Any) -> None:
        self.graph = graph
        self.c = {"graph": of.graph, "index": of.index}

    @property
    def dtype(self) -> str:
        """mote's name: "f32"."""
        dtype = ffi.new("DLDataType*")
        checked(lib.mote_symbolic_dtype(self.graph.handle, self.c, dtype))
        return dtype_name(dtype[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis. Raises Error where it is not known before an array is bound."""
        dtype, rank = ffi.new("DLDataType*"), ffi.new("int32_t*")
        shape = ffi.new("int64_t[]", 12)
        checked(lib.mote_symbolic_form(self.graph.handle, self.c, dtype, rank, shape))
        return tuple(shape[0:rank[0]])

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of neighbours along each axis, in elements."""
        strides = ffi.new("int64_t[]", 12)
        checked(lib.mote_symbolic_strides(self.graph.handle, self.c, strides))
        return tuple(strides[0:len(self.shape)])

    @property
    def name(self) -> str:
        """The name of an input, a constant or a tensor of a text; "" if it has none."""
        pointer = ffi.new("const char**")
        checked(lib.mote_symbolic_name(self.graph.handle, self.c, pointer))
        return text(pointer[0])

    def __bool__(self) -> bool:
        raise Error("a symbol has no value before a run: Graph.cond, case_of and while_loop decide by "
                    "one")

    def _operand(self, value: Any) -> Any:
        """A number as a constant of this symbol's dtype, an array as one of its own."""
        if isinstance(value, Symbol):
            return value
        self.graph._check_known()
        if isinstance(value, numbers.Real):
            made = np.asarray(value, numpy_dtype(self.dtype))
            if made.dtype.kind in "iub" and made != value:
                raise Error(f"{self.dtype}: expected a whole number, got {value!r}")
            return self.graph.constant(made)
        if hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
            return self.graph.constant(value)
        return NotImplemented

    def __neg__(self) -> "Symbol":
        return self.graph.apply("neg", self)

    def __abs__(self) -> "Symbol":
        return self.graph.apply("abs", self)

    __add__, __radd__ = _operator("add"), _operator("add", is_reflected=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", is_reflected=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", is_reflected=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", is_reflected=True)
    __pow__, __rpow__ = _operator("pow"), _operator("pow", is_reflected=True)
    __matmul__, __rmatmul__ = _operator("matmul"), _operator("matmul", is_reflected=True)
    __lt__ = _operator("less")
    __le__ = _operator("less_or_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_or_equal")

    def convert(self, dtype: str) -> "Symbol":
        """The elements in another dtype, as casts convert them."""
        return self._made("convert", dl_dtype(dtype))

    # Views have elements of this symbol; they need no memory and no node.

    def reshape(self, *shape: int | Sequence[int]) -> "Symbol":
        """The same elements in another shape; one extent may be -1, which the others determine."""
        extents = self._extents(unpacked(shape))
        return self._made("reshape", len(extents), extents)

    def permute(self, *order: int | Sequence[int]) -> "Symbol":
        """The view whose axis k is axis order[k]."""
        axes = unpacked(order)
        return self._made("permute", len(axes), axes)

    def broadcast_to(self, *shape: int | Sequence[int]) -> "Symbol":
        """The view that repeats axes of extent 1, and adds leading ones."""
        extents = unpacked(shape)
        return self._made("broadcast_to", len(extents), extents)

    def slice(self, axis: int, begin: int, count: int, step: int = 1) -> "Symbol":
        """The view of `count` indices of an axis: begin, begin + step, …"""
        return self._made("slice", axis, begin, count, step)

    def select(self, axis: int, index: int) -> "Symbol":
        """The view of one index of an axis, without that axis."""
        return self._made("select", axis, index)

    def _made(self, name: str, *arguments: Any) -> "Symbol":
        made, graph = ffi.new("mote_symbol*"), self.graph._current()
        function = getattr(lib, f"mote_symbolic_{name}")
        checked(function(graph.handle, graph._own(self).c, *arguments, made))
        return Symbol(graph, made[0])

    def _in_rows(self) -> "Symbol":
        """The symbol, or a copy of it, with row-major strides, as results of ops have them."""
        try:
            shape, strides = self.shape, self.strides
        except Error:  # the shape is not known yet
            return self
        step, plain = 1, tuple[int, ...]()
        for extent in reversed(shape):
            plain = (step, *plain)
            step *= extent
        return self if strides == plain else self.convert(self.dtype)

    def __repr__(self) -> str:
        try:
            return f"<mote symbol {self.dtype}{list(self.shape)}>"
        except Error:  # the shape is not known yet
            return f"<mote symbol {self.dtype}[?]>"


def is_one(symbols: Any) -> bool:
    """True for a symbol, an array or a number, false for a sequence of them."""
    return (isinstance(symbols, (Symbol, numbers.Number)) or hasattr(symbols, "__array__")
            or hasattr(symbols, "__dlpack__"))


def listed(symbols: Any) -> list[Any]:
    """The symbols; one alone is not taken for the sequence of its rows."""
    return [symbols] if is_one(symbols) else list(symbols)


def symbols_of(given: Any, what: str) -> list[Symbol]:
    """The symbols, one alone or several. Raises Error for anything else."""
    symbols = listed(given) if is_one(given) or isinstance(given, Iterable) else [given]
    for y in symbols:
        if not isinstance(y, Symbol):
            raise Error(f"{what}: expected symbols of the graph, got {y!r}")
    return symbols


def graph_of_symbols(inputs: Iterable[Any], what: str) -> "Graph":
    """The graph to which a node of these inputs is added."""
    for x in inputs:
        if isinstance(x, Symbol):
            return x.graph._current()
    raise Error(f"{what}: none of the inputs is a symbol; a method of Graph takes arrays only")
