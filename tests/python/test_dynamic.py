# SPDX-License-Identifier: Apache-2.0
"""Dynamic graphs from Python: variables with operators, gradients, memory that is shared, functions."""

import gc
import threading
import weakref

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels import dynamic as d

RANDOM = np.random.default_rng(1)


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def f64(*shape):
    return RANDOM.standard_normal(shape)


@pytest.fixture(params=[False, True], ids=["eager", "deferred"])
def g(request):
    return d.Graph(deferred=request.param)


def test_operators_are_numpy_s(g):
    # Whole numbers and powers of 2: every result is exact.
    a = RANDOM.integers(-4, 5, (3, 4)).astype(np.float64)
    b, small = np.float64([1, -2, 4, 8]), 2.0 ** RANDOM.integers(-2, 3, (3, 4))
    x, y, p = g.constant(a), g.constant(b), g.constant(small)
    for got, expected in (
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (-x, -a), (abs(x), abs(a)),
        (x + 2, a + 2), (2 - x, 2 - a), (x * 0.5, a * 0.5), (1 / p, 1 / small), (p ** 2, small ** 2),
        (2 ** x, 2 ** a), (x @ g.constant(a.T.copy()), a @ a.T), (x + b, a + b), (b + x, b + a),
        (a.T @ x, a.T @ a), (x > y, a > b), (x <= 0, a <= 0),
    ):
        np.testing.assert_array_equal(got.numpy(), expected)
    assert (x < y).dtype == "bool" and (x + y).dtype == "f64" and (x @ a.T).shape == (3, 3)
    with pytest.raises(TypeError):
        x + "text"


def test_every_op_is_a_function(g):
    x = f32(2, 5)
    mote.assert_close(d.softmax(g.constant(x), axis=1).numpy(), "softmax", x, axis=1)
    mote.assert_close(d.softmax(g.constant(x), axis=-1).numpy(), "softmax", x, axis=1)
    np.testing.assert_array_equal(g.softmax(x, axis=1).numpy(), d.softmax(g.constant(x),
                                                                          axis=1).numpy())
    assert {"softmax", "conv2d", "matmul", "Graph"} <= set(dir(d))
    assert not any("." in name for name in dir(d))
    assert "kernel0: rows of a window" in d.max_pool2d.__doc__
    assert str(d.layer_norm.__signature__).startswith("(x, ")
    y, at = d.max_pool2d_with_indices(g.constant(f32(1, 1, 4, 4)), kernel=(2, 2), stride=(2, 2),
                                      outputs=2)
    assert y.shape == (1, 1, 2, 2) and at.dtype == "i64"
    assert d.layer_norm(g.constant(x), None, None).shape == (2, 5)  # optional inputs left out
    assert all(callable(getattr(d, name)) for name in mote.ops() if "." not in name)


def test_the_gradient_is_jax_s(g):
    """All values are whole numbers and halves, so that both are exact, and relu is not at its kink."""
    import jax

    def whole(*shape):
        return RANDOM.integers(-3, 4, shape).astype(np.float64)

    x, t, w, b, v = whole(8, 6), whole(8, 4), whole(6, 5), whole(5) + 0.5, whole(5, 4)

    def of(w, b, v):
        return ((jax.nn.relu(x @ w + b) @ v - t) ** 2).sum()

    vw, vb, vv = g.variable(w), g.variable(b), g.variable(v)
    error = d.relu(x @ vw + vb) @ vv - t
    loss = d.sum((error * error).reshape(32), axis=0)
    with jax.enable_x64(True):
        assert loss.item() == float(of(w, b, v))
        for got, expected in zip(loss.backward([vw, vb, vv]), jax.grad(of, (0, 1, 2))(w, b, v)):
            np.testing.assert_array_equal(got.numpy(), expected)


def test_higher_orders_are_jax_s(g):
    import jax

    expected = lambda x: x ** 5 - 3 * x ** 4 + x * x  # noqa: E731
    x = g.variable(np.float64(7))
    square = x * x
    y = square * square * x - 3 * square * square + square
    with jax.enable_x64(True):
        for _ in range(5):
            (y,) = y.backward([x], traced=True)
            expected = jax.grad(expected)
            assert y.item() == float(expected(7.0))
    assert y.item() == 120


