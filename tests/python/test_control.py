# SPDX-License-Identifier: Apache-2.0
"""Loops and branches of symbolic graphs from Python: functions of symbols, against unrolled graphs."""

import gc

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels import dynamic, graphs
from mote_kernels.graphs import Graph

RANDOM = np.random.default_rng(1)


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def run(symbols, **inputs):
    """The values of symbols of one graph, from a compiled run that evaluate() confirms."""
    g = symbols[0].graph
    values = [np.array(t) for t in g.compile(symbols)(**inputs)]
    for got, expected in zip(values, g.evaluate(symbols, **inputs)):
        np.testing.assert_array_equal(got, expected.numpy())
    return values


def test_a_loop_and_its_gradients_are_those_of_the_unrolled_graph():
    g = Graph()
    x, w = g.input("x", "f32", (2, 3)), g.input("w", "f32", (3, 3))
    loop = g.for_loop(5, lambda y, k: graphs.tanh(y @ w), x)
    unrolled = x
    for _ in range(5):
        unrolled = graphs.tanh(unrolled @ w)
    assert loop.shape == (2, 3) and loop.dtype == "f32"
    symbols = [loop, *g.gradient(loop, [x, w]), unrolled, *g.gradient(unrolled, [x, w])]
    values = run(symbols, x=f32(2, 3), w=f32(3, 3))
    for got, expected in zip(values[:3], values[3:]):
        np.testing.assert_array_equal(got, expected)


def test_a_loop_runs_as_often_as_its_condition_says():
    g = Graph()
    x, limit = g.input("x", "f64", (2,)), g.input("limit", "f64", ())
    total, steps = g.while_loop(lambda x, n: graphs.reduce_max(x, axis=0) < limit,
                                lambda x, n: (x * 2, n + 1), (x, np.int64(0)))
    (slope,) = g.gradient(total, x)
    for most, times in ((100, 6), (2, 0), (3, 1)):
        values = run([total, steps, slope], x=np.float64([1, 2]), limit=np.float64(most))
        np.testing.assert_array_equal(values[0], np.float64([1, 2]) * 2**times)
        assert values[1] == times
        np.testing.assert_array_equal(values[2], np.full(2, 2.0**times))


def test_one_value_gives_a_symbol_and_a_sequence_a_tuple():
    g = Graph()
    x = g.input("x", "f32", (2,))
    assert isinstance(g.for_loop(1, lambda y, k: y, x), graphs.Symbol)
    assert isinstance(g.for_loop(1, lambda y, k: y, np.ones(2)), graphs.Symbol)
    assert isinstance(g.for_loop(1, lambda y, k: y, [x]), tuple)
    y, z = g.for_loop(2, lambda y, z, k: (z, y + z), (x, x))
    values = run([y, z], x=np.float32([1, 2]))
    np.testing.assert_array_equal(values, np.float32([[2, 4], [3, 6]]))


def test_the_number_of_the_iteration_and_a_count_of_the_graph():
    g = Graph()
    x, n = g.input("x", "f64", (2,)), g.input("n", "i64", ())
    y = g.for_loop(n, lambda y, k: y + k.convert("f64"), x)
    z = g.while_loop(lambda z, k: k < n, lambda z, k: z * (k + 1).convert("f64"), x, counter=True)
    assert "tensor" not in str(g)  # what has stood for the number is gone
    for count in (0, 1, 5):
        values = run([y, z], x=np.ones(2), n=np.int64(count))
        assert values[0][0] == 1 + sum(range(count))
        assert values[1][1] == np.prod(np.arange(1, count + 1), dtype=np.float64)


def test_symbols_around_are_inputs_once_and_keep_their_strides():
    g = Graph()
    x, w = g.input("x", "f32", (3, 2)), g.input("w", "f32", (3, 2))
    columns = w.permute(1, 0)
    y = g.for_loop(3, lambda y, k: y + columns + columns * 2 + w[0].reshape(2, 1), x.permute(1, 0))
    text = str(g)
    assert text.count("f32[2,3]:1,2") == 1, text  # the body's input for `columns`
    step = g.compile(y)
    assert "copied between iterations and out of branches: 0 bytes" in step.report()
    a, b = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32([[1, 0], [2, 1], [0, 3]])
    (got,) = step(x=a, w=b)
    np.testing.assert_array_equal(got.numpy(), a.T + 3 * (3 * b.T + b[0][:, None]))


