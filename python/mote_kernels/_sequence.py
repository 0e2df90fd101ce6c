# SPDX-License-Identifier: Apache-2.0
"""Loops over the steps of sequences in symbolic graphs (graphs.py): scans, and recurrent networks."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Sequence

from ._arrays import numpy_dtype
from ._control import checkpoints_of
from ._door import Error, checked, ffi, lib
from ._executable import number_of
from ._lazy import Lazy
from ._symbol import Symbol, is_one, listed

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")  # an import of this package does not wait for it

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


def _zeros(x: Symbol, dtype: str, shape: tuple[int, ...]) -> Symbol:
    """Zeros [T, *shape] for x [T, …]: they are computed from x, so that T is that of the run."""
    count, ones, column = x.shape[0], [1] * len(shape), x
    if 0 in x.shape[1:]:
        return x.graph.constant(np.zeros((count, *shape), numpy_dtype(dtype)))
    while len(column.shape) > 1:
        column = column.select(1, 0)
    column = column.convert("f32")
    never = x.graph.apply("less", column, column).convert(dtype)
    return never.reshape(count, *ones).broadcast_to(count, *shape)._in_rows()


class Sequences:
    """The steps of sequences [T, …] in a Graph, its scans and recurrent networks."""

    def take_step(self: Any, x: Symbol, t: Symbol) -> Symbol:
        """y = x[t], for a number t, an i64[], that is known when the graph runs.

        The gradient of a loop adds to one step of that of x, and to no other.
        """
        return self._step("take_step", x, t)

    def put_step(self: Any, y: Symbol, v: Symbol, t: Symbol) -> Symbol:
        """z = y, but z[t] = v; in place where a loop carries y over."""
        return self._step("put_step", y, v, t)

    def add_step(self: Any, y: Symbol, v: Symbol, t: Symbol) -> Symbol:
        """z = y, but z[t] = y[t] + v; in place where a loop carries y over."""
        return self._step("add_step", y, v, t)

    def count_steps(self: Any, x: Symbol) -> Symbol:
        """T, an i64[], of x [T, …], also where the graph runs with another T."""
        return self._step("count_steps", x)

    def _step(self: Any, name: str, *symbols: Any) -> Symbol:
        graph, made = self._current(), ffi.new("mote_symbol*")
        function = getattr(lib, f"mote_symbolic_{name}")
        checked(function(graph.handle, *(graph._symbol(x).c for x in symbols), made))
        return Symbol(graph, made[0])

    def scan(self: Any, step: Callable[..., Any], values: Any, xs: Any, *, direction: str = "forwards",
             checkpoints: "int | str" = 0) -> tuple[Any, Any]:
        """Adds a loop over the steps of sequences; returns the values at its end, and all outputs.

            for t in range(T):                       # from T - 1 to 0 backwards
                values, ys[t] = step(values, xs[t])

            total, sums = g.scan(lambda s, x: (s + x, s + x), zero, x)      # sums [T, …]

        xs is a sequence [T, …], or several of one T; values are carried over, one or several. step gets
        them as they are, one symbol or a tuple, and returns the next values, of the same forms, and
        what ys gets at this step, one symbol or several. It is called twice: the first time says the
        forms of ys. The compiled graph runs with sequences of any T. checkpoints are those of
        while_loop(), and so are the errors.
        """
        graph, is_back = self._current(), number_of("scan: direction", direction, _DIRECTIONS[:2]) == 1
        sequences = [graph._symbol(x) for x in listed(xs)]
        if not sequences or len({x.shape[:1] for x in sequences}) != 1 or not sequences[0].shape:
            raise Error(f"scan: xs: expected sequences [T, …] of one T, got {sequences!r}")
        carried = [graph._symbol(value) for value in listed(values)]

        def called(inside: Any, given: Sequence[Symbol], t: Symbol) -> tuple[list[Any], Any]:
            steps = tuple(inside.take_step(x, t) for x in sequences)
            returned = step(given[0] if is_one(values) else tuple(given),
                            steps[0] if is_one(xs) else steps)
            if not isinstance(returned, (tuple, list)) or len(returned) != 2:
                raise Error("scan: step must return two things, the next values and the outputs, got "
                            f"{returned!r}")
            return listed(returned[0]), returned[1]

        with graph._inner("forms") as scratch:
            _, outputs = called(scratch, [scratch._own(x) for x in carried], scratch.tensor("i64", ()))
            forms = [(y.dtype, y.shape) for y in map(scratch._symbol, listed(outputs))]
        count = graph.count_steps(sequences[0])
        starts = [_zeros(sequences[0], dtype, shape) for dtype, shape in forms]

        def body(*given: Symbol) -> list[Any]:
            t = count - 1 - given[-1] if is_back else given[-1]
            inside = self._current()
            following, outputs = called(inside, given[:len(carried)], t)
            if len(following) != len(carried):
                raise Error(f"scan: step must return {len(carried)} values, got {len(following)}")
            ys = [inside.put_step(y, inside._symbol(v), t)
                  for y, v in zip(given[len(carried):-1], listed(outputs))]
            return [*following, *ys]

        ends = graph.for_loop(count, body, [*carried, *starts], checkpoints=checkpoints)
        last, ys = ends[:len(carried)], ends[len(carried):]
        return last[0] if is_one(values) else last, ys[0] if is_one(outputs) else ys

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
        last = [tuple(Symbol(graph, of[k]) for k in range(len(layers))) for of in ends]
        return RecurrentSequence(Symbol(graph, y[0]), last[0], last[1] if has_c else ())