def test_control_flow_is_python_s(g):
    """y = x·w·w·… until it is at least 100."""
    w, y, steps = g.variable(np.float64(3)), g.scalar(2, "f64"), 0
    while y < 100:
        y, steps = y * w, steps + 1
    assert (steps, y.item()) == (4, 162)
    assert y.backward([w])[0].item() == 4 * 2 * 3 ** 3


def test_a_network_trains_in_flat_memory(g):
    x, t = f32(32, 6), RANDOM.integers(0, 4, 32)
    w, v = g.variable(f32(6, 16)), g.variable(f32(16, 4))
    losses, known = [], None
    for step in range(200):
        loss = d.cross_entropy(d.tanh(x @ w) @ v, g.constant(t))
        for p, gradient in zip((w, v), loss.backward([w, v])):
            p -= 0.5 * gradient
        losses.append(loss.item())
        del loss, gradient
        g.finish()
        if step == 20:
            known = g.statistics()
    assert losses[-1] < losses[0] / 3, losses[::40]
    last = g.statistics()
    assert (last.variables, last.values, last.steps) == (known.variables, known.values, known.steps)
    assert last.compilations == known.compilations  # equal steps compile nothing
    assert last.steps == 0 and w.version == 200


def test_arrays_are_shared_and_never_written(g):
    array = f32(4, 3)
    before = array.copy()
    x = g.constant(array)
    address = array.__array_interface__["data"][0]
    assert x.numpy().__array_interface__["data"][0] == address
    assert np.from_dlpack(x).__array_interface__["data"][0] == address
    x -= 1  # another value, not in the array's memory
    np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(x.numpy(), before - 1)
    view = x.numpy()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    x *= 2  # the array that is still looked at keeps its elements
    np.testing.assert_array_equal(view, before - 1)


def test_arrays_live_as_long_as_they_are_needed():
    g = d.Graph()

    class Array(np.ndarray):
        pass

    array = f32(3).view(Array)
    alive = weakref.ref(array)
    x = g.variable(array)
    y = x * x  # the gradient reads x
    del array, x
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(y.numpy(), alive() * alive())
    del y
    gc.collect()
    assert alive() is None


def test_arrays_of_any_strides_and_dtypes(g):
    import ml_dtypes

    a = f64(4, 6)
    np.testing.assert_array_equal((g.constant(a[::2, ::-3]) * 2).numpy(), a[::2, ::-3] * 2)
    np.testing.assert_array_equal(g.constant(a.T).numpy(), a.T)
    fixed = a.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(g.constant(fixed).numpy(), a)
    b = np.float32([1, 2]).astype(ml_dtypes.bfloat16)
    assert g.constant(b).dtype == "bf16" and (g.constant(b) + 1).numpy().tolist() == [2, 3]
    for dtype in (np.int64, np.int32, np.uint8, np.bool_):
        assert g.constant(np.zeros((2, 0), dtype)).shape == (2, 0)
    assert g.constant(3.5).dtype == "f64" and g.constant(a).convert("f32").dtype == "f32"


def test_jax_s_arrays_and_tensors_of_mote(g):
    import jax.numpy as jnp

    x = g.variable(jnp.arange(4.0))
    np.testing.assert_array_equal((x * x).numpy(), [0, 1, 4, 9])
    assert jnp.from_dlpack(x).tolist() == [0, 1, 2, 3]
    again = g.constant(x.value())  # a tensor of mote
    assert again.numpy().__array_interface__["data"] == x.numpy().__array_interface__["data"]
    static = mote.graphs.Graph()
    s = static.input("s", "f32", (4,))
    (of_plan,) = static.compile([static.relu(s)])(s=np.float32([1, -1, 2, -2]))
    kept = g.constant(of_plan)
    del of_plan
    gc.collect()
    assert kept.numpy().tolist() == [1, 0, 2, 0]  # the variable keeps the plan's memory


