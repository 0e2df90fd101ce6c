# SPDX-License-Identifier: Apache-2.0
"""Graphs of operations on arrays from Python: nothing is copied; order, parts, loops, branches."""

import gc
import json
import threading
import weakref

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels.concrete import Graph

RANDOM = np.random.default_rng(1)


def whole(*shape):
    """Small whole numbers, of which sums and products are exact."""
    return RANDOM.integers(-4, 5, shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def test_ops_read_and_write_arrays_where_they_are():
    x, w, h, y = whole(4, 3), whole(3, 5), zeros(4, 5), zeros(4, 5)
    rows = zeros(8, 5)[::2]
    g = Graph()
    nodes = [g.add("matmul", [x, w], h), g.add("relu", h, y), g.copy(y, rows)]
    g.find_order()
    assert len(set(nodes)) == 3
    for _ in range(2):
        g.run()
        np.testing.assert_array_equal(y, np.maximum(x @ w, 0))
        np.testing.assert_array_equal(rows, y)
        x += 1
    statistics = g.statistics()
    assert statistics.nodes == 3 and statistics.edges == 2 and statistics.streams == 1
    assert "matmul" in g.dot()


def test_tensors_of_mote_are_arrays_too():
    x = mote.Tensor.over(np.float32([1, -2]))
    y = mote.Tensor.over(zeros(2))
    g = Graph()
    g.add("neg", x, y)
    del x
    gc.collect()
    g.run()
    assert y.numpy().tolist() == [-1, 2]


def test_the_graph_keeps_the_memory():
    x, y = whole(16), zeros(16)
    alive = weakref.ref(x)
    g = Graph()
    g.add("neg", x, y)
    expected = -x
    del x
    gc.collect()
    assert alive() is not None
    g.run()
    np.testing.assert_array_equal(y, expected)
    del g
    gc.collect()
    assert alive() is None


def test_placeholders_are_bound_anew():
    x, y = whole(2, 3), zeros(2, 3)
    g = Graph()
    slot = g.placeholder(x)
    g.add("neg", slot, y)
    g.run()
    np.testing.assert_array_equal(y, -x)
    other = whole(2, 3)
    other.flags.writeable = False  # nothing writes it
    g.bind(slot, other)
    g.run()
    np.testing.assert_array_equal(y, -other)
    with pytest.raises(mote.Error, match="the tensor is a placeholder already"):
        g.placeholder(x)
    with pytest.raises(mote.Error, match="the tensor is no placeholder"):
        g.bind(y, x)
    with pytest.raises(mote.Error, match=r"bind: .* must be f32\[2,3\], got f32\[3\]"):
        g.bind(slot, zeros(3))


def test_what_is_written_may_be_written_to():
    frozen, x = np.float32([1, 2]), np.float32([3, 4])
    frozen.flags.writeable = False
    y, inner = zeros(2), zeros(2)
    g, body = Graph(), Graph()
    slot = g.placeholder(y)
    g.add("neg", x, slot)
    with pytest.raises(mote.Error, match="bind: a placeholder that nodes write needs .* read only"):
        g.bind(slot, frozen)
    late = Graph()
    late.placeholder(y)
    late.bind(y, frozen)
    with pytest.raises(mote.Error, match="fill: y needs .* read only"):
        late.fill(y, 1)
    body.placeholder(inner)
    body.fill(inner, 7)
    with pytest.raises(mote.Error, match="tensors: what the body writes needs .* read only"):
        g.add_while(body, lambda k: k < 1, tensors=[(frozen, inner)])
    with pytest.raises(mote.Error, match="tensors: what the body writes needs .* read only"):
        g.add_case_of(lambda: 0, [(body, [(frozen, inner)])])
    with pytest.raises(mote.Error, match="neg: an output needs .* read only"):
        g.add("neg", x, mote.Tensor.over(frozen))
    g.add_while(body, lambda k: k < 1, tensors=[(x, inner)])
    g.find_order()
    g.run()
    assert y.tolist() == [-3, -4] and x.tolist() == [7, 7] and frozen.tolist() == [1, 2]


def test_parts_run_and_nodes_are_removed():
    x, a, b = np.float32([1, 2]), zeros(2), zeros(2)
    g = Graph()
    first, second = g.add("add", [x, x], a), g.add("add", [a, x], b)
    third = g.fill(x, 9)
    g.order(first, second)
    g.order(second, third)
    g.run(destinations=[first])
    assert a.tolist() == [2, 4] and b.tolist() == [0, 0]
    g.run([second], [second])
    assert b.tolist() == [3, 6] and x.tolist() == [1, 2]
    g.remove(third)
    g.run()
    assert x.tolist() == [1, 2]
    with pytest.raises(mote.Error, match=r"order: node 2 \(fill\) was removed"):
        g.order(first, third)
    with pytest.raises(mote.Error, match="is of another graph, or of none"):
        Graph().remove(first)


def test_two_streams_give_the_same():
    x, w = whole(8, 8), whole(8, 8)
    outs = [zeros(8, 8) for _ in range(4)]
    g = Graph(streams=2)
    for k, out in enumerate(outs):
        g.add("matmul", [x, w] if k % 2 else [w, x], out)
    g.add("add", [outs[0], outs[1]], outs[2])
    g.find_order()
    g.run()
    np.testing.assert_array_equal(outs[2], w @ x + x @ w)
    assert g.statistics().streams == 2


def test_python_s_code_is_a_node_and_its_exception_the_run_s():
    x, y, seen = np.float32([1, 2]), zeros(2), []
    g = Graph()
    g.add("neg", x, y)

    def note():
        seen.append(y.copy())
        if y[0] > 0:
            raise KeyError("in a node")

    g.call(note, reads=y)
    g.find_order()
    g.run()
    assert seen[0].tolist() == [-1, -2]
    x[:] = -5
    with pytest.raises(KeyError, match="in a node"):
        g.run()
    x[:] = 3
    g.run()
    assert len(seen) == 3


def test_exceptions_of_threads_of_the_graph_s_own_are_raised_too():
    x, g = np.float32([1, 2]), Graph(streams=2)

    def fails():
        if x[0] > 0:
            raise KeyError("in a node")

    for _ in range(4):
        g.call(fails, reads=x)
    for _ in range(20):
        x[:] = 1
        with pytest.raises(KeyError, match="in a node"):
            g.run()
        x[:] = -1
        g.run()


def powers(y, x):
    body = Graph()
    body.add("mul", [y, x], y)
    return body


def test_a_loop_by_a_function_and_by_a_tensor():
    x, y, calls = np.float32([2, 3]), np.ones(2, np.float32), []
    g = Graph()
    g.add_while(powers(y, x), lambda k: calls.append(k) or k < 3)
    g.run()
    assert y.tolist() == [8, 27] and calls == [0, 1, 2, 3]
    n, k, left = np.array(4), np.array(0), np.array(0)
    y[:] = 1
    body = powers(y, x)
    body.add("sub", [n, k], left)
    g = Graph()
    loop = g.add_while(body, left, counter=k)
    del body
    gc.collect()
    g.run()
    assert y.tolist() == [16, 81]
    g.remove(loop)
    body = powers(y, x)
    body.add("sub", [n, k], left)
    g.add_while(body, left, counter=k, limit=2)
    with pytest.raises(mote.Error, match="its limit is 2"):
        g.run()


def test_a_placeholder_of_the_body_has_the_memory_of_one_around():
    x, y, inner = np.float32([3, 4]), np.ones(2, np.float32), zeros(2)
    body = Graph()
    body.placeholder(inner)
    body.add("mul", [y, inner], y)
    g = Graph()
    g.placeholder(x)
    g.add_while(body, lambda k: k < 2, tensors=[(x, inner)])
    g.run()
    assert y.tolist() == [9, 16]
    y[:] = 1
    g.bind(x, np.float32([2, 5]))
    g.run()
    assert y.tolist() == [4, 25]


def test_nests_and_branches():
    x, y = np.float32([2, 3]), np.ones(2, np.float32)
    inner, outer, g = powers(y, x), Graph(), Graph()
    outer.add_while(inner, lambda i, j: j <= i)
    g.add_while(outer, lambda i: i < 3)
    del inner, outer
    gc.collect()
    g.run()
    assert y.tolist() == [2**6, 3**6]
    plus, minus = Graph(), Graph()
    plus.add("add", [y, x], y)
    minus.add("neg", y, y)
    k, g = np.array(0), Graph()
    g.add_case_of(k, [plus, (minus, [])])
    for index, expected in ((0, [3, 4]), (1, [-1, -1]), (-1, [1, 1])):
        y[:], k[...] = 1, index
        g.run()
        assert y.tolist() == expected
    k[...] = 2
    with pytest.raises(mote.Error, match="there is no branch 2, it has 2"):
        g.run()
    must = Graph()
    must.add_case_of(lambda: -1, [plus], must_run=True)
    with pytest.raises(mote.Error, match="no branch has the index -1"):
        must.run()

    def fails():
        raise KeyError("in a decision")

    broken = Graph()
    broken.add_case_of(fails, [plus])
    with pytest.raises(KeyError, match="in a decision"):
        broken.run()


def test_runs_are_recorded_cancelled_and_measured():
    x, y = whole(4, 4), zeros(4, 4)
    g = Graph(context=mote.graphs.Context())
    g.add("matmul", [x, x], y)
    g.trace()
    g.run()
    g.trace(False)
    g.run()
    spans = [e for e in json.loads(g.trace_json())["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == 1
    assert g.autotune(seconds=0.01, rounds=1) == 1
    assert g.untuned() == []
    g.run()
    np.testing.assert_array_equal(y, x @ x)

    def cancelled():
        thread = threading.Thread(target=g.cancel)
        thread.start()
        thread.join()

    g.call(cancelled, writes=y)
    g.fill(y, 1)
    g.find_order()
    with pytest.raises(mote.Error, match="cancelled before node"):
        g.run()


def test_mistakes_say_what_was_expected():
    x, y = np.float32([1, 2]), zeros(2)
    frozen = zeros(2)
    frozen.flags.writeable = False
    odd = np.zeros(2, np.dtype([("value", np.float32), ("rest", np.int8)]))["value"]
    g = Graph()
    for message, mistake in (
        ("neg: an output needs an array that can be written to, got one that is read only",
         lambda: g.add("neg", x, frozen)),
        ("neg: an output needs strides of whole elements, got", lambda: g.add("neg", x, odd)),
        ("neg: an input needs strides of whole elements", lambda: g.add("neg", odd, y)),
        ("copy: y needs", lambda: g.copy(x, frozen)),
        ("fill: y needs", lambda: g.fill(frozen, 1)),
        ("did you mean softmax", lambda: g.add("sofmax", x, y)),
        ("neg: has 1 inputs, got 2", lambda: g.add("neg", [x, x], y)),
        ("matmul: axis 2 of b must be K = 3, got 2", lambda: (g.add("matmul", [zeros(2, 3), zeros(2, 3)], zeros(2, 3)), g.run())),
        ("expected an array, got str", lambda: Graph().add("neg", "x", y)),
        ("must be a tensor that a node of the body uses",
         lambda: Graph().add_while(Graph(), np.array(0))),
        ("it has no branches", lambda: Graph().add_case_of(np.array(0), [])),
        ("streams must be at least 1, got 0", lambda: Graph(streams=0)),
    ):
        with pytest.raises(mote.Error, match=message):
            mistake()
