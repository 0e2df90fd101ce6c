# SPDX-License-Identifier: Apache-2.0
"""Compiled graphs from Python: the ways to compile that change no bit, memory of the caller's, runs."""

import gc
import json
import pathlib
import threading

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels import dynamic, graphs
from mote_kernels._door import library_path
from mote_kernels.graphs import Graph

RANDOM = np.random.default_rng(1)


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def network():
    g = Graph("net")
    x, w = g.input("x", "f32", (8, 6)), g.input("w", "f32", (6, 6))
    y = graphs.tanh(graphs.relu(x @ w) @ w)
    return g, y, *g.gradient(y, w)


@pytest.mark.parametrize("options", [
    {"streams": 2}, {"order": "program"}, {"order": "depth_first"}, {"order": "greedy"},
    {"planner": "seed"}, {"in_place": False}, {"separate": True}, {"poison": True}, {"passes": []}])
def test_no_option_changes_a_bit(options):
    g, y, gw = network()
    inputs = {"x": f32(8, 6), "w": f32(6, 6)}
    expected = [t.numpy() for t in g.evaluate([y, gw], **inputs)]
    step = g.compile([y, gw], **options)
    assert g.plan([y, gw], **options) == step.report()
    for got, wanted in zip(step(**inputs), expected):
        np.testing.assert_array_equal(got.numpy(), wanted)


def test_passes_change_rounding_if_allowed():
    g = Graph("gate")
    x = g.input("x", "f32", (4,))
    y = x * graphs.sigmoid(x)
    assert "pass replace: nothing" in g.plan([y])
    assert "pass replace: replaced 1 by silu" in g.plan([y], inexact=True, without_nan=True)


def test_options_do_what_they_say():
    g, y, gw = network()
    usual = g.compile([y, gw])
    assert g.compile([y, gw], separate=True).bytes > usual.bytes
    sides = [graphs.tanh(g.find("x") @ g.find("w")), graphs.tanh(g.find("w") @ g.find("w"))]
    assert "2 streams" in g.compile(sides, streams=2).report()
    assert "order program" in g.compile([y, gw], order="program").report()
    assert "in place" not in g.compile([y, gw], in_place=False).report().split("workspace")[1]
    for message, options in (
        ("order: expected least, program, depth_first, greedy, got 'most'", {"order": "most"}),
        ("planner: expected packing, seed, got 'best'", {"planner": "best"}),
        ("there is no pass 'no'", {"passes": ["no"]}),
        ("net has no symbol 'z'", {"largest": {"z": ("f32", (2,))}}),
        ("outputs: expected a variable, a symbol or", {"largest": {"x": 3}}),
    ):
        with pytest.raises(mote.Error, match=message):
            g.compile([y], **options)
    with pytest.raises(TypeError, match="unexpected keyword"):
        g.compile([y], stream=2)


def test_outputs_of_the_graph_are_asked_for_by_default():
    g = Graph.parse("graph g(x f32[2]) -> (y)\n  h = neg(x)\n  y = relu(h)\n")
    assert list(g.inputs) == ["x"] and [y.name for y in g.outputs] == ["y"]
    values = g.compile()(x=np.float32([1, -2]))
    assert len(values) == 1 and values[0].numpy().tolist() == [0, 2]
    g.set_outputs(g.find("h"))
    assert g.plan() == g.compile().report() and g.evaluate(x=np.float32([1, -2]))[0].numpy()[0] == -1


