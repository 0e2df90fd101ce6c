# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks over sequences, as loops of symbolic graphs (graphs.py)."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

from ._control import checkpoints_of
from ._door import Error, checked, ffi, lib
from ._executable import number_of
from ._symbol import Symbol, listed

_CELLS = ("rnn", "lstm", "gru")
_DIRECTIONS = ("forwards", "backwards", "both")


@dataclasses.dataclass(frozen=True)
class RecurrentSequence:
    """What a recurrent network gives."""

    y: Symbol  #: of the last layer: [T, N, H], or [T, N, 2H] with both directions
    h: tuple[Symbol, ...]  #: the states [N, H] at the end, one for each of the weights
    c: tuple[Symbol, ...]  #: likewise, of an LSTM


def _weights(weights: Any, cell: str) -> list[Any]:
    """The three symbols of each layer; those of one layer alone are a list of one."""
    layers = list(weights)
    layers = [layers] if layers and isinstance(layers[0], Symbol) else [list(of) for of in layers]
    for k, layer in enumerate(layers):
        if len(layer) != 3 or not all(isinstance(x, Symbol) for x in layer):
            raise Error(f"{cell}: weights {k}: expected the symbols w, r, b, got {layer!r}")
    return layers


class Sequences:
    """The recurrent networks of a Graph."""

    def rnn(self, x: Symbol, weights: Any, **options: Any) -> RecurrentSequence:
        """Adds an RNN over a sequence: lstm() describes it. w is [H, C], r [H, H], b [H]."""
        return self._sequence("rnn", x, weights, **options)

    def gru(self, x: Symbol, weights: Any, **options: Any) -> RecurrentSequence:
        """Adds a GRU over a sequence: lstm() describes it. w is [3, H, C], r [3, H, H], b [4, H]."""
        return self._sequence("gru", x, weights, **options)

    def lstm(self, x: Symbol, weights: Any, **options: Any) -> RecurrentSequence:
        """Adds an LSTM over a sequence x [T, N, C], as a loop for each layer and direction.

            s = g.lstm(x, (w, r, b))      # s.y [T, N, H], s.h[0] and s.c[0] [N, H]

        weights are (w [4, H, C], r [4, H, H], b [4, H]), or a list of such for several layers; with
        both directions each layer has two, forwards first. Options:

        - direction: "forwards", "backwards" or "both"
        - lengths: i64[N], the number of steps of each row; behind them y is 0 and the state stays
        - h, c: the states [N, H] at the beginning, one for each of the weights; by default 0
        - checkpoints: of each loop, as while_loop() has them

        Raises Error, with what was given and expected, where shapes do not fit.
        """
        return self._sequence("lstm", x, weights, **options)

    def _sequence(self: Any, cell: str, x: Symbol, weights: Any, *, direction: str = "forwards",
                  lengths: Symbol | None = None, h: "Symbol | Sequence[Symbol] | None" = None,
                  c: "Symbol | Sequence[Symbol] | None" = None,
                  checkpoints: "int | str" = 0) -> RecurrentSequence:
        graph = self._current()
        layers, options = _weights(weights, cell), ffi.new("mote_sequence_options*")
        options.size = ffi.sizeof("mote_sequence_options")
        options.direction = number_of(f"{cell}: direction", direction, _DIRECTIONS)
        options.checkpoints = checkpoints_of(checkpoints)
        if lengths is not None:
            options.lengths = graph._own(lengths).c
        kept = []
        for name, states in (("h", h), ("c", c)):
            if states is None:
                continue
            symbols = [graph._own(state).c for state in listed(states)]
            if len(symbols) != len(layers):
                raise Error(f"{cell}: {name}: expected {len(layers)} states, one for each of the "
                            f"weights, got {len(symbols)}")
            kept.append(ffi.new("mote_symbol[]", symbols))
            setattr(options, name, kept[-1])
        sets = [dict(zip("wrb", (graph._own(x).c for x in layer))) for layer in layers]
        y, ends = ffi.new("mote_symbol*"), [ffi.new("mote_symbol[]", len(layers)) for _ in "hc"]
        has_c = cell == "lstm"
        checked(lib.mote_symbolic_sequence(graph.handle, _CELLS.index(cell), graph._own(x).c, sets,
                                           len(sets), options, y, ends[0],
                                           ends[1] if has_c else ffi.NULL))
        states = [tuple(Symbol(graph, of[k]) for k in range(len(layers))) for of in ends]
        return RecurrentSequence(Symbol(graph, y[0]), states[0], states[1] if has_c else ())