def test_views_and_writes(g):
    y = g.zeros((4, 3), "f64")
    x = g.variable(np.float64([1, 2, 3]))
    y[0] = x
    y[2:] = x * 2
    y[1, ::2] = 7
    y[..., 1] = np.float32([9, 9, 9, 9])
    np.testing.assert_array_equal(y.numpy(), [[1, 9, 3], [7, 9, 7], [2, 9, 6], [2, 9, 6]])
    assert y[-1].shape == (3,) and y[:, 1].shape == (4,)
    (gx,) = d.sum(y.reshape(12), axis=0).backward([x])
    np.testing.assert_array_equal(gx.numpy(), [5, 0, 5])
    assert len(y) == 4 and [row.shape for row in y] == [(3,)] * 4
    assert y.permute(1, 0).shape == (3, 4) and y[0].broadcast_to(2, 3).shape == (2, 3)
    y[0] += 1
    assert y.numpy()[0].tolist() == [2, 10, 4]
    for wrong, error in ((4, IndexError), ((0, 0, 0), IndexError), ("a", TypeError)):
        with pytest.raises(error):
            y[wrong]


def test_cases_that_users_stumble_on(g):
    x = g.variable(np.float64([1, 2]))
    # A value that two losses use, and the way back twice.
    h = x * x
    a, b = d.sum(h, axis=0), d.sum(h * h, axis=0)
    assert a.backward([x])[0].numpy().tolist() == [2, 4]
    assert a.backward([x])[0].numpy().tolist() == [2, 4]
    assert g.backward([a, b], [x])[0].numpy().tolist() == [6, 36]
    # Sums into a variable; seeds.
    total = g.zeros((2,), "f64")
    a.backward([x], into=[total])
    (same,) = h.backward([x], seed=g.constant(np.float64([10, 0])), into=[total])
    assert total.numpy().tolist() == same.numpy().tolist() == [2 + 20, 4]
    # A write after the value was used: the gradient reads the old one.
    y = x * x
    x += 1
    assert y.numpy().tolist() == [1, 4]
    with d.no_gradient():
        assert not (x * x).is_traced
    assert (x * x).is_traced and not (x * x).detach().is_traced
    z = x * x.detach()
    assert z.backward([x])[0].numpy().tolist() == [2, 3]
    assert g.has_effect(x, z) and not g.has_effect(z, x)


def test_writes_over_memory():
    g = d.Graph()
    x = g.zeros((3,)) + 1
    address = x.numpy().__array_interface__["data"][0]
    g.apply_in_place(x, "neg")
    assert x.numpy().__array_interface__["data"][0] == address and x.numpy().tolist() == [-1] * 3
    g.apply_to(x, "add", x, x)
    assert x.numpy().tolist() == [-2] * 3
    w = g.variable(f32(3))
    y = w * w
    with pytest.raises(mote.Error, match="neg cannot write over its input: the gradient of mul"):
        g.apply_in_place(w, "neg")
    w.set(np.float32([5, 6]))
    assert w.shape == (2,) and y.shape == (3,) and w.is_traced


def test_deferred_ops_run_when_looked_at():
    g = d.Graph(deferred=True)
    x = g.variable(f32(3))
    y = d.exp(x) * 2
    assert y.is_pending and y.shape == (3,) and "pending" in repr(y)
    mote.assert_close(y.numpy() / 2, "exp", x.numpy())
    assert not y.is_pending
    z = d.exp(y)
    assert g.statistics().pending_steps == 1
    g.finish()
    assert not z.is_pending and g.statistics().pending_steps == 0


def test_equal_ops_and_dropped_values():
    g = d.Graph(memo_bytes=1 << 20)
    x = g.constant(f32(8))
    first, second = d.exp(x), d.exp(x)
    assert g.statistics().memo_hits == 1
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    g.trim()
    assert g.statistics().memo_bytes == 0
    g, plain = d.Graph(saved_bytes=4096), d.Graph()
    start, gradients = f32(512), []
    for graph in (g, plain):
        x = graph.variable(start)
        h = x
        for _ in range(8):
            h = d.tanh(h)
        gradients.append(h.backward([x])[0].numpy())
    np.testing.assert_array_equal(*gradients)
    assert g.statistics().computed_again > 0 and plain.statistics().computed_again == 0


