# SPDX-License-Identifier: Apache-2.0
"""Graphs from Python: built, differentiated, compiled, run; memory is shared."""

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels.graphs import Graph

RANDOM = np.random.default_rng(1)


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def mlp():
    g = Graph("mlp")
    x, t = g.input("x", "f32", (8, 6)), g.input("t", "i64", (8,))
    w, b = g.input("w", "f32", (6, 4)), g.input("b", "f32", (4,))
    loss = g.cross_entropy(x @ w + b, t)
    return g, loss, g.gradient([loss], [w, b])


def test_a_network_trains():
    g, loss, (gw, gb) = mlp()
    step = g.compile([loss, gw, gb])
    x, t = f32(8, 6), RANDOM.integers(0, 4, 8)
    w, b = f32(6, 4), np.zeros(4, np.float32)
    losses = []
    for _ in range(100):
        value, dw, db = step(x=x, t=t, w=w, b=b)
        losses.append(float(value.numpy()))
        w -= np.float32(0.5) * dw.numpy()  # in the memory that is bound
        b -= np.float32(0.5) * db.numpy()
    assert losses[-1] < losses[0] / 10, losses[::20]


def test_the_gradient_is_jax_s():
    import jax

    g, loss, grads = mlp()
    values = {"x": f32(8, 6), "t": RANDOM.integers(0, 4, 8), "w": f32(6, 4), "b": f32(4)}

    def of(w, b):
        logs = jax.nn.log_softmax(values["x"] @ w + b)
        return -logs[np.arange(8), values["t"]].mean()

    expected = jax.grad(of, (0, 1))(values["w"], values["b"])
    for got, wanted in zip(g.compile(grads)(**values), expected):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_outputs_are_views_of_the_plan_s_memory():
    g = Graph()
    x = g.input("x", "f32", (4,))
    run = g.compile([g.relu(x)])
    (first,) = run(x=np.float32([1, -1, 2, -2]))
    view = np.from_dlpack(first)
    assert view.__array_interface__["data"] [0] == first.numpy().__array_interface__["data"][0]
    run(x=np.float32([5, 5, 5, 5]))
    np.testing.assert_array_equal(view, np.float32([5, 5, 5, 5]))
    del run, first, g
    assert view[0] == 5  # the tensor keeps the executable


