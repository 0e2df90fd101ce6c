# SPDX-License-Identifier: Apache-2.0
"""Forward mode, checkpoints and passes of symbolic graphs from Python."""

import numpy as np
import pytest

import mote_kernels as mote
from mote_kernels import graphs
from mote_kernels.graphs import Graph

RANDOM = np.random.default_rng(1)


def whole(*shape):
    """Small whole numbers, of which sums and products of f64 are exact."""
    return RANDOM.integers(-4, 5, shape).astype(np.float64)


def values_of(symbols, **inputs):
    return [np.array(t) for t in symbols[0].graph.compile(symbols)(**inputs)]


def test_forward_mode_is_the_change_along_tangents():
    g = Graph()
    x, w = g.input("x", "f64", (3, 2)), g.input("w", "f64", (2, 4))
    dx = g.input("dx", "f64", (3, 2))
    y, z = x @ w, x * x
    a, b, da, dw = whole(3, 2), whole(2, 4), whole(3, 2), whole(2, 4)
    dy, dz = g.jvp([y, z], [x, w], [dx, dw])
    (of_w,) = g.jvp(y, [x, w], [None, dw])
    assert len(g.jvp(y, w, dw)) == 1  # an array alone is one tangent, not one for each row
    values = values_of([dy, dz, of_w], x=a, w=b, dx=da)
    for got, expected in zip(values, (da @ b + a @ dw, 2 * a * da, a @ dw)):
        np.testing.assert_array_equal(got, expected)


def test_forward_mode_of_a_loop_and_of_itself():
    g = Graph()
    x = g.input("x", "f64", (2,))
    cube = g.for_loop(2, lambda y, k: y * x, x)  # x^3
    ones = g.constant(np.ones(2))
    (first,) = g.jvp(cube, x, ones)
    (second,) = g.jvp(first, x, ones)
    a = np.float64([2, 3])
    np.testing.assert_array_equal(values_of([first, second], x=a), [3 * a**2, 6 * a])


def test_forward_and_reverse_mode_agree():
    g = Graph()
    x, t, s = (g.input(name, "f64", (4,)) for name in "xts")
    w = whole(4, 4)
    y = (x.reshape(1, 4) @ w).reshape(4) * x
    (forwards,) = g.jvp(y, x, t)
    (backwards,) = g.gradient(y, x, s)
    values = values_of([forwards, backwards], x=whole(4), t=np.arange(4.0), s=np.arange(4.0) - 2)
    assert values[0] @ (np.arange(4.0) - 2) == values[1] @ np.arange(4.0)


def test_mistakes_of_forward_mode():
    g = Graph()
    x, k = g.input("x", "f64", (2,)), g.input("k", "i64", (2,))
    with pytest.raises(mote.Error, match="jvp: tangents: expected 2, got 1"):
        g.jvp(x * x, [x, x], [x])
    with pytest.raises(mote.Error, match=r"the tangent of x f64\[2\] is .* f64\[3\]"):
        g.jvp(x * x, x, g.constant(np.ones(3)))
    with pytest.raises(mote.Error, match=r"x k is i64\[2\], expected reals"):
        g.jvp(x * x, k, k)
    with pytest.raises(mote.Error, match="gradient: seeds: expected 1, got 2"):
        g.gradient(x * x, x, [x, x])
    assert str(g).count("=") == 5  # x * x four times, and the constant: nothing of what failed


def chain(length=32):
    g = Graph("chain")
    x = g.input("x", "f32", (256,))
    y = x
    for _ in range(length):
        y = graphs.tanh(y)
    return g, x, y, *g.gradient(y, x)


START = RANDOM.standard_normal(256).astype(np.float32)


@pytest.mark.parametrize("options", [{}, {"policy": "square_root"}, {"slots": 4},
                                     {"budget": 14 * 1024}, {"policy": "cheap", "context": graphs.Context()}])