def test_checkpoints(g):
    x, w = g.variable(f32(4, 5)), g.variable(f32(5, 5))
    calls = []

    def layers(h):
        calls.append(1)
        for _ in range(4):
            h = d.tanh(h @ w)
        return h

    plain = layers(x).backward([x, w])
    kept = g.checkpoint(layers, x)
    for a, b in zip(plain, kept.backward([x, w])):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert len(calls) == 2
    y, z = g.checkpoint(lambda h: (h + 1, h * 2), x, outputs=2)
    np.testing.assert_array_equal((y + z).numpy(), x.numpy() + 1 + x.numpy() * 2)
    with pytest.raises(ZeroDivisionError):
        g.checkpoint(lambda h: 1 / 0, x)
    with pytest.raises(mote.Error, match="it must return 1 variables, got 2"):
        g.checkpoint(lambda h: (h, h), x)
    with pytest.raises(mote.Error, match="it must return variables, got int"):
        g.checkpoint(lambda h: 3, x)


def test_a_function_of_python(g):
    calls = []

    def forward(x, y):
        calls.append(x.flags.writeable)
        return x * y, x + y

    def backward(inputs, outputs, seeds):
        x, y = inputs
        np.testing.assert_array_equal(outputs[0], x * y)
        assert seeds[1] is None
        return seeds[0] * y * 10, None  # ten times too large, so that this test sees it

    f = d.Function(forward, backward)
    a, b = f64(3), f64(3)
    x, y = g.variable(a), g.variable(b)
    p, s = f(x, y, outputs=[x, ("f64", (3,))])
    np.testing.assert_array_equal(p.numpy(), a * b)
    np.testing.assert_array_equal(s.numpy(), a + b)
    gx, gy = p.backward([x, y])
    np.testing.assert_array_equal(gx.numpy(), b * 10)
    np.testing.assert_array_equal(gy.numpy(), [0, 0, 0])
    assert calls and not any(calls)


def test_a_traced_function_has_gradients_of_any_order(g):
    """x²·y by Python's code, whose backward uses the output; and what JAX says of its square. All
    values are whole numbers, so that both are exact."""
    import jax

    calls = []

    def backward(inputs, outputs, seeds):
        (x, y), (p,), (seed,) = inputs, outputs, seeds
        calls.append(type(x))
        return 2 * x * y * seed, p / y * seed

    product = d.Function(lambda x, y: x * x * y, backward, traced=True)
    plain = d.Function(lambda x, y: x * x * y,
                       lambda xs, ys, ds: [2 * xs[0] * xs[1] * ds[0], ys[0] / xs[1] * ds[0]])
    a, b = np.float64([1, -2, 3]), np.float64([2, 3, -5])
    x, y = g.variable(a), g.variable(b)
    expected = lambda x, y: ((x * x * y) * (x * x * y)).sum()  # noqa: E731

    def of(f):
        (p,) = f(x, y, outputs=[x])
        return d.sum(p * p, axis=0)

    with pytest.raises(mote.Unsupported, match="function.grad"):
        of(plain).backward([x], traced=True)[0].backward([y])
    value, orders = of(product), []
    for order in range(3):
        (value,) = value.backward([x if order != 1 else y], traced=True)
        orders.append(value.numpy())
        value = d.sum(value, axis=0)
    with jax.enable_x64(True):
        for order, got in enumerate(orders):
            derivative = jax.grad(expected, 0 if order != 1 else 1)
            np.testing.assert_array_equal(got, derivative(a, b))
            expected = lambda x, y, derivative=derivative: derivative(x, y).sum()  # noqa: E731
    assert set(calls) == {d.Variable}


def test_a_traced_function_leaves_gradients_out(g):
    def backward(inputs, outputs, seeds):
        assert seeds[1] is None or not seeds[1].numpy().any()
        return None, inputs[0] * seeds[0]

    f = d.Function(lambda x, y: (x * y, x + y), backward, traced=True)
    x, y = g.variable(f64(3)), g.variable(f64(3))
    p, _ = f(x, y, outputs=[x, y])
    gx, gy = p.backward([x, y], traced=True)
    np.testing.assert_array_equal(gx.numpy(), [0, 0, 0])
    np.testing.assert_array_equal(gy.numpy(), x.numpy())
    np.testing.assert_array_equal(gy.backward([x])[0].numpy(), [1, 1, 1])


