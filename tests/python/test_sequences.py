# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks over sequences: the bits of their cells, one after the other."""

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels.graphs import Graph

RANDOM = np.random.default_rng(1)
GATES = {"rnn": ((), ()), "lstm": ((4,), (4,)), "gru": ((3,), (4,))}
T, N, C, H = 4, 2, 3, 5


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def weights_of(g, cell, values, name="", features=C):
    """The symbols of a layer; their values are added to `values`."""
    gates, of_b = GATES[cell]
    shapes = {"w": (*gates, H, features), "r": (*gates, H, H), "b": (*of_b, H)}
    for key, shape in shapes.items():
        values[key + name] = f32(*shape)
    return tuple(g.input(key + name, "f32", shape) for key, shape in shapes.items())


def unrolled(g, cell, x, weights, h, c=None):
    """The states of all steps, by the cells."""
    states = []
    for t in range(T):
        if cell == "lstm":
            h, c = g.lstm_cell(x[t], h, c, *weights, outputs=2)
        else:
            h = g.apply(f"{cell}_cell", x[t], h, *weights)
        states.append(h)
    return states, c


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_a_sequence_is_its_cells_bit_for_bit(cell):
    g, values = Graph(), {"x": f32(T, N, C), "h0": f32(N, H)}
    x, h0 = g.input("x", "f32", (T, N, C)), g.input("h0", "f32", (N, H))
    weights, start = weights_of(g, cell, values), {}
    if cell == "lstm":
        start["c"] = c0 = g.input("c0", "f32", (N, H))
        values["c0"] = f32(N, H)
    s = getattr(g, cell)(x, weights, h=h0, **start)
    states, c = unrolled(g, cell, x, weights, h0, start.get("c"))
    assert s.y.shape == (T, N, H) and len(s.h) == 1 and len(s.c) == (cell == "lstm")
    ends = [s.h[0], *s.c], [states[-1], *([c] if cell == "lstm" else [])]
    grads = [g.gradient(of[0], [*weights, x]) for of in ends]
    got = [np.array(t) for t in g.compile([s.y, *ends[0], *grads[0]])(**values)]
    expected = [np.array(t) for t in g.compile([*states, *ends[1], *grads[1]])(**values)]
    np.testing.assert_array_equal(got[0], np.stack(expected[:T]))
    for a, b in zip(got[1:], expected[T:]):
        np.testing.assert_array_equal(a, b)


def test_directions_layers_and_lengths():
    g, values = Graph(), {"x": f32(T, N, C), "lengths": np.int64([4, 2])}
    x, lengths = g.input("x", "f32", (T, N, C)), g.input("lengths", "i64", (N,))
    layers = [weights_of(g, "gru", values, name, features)
              for name, features in (("0", C), ("1", C), ("2", 2 * H), ("3", 2 * H))]
    s = g.gru(x, layers, direction="both", lengths=lengths, checkpoints="sqrt")
    assert s.y.shape == (T, N, 2 * H) and len(s.h) == 4 and s.c == ()
    forwards = g.gru(x, layers[0], lengths=lengths)
    backwards = g.gru(x, layers[1], lengths=lengths, direction="backwards")
    one = g.gru(x, layers[:2], direction="both", lengths=lengths)
    symbols = [s.y, one.y, forwards.y, backwards.y, *one.h, *forwards.h, *backwards.h]
    y, both, first, second, *ends = (np.array(t) for t in g.compile(symbols)(**values))
    np.testing.assert_array_equal(both, np.concatenate([first, second], axis=2))
    np.testing.assert_array_equal(ends[:2], ends[2:])
    assert not y[2:, 1].any() and y[:2, 1].all() and y[:, 0].all()


def test_mistakes_say_what_was_expected():
    g, values = Graph(), {}
    x, weights = g.input("x", "f32", (T, N, C)), weights_of(g, "lstm", {})
    for message, mistake in (
        (r"gru: weights 0, w: expected \[g, H, C\].*|gru: .*", lambda: g.gru(x, weights)),
        ("lstm: weights 0: expected the symbols w, r, b, got", lambda: g.lstm(x, weights[:2])),
        ("lstm: direction: expected forwards, backwards, both, got 'left'",
         lambda: g.lstm(x, weights, direction="left")),
        ("lstm: h: expected 1 states, one for each of the weights, got 2",
         lambda: g.lstm(x, weights, h=[x, x])),
        (r"lstm: lengths: expected i64\[2\], got x f32\[4,2,3\]",
         lambda: g.lstm(x, weights, lengths=x)),
        ("lstm: .*expected", lambda: g.lstm(x[0], weights)),
    ):
        with pytest.raises(mote.Error, match=message):
            mistake()
