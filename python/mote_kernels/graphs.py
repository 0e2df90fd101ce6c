# SPDX-License-Identifier: Apache-2.0
"""Graphs of ops: built, differentiated, compiled into planned memory, and run (docs/graphs.md).

    g = mote.graphs.Graph("mlp")
    x, w = g.input("x", "f32", (32, 784)), g.input("w", "f32", (784, 10))
    loss = g.sum(x @ w, axis=0)
    (gw,) = g.gradient([loss], [w])
    step = g.compile([loss, gw])
    values = step(x=images, w=weights)      # tensors in the plan's memory, without copies

Every op of the catalogue is a method of Graph, and a function here: `softmax(x, axis=1)`. Its inputs
are given by position, None for an optional one that is left out, its parameters by name. In a function
that becomes the body of a loop or a branch (Graph.while_loop, cond, case_of) all of them add to that.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator, Sequence

from ._arrays import Tensor, dl_dtype, extents
from ._callbacks import Code
from ._commands import check_op, command, command_text, op_function, op_names
from ._context import Context, backends, load_backends
from ._control import ControlFlow
from ._door import Error, checked, encoded, ffi, lib, text
from ._executable import Compiling, Executable
from ._gradients import CheckpointReport, Gradients
from ._passes import Passes, default_passes, passes, register_pass, register_replacement
from ._sequence import RecurrentSequence, Sequences
from ._symbol import NO_SYMBOL, Symbol, graph_of_symbols, listed, symbols_of

__all__ = ["CheckpointReport", "Context", "Executable", "Graph", "RecurrentSequence", "Symbol", "backends",
           "default_passes", "load_backends", "passes", "register_pass", "register_replacement"]

_building = threading.local()  # the graphs of the functions that are being called, as a list


class Graph(ControlFlow, Sequences, Gradients, Passes, Compiling):
    """A graph of ops on tensors without data. An op's name is a method: `g.softmax(x, axis=1)`."""

    def __init__(self, name: str = "graph", _handle: Any = None, _around: "Graph | None" = None) -> None:
        handle = ffi.new("mote_symbolic**")
        if _handle is None:
            checked(lib.mote_symbolic_create(encoded("name", name), handle))
        self.handle = ffi.gc(_handle or handle[0], lib.mote_symbolic_free)
        self._around, self._is_left = _around, False
        self._codes: list[Code] = []  # Python's code in its nodes
        self._taken: list[Symbol] = []  # symbols of the graph around, which are inputs here
        self._inputs_of: dict[tuple[int, int], Any] = {}  # those inputs

    @classmethod
    def parse(cls, program: str) -> "Graph":
        """Reads a graph's text, as str() writes it."""
        handle = ffi.new("mote_symbolic**")
        checked(lib.mote_symbolic_parse(encoded("program", program), handle))
        return cls(_handle=handle[0])

    @classmethod
    def _lent(cls, handle: Any) -> "Graph":
        """The graph of a handle that is C's to free."""
        graph = cls.__new__(cls)
        graph.handle, graph._around, graph._is_left = handle, None, False
        graph._codes, graph._taken, graph._inputs_of = [], [], {}
        return graph

    def copy(self) -> "Graph":
        """A graph of its own with the same nodes: its symbols are found by name."""
        handle = ffi.new("mote_symbolic**")
        checked(lib.mote_symbolic_copy(self.handle, handle))
        made = Graph(_handle=handle[0])
        made._codes += self._codes
        return made

    # ---- graphs inside: a function's graph, while the function is called

    @contextlib.contextmanager
    def _inner(self, name: str) -> Iterator["Graph"]:
        """A new graph to which all that is added to this one goes inside of the `with`."""
        inside, stack = Graph(name, _around=self), _building.__dict__.setdefault("graphs", [])
        stack.append(inside)
        try:
            yield inside
        finally:
            stack.pop()
            inside._is_left = True

    def _is_around(self, graph: "Graph | None") -> bool:
        while graph is not None and graph is not self:
            graph = graph._around
        return graph is self

    def _current(self) -> "Graph":
        """The graph to which nodes are added: this one, or one inside that a function makes now."""
        building = reversed(getattr(_building, "graphs", ()))
        return next((graph for graph in building if self._is_around(graph)), self)

    def _check_known(self) -> None:
        if self._is_left:
            raise Error("the symbol belongs to a function that was called for a loop or a branch: only "
                        "what the function returned is known outside of it")

    def _own(self, x: Symbol) -> Symbol:
        """The symbol, or the input here that stands for one of a graph around."""
        x.graph._check_known()
        if x.graph is self or not x.graph._is_around(self):
            return x  # C refuses one of another graph
        key = x.c["graph"], x.c["index"]
        if key not in self._inputs_of:
            assert self._around is not None  # since x is of a graph around
            outer = self._around._own(x)
            self._taken.append(outer)
            made = self._input_like(outer, "given")
            self._inputs_of[key] = ffi.new("mote_symbol*", made.c)[0]
        return Symbol(self, self._inputs_of[key])

    def _symbol(self, value: Any) -> Symbol:
        """A symbol of this graph: one of it, of a graph around, or an array as a constant."""
        return self._own(value if isinstance(value, Symbol) else self.constant(value))

    def _free_name(self, name: str) -> str:
        """The name, or one like it that no symbol has."""
        known, found, k = set(self.inputs), name, 0
        while found in known:
            k += 1
            found = f"{name}{k}"
        return found

    def _input_like(self, x: Symbol, name: str) -> Symbol:
        """An input of the form of a symbol of the graph around, with its name if it has one."""
        made, name = ffi.new("mote_symbol*"), self._free_name(x.name or name)
        checked(lib.mote_symbolic_input_like(self.handle, name.encode(), x.graph.handle, x.c, made))
        return Symbol(self, made[0])

    # ---- symbols

    def input(self, name: str, dtype: str, shape: Sequence[int] | None = None) -> Symbol:
        """Adds an input, by whose name an array is bound: `g.input("x", "f32", (8, 6))`.

        Without a shape it takes arrays of any: what depends on it is inferred when one is bound.
        Raises Error for a name that the graph has already, and for an unknown dtype.
        """
        made, name_c = ffi.new("mote_symbol*"), encoded("name", name)
        if shape is None:
            checked(lib.mote_symbolic_open_input(self.handle, name_c, dl_dtype(dtype), made))
        else:
            shape_c = extents(shape)
            checked(lib.mote_symbolic_input(self.handle, name_c, dl_dtype(dtype), len(shape_c),
                                            shape_c, made))
        return Symbol(self, made[0])

    def set_shape(self, x: Symbol, shape: Sequence[int]) -> None:
        """Gives an input without a shape one; the shapes of what depends on it follow."""
        shape_c = extents(shape)
        checked(lib.mote_symbolic_set_shape(self.handle, x.c, len(shape_c), shape_c))

    def constant(self, value: Any, name: str | None = None) -> Symbol:
        """A tensor with a value, whose memory is shared and must not change."""
        made, tensor, graph = ffi.new("mote_symbol*"), Tensor.sharing(value), self._current()
        checked(lib.mote_symbolic_constant(graph.handle, name.encode() if name else ffi.NULL,
                                           tensor.handle, made))
        return Symbol(graph, made[0])

    def tensor(self, dtype: str, shape: Sequence[int], *, zeros: bool = False) -> Symbol:
        """A tensor for nodes to write (apply_to, copy_to, fill); with zeros it is 0 where none does."""
        made, graph, shape_c = ffi.new("mote_symbol*"), self._current(), extents(shape)
        checked(lib.mote_symbolic_tensor(graph.handle, ffi.NULL, dl_dtype(dtype), len(shape_c),
                                         shape_c, int(zeros), made))
        return Symbol(graph, made[0])

    @property
    def inputs(self) -> dict[str, Symbol]:
        """The inputs by name, in the order in which they were added."""
        return {x.name: x for x in self._listed_by(lib.mote_symbolic_inputs)}

    @property
    def outputs(self) -> tuple[Symbol, ...]:
        """What set_outputs() was given, or what the text of the graph says behind the arrow."""
        return tuple(self._listed_by(lib.mote_symbolic_outputs))

    def _listed_by(self, function: Any) -> list[Symbol]:
        count = ffi.new("size_t*")
        checked(function(self.handle, ffi.NULL, 0, count))
        symbols = ffi.new("mote_symbol[]", count[0])
        checked(function(self.handle, symbols, count[0], count))
        return [Symbol(self, symbols[k]) for k in range(count[0])]

    def set_outputs(self, outputs: "Symbol | Sequence[Symbol]") -> None:
        """Makes these the outputs, which passes keep and compile() asks for by default."""
        symbols = [y.c for y in symbols_of(outputs, "set_outputs")]
        checked(lib.mote_symbolic_set_outputs(self.handle, symbols, len(symbols)))

    def find(self, name: str) -> Symbol:
        """The tensor of that name. Raises Error if there is none."""
        made = ffi.new("mote_symbol*")
        checked(lib.mote_symbolic_find(self.handle, encoded("name", name), made))
        return Symbol(self, made[0])

    # ---- ops

    def apply(self, op: str, *inputs: Any, outputs: int = 1, **params: Any) -> Any:
        """Adds a node; returns its first output, or a tuple of its first `outputs` outputs.

        Arrays among the inputs are constants; None leaves an optional input out. A parameter that is a
        list is stride0, stride1, …
        """
        graph = self._current()
        given = [NO_SYMBOL if x is None else graph._symbol(x).c for x in inputs]
        made = ffi.new("mote_symbol[]", outputs)
        checked(lib.mote_symbolic_apply(graph.handle, command_text(op, params).encode(), given,
                                        len(given), made, outputs))
        symbols = tuple(Symbol(graph, made[k]) for k in range(outputs))
        return symbols[0] if outputs == 1 else symbols

    def apply_to(self, outputs: "Symbol | Sequence[Symbol | None]", op: str, *inputs: Any,
                 **params: Any) -> None:
        """Adds a node that writes symbols which nothing writes yet: tensors, and views of them.

            y = g.tensor("f32", (2, 4)); g.apply_to(y[0], "tanh", a); g.apply_to(y[1], "tanh", b)

        Raises Error, with both nodes, if an element would be written twice.
        """
        graph = self._current()
        given, to = ([NO_SYMBOL if x is None else graph._symbol(x).c for x in xs]
                     for xs in (inputs, listed(outputs)))
        checked(lib.mote_symbolic_write(graph.handle, command(op, params), given, len(given), to,
                                        len(to)))

    def copy_to(self, x: Any, y: Symbol) -> None:
        """Adds a node that copies x, of any dtype, to a symbol of its shape that nothing writes yet."""
        graph = self._current()
        checked(lib.mote_symbolic_copy_to(graph.handle, graph._symbol(x).c, graph._own(y).c))

    def fill(self, y: Symbol, value: float) -> None:
        """Adds a node that writes a number to all elements of a symbol that nothing writes yet."""
        graph = self._current()
        checked(lib.mote_symbolic_fill(graph.handle, graph._own(y).c, float(value)))

    def order(self, before: Symbol, after: Symbol) -> None:
        """Makes the node that writes `after` begin when the one that writes `before` is done."""
        graph = self._current()
        checked(lib.mote_symbolic_order(graph.handle, graph._own(before).c, graph._own(after).c))

    def depends(self, y: Symbol, x: Symbol) -> bool:
        """True if a node that y needs reads elements of x."""
        answer = ffi.new("int32_t*")
        checked(lib.mote_symbolic_depends(self.handle, y.c, x.c, answer))
        return bool(answer[0])

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda *inputs, **params: self.apply(op, *inputs, **params)

    def verify(self) -> None:
        """Checks the rules of a graph. Raises Error, with the node, if it breaks one."""
        checked(lib.mote_symbolic_verify(self.handle))

    def __str__(self) -> str:
        pointer = ffi.new("const char**")
        checked(lib.mote_symbolic_text(self.handle, pointer))
        return text(pointer[0])


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(name)
    check_op(name)
    return op_function(name, graph_of_symbols, __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *op_names()})