def test_a_traced_function_of_a_symbolic_graph_in_a_loop():
    cube = d.Function(lambda x: x * x * x, lambda xs, ys, ds: [3 * xs[0] * xs[0] * ds[0]],
                      traced=True)
    graph = mote.graphs.Graph("loop")
    x = graph.input("x", "f64", (2,))
    y = graph.for_loop(2, lambda y, _: cube(y, outputs=[y])[0], x)  # x to the 9th
    (first,) = graph.gradient(y, x)
    (second,) = graph.gradient(first, x)
    step, a = graph.compile([y, first, second]), np.float64([1.5, -0.5])
    for got, times, power in zip(step(x=a), (1, 9, 72), (9, 8, 7)):  # all of it is exact in f64
        np.testing.assert_array_equal(np.array(got), [times * float(v) ** power for v in a])


def test_a_traced_function_s_mistakes(g):
    x = g.variable(f64(3))
    other = d.Graph().variable(f64(3))

    def wrong(backward, match, error=mote.Error):
        f = d.Function(lambda v: v * 2, backward, name="wrong", traced=True)
        with pytest.raises(error, match=match):
            f(x, outputs=[x])[0].backward([x])[0].numpy()

    wrong(lambda xs, ys, ds: [], "wrong's gradient: it must return a gradient, or None, for each of 1")
    wrong(lambda xs, ys, ds: [np.ones(3)], "wrong's gradient: it must return variables, got ndarray")
    wrong(lambda xs, ys, ds: [xs[0][:2]],
          r"wrong.grad: the gradient of input 0 must be f64\[3\], got f64\[2\]")
    wrong(lambda xs, ys, ds: [ds[0] * other], "belongs to another dynamic graph")
    wrong(lambda xs, ys, ds: [1 / 0], "division", ZeroDivisionError)
    with pytest.raises(mote.Error, match="none: traced: expected a backward"):
        d.Function(lambda v: v, name="none", traced=True)


def test_a_function_s_mistakes(g):
    x = g.variable(f32(3))

    def fails(_):
        raise KeyError("in the function")

    with pytest.raises(KeyError, match="in the function"):
        d.Function(fails)(x, outputs=[x])[0].numpy()
    with pytest.raises(KeyError, match="in the function"):
        d.Function(lambda v: v, lambda *_: fails(0))(x, outputs=[x])[0].backward([x])[0].numpy()
    with pytest.raises(mote.Error, match=r"function: output 0 must have the shape \[3\], got \[2\]"):
        d.Function(lambda v: v[:2])(x, outputs=[x])[0].numpy()
    with pytest.raises(mote.Error, match="it must return 1 arrays, got 2"):
        d.Function(lambda v: (v, v))(x, outputs=[x])[0].numpy()
    with pytest.raises(mote.Error, match="outputs: expected a variable"):
        d.Function(lambda v: v)(x, outputs=["f32"])
    with pytest.raises(mote.Error, match="plain"):
        d.Function(lambda v: v, name="plain")(x, outputs=[x])[0].backward([x])
    (y,) = d.Function(lambda v: v * 2)(x, outputs=[x])  # the errors above left nothing
    np.testing.assert_array_equal(y.numpy(), x.numpy() * 2)


def test_functions_are_released():
    g = d.Graph()

    class Code:
        def __call__(self, x):
            return x * 2

    code = Code()
    alive = weakref.ref(code)
    (y,) = d.Function(code, name="twice")(g.constant(f32(2)), outputs=[("f32", (2,))])
    y.numpy()
    del code
    gc.collect()
    assert alive() is None


