# SPDX-License-Identifier: Apache-2.0
"""Gradients, forward mode and checkpoints of symbolic graphs (graphs.py)."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from ._callbacks import done
from ._context import Context
from ._door import Error, checked, ffi, lib, text
from ._executable import number_of
from ._symbol import NO_SYMBOL, Symbol, listed, symbols_of

_POLICIES = ("square_root", "binomial", "budget", "cheap")


@dataclasses.dataclass(frozen=True)
class CheckpointReport:
    """What Graph.checkpoint() did."""

    text: str  #: "square_root: 10 segments, 90 nodes computed again"
    copies: int  #: nodes that were added
    segments: int
    forward_nodes: int
    most_runs: int  #: how often the node that runs the most runs
    copied_bytes: int  #: the bytes that the added nodes read and write


class Gradients:
    """What adds the gradients of a Graph to it, and what they keep."""

    def gradient(self: Any, of: "Symbol | Sequence[Symbol]", wrt: "Symbol | Sequence[Symbol]",
                 seeds: "Symbol | Sequence[Any] | None" = None) -> tuple[Symbol, ...]:
        """Adds the nodes of the gradient of sum_k <seeds[k], of[k]> with respect to each of `wrt`.

        Returns a symbol for each of `wrt`, of its dtype and shape, which can be differentiated again.
        Without seeds all are 1. A symbol stands for a list of one. Raises Unsupported, with the node
        and the path, if an op between has no gradient.
        """
        graph = self._current()
        outputs, inputs = ([graph._own(x).c for x in symbols_of(xs, "gradient")]
                           for xs in (of, wrt))
        given = ffi.NULL
        if seeds is not None:
            given = graph._symbols("gradient: seeds", seeds, len(outputs))
        made = ffi.new("mote_symbol[]", len(inputs))
        checked(lib.mote_symbolic_gradient(graph.handle, outputs, len(outputs), inputs, len(inputs),
                                           given, made))
        return tuple(Symbol(graph, made[k]) for k in range(len(inputs)))

    def jvp(self: Any, of: "Symbol | Sequence[Symbol]", wrt: "Symbol | Sequence[Symbol]",
            tangents: "Symbol | Sequence[Any]") -> tuple[Symbol, ...]:
        """Adds the nodes of the forward mode: how each of `of` changes when `wrt` change by `tangents`.

            (dy,) = g.jvp(y, [x, w], [dx, None])      # J [dx, 0]

        A tangent has the dtype and shape of its symbol; None is 0. Returns a symbol for each of `of`,
        of its dtype and shape, which can be differentiated again. Raises as gradient() does.
        """
        graph = self._current()
        outputs, inputs = ([graph._own(x).c for x in symbols_of(xs, "jvp")] for xs in (of, wrt))
        given = graph._symbols("jvp: tangents", tangents, len(inputs))
        made = ffi.new("mote_symbol[]", len(outputs))
        checked(lib.mote_symbolic_jvp(graph.handle, outputs, len(outputs), inputs, len(inputs), given,
                                      made))
        return tuple(Symbol(graph, made[k]) for k in range(len(outputs)))

    def _symbols(self: Any, what: str, values: Any, count: int) -> list[Any]:
        """So many symbols as C takes them; arrays are constants, and None is left out."""
        given = listed(values)
        if len(given) != count:
            raise Error(f"{what}: expected {count}, got {len(given)}")
        return [NO_SYMBOL if x is None else self._symbol(x).c for x in given]

    def saved(self: Any, of: "Symbol | Sequence[Symbol]",
              gradients: "Symbol | Sequence[Symbol]") -> str:
        """Says what the way back reads of the way forward: a line for each tensor, with its bytes."""
        ends = [[x.c for x in symbols_of(xs, "saved")] for xs in (of, gradients)]
        pointer = ffi.new("const char**")
        checked(lib.mote_symbolic_saved(self.handle, ends[0], len(ends[0]), ends[1], len(ends[1]),
                                        pointer))
        return text(pointer[0])

    def checkpoint(self: Any, losses: "Symbol | Sequence[Symbol]", *,
                   outputs: "Symbol | Sequence[Symbol] | None" = None, policy: str | None = None,
                   slots: int = 0, budget: int | None = None, keep: Sequence[Symbol] = (),
                   context: Context | None = None) -> CheckpointReport:
        """Makes the way back compute values of the way forward again instead of keeping them.

            gradients = g.gradient(loss, weights)
            print(g.checkpoint(loss, outputs=gradients, budget=1 << 20).text)

        losses are the symbols whose gradient the graph holds, outputs what compile() will be asked
        for, by default what set_outputs() was given. Symbols stay what they are, and results keep
        their bits. policy is one of

        - "square_root": about 2*sqrt(n) of n equal layers are kept, no node runs more than twice
        - "binomial": at most `slots` states of a chain are kept
        - "budget": the least is computed again with which the plan takes at most `budget` bytes
        - "cheap": element-wise ops are computed again where fewer bytes are kept; with the context in
          which the graph will run only if that takes at most 1.03 times as long

        By default it is "budget" where a budget is given, "binomial" where slots are, else
        "square_root". `keep` are symbols that are never computed again. Raises Error if the way
        forward is no chain (binomial), and MemoryError, with the fewest bytes that one needs, if no
        policy fits the budget; then the graph is as it was.
        """
        named = "budget" if budget is not None else "binomial" if slots else "square_root"
        options, kept = ffi.new("mote_checkpoint_options*"), [x.c for x in symbols_of(keep, "keep")]
        options.size = ffi.sizeof("mote_checkpoint_options")
        options.policy = number_of("checkpoint: policy", policy or named, _POLICIES)
        options.slots, options.budget = slots, budget or 0
        keeping = ffi.new("mote_symbol[]", kept)
        options.keep, options.keep_count = keeping, len(kept)
        options.context = ffi.NULL if context is None else context.handle
        report = ffi.new("mote_checkpoint_report*")
        of = [y.c for y in symbols_of(losses, "checkpoint")]
        report.size = ffi.sizeof("mote_checkpoint_report")
        before = self.outputs
        if outputs is not None:
            self.set_outputs(outputs)
        try:
            done(lib.mote_symbolic_checkpoint_with(self.handle, of, len(of), options, report))
        except Exception:
            self.set_outputs(before)
            raise
        return CheckpointReport(text(report.text), *(
            getattr(report, f.name) for f in dataclasses.fields(CheckpointReport)[1:]))