def test_an_output_is_written_to_the_caller_s_memory():
    g, y, gw = network()
    step = g.compile([y, gw], bound=[gw])
    inputs, to = {"x": f32(8, 6), "w": f32(6, 6)}, np.zeros((6, 6), np.float32)
    with pytest.raises(mote.Error, match="is a bound output and has no memory"):
        step(**inputs)
    step.bind(gw, to)
    _, got = step(**inputs)
    assert np.shares_memory(got.numpy(), to)
    np.testing.assert_array_equal(to, g.evaluate([gw], **inputs)[0].numpy())
    single = Graph()
    z = graphs.relu(single.input("x", "f32", (6, 6)))
    assert single.compile(z, bound=[z]).bytes == 0 < single.compile(z).bytes
    step.bind(gw, np.zeros((6, 12), np.float32)[:, ::2])
    with pytest.raises(mote.Error, match=r"must be f32\[6,6\], got f32\[6,6\]:12,2"):
        step()
    frozen = np.zeros((6, 6), np.float32)
    frozen.flags.writeable = False
    odd = np.zeros((6, 6), np.dtype([("value", np.float32), ("rest", np.int8)]))["value"]
    for message, array in (("written to, got one that is read only", frozen),
                           ("strides of whole elements, got", odd),
                           (r"must be f32\[6,6\], got f64\[6,6\]", np.zeros((6, 6)))):
        with pytest.raises(mote.Error, match=message):
            step.bind(gw, array)
    with pytest.raises(mote.Error, match="is neither an input nor a bound output"):
        g.compile([y]).bind(y, to)


def test_inputs_are_bound_without_copies():
    g = Graph()
    x = g.input("x", "f32", (4,))
    step, array = g.compile(x + 1), np.float32([1, 2, 3, 4])
    step.bind("x", array)
    array[:] = 5
    assert step()[0].numpy().tolist() == [6, 6, 6, 6]
    step.bind(x, mote.Tensor.over(array))
    array[:] = 7
    assert step()[0].numpy().tolist() == [8, 8, 8, 8]


def test_memory_is_taken_once_for_the_largest_shapes():
    g = Graph()
    x = g.input("x", "f32")
    y = graphs.tanh(x) * 2
    step = g.compile(y, largest={"x": ("f32", (64, 8))})
    planned = step.bytes
    for rows in (64, 1, 17):
        array = f32(rows, 8)
        np.testing.assert_array_equal(step(x=array)[0].numpy(), g.compile(y)(x=array)[0].numpy())
        assert step.bytes == planned
    with pytest.raises(mote.Error, match="65"):
        step(x=f32(65, 8))