def test_static_in_dynamic_in_static(g):
    inner = mote.graphs.Graph("inner")
    s = inner.input("s", "f64", (3,))

    def halves(v):
        while float(d.reduce_max(v, axis=0)) > 1:
            v = v * 0.5
        return v

    (h,) = d.node(halves, s, outputs=[s])
    (f,) = d.Function(lambda v: v * v, lambda xs, ys, ds: [2 * xs[0] * ds[0]])(h, outputs=[h])
    step = d.StaticFunction(inner, [f, h])
    x = g.variable(np.float64([1, 2, 4]))
    y, half = step(x)
    np.testing.assert_array_equal(half.numpy(), [0.25, 0.5, 1])
    np.testing.assert_array_equal(y.numpy(), np.square([0.25, 0.5, 1]))
    (gx,) = y.backward([x])
    np.testing.assert_array_equal(gx.numpy(), 2 * np.float64([0.25, 0.5, 1]) * 0.25)
    with pytest.raises(mote.Error, match="it has 1 inputs, got 2"):
        step(x, x)
    with pytest.raises(mote.Error, match="none of the inputs is a variable"):
        step(np.float64([1, 2, 3]))


def test_a_static_function_takes_other_shapes(g):
    graph = mote.graphs.Graph("rows")
    x, w = graph.input("x", "f32", (8, 6)), graph.input("w", "f32", (6, 4))
    step = d.StaticFunction(graph, [graph.tanh(x @ w)])
    a, b = f32(3, 6), f32(6, 4)
    (y,) = step(g.constant(a), g.variable(b))
    np.testing.assert_array_equal(y.numpy(), d.tanh(g.constant(a) @ g.constant(b)).numpy())


def test_constants_of_static_functions_stay():
    g = d.Graph()
    graph = mote.graphs.Graph()
    x = graph.input("x", "f32", (1000,))
    step = d.StaticFunction(graph, [x * graph.constant(np.full(1000, 3, np.float32))])
    (y,) = step(g.variable(np.ones(1000, np.float32)))
    del graph, x, step
    gc.collect()
    junk = [np.full(1000, 7, np.float32) for _ in range(100)]
    z = d.sum(y, axis=0)
    assert z.item() == 3000 and len(junk) == 100


def test_threads_share_a_graph(g):
    w = g.variable(f32(8, 8))
    expected = (d.tanh(w @ w)).backward([w])[0].numpy()
    wrong = []

    def work():
        for _ in range(50):
            with d.no_gradient():
                d.tanh(w @ w).numpy()
            got = d.tanh(w @ w).backward([w])[0].numpy()
            if not np.array_equal(got, expected):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)
    assert (w * w).is_traced


def test_mistakes_say_what_was_expected(g):
    x = g.variable(f32(2, 3))
    with pytest.raises(mote.Error, match="matmul"):
        x @ x
    with pytest.raises(AttributeError, match="did you mean softmax"):
        d.sofmax
    with pytest.raises(AttributeError, match="did you mean softmax"):
        g.sofmax
    with pytest.raises(mote.Error, match="axi"):
        d.softmax(x, axi=1)
    with pytest.raises(mote.Error, match="only a tensor of reals has a gradient, got i64"):
        g.variable(np.arange(3))
    with pytest.raises(mote.Error, match="belongs to another dynamic graph"):
        x + d.Graph().constant(f32(2, 3))
    with pytest.raises(mote.Error, match="is a constant"):
        (x * x).backward([g.constant(f32(2, 3))])
    with pytest.raises(mote.Error, match="seeds must have 1 entries, got 2"):
        g.backward([x], [x], seeds=[x, x])
    with pytest.raises(mote.Error, match="item: a tensor of one element is wanted"):
        float(x)
    with pytest.raises(mote.Error, match="no gradient"):
        with d.no_gradient():
            raise mote.Error("no gradient")
    with pytest.raises(mote.Error, match="assign: expected a variable, an array or a number"):
        x[0] = "text"
    assert (x * x).is_traced  # the scope above has ended


def test_values_outlive_their_graph():
    x = d.Graph().variable(f32(3))
    y = x * 2
    array, before = y.numpy(), x.numpy().copy()
    del x, y
    gc.collect()
    np.testing.assert_array_equal(array, before * 2)