def test_checkpoints_need_less_memory_and_keep_the_bits(options):
    g, x, y, slope = chain()
    before = g.compile([y, slope])
    expected = [np.array(t) for t in before(x=START)]
    report = g.checkpoint(y, outputs=[y, slope], **options)
    after = g.compile([y, slope])
    for got, wanted in zip(after(x=START), expected):
        np.testing.assert_array_equal(got.numpy(), wanted)
    if options.get("policy") == "cheap":  # a chain of tanh alone: nothing is worth it, or all is
        assert after.bytes <= before.bytes
        return
    policy = "binomial" if "slots" in options else "square_root"
    if "budget" in options:
        assert after.bytes <= options["budget"] < before.bytes
    else:
        assert report.text.startswith(policy), report
    assert report.copies > 0 and after.bytes < before.bytes, report
    assert report.forward_nodes == 32 and report.most_runs >= 2 and report.segments > 1
    assert report.copied_bytes == report.copies * 2 * 1024
    assert str(report.copies) in report.text


def test_what_is_kept_is_not_computed_again():
    g = Graph("kept")
    states = [g.input("x", "f32", (256,))]
    for _ in range(16):
        states.append(graphs.tanh(states[-1]))
    g.set_outputs(g.gradient(states[-1], states[0]))
    assert g.checkpoint(states[-1], keep=states).copies == 0
    assert g.checkpoint(states[-1]).copies > 0


def test_mistakes_of_checkpoints():
    g, x, y, slope = chain()
    g.set_outputs(slope)
    text = str(g)
    for message, options in (
        ("checkpoint: policy: expected square_root, binomial, budget, cheap, got 'all'",
         {"policy": "all"}),
        ("chain needs at least 4096 bytes whatever is computed again, the budget is 100",
         {"budget": 100}),
        ("slots", {"policy": "binomial"}),
    ):
        with pytest.raises((mote.Error, MemoryError), match=message):
            g.checkpoint(y, outputs=[y, slope], **options)
    assert str(g) == text
    with pytest.raises(mote.Error, match="chain has no outputs, so that nothing would be kept"):
        g.checkpoint(y, outputs=[])


def test_saved_says_what_the_way_back_reads():
    g = Graph()
    x = g.input("x", "f32", (4,))
    y = graphs.tanh(x)
    saved = g.saved(y, g.gradient(y, x))
    assert "f32[4] 16 bytes" in saved and "tanh.grad" in saved


def test_passes_have_names_and_say_what_they_did():
    known = graphs.passes()
    assert set(graphs.default_passes()) <= set(known) and all(known.values())
    g = Graph()
    x = g.input("x", "f32", (4,))
    y = graphs.tanh(x) + graphs.tanh(x)
    graphs.neg(x)
    g.set_outputs(y)
    assert g.apply_passes(["merge", "prune"], verify=True) == [
        "merge: 1 node removed", "prune: 1 node removed, 2 symbols removed"]
    assert "neg" not in str(g) and str(g).count("tanh") == 1
    lines = g.apply_passes()
    assert [line.split(":")[0] for line in lines] == list(graphs.default_passes())
    np.testing.assert_array_equal(values_of([y], x=np.zeros(4, np.float32))[0], np.zeros(4))
    with pytest.raises(mote.Error, match="there is no pass 'merg'.*merge"):
        g.apply_passes(["merg"])


def test_compiling_runs_the_passes_that_are_asked_for():
    g = Graph()
    x = g.input("x", "f32", (4,))
    y = graphs.tanh(x) + graphs.tanh(x)
    reports = {}
    for passes in (None, [], ["merge"]):
        step = g.compile(y, passes=passes)
        reports[str(passes)] = step.report()
        assert g.plan(y, passes=passes) == step.report()
        np.testing.assert_array_equal(step(x=np.zeros(4, np.float32))[0].numpy(), np.zeros(4))
    assert "pass merge: 1 node removed" in reports["None"] and "3 nodes" in reports["[]"]
    assert "pass " not in reports["[]"] and reports["['merge']"].count("pass ") == 1
    with pytest.raises(mote.Error, match="there is no pass 'merg'"):
        g.compile(y, passes=["merg"])


def test_uses_of_a_symbol_are_replaced():
    g = Graph()
    x = g.input("x", "f32", (2,))
    y, z = graphs.tanh(x), graphs.neg(x)
    twice = y + y
    g.replace_uses(y, z)
    np.testing.assert_array_equal(values_of([twice], x=np.float32([1, 2]))[0], np.float32([-2, -4]))
    with pytest.raises(mote.Error, match=r"f32\[1\].* cannot replace .*f32\[2\]"):
        g.replace_uses(z, z.slice(0, 0, 1))