def test_views_parameters_constants_and_several_outputs():
    g = Graph()
    x = g.input("x", "f32", (1, 1, 4, 4))
    y, at = g.max_pool2d_with_indices(x, kernel=(2, 2), stride=(2, 2), outputs=2)
    assert y.shape == (1, 1, 2, 2) and at.dtype == "i64"
    assert y.T.shape == (2, 2, 1, 1)
    z = y.reshape(-1).slice(0, 1, 2) * g.constant(np.float32([10, 100]))
    (got,) = g.compile([z])(x=np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    np.testing.assert_array_equal(got.numpy(), np.float32([70, 1300]))


def test_reports_and_texts():
    g, loss, grads = mlp()
    step = g.compile([loss, *grads])
    assert "memory" in step.report() and "<svg" in step.report("svg") and step.bytes > 0
    assert step._repr_html_() == step.report("svg")
    text = str(g)
    assert text.startswith("graph mlp(") and str(Graph.parse(text)) == text
    with pytest.raises(mote.Error, match="report: expected text, json, svg, dot"):
        step.report("pdf")


def test_a_plan_is_the_report_without_memory():
    g, loss, grads = mlp()
    step = g.compile([loss, *grads])
    for format in ("text", "json", "svg"):
        assert g.plan([loss, *grads], format=format) == step.report(format)
    large = Graph("large")
    x = large.input("x", "f32", (1 << 20, 1 << 20))
    assert "large: 1 node" in large.plan([large.tanh(x)])
    with pytest.raises(mote.Error, match="plan: expected text, json, svg, got 'dot'"):
        g.plan([loss], format="dot")


def test_mistakes_say_what_was_expected():
    g = Graph()
    x = g.input("x", "f32", (2, 3))
    with pytest.raises(mote.Error, match="matmul"):
        x @ x
    with pytest.raises(mote.Error, match="sofmax"):
        g.sofmax(x)
    with pytest.raises(mote.Error, match="x"):
        g.compile([g.relu(x)])()


def test_copies_of_outputs_stay():
    g = Graph()
    x = g.input("x", "f32", (2,))
    run = g.compile([g.relu(x)])
    (y,) = run(x=np.float32([1, 2]))
    copies = [np.array(y), np.array(y, copy=True), np.array(y, np.float32),
              np.from_dlpack(y, copy=True)]
    view = np.asarray(y)
    run(x=np.float32([5, 6]))
    for copy in copies:
        np.testing.assert_array_equal(copy, np.float32([1, 2]))
    np.testing.assert_array_equal(view, np.float32([5, 6]))
    assert np.shares_memory(view, np.array(y, copy=False))
    with pytest.raises(ValueError, match="expected float64, got float32, .* without a copy"):
        np.array(y, np.float64, copy=False)


def test_operators_take_numbers_and_arrays_as_those_of_variables_do():
    g = Graph()
    x = g.input("x", "f32", (3,))
    value = np.float32([1, -2, 3])
    of = [lambda x: x * 2, lambda x: 2 * x, lambda x: x * np.float32(2), lambda x: np.float32(2) * x,
          lambda x: 1 - x, lambda x: x - 1, lambda x: 1 / x, lambda x: x / 4, lambda x: 1 + x,
          lambda x: -x, lambda x: abs(x), lambda x: x**2, lambda x: x + np.float32([1, 2, 3]),
          lambda x: np.float32([1, 2, 3]) + x, lambda x: x < 2, lambda x: 2 <= x,
          lambda x: x > 0, lambda x: x >= x, lambda x: x @ np.ones((3, 2), np.float32)]
    for k, (got, f) in enumerate(zip(g.compile([f(x) for f in of])(x=value), of)):
        np.testing.assert_array_equal(got.numpy(), f(value), f"operator {k}")
    i = g.input("i", "i32", (2,))
    (got,) = g.compile([i * 3])(i=np.int32([1, 2]))
    assert got.dtype == "i32" and got.numpy().tolist() == [3, 6]
    with pytest.raises(mote.Error, match="i32: expected a whole number, got 2.5"):
        i * 2.5
    with pytest.raises(TypeError, match="unsupported operand"):
        x * None
    assert x != i and len({x, i}) == 2


def test_parameters_that_are_truths():
    g = Graph()
    x = g.input("x", "f32", (3,))
    (got,) = g.compile([g.cumsum(x.reshape(3, 1), axis=0, exclusive=True)])(x=np.float32([1, 2, 3]))
    assert got.numpy().ravel().tolist() == [0, 1, 3]
    y = mote.reference("cumsum")(np.float32([[1, 2, 3]]), axis=1, exclusive=True)
    assert y.tolist() == [[0, 1, 3]]


def test_a_dtype_by_another_name_is_an_error_that_names_ours():
    for name in ("float32", np.float32, np.dtype(np.float32)):
        with pytest.raises(mote.Error, match="dtype: expected f64, f32, .*, got .*float32.*f32"):
            Graph().input("x", name, (2,))
    with pytest.raises(mote.Error, match="dtype: expected f64, f32, .*, got 'complex'$"):
        mote.dynamic.Graph().zeros((2,), "complex")


def test_arguments_of_other_kinds_say_what_is_expected():
    g = mote.graphs.Graph("kinds")
    x = g.input("x", "f32", (2, 3))
    for call, said in (
            (lambda: g.input("y", "f32", 3), "shape: expected whole numbers as in (2, 3), got 3"),
            (lambda: g.input("y", "f32", (2, 1.5)),
             "shape: expected whole numbers as in (2, 3), got (2, 1.5)"),
            (lambda: g.input(3, "f32", (3,)), "name: expected a text, got 3"),
            (lambda: mote.graphs.Graph.parse(3), "program: expected a text, got 3"),
            (lambda: g.compile("x"), "outputs: expected symbols of the graph, got 'x'"),
            (lambda: g.compile(3), "outputs: expected symbols of the graph, got 3"),
            (lambda: g.gradient(x, "x"), "gradient: expected symbols of the graph, got 'x'"),
            (lambda: mote.dynamic.StaticFunction(g, ["x"]),
             "static function: expected symbols of the graph, got 'x'")):
        with pytest.raises(mote.Error) as e:
            call()
        assert str(e.value) == said
    assert x.reshape((3, 2)).shape == x.permute([1, 0]).shape == (3, 2)
    assert x.broadcast_to((4, 2, 3)).shape == (4, 2, 3)
