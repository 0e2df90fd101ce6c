# SPDX-License-Identifier: Apache-2.0
"""Graphs of operations on tensors with memory: run again and again, whole or in part (docs/graphs.md).

    g = mote.concrete.Graph()
    g.add("matmul", [x, w], h)       # arrays, which are read and written where they are
    g.add("relu", h, y)
    g.find_order()                   # the second reads what the first writes
    g.run()

Arrays are NumPy's, PyTorch's or Tensors; an array that is written must allow it. The graph keeps their
memory, and copies none. Two arrays are one tensor to it if they begin at one address and have one shape,
dtype and strides; what shares memory otherwise is seen by find_order(). A node is a number.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterable, Sequence

from ._arrays import Tensor, check_memory
from ._callbacks import Code, note, noted, run_code_of
from ._commands import command
from ._context import Context
from ._door import FAILED, OK, checked, ffi, lasting, lib, text
from ._executable import autotuned, untuned

__all__ = ["Graph", "Statistics"]


@dataclasses.dataclass(frozen=True)
class Statistics:
    """The size of a graph, and what its nodes wait for."""

    nodes: int
    edges: int
    waits: int  #: of streams for each other
    events: int
    streams: int
    workspace_bytes: int  #: the most that a node needs


class _Function(Code):
    """A function without tensors, as C calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.handle = function, ffi.new_handle(self)


@lasting
@ffi.callback("mote_status(void*)", error=FAILED, onerror=note)
def _work(argument: Any) -> int:
    code = ffi.from_handle(argument)
    with noted(code):
        code.function()
    return OK


@lasting
@ffi.callback("mote_graph_decision", error=FAILED, onerror=note)
def _decide(argument: Any, counters: Any, count: int, decision: Any) -> int:
    code = ffi.from_handle(argument)
    with noted(code):
        decision[0] = int(code.function(*counters[0:count]))
    return OK


def _listed(arrays: Any) -> list[Any]:
    """The arrays; one alone is not taken for the sequence of its rows."""
    return list(arrays) if isinstance(arrays, (tuple, list)) else [arrays]


def _read(array: Any, what: str) -> Tensor:
    check_memory(array, what, False)
    return Tensor.sharing(array)


def _handles(tensors: Iterable[Tensor | None]) -> list[Any]:
    return [ffi.NULL if t is None else t.handle for t in tensors]


def _address(tensor: Tensor) -> int:
    return int(ffi.cast("uintptr_t", tensor.handle.dl.data)) + tensor.handle.dl.byte_offset