def test_next_values_may_be_views_numbers_and_what_stays():
    g = Graph()
    x, n = g.input("x", "f32", (2, 2)), g.input("n", "f32", ())
    assert g.for_loop(2, lambda y, k: 0.5, n).shape == ()
    turned, last, kept = g.for_loop(3, lambda x, a, b, k: (x.permute(1, 0), 7, n), (x, n, n))
    value = np.float32([[1, 2], [3, 4]])
    values = run([turned, last, kept], x=value, n=np.float32(5))
    np.testing.assert_array_equal(values[0], value.T)
    assert values[1] == 7 and values[2] == 5


def test_loops_and_branches_inside_of_loops():
    g = Graph()
    x, w = g.input("x", "f64", (2,)), g.input("w", "f64", (2,))

    def outer(y, k):
        inner = g.for_loop(k, lambda z, j: z * w + y, y)  # w of two graphs around, y of one
        return g.cond(k < 2, lambda: inner, lambda: inner - y)

    def expected(y):
        for k in range(4):
            z = y
            for _ in range(k):
                z = z * np.float64([2, 3]) + y
            y = z if k < 2 else z - y
        return y

    y = g.for_loop(4, outer, x)
    (slope,) = g.gradient(y, x)
    start = np.float64([1, 2])
    values = run([y, slope], x=start, w=np.float64([2, 3]))
    np.testing.assert_array_equal(values[0], expected(start))
    np.testing.assert_array_equal(values[1], expected(start) / start)  # it is linear in x


def test_a_limit_is_an_error_of_the_run():
    g = Graph()
    x = g.input("x", "f32", ())
    step = g.compile(g.while_loop(lambda x: x < 50, lambda x: x + 1, x, limit=3))
    assert step(x=np.float32(47))[0].numpy() == 50
    with pytest.raises(mote.Error, match="its limit is 3"):
        step(x=np.float32(46))
    assert step(x=np.float32(60))[0].numpy() == 60


@pytest.mark.parametrize("checkpoints", ["sqrt", 3])
def test_checkpoints_of_a_loop_keep_the_bits(checkpoints):
    g = Graph()
    x, w = g.input("x", "f32", (2, 3)), g.input("w", "f32", (3, 3))
    body = lambda y, k: graphs.tanh(y @ w)  # noqa: E731
    kept = g.for_loop(20, body, x)
    again = g.for_loop(20, body, x, checkpoints=checkpoints)
    assert f"checkpoint {checkpoints}" in str(g)
    values = run([*g.gradient(kept, [x, w]), *g.gradient(again, [x, w])], x=f32(2, 3), w=f32(3, 3))
    np.testing.assert_array_equal(values[0], values[2])
    np.testing.assert_array_equal(values[1], values[3])


def test_a_branch_is_chosen_by_its_index():
    g = Graph()
    x, k = g.input("x", "f64", (2,)), g.input("k", "i64", ())
    y = g.case_of(k, [lambda x: x * x, lambda x: x * 3, lambda x: graphs.neg(x)], x, otherwise=x + 1)
    (slope,) = g.gradient(y, x)
    step, value = g.compile([y, slope]), np.float64([2, 5])
    for index, expected, change in ((-1, value + 1, 1), (0, value**2, 2 * value), (1, value * 3, 3),
                                    (2, -value, -1)):
        got, got_slope = step(x=value, k=np.int64(index))
        np.testing.assert_array_equal(got.numpy(), expected)
        np.testing.assert_array_equal(got_slope.numpy(), np.broadcast_to(np.float64(change), 2))
    with pytest.raises(mote.Error, match="there is no branch 3"):
        step(k=np.int64(3))
    must = g.compile(g.case_of(k, [lambda: x]))
    with pytest.raises(mote.Error, match="no branch has the index -1, and nothing stands for its results"):
        must(x=value, k=np.int64(-1))


