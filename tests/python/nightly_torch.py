# SPDX-License-Identifier: Apache-2.0
"""PyTorch: right ops at one and two threads, wrong kernels, gradients, Triton's interpreter. torch.sh
runs it where PyTorch is installed."""

import inspect
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mote_kernels as mote  # noqa: E402
import torch_kernels as kernels  # noqa: E402

SECONDS = float(os.environ.get("MOTE_PYTHON_SECONDS", "2"))
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def label(value):
    return getattr(value, "__name__", None) or (value if isinstance(value, str) else "")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fn, op, options", kernels.RIGHT, ids=label)
def test_right_kernels_pass(fn, op, options, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        r = mote.check(fn, op, seed=1, budget=SECONDS, isolate=False, **options)
    finally:
        torch.set_num_threads(before)
    assert r.passed, str(r)


@pytest.mark.parametrize("fn, op, options", kernels.WRONG, ids=label)
def test_wrong_kernels_are_found(fn, op, options):
    """At one thread: others that wait for work spin, which is time of the processor but not of the check."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    begin = time.process_time()
    try:
        r = mote.check(fn, op, seed=1, count=400, max_failures=1, isolate=False, **options)
    finally:
        torch.set_num_threads(before)
    taken = time.process_time() - begin
    assert r.failures, f"not found in {r.judged} cases"
    assert taken < 5, f"{taken:.1f} s of processor time"
    confirm_in_plain_python(fn, r.failure)


def confirm_in_plain_python(fn, failure):
    """Calls the function on the arrays of the smallest case: it gives what was got."""
    if failure.traceback or failure.verdict != "failed" or fn is kernels.empty_result:
        return  # memory that nothing wrote is what it happens to be
    names = inspect.signature(fn).parameters
    inputs = [torch.from_numpy(np.array(x)) for x in failure.inputs.values()]
    if list(names) == ["x"] and inputs[0].dim() == 3:
        inputs[0] = inputs[0][..., 0]  # along the last axis
    words = dict(w.split("=", 1) for w in failure.case.split() if "=" in w)
    params = {"eps": float(words.get("eps", 1e-5))} if "eps" in names else {}
    got = fn(*inputs, **params).numpy()
    (recorded,) = failure.got.values()
    np.testing.assert_array_equal(got.reshape(recorded.shape), recorded)


def test_workers_run_torch():
    r = mote.check(kernels.softmax, "softmax", axis=-1, count=40, seed=1)
    assert r.passed and r.isolated, str(r)


@pytest.mark.parametrize("fn, op, axis", [
    (kernels.softmax, "softmax", -1), (kernels.layer_norm, "layer_norm", None),
    (kernels.matmul, "matmul", None), (kernels.silu, "silu", None), (kernels.relu, "relu", None),
    (kernels.leaky_relu, "leaky_relu", None), (kernels.maximum, "max", None)], ids=label)
def test_autograd_is_right(fn, op, axis):
    r = mote.check(fn, op, axis=axis, grad=True, count=40, seed=1, isolate=False)
    assert r.passed, str(r)


def test_a_wrong_backward_is_found():
    r = mote.check(kernels.tanh_with_wrong_backward, "tanh", grad=True, count=40, seed=1,
                   isolate=False)
    assert r.failure is not None and "gx" in r.failure.expected


def test_a_module_has_the_parameters_of_its_forward():
    class Leaky(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.leaky_relu(x, 0.01)

    class Scaled(torch.nn.Module):
        def forward(self, matrix, alpha):
            return torch.nn.functional.leaky_relu(matrix, alpha)

    r = mote.check(Leaky(), "leaky_relu", count=60, seed=1)
    assert r.passed and any("alpha" in reason for reason in r.declined), str(r)
    r = mote.check(Scaled(), "leaky_relu", count=60, seed=1)
    assert r.passed and not any("alpha" in reason for reason in r.declined), str(r)


def test_dlpack_of_torch():
    x = torch.arange(6.0).reshape(2, 3)
    t = mote.Tensor.over(x)
    assert t.numpy().__array_interface__["data"][0] == x.data_ptr()
    assert torch.from_dlpack(t).data_ptr() == x.data_ptr()
    mote.assert_close(torch.relu(x), "relu", x)
    mote.assert_close(torch.softmax(x.bfloat16(), 1), "softmax", x.bfloat16(), axis=1)


def torch_of(array):
    return torch.from_numpy(array).requires_grad_()


@pytest.mark.parametrize("deferred", [False, True])
def test_gradients_of_dynamic_graphs_are_torch_s(deferred):
    """The same program, with writes in place, detached values and a second order."""
    d, g = mote.dynamic, mote.dynamic.Graph(deferred=deferred)
    random = np.random.default_rng(1)
    x, w, t = random.standard_normal((8, 6)), random.standard_normal((6, 4)), np.arange(8) % 4
    vx, vw = torch_of(x), torch_of(w)
    h = torch.tanh(vx @ vw)
    h = h * h.detach()
    h += vx[:, :4]
    h[2:4] = 0.5 * h[2:4]
    loss = torch.nn.functional.cross_entropy(h, torch.from_numpy(t)) + (h ** 2).mean()
    first = torch.autograd.grad(loss, [vx, vw], create_graph=True)
    second = torch.autograd.grad(first[1].square().sum(), [vx, vw])

    mx, mw = g.variable(x), g.variable(w)
    y = d.tanh(mx @ mw)
    y = y * y.detach()
    y += mx[:, :4]
    y[2:4] = 0.5 * y[2:4]
    total = d.cross_entropy(y, g.constant(t)) + d.mean((y ** 2).reshape(32), axis=0)
    assert total.item() == pytest.approx(float(loss), rel=1e-12)
    gradients = total.backward([mx, mw], traced=True)
    again = d.sum((gradients[1] * gradients[1]).reshape(24), axis=0).backward([mx, mw])
    for got, expected in zip((*gradients, *again), (*first, *second)):
        np.testing.assert_allclose(got.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_variables_share_memory_with_torch():
    g = mote.dynamic.Graph()
    x = torch.arange(6.0).reshape(2, 3).T.requires_grad_()
    v = g.variable(x)
    assert v.shape == (3, 2) and torch.from_dlpack(v).data_ptr() == x.data_ptr()
    assert g.constant(x.detach().bfloat16()).dtype == "bf16"
    y = torch.from_dlpack(v * 2)
    assert torch.equal(y, x.detach() * 2)
    kept = g.constant(torch.full((1000,), 3.0)) * 1  # the tensor is gone
    assert float(mote.dynamic.sum(kept, axis=0)) == 3000


def test_inline_cuda_on_the_cpu(tmp_path, monkeypatch):
    """The text of examples/python/inline_cuda.py compiled as C++; on a GPU it is compiled by nvcc."""
    pytest.importorskip("ninja", reason="ninja is not installed")
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    names = runpy.run_path(str(EXAMPLES / "inline_cuda.py"))
    options = {"axis": -1, "arrays": "torch", "dtypes": ["f32"], "seed": 1, "isolate": False}
    r = mote.check(names["softmax"], "softmax", count=100, **options)
    assert r.passed, str(r)
    r = mote.check(names["softmax_without_scaling"], "softmax", count=100, max_failures=1, **options)
    assert r.failure is not None


def test_triton_under_its_interpreter():
    """In a process of its own: Triton reads $TRITON_INTERPRET when it is imported."""
    pytest.importorskip("triton", reason="Triton is not installed")
    done = subprocess.run([sys.executable, str(EXAMPLES / "triton_softmax.py")], text=True,
                          env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "softmax: softmax: passed (2" in done.stdout, done.stdout
    assert "softmax: softmax_without_mask: FAILED" in done.stdout, done.stdout
    assert "raised" not in done.stdout and "expected" in done.stdout, done.stdout