class Graph:
    """A graph of operations on tensors with memory. One thread changes or runs it at a time.

    streams is the most nodes that run at once, for which there must be a context; by default there is
    one of its own. Without find_order() or order() nodes have no order: they may run in any.
    """

    def __init__(self, *, streams: int = 1, context: Context | None = None) -> None:
        self.context = context or (Context() if streams > 1 else None)
        made = ffi.new("mote_graph**")
        checked(lib.mote_graph_create(self.context.handle if self.context else ffi.NULL, streams, made))
        kept = self.context  # it is freed after the graph
        self.handle = ffi.gc(made[0], lambda h, _=kept: lib.mote_graph_free(h))
        self._codes: list[_Function] = []  # C has their addresses
        self._written_at: set[int] = set()  # the addresses of what nodes write
        self._bound_to: dict[int, Any] = {}  # by the address of a placeholder

    def _code(self, function: Callable[..., Any]) -> Any:
        self._codes.append(_Function(function))
        return self._codes[-1].handle

    def _written(self, array: Any, what: str) -> Tensor:
        check_memory(array, what, True)
        tensor = Tensor.sharing(array)
        check_memory(self._bound_to.get(_address(tensor), array), what, True)
        self._written_at.add(_address(tensor))
        return tensor

    def _links(self, inside: "Graph", tensors: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Pairs of arrays here and inside as C takes them, and the tensors that these point to."""
        pairs = []
        for outer, inner in tensors:
            placeholder = _read(inner, "tensors")
            is_written = _address(placeholder) in inside._written_at
            pairs.append((self._written(outer, "tensors: what the body writes") if is_written
                          else _read(outer, "tensors"), placeholder))
        self._written_at |= inside._written_at
        self._codes += inside._codes
        return ffi.new("mote_outer_tensor[]", [{"outer": outer.handle, "inner": inner.handle}
                                               for outer, inner in pairs]), pairs

    def _node(self, function: Any, *arguments: Any) -> int:
        made = ffi.new("mote_graph_node*")
        checked(function(self.handle, *arguments, made))
        return made[0]

    # ---- tensors and nodes

    def placeholder(self, array: Any) -> Any:
        """Makes an array one whose memory bind() replaces, for nodes that are added later; returns it."""
        checked(lib.mote_graph_placeholder(self.handle, _read(array, "placeholder").handle))
        return array

    def bind(self, placeholder: Any, array: Any) -> None:
        """Gives a placeholder other memory of its dtype, shape and strides, for later runs."""
        to = _read(placeholder, "bind")
        if _address(to) in self._written_at:
            check_memory(array, "bind: a placeholder that nodes write", True)
        checked(lib.mote_graph_bind(self.handle, to.handle, _read(array, "bind").handle))
        self._bound_to[_address(to)] = array

    def add(self, op: str, inputs: Any, outputs: Any, **params: Any) -> int:
        """Adds an op on arrays: `g.add("softmax", x, y, axis=1)`. None leaves an optional one out."""
        read = [None if x is None else _read(x, f"{op}: an input") for x in _listed(inputs)]
        written = [None if y is None else self._written(y, f"{op}: an output") for y in _listed(outputs)]
        return self._node(lib.mote_graph_add, command(op, params), _handles(read), len(read),
                          _handles(written), len(written))

    def copy(self, x: Any, y: Any) -> int:
        """Adds a copy of x, of any dtype and strides, to y, of its shape."""
        return self._node(lib.mote_graph_copy, _read(x, "copy: x").handle,
                          self._written(y, "copy: y").handle)

    def fill(self, y: Any, value: float) -> int:
        """Adds a node that writes a number to all elements of y."""
        return self._node(lib.mote_graph_fill, self._written(y, "fill: y").handle, float(value))

    def call(self, function: Callable[[], Any], reads: Any = (), writes: Any = ()) -> int:
        """Adds Python's code, which reads and writes these arrays. What it raises run() raises."""
        read = [_read(x, "call: what is read") for x in _listed(reads)]
        written = [self._written(y, "call: what is written") for y in _listed(writes)]
        return self._node(lib.mote_graph_call, _work, self._code(function), _handles(read), len(read),
                          _handles(written), len(written))

    def order(self, before: int, after: int) -> None:
        """Makes a node begin when another one is done."""
        checked(lib.mote_graph_order(self.handle, before, after))

    def find_order(self) -> None:
        """Adds the edges that follow from memory that nodes share and the order of their adding."""
        checked(lib.mote_graph_find_order(self.handle))

    def remove(self, node: int) -> None:
        """Removes a node and its edges."""
        checked(lib.mote_graph_remove(self.handle, node))

    # ---- loops and branches

    def add_while(self, body: "Graph", condition: Any, *, tensors: Sequence[tuple[Any, Any]] = (),
                  evaluated: Sequence[int] = (), counter: Any = None, limit: int | None = None) -> int:
        """Adds a loop over a body, of which the graph gets a copy.

        condition is an array of one element, a bool or an integer, that nodes of the body write, or a
        function of the numbers of the iterations of all loops around it, the outermost first and its
        own last. In each iteration the nodes that write it, or the evaluated ones, run with all before
        them; then it is looked at; then the others run. What the body writes where it reads it again is
        carried over. `tensors` are pairs of an array here and a placeholder of the body that has its
        memory, counter is an i64[] of the body that gets the number of each iteration; more
        iterations than limit are an error.
        """
        options, kept = ffi.new("mote_loop_options*"), list[Any]()
        options.size = ffi.sizeof("mote_loop_options")
        if callable(condition):
            options.decide, options.argument = _decide, self._code(condition)
        else:
            kept.append(_read(condition, "add_while: condition"))
            options.condition = kept[-1].handle
        if counter is not None:
            kept.append(self._written(counter, "add_while: counter"))
            options.counter = kept[-1].handle
        nodes = ffi.new("mote_graph_node[]", list(evaluated))
        options.evaluated, options.evaluated_count = nodes, len(evaluated)
        options.has_limit, options.limit = int(limit is not None), limit or 0
        links, _pairs = self._links(body, tensors)
        return self._node(lib.mote_graph_add_while, body.handle, links, len(tensors), options)

    def add_case_of(self, index: Any, branches: Sequence[Any], *, reads: Any = (),
                    must_run: bool = False) -> int:
        """Adds a node that runs one of the branches, of which the graph gets copies, or none.

        index is an array of one element, an integer or a bool, or a function of the numbers of the
        iterations of all loops around, which may look at the arrays `reads`. A branch is a graph, or a
        graph and pairs as add_while() has them. A number that is no branch's is an error; where it is
        negative none runs, which is an error with must_run.
        """
        options, kept = ffi.new("mote_choice_options*"), list[Any]()
        options.size, options.must_run = ffi.sizeof("mote_choice_options"), int(must_run)
        if callable(index):
            options.decide, options.argument = _decide, self._code(index)
        else:
            kept.append(_read(index, "add_case_of: index"))
            options.index = kept[-1].handle
        read = [_read(x, "add_case_of: reads") for x in _listed(reads)]
        of = ffi.new("const mote_tensor*[]", _handles(read))
        options.reads, options.read_count = of, len(read)
        c_branches = []
        for branch in branches:
            graph, tensors = branch if isinstance(branch, (tuple, list)) else (branch, ())
            kept.append(self._links(graph, tensors))
            c_branches.append({"graph": graph.handle, "tensors": kept[-1][0],
                               "tensor_count": len(tensors)})
        return self._node(lib.mote_graph_add_case_of, c_branches, len(c_branches), options)

    # ---- running

    def run(self, sources: Sequence[int] = (), destinations: Sequence[int] = ()) -> None:
        """Runs all nodes, or those that lie between sources and destinations, and waits for them.

        No sources, or no destinations, stand for all nodes. What a node's Python code raises is raised
        here. After an error the graph runs again.
        """
        if not sources and not destinations:
            run_code_of(self._codes, lib.mote_graph_run, self.handle)
        else:
            run_code_of(self._codes, lib.mote_graph_run_part, self.handle, list(sources), len(sources),
                        list(destinations), len(destinations))

    def cancel(self) -> None:
        """Makes a run in another thread end before its next node, with an error."""
        checked(lib.mote_graph_cancel(self.handle))

    def autotune(self, seconds: float = 0, rounds: int = 0) -> int:
        """Measures kernels as mote.graphs' Executable.autotune() does; the graph must have a context."""
        return autotuned(lib.mote_graph_autotune, self.handle, seconds, rounds)

    def untuned(self) -> list[str]:
        """Returns the commands that the last autotune() has not measured.

        Their loop or branch has not run since tensors were bound."""
        return untuned(lib.mote_graph_untuned, self.handle)

    def trace(self, on: bool = True) -> None:
        """Makes later runs record when each node ran, for trace_json()."""
        checked(lib.mote_graph_trace(self.handle, int(on)))

    def trace_json(self) -> str:
        """Returns the runs since trace(), for a trace viewer."""
        return self._text(lib.mote_graph_trace_text)

    def dot(self) -> str:
        """Returns the graph in Graphviz's language."""
        return self._text(lib.mote_graph_dot)

    def _text(self, function: Any) -> str:
        pointer = ffi.new("const char**")
        checked(function(self.handle, pointer))
        return text(pointer[0])

    def statistics(self) -> Statistics:
        """How many nodes and edges there are, and what they wait for."""
        found = ffi.new("mote_graph_statistics*")
        found.size = ffi.sizeof("mote_graph_statistics")
        checked(lib.mote_graph_get_statistics(self.handle, found))
        return Statistics(*(getattr(found, f.name) for f in dataclasses.fields(Statistics)))
