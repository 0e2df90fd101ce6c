# SPDX-License-Identifier: Apache-2.0
"""Compiled graphs: how they are compiled, their runs, and what their plans say (graphs.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from ._arrays import Tensor, check_memory, dl_dtype
from ._callbacks import done, run_code_of
from ._context import Context
from ._door import Error, Texts, checked, ffi, lib, text
from ._symbol import Symbol, listed, symbols_of

if TYPE_CHECKING:
    from .graphs import Graph

FORMATS = {"text": 0, "json": 1, "svg": 2, "dot": 3, "trace": 4}
_ORDERS = ("least", "program", "depth_first", "greedy")
_PLANNERS = ("packing", "seed")


def number_of(what: str, name: str, names: Sequence[str]) -> int:
    """The position of a name. Raises Error, which lists the names, if it is none of them."""
    if name not in names:
        raise Error(f"{what}: expected {', '.join(names)}, got {name!r}")
    return list(names).index(name)


def compile_options(graph: "Graph", outputs: Any, *, streams: int = 1,
                    passes: Sequence[str] | None = None, order: str = "least",
                    planner: str = "packing", in_place: bool = True, separate: bool = False,
                    poison: bool = False, inexact: bool = False,
                    without_nan: bool = False, bound: Sequence[Symbol] = (),
                    largest: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
    """mote_compile_options, and the memory that they point to. Graph.compile() describes each."""
    kept = Texts()
    options = ffi.new("mote_compile_options*")
    options.size, options.streams = ffi.sizeof("mote_compile_options"), streams
    symbols = graph.outputs if outputs is None else symbols_of(outputs, "outputs")
    options.outputs = kept.keep(ffi.new("mote_symbol[]", [y.c for y in symbols]))
    options.output_count = len(symbols)
    written = [y.c for y in symbols_of(bound, "bound")]
    options.bound = kept.keep(ffi.new("mote_symbol[]", written))
    options.bound_count = len(written)
    options.not_in_place, options.separate = int(not in_place), int(separate)
    options.poison = int(poison)
    options.inexact, options.without_nan = int(inexact), int(without_nan)
    options.order = number_of("order", order, _ORDERS)
    options.planner = number_of("planner", planner, _PLANNERS)
    if passes is not None:
        # An empty list of passes is not NULL, which stands for those of mote.
        options.passes = kept.texts(list(passes)) or kept.keep(ffi.new("const char*[1]"))
        options.pass_count = len(passes)
    inputs = [graph.find(name) for name in largest or {}]
    tensors = [kept.keep(_without_data(form)) for form in (largest or {}).values()]
    options.largest_inputs = kept.keep(ffi.new("mote_symbol[]", [x.c for x in inputs]))
    options.largest = kept.keep(ffi.new("const mote_tensor*[]", [t.handle for t in tensors]))
    options.largest_count = len(inputs)
    return options, kept


def autotuned(function: Any, handle: Any, seconds: float, rounds: int) -> int:
    """Measures the kernels of an executable or a graph; returns the number of commands."""
    options, commands = ffi.new("mote_tuning_options*"), ffi.new("size_t*")
    options.size, options.seconds = ffi.sizeof("mote_tuning_options"), seconds
    options.rounds = rounds
    checked(function(handle, options, commands))
    return commands[0]


def untuned(function: Any, handle: Any) -> list[str]:
    """Returns the commands that the last measurement left out."""
    text = ffi.new("const char**")
    checked(function(handle, text))
    return ffi.string(text[0]).decode().splitlines()


def _without_data(form: Any) -> Tensor:
    """A tensor of that form, whose data nothing reads."""
    from ._functions import form_of

    (dtype, shape), made = form_of(form), ffi.new("mote_tensor**")
    checked(lib.mote_tensor_over(ffi.NULL, dl_dtype(dtype), len(shape), list(shape), ffi.NULL, made))
    return Tensor(made[0])


class Executable:
    """A compiled graph: `step(x=images, w=weights)` runs it."""

    def __init__(self, graph: "Graph", outputs: Any = None, context: Context | None = None,
                 **options: Any) -> None:
        self.graph = graph
        self.outputs: list[Symbol] = list(graph.outputs) if outputs is None else listed(outputs)
        self.context = context or Context()
        given, _kept = compile_options(graph, self.outputs, **options)
        self._written = {y.c["index"] for y in listed(options.get("bound", ()))}
        handle = ffi.new("mote_executable**")
        done(lib.mote_symbolic_compile(graph.handle, given, self.context.handle, handle))
        context_kept = self.context
        self.handle = ffi.gc(handle[0],
                             lambda h, _=context_kept: lib.mote_executable_free(h))
        self._bound: dict[int, Tensor] = {}
        self._codes = list(graph._codes)

    def bind(self, symbol: "str | Symbol", value: Any) -> None:
        """Binds an input, or an output of `bound`, for the next runs, by its name or its symbol.

        Its memory is read, or written, there, without a copy. (Of an input whose strides are no whole
        elements, as those of a field of a structured array, a copy is bound.)
        """
        of = symbol if isinstance(symbol, Symbol) else self.graph.find(symbol)
        if of.c["index"] in self._written:
            check_memory(value, "bind: an output", True)
        tensor = Tensor.over(value)
        checked(lib.mote_executable_bind(self.handle, of.c, tensor.handle))
        self._bound[of.c["index"]] = tensor

    def __call__(self, **inputs: Any) -> tuple[Tensor, ...]:
        """Binds the inputs, runs, and returns the outputs: tensors in the plan's memory.

        Their elements stay until the next run, and longer in copies: `np.array(y)`. What Python's code
        in a node raises is raised here.
        """
        for name, value in inputs.items():
            self.bind(name, value)
        run_code_of(self._codes, lib.mote_executable_run, self.handle)
        return tuple(self._output(y) for y in self.outputs)

    def _output(self, symbol: Symbol) -> Tensor:
        made = ffi.new("mote_tensor**")
        checked(lib.mote_executable_output(self.handle, symbol.c, made))
        return Tensor(made[0], self)

    def cancel(self) -> None:
        """Makes a run in another thread end before its next node, with an error."""
        checked(lib.mote_executable_cancel(self.handle))

    def trace(self, on: bool = True) -> None:
        """Makes later runs record when each node ran: report("trace") shows them."""
        checked(lib.mote_executable_trace(self.handle, int(on)))

    def autotune(self, seconds: float = 0, rounds: int = 0) -> int:
        """Measures the kernels of each command on copies of its tensors; later runs use the fastest.

        Inputs must be bound. It takes about that time for each command, by default a second, with at
        most so many measurements of each kernel, by default 7. Returns the number of commands: all but
        those of untuned().
        """
        return autotuned(lib.mote_executable_autotune, self.handle, seconds, rounds)

    def untuned(self) -> list[str]:
        """Returns the commands that the last autotune() has not measured.

        Their loop or branch has not run since tensors were bound."""
        return untuned(lib.mote_executable_untuned, self.handle)

    def report(self, format: str = "text") -> str:
        """Returns what was compiled: passes, nodes in their order, the plan of memory.

        format is "text", "json", "svg" (memory over time), "dot" (for Graphviz) or "trace" (the runs
        since trace(), for a trace viewer).
        """
        pointer = ffi.new("const char**")
        number = number_of("report", format, tuple(FORMATS))
        checked(lib.mote_executable_report(self.handle, number, pointer))
        return text(pointer[0])

    @property
    def bytes(self) -> int:
        """The bytes of the planned memory."""
        planned = ffi.new("size_t*")
        checked(lib.mote_executable_bytes(self.handle, planned, ffi.NULL))
        return planned[0]

    def _repr_html_(self) -> str:
        return self.report("svg")


class Compiling:
    """What compiles and runs a Graph."""

    def compile(self: Any, outputs: "Symbol | Sequence[Symbol] | None" = None, *,
                context: Context | None = None, **options: Any) -> Executable:
        """Compiles the graph: an order, kernels, and one memory for all tensors.

        outputs are what a run gives, by default those of the graph. The context has the kernels, by
        default mote's own. Options, none of which but the last two changes a bit of the results:

        - streams: the number of threads that nodes are shared among, by default 1
        - passes: names of those that run first, by default default_passes()
        - order: "least" (of memory), "program", "depth_first" or "greedy"
        - planner: of memory, "packing" or "seed"
        - in_place=False: no output takes the memory of an input
        - separate=True: each tensor has memory of its own; poison=True: memory is filled with NaN
          before it is written; both find faults
        - bound: outputs whose memory Executable.bind() gives
        - largest: {"x": ("f32", (64, 8))}, the largest forms of inputs, for which memory is planned
          once
        - inexact=True: passes may change how results are rounded; a backend computes whole sequences
        - without_nan=True: no tensor holds a NaN or an infinity, or any result is accepted then
        """
        return Executable(self, outputs, context, **options)

    def plan(self: Any, outputs: "Symbol | Sequence[Symbol] | None" = None, *, format: str = "text",
             context: Context | None = None, **options: Any) -> str:
        """Returns what compile() would plan, which takes no memory: as "text", "json" or "svg"."""
        number = number_of("plan", format, [f for f in FORMATS if f not in ("dot", "trace")])
        context, pointer = context or Context(), ffi.new("const char**")
        given, _kept = compile_options(self, outputs, **options)
        done(lib.mote_symbolic_plan(self.handle, given, context.handle, number, pointer, ffi.NULL,
                                    ffi.NULL))
        return text(pointer[0])

    def evaluate(self: Any, outputs: "Symbol | Sequence[Symbol] | None" = None,
                 **inputs: Any) -> tuple[Tensor, ...]:
        """Runs the nodes one by one, each tensor in memory of its own: what compile() is checked by."""
        self.verify()
        asked = list(self.outputs) if outputs is None else symbols_of(outputs, "evaluate")
        given = [(self.find(name), Tensor.over(value)) for name, value in inputs.items()]
        made = ffi.new("mote_tensor*[]", len(asked))
        done(lib.mote_symbolic_evaluate(self.handle, ffi.NULL, [x.c for x, _ in given],
                                        [t.handle for _, t in given], len(given),
                                        [y.c for y in asked], len(asked), made))
        return tuple(Tensor(one) for one in made)