def test_branches_give_a_symbol_or_a_tuple():
    g = Graph()
    x, k = g.input("x", "f32", (2,)), g.input("k", "i64", ())
    assert isinstance(g.case_of(k, [lambda: x, lambda: x]), graphs.Symbol)
    assert isinstance(g.case_of(k, [lambda: [x], lambda: [x]]), tuple)
    y, z = g.cond(k < 1, lambda: (x, x + 1), lambda: (x + 2, x))
    for number, expected in ((0, [[1, 2], [2, 3]]), (1, [[3, 4], [1, 2]])):
        np.testing.assert_array_equal(run([y, z], x=np.float32([1, 2]), k=np.int64(number)), expected)


def test_only_the_chosen_branch_runs():
    calls = []

    def noted(name):
        return dynamic.Function(lambda x: calls.append(name) or x + 1, name=name)

    g = Graph()
    x = g.input("x", "f64", (2,))
    y, z = g.cond(x[0] < 1, lambda x: (noted("yes")(x, outputs=[x])[0], x),
                  lambda x: (noted("no")(x, outputs=[x])[0], x * 2), x)
    step = g.compile([y, z])
    for start, name, factor in ((0, "yes", 1), (5, "no", 2)):
        calls.clear()
        values = step(x=np.float64([start, 1]))
        assert calls == [name]
        np.testing.assert_array_equal(values[0].numpy(), [start + 1, 2])
        np.testing.assert_array_equal(values[1].numpy(), [start * factor, factor])


def test_python_s_code_in_a_loop():
    g = Graph()
    x = g.input("x", "f64", (2,))
    double = dynamic.Function(lambda x: 2 * x, lambda xs, ys, ds: [2 * ds[0]], name="double")

    def body(y, k):
        (halved,) = dynamic.node(lambda v: v * 0.5, y, outputs=[y])
        (doubled,) = double(x, outputs=[x])  # x is of the graph around
        return halved + doubled

    y = g.for_loop(3, body, x)
    (slope,) = g.gradient(y, x)
    start = np.float64([1, 2])
    values = run([y, slope], x=start)
    np.testing.assert_array_equal(values[0], start * 0.125 + 2 * start * 1.75)
    np.testing.assert_array_equal(values[1], np.full(2, 0.125 + 2 * 1.75))


def test_shapes_may_come_with_the_arrays():
    g = Graph()
    x, w = g.input("x", "f32"), g.input("w", "f32", (1,))
    y = g.for_loop(3, lambda y, k: y * w, x)
    step = g.compile(y)
    for extent in (2, 5):
        (value,) = step(x=np.ones(extent, np.float32), w=np.float32([2]))
        np.testing.assert_array_equal(value.numpy(), np.full(extent, 8, np.float32))


def test_graphs_of_texts_are_bodies_and_branches():
    body = Graph.parse("graph step(x f32[2], w f32[2], c i64[]) -> (y, left)\n"
                       "  n = constant i64[] [3]\n  left = sub(n, c)\n  y = mul(x, w)\n")
    g = Graph()
    x, w = g.input("x", "f32", (2,)), g.input("w", "f32", (2,))
    (y,) = g.add_while(body, [x, w], counter=True)
    negated = Graph.parse("graph n(x f32[2]) -> (y)\n  y = neg(x)\n")
    (z,) = g.add_case_of(g.constant(np.int64(-1)), [(negated, [y])], [w])
    inside = g.for_loop(1, lambda v, k: g.add_while(body, [v, w], counter=True)[0], x)
    del body, negated
    values = run([y, z, inside], x=np.float32([1, 5]), w=np.float32([2, 3]))
    np.testing.assert_array_equal(values, np.float32([[8, 135], [2, 3], [8, 135]]))


def test_objects_go_in_any_order():
    g = Graph()
    x = g.input("x", "f32", (2,))
    scale = np.float32([2, 3])
    y = g.for_loop(3, lambda y, k: y * scale + x, x)
    step = g.compile([y, *g.gradient(y, x)])
    del g, x, y, scale
    gc.collect()
    value, slope = step(x=np.float32([1, 1]))
    del step
    gc.collect()
    np.testing.assert_array_equal(value.numpy(), np.float32([15, 40]))
    np.testing.assert_array_equal(slope.numpy(), np.float32([15, 40]))


