# SPDX-License-Identifier: Apache-2.0
"""Graphs of ops: built, differentiated, compiled into planned memory, and run (docs/graphs.md).

    g = mote.graphs.Graph("mlp")
    x, w = g.input("x", "f32", (32, 784)), g.input("w", "f32", (784, 10))
    loss = g.sum(x @ w, axis=0)
    (gw,) = g.gradient([loss], [w])
    step = g.compile([loss, gw])
    values = step(x=images, w=weights)      # tensors in the plan's memory, without copies
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Sequence

from ._arrays import Tensor, dl_dtype, dtype_name, numpy_dtype
from ._commands import command_text
from ._door import Error, checked, ffi, lib, text
from ._lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")  # an import of this package does not wait for it

__all__ = ["Executable", "Graph", "Symbol"]

_NO_SYMBOL = {"graph": 0, "index": 0xFFFFFFFF}
_FORMATS = {"text": 0, "json": 1, "svg": 2, "dot": 3}


def _made_context() -> Any:
    context = ffi.new("mote_context**")
    checked(lib.mote_context_create(ffi.NULL, context))
    return ffi.gc(context[0], lib.mote_context_free)


def _options(outputs: "list[Symbol]", streams: int) -> tuple[Any, Any]:
    """Options of compile, and memory that they point to."""
    options = ffi.new("mote_compile_options*")
    options.size = ffi.sizeof("mote_compile_options")
    asked = ffi.new("mote_symbol[]", [y.c for y in outputs])
    options.outputs, options.output_count, options.streams = asked, len(outputs), streams
    return options, asked


class Symbol:
    """A tensor of a graph, without data.

    `+ - * / @ **`, `< <= > >=` and `abs` add nodes, with NumPy's broadcasting; a number is one of the
    symbol's dtype, an array is a constant. `==` and `!=` say whether it is the same object.
    """

    __array_ufunc__ = None  # NumPy's operators leave `array + symbol` to the symbol

    def __init__(self, graph: "Graph", of: Any) -> None:
        self.graph = graph
        self.c = {"graph": of.graph, "index": of.index}

    def _form(self) -> tuple[str, tuple[int, ...]]:
        dtype, rank = ffi.new("DLDataType*"), ffi.new("int32_t*")
        shape = ffi.new("int64_t[]", 12)
        checked(lib.mote_symbolic_form(self.graph.handle, self.c, dtype, rank, shape))
        return dtype_name(dtype[0]), tuple(shape[0:rank[0]])

    @property
    def dtype(self) -> str:
        """mote's name: "f32"."""
        return self._form()[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self._form()[1]

    def _operand(self, value: Any) -> Any:
        """A number as a constant of this symbol's dtype, an array as one of its own."""
        if isinstance(value, Symbol):
            return value
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

    def reshape(self, *shape: int) -> "Symbol":
        """The same elements in another shape."""
        return self._view("reshape", len(shape), list(shape))

    def permute(self, *order: int) -> "Symbol":
        """The view whose axis k is axis order[k]."""
        return self._view("permute", len(order), list(order))

    def broadcast_to(self, *shape: int) -> "Symbol":
        """The view that repeats axes of extent 1, and adds leading ones."""
        return self._view("broadcast_to", len(shape), list(shape))

    def slice(self, axis: int, begin: int, count: int, step: int = 1) -> "Symbol":
        """The view of `count` indices of an axis: begin, begin + step, …"""
        return self._view("slice", axis, begin, count, step)

    def select(self, axis: int, index: int) -> "Symbol":
        """The view of one index of an axis, without that axis."""
        return self._view("select", axis, index)

    def _view(self, name: str, *arguments: Any) -> "Symbol":
        made = ffi.new("mote_symbol*")
        function = getattr(lib, f"mote_symbolic_{name}")
        checked(function(self.graph.handle, self.c, *arguments, made))
        return Symbol(self.graph, made[0])

    def __repr__(self) -> str:
        dtype, shape = self._form()
        return f"<mote symbol {dtype}{list(shape)}>"


def _add_operators() -> None:
    """Binary operators, with a number or an array on either side."""

    def operator(op: str, is_reflected: bool) -> Any:
        def run(self: Symbol, other: Any) -> Any:
            operand = self._operand(other)
            if operand is NotImplemented:
                return operand
            x, y = (operand, self) if is_reflected else (self, operand)
            return self.graph.apply(op, x, y)
        return run

    for name, op in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"),
                     ("pow", "pow"), ("matmul", "matmul")):
        setattr(Symbol, f"__{name}__", operator(op, False))
        setattr(Symbol, f"__r{name}__", operator(op, True))
    for name, op in (("lt", "less"), ("le", "less_or_equal"), ("gt", "greater"),
                     ("ge", "greater_or_equal")):
        setattr(Symbol, f"__{name}__", operator(op, False))


_add_operators()