def test_runs_are_recorded():
    g, y, gw = network()
    step = g.compile([y, gw])
    step(x=f32(8, 6), w=f32(6, 6))
    with pytest.raises(mote.Error, match="no run with the latest shapes was recorded"):
        step.report("trace")
    step.trace()
    step()
    step.trace(False)
    step()
    spans = [e for e in json.loads(step.report("trace"))["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == len(json.loads(step.report("json"))["nodes"]) > 3


def test_kernels_are_measured_and_measurements_kept(tmp_path):
    g, context = Graph(), graphs.Context(workers=1)
    x, w = g.input("x", "f32", (8, 6)), g.input("w", "f32", (6, 6))
    step = g.compile(graphs.relu(x @ w), context=context)
    a, b = (RANDOM.integers(-4, 5, shape).astype(np.float32) for shape in ((8, 6), (6, 6)))
    step.bind("x", a)
    step.bind("w", b)
    assert step.autotune(seconds=0.01, rounds=1) == 2
    assert step.untuned() == []
    np.testing.assert_array_equal(step()[0].numpy(), np.maximum(a @ b, 0))  # whole numbers
    path = tmp_path / "tuning"
    context.save_tuning(path)
    text = path.read_text()
    assert "matmul" in text
    del context  # the executable keeps it
    gc.collect()
    np.testing.assert_array_equal(step()[0].numpy(), np.maximum(a @ b, 0))
    again = graphs.Context()
    again.load_tuning(tmp_path / "none")
    again.load_tuning(path)
    again.save_tuning(tmp_path / "again")
    assert (tmp_path / "again").read_text() == text
    path.write_text(text[:len(text) // 2])
    with pytest.raises(mote.Error, match=str(path)):
        again.load_tuning(path)


def test_backends_compute_the_nodes_that_they_take():
    g = Graph()
    x, w = g.input("x", "f32", (1, 16, 8, 8)), g.input("w", "f32", (16, 16, 3, 3))
    y = g.conv2d(x, w)
    plugins = pathlib.Path(library_path()).resolve().parent / "mote/plugins"
    if not (plugins / "mote_winograd.so").exists():
        pytest.skip("the plug-in mote_winograd was not built")
    with pytest.raises(mote.Error, match="no_such_plugin"):
        graphs.load_backends(plugins / "no_such_plugin.so")
    with pytest.raises(mote.Error, match="context: expected backends that are loaded .*, got 'mine'"):
        graphs.Context(["mine"])
    assert "winograd" in graphs.load_backends(plugins / "mote_winograd.so") == graphs.backends()
    context = graphs.Context(["winograd"])
    a, b = f32(1, 16, 8, 8), f32(16, 16, 3, 3)
    own, other = (np.array(g.compile(y, context=c)(x=a, w=b)[0]) for c in (None, context))
    assert not np.array_equal(own, other)  # another kernel rounds otherwise
    mote.assert_close(own, "conv2d", a, b)
    contract = mote.Contract(form="winograd_f4")
    mote.assert_close(other, "conv2d", a, b, contract=contract)


def test_a_run_is_cancelled_from_another_thread():
    g = Graph()
    x = g.input("x", "f32", (2,))

    def wait(value):
        thread = threading.Thread(target=step.cancel)
        thread.start()
        thread.join()
        return value

    (y,) = dynamic.Function(wait)(x, outputs=[x])
    step = g.compile(y + 1)
    with pytest.raises(mote.Error, match="cancelled before node 1"):
        step(x=np.float32([1, 2]))


def test_an_exception_of_python_s_code_is_raised_by_the_run():
    g = Graph()
    x = g.input("x", "f32", (2,))

    def fails(value):
        if value[0] > 0:
            raise KeyError("in a node")
        return value

    (y,) = dynamic.Function(fails)(x, outputs=[x])
    step = g.compile(y)
    for run in (step, lambda x: g.evaluate([y], x=x)):
        with pytest.raises(KeyError, match="in a node"):
            run(x=np.float32([1, 2]))
        assert run(x=np.float32([-1, 2]))[0].numpy()[0] == -1


def test_exceptions_of_threads_of_the_graph_s_own_are_raised_too():
    g = Graph()
    x = g.input("x", "f32", (2,))

    def node(name):
        def fails(value):
            if value[0] > 0:
                raise KeyError(name)
            return value
        return dynamic.Function(fails)(x, outputs=[x])[0]

    sides = [node("left"), node("right"), g.for_loop(1, lambda y, k: y + node("in a loop"), x)]
    step = g.compile(sides, streams=2)
    for _ in range(20):
        with pytest.raises(KeyError, match="left|right|in a loop"):
            step(x=np.float32([1, 2]))
        assert step(x=np.float32([-1, 2]))[0].numpy()[0] == -1


def test_a_copy_is_a_graph_of_its_own():
    g = Graph("first")
    x = g.input("x", "f32", (2,))
    g.set_outputs(x + 1)
    other = g.copy()
    del g, x
    gc.collect()
    assert str(other).startswith("graph first(")
    assert other.compile()(x=np.float32([1, 2]))[0].numpy().tolist() == [2, 3]
    other.verify()


def test_symbols_are_indexed_and_converted_as_arrays_are():
    g = Graph()
    x = g.input("x", "f32", (3, 4))
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    of = [lambda x: x[1], lambda x: x[-1, 2], lambda x: x[:, 1:3], lambda x: x[..., 0],
          lambda x: x[::2, ::-1] if isinstance(x, np.ndarray) else x.slice(0, 0, 2, 2).slice(1, 3, 4, -1)]
    symbols = [f(x) + 0 for f in of]
    for got, f in zip(g.compile(symbols)(x=value), of):
        np.testing.assert_array_equal(got.numpy(), f(value))
    assert len(x) == 3 and [row.shape for row in x] == [(4,)] * 3
    assert x.strides == (4, 1) and x.permute(1, 0).strides == (1, 4) and x.name == "x"
    assert x.convert("i64").dtype == "i64" and x[0, 0].shape == ()
    with pytest.raises(IndexError, match="a symbol of 2 axes has no 3 indices"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match="index 3 of an axis of extent 3"):
        x[3]
    with pytest.raises(TypeError, match="a symbol without axes has no length"):
        len(x[0, 0])


def test_every_op_is_a_function_of_symbols():
    g = Graph()
    x = g.input("x", "f32", (2, 5))
    value = f32(2, 5)
    (a, b) = g.compile([graphs.softmax(x, axis=1), g.softmax(x, axis=1)])(x=value)
    np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert {"softmax", "conv2d", "matmul", "Graph"} <= set(dir(graphs))
    assert str(graphs.layer_norm.__signature__).startswith("(x, ")
    added = graphs.add(x, np.ones((2, 5), np.float32))  # an array is a constant
    np.testing.assert_array_equal(g.compile(added)(x=value)[0].numpy(), value + 1)
    assert not {name for name in dir(Graph) if not name.startswith("_")} & set(mote.ops())
    with pytest.raises(AttributeError, match="did you mean softmax"):
        graphs.sofmax
    with pytest.raises(mote.Error, match="relu: none of the inputs is a symbol"):
        graphs.relu(value)


def test_parts_of_a_tensor_are_written_by_nodes():
    g = Graph()
    x = g.input("x", "f32", (2,))
    y = g.tensor("f32", (4, 2))
    g.apply_to(y[0], "neg", x)
    g.apply_to(y[1], "add", x, np.ones(2, np.float32))
    g.copy_to(x.convert("f64"), y[2])
    g.fill(y[3], 7)
    expected = np.float32([[-1, -2], [2, 3], [1, 2], [7, 7]])
    np.testing.assert_array_equal(g.compile(y)(x=np.float32([1, 2]))[0].numpy(), expected)
    with pytest.raises(mote.Error, match="neg would write .*, of which node 0 .* writes elements"):
        g.apply_to(y[0], "neg", x)
    with pytest.raises(mote.Error, match="softmux"):
        g.apply_to(y[0], "softmux", x)
    z = g.tensor("f32", (3, 2), zeros=True)
    g.copy_to(x, z[1])
    np.testing.assert_array_equal(g.compile(z)(x=np.float32([1, 2]))[0].numpy(), [[0, 0], [1, 2], [0, 0]])
    partly = g.tensor("f32", (2, 2))
    g.fill(partly[0], 1)
    with pytest.raises(mote.Error, match="has elements that no node writes"):
        g.compile(partly)(x=np.float32([1, 2]))


def test_parts_are_written_in_a_branch():
    g = Graph()
    x, k = g.input("x", "f32", (2,)), g.input("k", "i64", ())

    def stacked():
        y = g.tensor("f32", (2, 2))
        g.copy_to(x, y[0])
        g.fill(y[1], 3)
        return y

    step = g.compile(g.cond(k < 1, stacked, lambda: x.broadcast_to(2, 2)))
    for number, expected in ((0, [[1, 2], [3, 3]]), (1, [[1, 2], [1, 2]])):
        (y,) = step(x=np.float32([1, 2]), k=np.int64(number))
        np.testing.assert_array_equal(y.numpy(), expected)


def test_order_dependence_and_late_shapes():
    g = Graph()
    x = g.input("x", "f32")
    y, z = graphs.tanh(x), graphs.exp(x)
    assert repr(y) == "<mote symbol f32[?]>" and y.dtype == "f32"
    with pytest.raises(mote.Error, match="the shape of .* is not known yet"):
        y.shape
    with pytest.raises(mote.Error, match="gradient: the shape of f .* got none of x"):
        g.gradient(y, x)
    g.set_shape(x, (2, 3))
    step = g.compile(g.gradient(y, x))
    for shape in ((2, 3), (5, 1)):
        (slope,) = step(x=np.zeros(shape, np.float32))
        np.testing.assert_array_equal(slope.numpy(), np.ones(shape))
    assert y.shape == (2, 3) and g.depends(y, x) and not g.depends(y, z)
    g.order(z, y)
    plan = g.plan([y, z], order="program")
    assert plan.index("exp(") < plan.index("tanh(")
    g.order(y, z)
    with pytest.raises(mote.Error, match="cycle"):
        g.verify()