def test_an_exception_of_a_function_leaves_the_graph_usable():
    g = Graph()
    x = g.input("x", "f32", (2,))
    before = str(g)
    with pytest.raises(ZeroDivisionError):
        g.for_loop(3, lambda y, k: y * (1 // 0), x)
    assert str(g) == before
    np.testing.assert_array_equal(run([x + 1], x=np.float32([1, 2]))[0], np.float32([2, 3]))


def test_mistakes_say_what_was_expected():
    g = Graph()
    x, k = g.input("x", "f32", (2,)), g.input("k", "i64", ())
    true = lambda *_: k < 1  # noqa: E731
    leaked = []
    for message, mistake in (
        (r"carries over what has another form: .* is f32\[2,2\], but x is f32\[2\]",
         lambda: g.while_loop(true, lambda x: x * g.constant(np.ones((2, 2), np.float32)), x)),
        (r"carries over .* is f64\[2\], but x is f32\[2\]",
         lambda: g.while_loop(true, lambda x: x.convert("f64"), x)),
        ("while_loop: condition must return a symbol, a bool .* got bool",
         lambda: g.while_loop(lambda x: True, lambda x: x, x)),
        (r"condition .* must be a bool or an integer of one element, got f32\[2\]",
         lambda: g.while_loop(lambda x: x, lambda x: x, x)),
        ("while_loop: body must return 1 symbols, one for each value, got 2",
         lambda: g.while_loop(true, lambda x: (x, x), x)),
        ("while_loop: body must return symbols, got NoneType",
         lambda: g.while_loop(true, lambda x: None, x)),
        ("while_loop: body must return symbols, got NotImplementedType at 0",
         lambda: g.while_loop(true, lambda x: ["text"], x)),
        ("i64: expected a whole number, got 0.5",
         lambda: g.while_loop(true, lambda k: [0.5], [k])),
        ("checkpoints of a while must be at least 1, .* got -3",
         lambda: g.for_loop(2, lambda x, k: x, x, checkpoints=-3)),
        ("checkpoints: expected a number of iterations or 'sqrt', got 'all'",
         lambda: g.for_loop(2, lambda x, k: x, x, checkpoints="all")),
        ("case_of: expected at least one branch", lambda: g.case_of(k, [])),
        ("case_of: branch 1 must return symbols, got int", lambda: g.case_of(k, [lambda: x, lambda: 1])),
        ("the branches branch0 and branch1 have 1 and 2 outputs",
         lambda: g.case_of(k, [lambda: x, lambda: (x, x)])),
        (r"branches branch0 and branch1 give different forms: .*f32\[\].*f32\[2\]",
         lambda: g.case_of(k, [lambda: x, lambda: x[0]])),
        ("case_of: otherwise must have 1 symbols, got 2",
         lambda: g.case_of(k, [lambda: x], otherwise=(x, x))),
        ("the index .* must be a bool or an integer of one element",
         lambda: g.case_of(x, [lambda: x])),
        (r"cond: the predicate must be a bool of one element, got <mote symbol i64\[\]>",
         lambda: g.cond(k, lambda: x, lambda: x)),
        ("a symbol has no value before a run: Graph.cond", lambda: 1 if x[0] < 1 else 2),
        ("belongs to a function that was called for a loop or a branch",
         lambda: (g.for_loop(1, lambda y, k: leaked.append(y * 2) or y, x), x + leaked[-1])),
        ("belongs to a function", lambda: leaked[-1] * 2),
        ("belongs to a function", lambda: leaked[-1].reshape(2, 1)),
    ):
        with pytest.raises(mote.Error, match=message):
            mistake()
    other = Graph().input("z", "f32", (2,))
    with pytest.raises(mote.Error, match="belongs to another graph"):
        g.for_loop(1, lambda y, k: y + other, x)
    np.testing.assert_array_equal(run([x + x], x=np.float32([1, 2]))[0], np.float32([2, 4]))
