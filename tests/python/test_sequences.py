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
    # The loop asks each step's gradient for h: without it the first cell's call would be another one,
    # whose kernel may have other vectors.
    grads = [g.gradient(of[0], [*weights, x, h0]) for of in ends]
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


def whole(*shape):
    """Small whole numbers, of which sums and products of f64 are exact."""
    return RANDOM.integers(-4, 5, shape).astype(np.float64)


@pytest.mark.parametrize("direction", ["forwards", "backwards"])
def test_a_scan_is_a_loop_over_steps(direction):
    g = Graph()
    x, w = g.input("x", "f64", (T, N)), g.input("w", "f64", (N,))
    order = range(T) if direction == "forwards" else range(T - 1, -1, -1)

    def step(total, x):
        following = total * w + x
        return following, following * x

    end, ys = g.scan(step, w, x, direction=direction)
    value, outputs = w, [None] * T
    for t in order:
        value = value * w + x[t]
        outputs[t] = value * x[t]
    assert isinstance(ys, type(x)) and ys.shape == (T, N) and end.shape == (N,)
    loop = [end, ys, *g.gradient([end, ys], [x, w])]
    unrolled = [value, *outputs, *g.gradient([value, *outputs], [x, w])]
    inputs = {"x": whole(T, N), "w": whole(N)}
    got, expected = ([np.array(t) for t in g.compile(of)(**inputs)] for of in (loop, unrolled))
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], np.stack(expected[1:-2]))
    np.testing.assert_array_equal(got[2], expected[-2])
    np.testing.assert_array_equal(got[3], expected[-1])


def test_a_scan_of_several_values_sequences_and_outputs():
    g = Graph()
    x, k = g.input("x", "f64", (T, N)), g.input("k", "i64", (T,))

    def step(carried, given):
        (total, count), (x, k) = carried, given
        return (total + x, count + k), (total, x[0], k)

    (total, count), ys = g.scan(step, (np.zeros(N), np.int64(0)), (x, k), checkpoints="sqrt")
    assert [y.shape for y in ys] == [(T, N), (T,), (T,)] and ys[2].dtype == "i64"
    a, b = whole(T, N), np.arange(T)
    got = [np.array(t) for t in g.compile([total, count, *ys, *g.gradient(total, x)])(x=a, k=b)]
    sums = np.concatenate([np.zeros((1, N)), np.cumsum(a, axis=0)])
    for value, expected in zip(got, (sums[-1], b.sum(), sums[:-1], a[:, 0], b, np.ones((T, N)))):
        np.testing.assert_array_equal(value, expected)


def test_a_scan_of_cells_is_the_sequence_and_runs_with_other_lengths():
    g, values = Graph(), {"h": f32(N, H)}
    x, h = g.input("x", "f32", (T, N, C)), g.input("h", "f32", (N, H))
    weights = weights_of(g, "rnn", values)

    def step(h, x):
        following = g.rnn_cell(x, h, *weights)
        return following, following

    end, ys = g.scan(step, h, x)
    s = g.rnn(x, weights, h=h)
    both = [end, ys, *g.gradient(ys, [x, *weights]), s.h[0], s.y, *g.gradient(s.y, [x, *weights])]
    run = g.compile(both)
    assert "copied between iterations and out of branches: 0 bytes" in run.report()
    for steps in (T, 7, 2):
        got = [np.array(t) for t in run(x=f32(steps, N, C), **values)]
        for scanned, expected in zip(got[:6], got[6:]):
            np.testing.assert_array_equal(scanned, expected)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i64", "bool"])
@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (3,), (2, 2, 2)])
def test_scans_of_any_shape_and_dtype(shape, dtype):
    g = Graph()
    x = g.input("x", dtype, shape)
    n, ys = g.scan(lambda n, x: (n + 1, (x, n)), np.int64(0), x)
    value = (RANDOM.random(shape) * 3).astype({"f32": "f4", "f64": "f8", "i64": "i8"}.get(dtype, "?"))
    count, copy, numbers = g.compile([n, *ys])(x=value)
    assert count.numpy() == shape[0]
    np.testing.assert_array_equal(copy.numpy(), value)
    np.testing.assert_array_equal(numbers.numpy(), np.arange(shape[0]))


def test_steps_are_taken_put_and_added():
    g = Graph()
    x, t = g.input("x", "f64", (3, 2)), g.input("t", "i64", ())
    made = [g.take_step(x, t), g.put_step(x, np.ones(2), t), g.add_step(x, np.ones(2), t),
            g.count_steps(x), *g.gradient(g.take_step(x, t), x)]
    step, a = g.compile(made), whole(3, 2)
    for k in range(3):
        at = np.zeros((3, 1))
        at[k] = 1
        for got, expected in zip(step(x=a, t=np.int64(k)), (a[k], a * (1 - at) + at, a + at, 3,
                                                           np.broadcast_to(at, (3, 2)))):
            np.testing.assert_array_equal(got.numpy(), expected)
    with pytest.raises(mote.Error, match="expected a step of 0 to 2, got 3"):
        step(t=np.int64(3))


def test_mistakes_of_scans():
    g = Graph()
    x, y, z = (g.input(name, "f32", shape) for name, shape in (("x", (T, N)), ("y", (3, N)), ("z", ())))
    keep = lambda c, x: (c, x)  # noqa: E731
    for message, mistake in (
        ("scan: direction: expected forwards, backwards, got 'both'",
         lambda: g.scan(keep, z, x, direction="both")),
        (r"scan: xs: expected sequences \[T, …\] of one T, got \[<mote symbol f32\[4, 2\]>, .*3, 2",
         lambda: g.scan(keep, z, (x, y))),
        (r"scan: xs: expected sequences .*f32\[\]", lambda: g.scan(keep, z, z)),
        ("scan: xs: expected sequences", lambda: g.scan(keep, z, [])),
        ("scan: step must return two things, .* got <mote symbol", lambda: g.scan(lambda c, x: c, z, x)),
        ("scan: step must return 1 values, got 2", lambda: g.scan(lambda c, x: ((c, c), x), z, x)),
        (r"carries over what has another form: .* is f32\[2\], but z is f32\[\]",
         lambda: g.scan(lambda c, x: (c + x, x), z, x)),
        ("step take: expected a sequence", lambda: g.take_step(z, g.constant(np.int64(0)))),
        (r"step put: expected f32\[2\] for a step of f32\[4,2\], got f32\[\]",
         lambda: g.put_step(x, z, g.constant(np.int64(0)))),
    ):
        with pytest.raises(mote.Error, match=message):
            mistake()


def test_mistakes_say_what_was_expected():
    g, values = Graph(), {}
    x, weights = g.input("x", "f32", (T, N, C)), weights_of(g, "lstm", {})
    for message, mistake in (
        (r"gru: weights 0, r: expected f32\[3,5,5\], got r f32\[4,5,5\]", lambda: g.gru(x, weights)),
        ("lstm: weights 0: expected the symbols w, r, b, got", lambda: g.lstm(x, weights[:2])),
        ("lstm: direction: expected forwards, backwards, both, got 'left'",
         lambda: g.lstm(x, weights, direction="left")),
        ("lstm: h: expected 1 states, one for each of the weights, got 2",
         lambda: g.lstm(x, weights, h=[x, x])),
        (r"lstm: lengths: expected i64\[2\], got x f32\[4,2,3\]",
         lambda: g.lstm(x, weights, lengths=x)),
        (r"lstm: x: expected reals \[T, N, C\], got .* f32\[2,3\]", lambda: g.lstm(x[0], weights)),
    ):
        with pytest.raises(mote.Error, match=message):
            mistake()