def rectify(graph):
    """Puts relu for each tanh."""
    for node in graph.nodes():
        if graph.node_command(node) == "tanh":
            (x,) = graph.node_inputs(node)
            graph.replace_uses(node, graph.relu(x))
            graph.remove(node)


def test_a_pass_of_the_program_s_own():
    graphs.register_pass("rectify", rectify, "Puts relu for tanh.")
    assert graphs.passes()["rectify"] == "Puts relu for tanh."
    with pytest.raises(mote.Error, match="there is a pass rectify already"):
        graphs.register_pass("rectify", rectify)
    g = Graph()
    x = g.input("x", "f32", (2,))
    y = g.for_loop(2, lambda y, k: graphs.tanh(y) * 2, graphs.tanh(x))
    a = np.float32([1, -1])
    (changed,) = g.compile(y, passes=["rectify"])(x=a)
    np.testing.assert_array_equal(changed.numpy(), np.float32([4, 0]))
    assert "tanh" in str(g) and "relu" not in str(g)  # compiling works on a copy
    g.set_outputs(y)
    (line,) = g.apply_passes(["rectify"])
    assert line.startswith("rectify: ") and "tanh" not in str(g) and str(g).count("relu") == 2
    np.testing.assert_array_equal(g.compile()(x=a)[0].numpy(), np.float32([4, 0]))


def test_a_pass_that_raises_leaves_the_graph_as_it_was():
    kept = []

    def fail_late(graph):
        kept.append(graph)
        rectify(graph)
        raise KeyError("in a pass")

    graphs.register_pass("fail_late", fail_late)
    g = Graph()
    x = g.input("x", "f32", (2,))
    y = graphs.tanh(x)
    text = str(g)
    for run in (lambda: g.apply_passes(["fail_late"]), lambda: g.plan(y, passes=["fail_late"]),
                lambda: g.compile(y, passes=["fail_late"])):
        with pytest.raises(KeyError, match="in a pass"):
            run()
        assert str(g) == text
    with pytest.raises(mote.Error, match="graph is NULL"):
        kept[0].nodes()


def test_a_node_s_inputs_and_what_is_none():
    g = Graph()
    x = g.input("x", "f32", (2, 4))
    y = graphs.layer_norm(x, None, None, eps=0.5)
    (node,) = g.nodes()
    assert node.c == y.c and g.node_command(y) == "layer_norm eps=0.5"
    assert [i if i is None else i.name for i in g.node_inputs(y)] == ["x", None, None]
    copy = x.convert("f64")
    assert g.node_command(copy) is None
    with pytest.raises(mote.Error, match="no node writes x"):
        g.node_inputs(x)
    loop = g.for_loop(1, lambda z, k: z, copy)
    g.remove(copy)
    for refused in (g.verify, lambda: g.compile(loop), lambda: g.evaluate(loop, x=np.ones((2, 4), "f4"))):
        with pytest.raises(mote.Error, match="reads t.*, which no node writes"):
            refused()
    g.remove(loop)
    g.verify()
    assert [node.c for node in g.nodes()] == [y.c]


def test_a_replacement_of_the_program_s_own():
    pattern = "graph p(x f32[?]) -> (y)\n  h = neg(x)\n  y = relu(h)"
    by = "graph r(x f32[?]) -> (y)\n  y = abs(x)"
    graphs.register_replacement("mirror", pattern, by, reason="It is wrong, so that the test sees it.")
    with pytest.raises(mote.Error, match="there is a replacement mirror already"):
        graphs.register_replacement("mirror", pattern, by)
    with pytest.raises(mote.Error, match="line 1, column 9: expected an input's name"):
        graphs.register_replacement("bad", "graph p(", by)
    g = Graph()
    x = g.input("x", "f32", (4,))
    y = graphs.relu(-x)
    g.set_outputs(y)
    assert g.apply_passes(["replace"]) == ["replace: nothing"]
    (line,) = g.apply_passes(["replace"], inexact=True)
    assert "mirror" in line and "abs(x)" in str(g)
