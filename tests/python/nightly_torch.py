# SPDX-License-Identifier: Apache-2.0
"""PyTorch: right ops at one and two threads, wrong kernels, gradients, Triton's interpreter. torch.sh
runs it where PyTorch is installed."""

import os
import pathlib
import runpy
import time

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
    begin = time.process_time()
    r = mote.check(fn, op, seed=1, count=400, max_failures=1, isolate=False, **options)
    assert r.failures, f"not found in {r.judged} cases"
    assert time.process_time() - begin < 5


def test_workers_run_torch():
    r = mote.check(kernels.softmax, "softmax", axis=-1, count=40, seed=1)
    assert r.passed and r.isolated, str(r)


@pytest.mark.parametrize("fn, op, axis", [
    (kernels.softmax, "softmax", -1), (kernels.layer_norm, "layer_norm", None),
    (kernels.matmul, "matmul", None), (kernels.gelu, "gelu", None)], ids=label)
def test_autograd_is_right(fn, op, axis):
    r = mote.check(fn, op, axis=axis, grad=True, count=40, seed=1, isolate=False)
    assert r.passed, str(r)


def test_a_wrong_backward_is_found():
    r = mote.check(kernels.tanh_with_wrong_backward, "tanh", grad=True, count=40, seed=1,
                   isolate=False)
    assert r.failure is not None and "gx" in r.failure.expected


def test_dlpack_of_torch():
    x = torch.arange(6.0).reshape(2, 3)
    t = mote.Tensor.over(x)
    assert t.numpy().__array_interface__["data"][0] == x.data_ptr()
    assert torch.from_dlpack(t).data_ptr() == x.data_ptr()
    mote.assert_close(torch.relu(x), "relu", x)
    mote.assert_close(torch.softmax(x.bfloat16(), 1), "softmax", x.bfloat16(), axis=1)


def test_triton_under_its_interpreter():
    pytest.importorskip("triton", reason="Triton is not installed")
    os.environ["TRITON_INTERPRET"] = "1"
    names = runpy.run_path(str(EXAMPLES / "triton_softmax.py"))
    r = mote.check(names["softmax"], "softmax", axis=-1, count=20, seed=1, isolate=False)
    assert r.passed, str(r)
    r = mote.check(names["softmax_without_mask"], "softmax", axis=-1, count=40, seed=1,
                   isolate=False, max_failures=1)
    assert r.failure is not None