class Graph:
    """A graph of ops on tensors without data. An op's name is a method: `g.softmax(x, axis=1)`."""

    def __init__(self, name: str = "graph", _handle: Any = None) -> None:
        handle = ffi.new("mote_symbolic**")
        if _handle is None:
            checked(lib.mote_symbolic_create(name.encode(), handle))
        self.handle = ffi.gc(_handle or handle[0], lib.mote_symbolic_free)
        self._inputs: dict[str, Symbol] = {}

    @classmethod
    def parse(cls, program: str) -> "Graph":
        """Reads a graph's text, as str() writes it."""
        handle = ffi.new("mote_symbolic**")
        checked(lib.mote_symbolic_parse(program.encode(), handle))
        return cls(_handle=handle[0])

    def input(self, name: str, dtype: str, shape: Sequence[int]) -> Symbol:
        """Adds an input, by whose name an array is bound: `g.input("x", "f32", (8, 6))`.

        Raises Error for a name that the graph has already, and for an unknown dtype.
        """
        made = ffi.new("mote_symbol*")
        checked(lib.mote_symbolic_input(self.handle, name.encode(), dl_dtype(dtype), len(shape),
                                        list(shape), made))
        self._inputs[name] = Symbol(self, made[0])
        return self._inputs[name]

    def constant(self, value: Any, name: str | None = None) -> Symbol:
        """A tensor with a value, whose memory is shared and must not change."""
        made, tensor = ffi.new("mote_symbol*"), Tensor.sharing(value)
        checked(lib.mote_symbolic_constant(self.handle, name.encode() if name else ffi.NULL,
                                           tensor.handle, made))
        return Symbol(self, made[0])

    def apply(self, op: str, *inputs: Symbol | None, outputs: int = 1, **params: Any) -> Any:
        """Adds a node; returns its first output, or a tuple of its first `outputs` outputs.

        None leaves an optional input out. A parameter that is a list is stride0, stride1, …
        """
        given = [_NO_SYMBOL if x is None else x.c for x in inputs]
        made = ffi.new("mote_symbol[]", outputs)
        checked(lib.mote_symbolic_apply(self.handle, command_text(op, params).encode(), given, len(given),
                                        made, outputs))
        symbols = tuple(Symbol(self, made[k]) for k in range(outputs))
        return symbols[0] if outputs == 1 else symbols

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda *inputs, **params: self.apply(op, *inputs, **params)

    def find(self, name: str) -> Symbol:
        """The tensor of that name. Raises Error if there is none."""
        made = ffi.new("mote_symbol*")
        checked(lib.mote_symbolic_find(self.handle, name.encode(), made))
        return Symbol(self, made[0])

    def gradient(self, of: Sequence[Symbol], wrt: Sequence[Symbol],
                 seeds: Sequence[Symbol] | None = None) -> tuple[Symbol, ...]:
        """Adds the nodes of the gradient of `of`; returns that of each of `wrt`."""
        made = ffi.new("mote_symbol[]", len(wrt))
        given = ffi.NULL if seeds is None else [s.c for s in seeds]
        checked(lib.mote_symbolic_gradient(self.handle, [y.c for y in of], len(of),
                                           [x.c for x in wrt], len(wrt), given, made))
        return tuple(Symbol(self, made[k]) for k in range(len(wrt)))

    def compile(self, outputs: Sequence[Symbol], *, streams: int = 1) -> "Executable":
        """Compiles the graph: an order, kernels, and one memory for all tensors."""
        return Executable(self, list(outputs), streams)

    def plan(self, outputs: Sequence[Symbol], *, streams: int = 1, format: str = "text") -> str:
        """Returns what compile() would plan, which takes no memory: as "text", "json" or "svg"."""
        formats = [f for f in _FORMATS if f != "dot"]
        if format not in formats:
            raise Error(f"plan: expected {', '.join(formats)}, got {format!r}")
        context, pointer = _made_context(), ffi.new("const char**")
        options, _asked = _options(list(outputs), streams)
        checked(lib.mote_symbolic_plan(self.handle, options, context, _FORMATS[format], pointer,
                                       ffi.NULL, ffi.NULL))
        return text(pointer[0])

    def __str__(self) -> str:
        pointer = ffi.new("const char**")
        checked(lib.mote_symbolic_text(self.handle, pointer))
        return text(pointer[0])


class Executable:
    """A compiled graph."""

    def __init__(self, graph: Graph, outputs: list[Symbol], streams: int) -> None:
        self.graph, self.outputs = graph, outputs
        self._context = _made_context()
        options, _asked = _options(outputs, streams)
        handle = ffi.new("mote_executable**")
        checked(lib.mote_symbolic_compile(graph.handle, options, self._context, handle))
        context_kept = self._context
        self.handle = ffi.gc(handle[0],
                             lambda h, _=context_kept: lib.mote_executable_free(h))
        self._bound: dict[str, Tensor] = {}

    def bind(self, name: str, value: Any) -> None:
        """Binds an input for the next runs; its memory is read there, without a copy."""
        tensor = Tensor.over(value)
        checked(lib.mote_executable_bind(self.handle, self.graph.find(name).c, tensor.handle))
        self._bound[name] = tensor

    def __call__(self, **inputs: Any) -> tuple[Tensor, ...]:
        """Binds the inputs, runs, and returns the outputs: tensors in the plan's memory.

        Their elements stay until the next run, and longer in copies: `np.array(y)`.
        """
        for name, value in inputs.items():
            self.bind(name, value)
        checked(lib.mote_executable_run(self.handle))
        return tuple(self._output(y) for y in self.outputs)

    def _output(self, symbol: Symbol) -> Tensor:
        made = ffi.new("mote_tensor**")
        checked(lib.mote_executable_output(self.handle, symbol.c, made))
        return Tensor(made[0], self)

    def report(self, format: str = "text") -> str:
        """Returns the plan, as "text", "json", "svg" (memory over time) or "dot"."""
        if format not in _FORMATS:
            raise Error(f"report: expected {', '.join(_FORMATS)}, got {format!r}")
        pointer = ffi.new("const char**")
        checked(lib.mote_executable_report(self.handle, _FORMATS[format], pointer))
        return text(pointer[0])

    @property
    def bytes(self) -> int:
        """The bytes of the planned memory."""
        planned = ffi.new("size_t*")
        checked(lib.mote_executable_bytes(self.handle, planned, ffi.NULL))
        return planned[0]

    def _repr_html_(self) -> str:
        return self.report("svg")
