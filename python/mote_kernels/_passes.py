# SPDX-License-Identifier: Apache-2.0
"""Passes on symbolic graphs (graphs.py): which there are, those of the program's own, what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from ._callbacks import address_of, done, note, release
from ._context import Context
from ._door import FAILED, OK, Error, Texts, checked, ffi, lasting, lib, text
from ._symbol import Symbol

if TYPE_CHECKING:
    from .graphs import Graph


def _names(function: Any) -> tuple[str, ...]:
    count = ffi.new("size_t*")
    checked(function(ffi.NULL, 0, count))
    names = ffi.new("const char*[]", count[0])
    checked(function(names, count[0], count))
    return tuple(map(text, names))


def passes() -> dict[str, str]:
    """The passes by name, each with a sentence that says what it does."""
    summary, found = ffi.new("const char**"), {}
    for name in _names(lib.mote_pass_names):
        checked(lib.mote_pass_summary(name.encode(), summary))
        found[name] = text(summary[0])
    return found


def default_passes() -> tuple[str, ...]:
    """The passes that compiling runs, in their order."""
    return _names(lib.mote_default_passes)


@lasting
@ffi.callback("mote_status(void*, mote_symbolic*)", error=FAILED, onerror=note)
def _run(argument: Any, handle: Any) -> int:
    ffi.from_handle(argument)(handle)
    return OK


def register_pass(name: str, function: "Callable[[Graph], Any]", summary: str = "") -> None:
    """Adds a pass, for Graph.apply_passes() and the option `passes` of compile(), for all graphs.

    function(graph) changes the graph, by Graph's methods: nodes(), node_command(), node_inputs(),
    apply(), replace_uses(), remove(). It is called for the graphs of loops and branches too, must keep
    the results, and may use the graph until it returns. What it raises is raised by the call that ran
    the pass, and the graph is as it was. Raises Error for a name that there is.
    """
    from .graphs import Graph

    def run(handle: Any) -> None:
        graph = Graph._lent(handle)
        try:
            function(graph)
        finally:
            graph.handle = ffi.NULL  # an error, not a crash, if the function has kept it

    kept, definition = Texts(), ffi.new("mote_pass*")
    definition.size, definition.name = ffi.sizeof("mote_pass"), kept.text(name)
    definition.summary, definition.run = kept.text(summary), _run
    definition.argument = address_of(run)
    try:
        checked(lib.mote_register_pass(definition))
    except Error:
        release(definition.argument)
        raise


def register_replacement(name: str, pattern: str, by: str, *, exact: bool = False,
                         reason: str = "") -> None:
    """Adds a row to the table of the pass replace: commands that one command replaces.

        register_replacement("even", "graph p(x f32[?]) -> (y)\\n  h = neg(x)\\n  y = abs(h)",
                             "graph r(x f32[?]) -> (y)\\n  y = abs(x)", exact=True)

    Both are the text of a graph, with the same inputs and one output. `exact` says that results are
    equal bit for bit, so that compiling uses it, else apply_passes(inexact=True) does; `reason` says why
    it is exact, or where results differ. Raises Error for texts that are none, and a name that there is.
    """
    kept, row = Texts(), ffi.new("mote_replacement*")
    row.size, row.name = ffi.sizeof("mote_replacement"), kept.text(name)
    row.pattern, row.by, row.reason = kept.text(pattern), kept.text(by), kept.text(reason)
    row.is_exact = int(exact)
    checked(lib.mote_register_replacement(row))


class Passes:
    """What runs passes on a Graph, and what passes need of one."""

    def apply_passes(self: Any, names: Sequence[str] | None = None, *, inexact: bool = False,
                     verify: bool = False, fold_bytes: int = 0,
                     context: Context | None = None) -> list[str]:
        """Runs passes on the graph, by default those of compiling; returns a line for each run.

            g.set_outputs([y]); g.apply_passes(["merge", "prune"])    # ["merge: 3 nodes removed", …]

        They run in that order, but one that another requires runs before it. No pass changes a bit of
        a result unless inexact is true: then another rounding may follow. What no output needs is
        removed if the graph has outputs. verify checks the graph after each pass; fold_bytes is the
        most bytes of a tensor that is computed ahead, by default 2**20; the context is the one in which
        the graph will run. Raises Error for an unknown name, with similar ones; then, as after any
        error, the graph is as it was.
        """
        kept, asked = Texts(), list(default_passes() if names is None else names)
        options, lines = ffi.new("mote_pass_options*"), ffi.new("const char**")
        options.size, options.fold_bytes = ffi.sizeof("mote_pass_options"), fold_bytes
        options.inexact, options.verify = int(inexact), int(verify)
        options.context = ffi.NULL if context is None else context.handle
        done(lib.mote_symbolic_apply_passes_with(self.handle, kept.texts(asked), len(asked),
                                                 options, lines))
        return text(lines[0]).splitlines()

    def replace_uses(self: Any, symbol: Symbol, by: Symbol) -> None:
        """Makes all that reads a symbol, and the graph's outputs, read another one of its form."""
        checked(lib.mote_symbolic_replace_uses(self.handle, symbol.c, by.c))

    def nodes(self: Any) -> list[Symbol]:
        """The nodes in an order in which they can run, each as the first symbol that it writes."""
        return self._listed_by(lib.mote_symbolic_nodes)

    def node_command(self: Any, written: Symbol) -> str | None:
        """The command of the node that writes the symbol, "softmax axis=1"; None for a copy, a loop, …"""
        pointer = ffi.new("const char**")
        checked(lib.mote_symbolic_node_command(self.handle, written.c, pointer))
        return None if pointer[0] == ffi.NULL else text(pointer[0])

    def node_inputs(self: Any, written: Symbol) -> list[Symbol | None]:
        """The inputs of the node that writes the symbol; None for one that is left out."""
        def inputs(handle: Any, symbols: Any, room: int, count: Any) -> int:
            return lib.mote_symbolic_node_inputs(handle, written.c, symbols, room, count)

        return [x if x.c["graph"] else None for x in self._listed_by(inputs)]

    def remove(self: Any, written: Symbol) -> None:
        """Removes the node that writes the symbol.

        Nothing may read what it writes: verify(), compile() and evaluate() refuse a graph that does.
        """
        checked(lib.mote_symbolic_remove(self.handle, written.c))