def test_a_process_ends_with_graphs_alive(scripts):
    done = scripts("""
import numpy as np
from mote_kernels import dynamic as d
g = d.Graph(deferred=True)
x = g.variable(np.ones(3, np.float32))
(y,) = d.Function(lambda v: v * 2, name="twice")(x, outputs=[x])
z = d.exp(y)
fixed = np.ones(3)
fixed.flags.writeable = False
c = g.constant(fixed)
print(z.numpy().shape)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "(3,)\n", "")


def test_copies_of_a_value_are_copies():
    g = d.Graph()
    v = g.variable(np.float32([1, 2]))
    assert np.shares_memory(np.asarray(v), v.numpy())
    for copy in (np.array(v), np.array(v, copy=True), np.from_dlpack(v, copy=True)):
        assert not np.shares_memory(copy, v.numpy())
    with pytest.raises(ValueError, match="without a copy"):
        np.array(v, np.float64, copy=False)


def test_a_gradient_with_respect_to_one_variable_needs_no_list(g):
    v = g.variable(np.float64([1, 2, 3]))
    (gv,) = (v * v).backward(v)
    np.testing.assert_array_equal(gv.numpy(), [2, 4, 6])
    into = g.variable(np.float64([1, 1, 1]))
    (v * v).backward(v, into=into)
    np.testing.assert_array_equal(into.numpy(), [3, 5, 7])
    (gv,) = g.backward(v * v, v, seeds=g.constant(np.float64([1, 0, 1])))
    np.testing.assert_array_equal(gv.numpy(), [2, 0, 6])


def test_arguments_of_other_kinds_say_what_is_expected():
    g = d.Graph()
    v = g.variable(np.ones((2, 3), np.float32))
    for call, said in (
            (lambda: d.Graph(memo_bytes=-1),
             "dynamic graph: memo_bytes: expected a whole number from 0 on, got -1"),
            (lambda: d.Graph(kept_graphs="4"),
             "dynamic graph: kept_graphs: expected a whole number from 0 on, got '4'"),
            (lambda: v.backward("v"), "dynamic graph: expected a variable, got 'v' of type str"),
            (lambda: v.backward(None), "dynamic graph: backward: there is no variable"),
            (lambda: g.zeros(3), "shape: expected whole numbers as in (2, 3), got 3")):
        with pytest.raises(mote.Error) as e:
            call()
        assert str(e.value).startswith(said), str(e.value)
    assert v.reshape((3, 2)).shape == v.permute([1, 0]).shape == (3, 2)
    assert v.broadcast_to((4, 2, 3)).shape == (4, 2, 3)


def test_views_as_numpy_has_them():
    v = d.Graph().variable(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(v.T.numpy(), [[0, 3], [1, 4], [2, 5]])
    assert v.reshape(-1).shape == (6,) and v.reshape((3, -1)).shape == (3, 2)
    for shape in ((4, -1), (-1, 0), (-1, -1)):
        with pytest.raises(mote.Error, match="reshape"):
            v.reshape(*shape)


def test_seeds_may_be_arrays():
    g = d.Graph()
    v = g.variable(np.float32([1, 2]))
    seed = np.float32([3, 5])
    for seeds in (seed, [seed], g.constant(seed)):
        (gv,) = g.backward(v * v, v, seeds=seeds)
        np.testing.assert_array_equal(gv.numpy(), [6, 20])
    (gv,) = (v * v).backward(v, seed=seed)
    np.testing.assert_array_equal(gv.numpy(), [6, 20])


@pytest.mark.parametrize("deferred", [False, True])
def test_memory_is_listed_with_its_reasons(deferred):
    g = d.Graph(deferred=deferred)
    assert g.memory() == []
    x = g.variable(np.float32([1, 2, 3, 4]))
    y = d.tanh(x)
    z = -y
    g.finish()
    del y
    assert g.memory() == [d.KeptMemory("f32[4]", 16, "a variable has it"),
                          d.KeptMemory("f32[4]", 16, "the gradient of tanh reads it"),
                          d.KeptMemory("f32[4]", 16, "a variable has it")]
    assert g.statistics().forgotten == 0
    del x  # no gradient with respect to it can be asked for
    assert [one.reason for one in g.memory()] == ["a variable has it"]
    assert g.statistics().forgotten == 2
