# SPDX-License-Identifier: Apache-2.0
"""Kernels of PyTorch: twenty right ones, PyTorch's own ops, and wrong ones of usual kinds."""

import torch
import torch.nn.functional as F


def softmax(x):
    return F.softmax(x, dim=-1)


def log_softmax(x):
    return F.log_softmax(x, dim=-1)


def logsumexp(x):
    return torch.logsumexp(x, dim=-1)


def matmul(a, b):
    """Elements 2^31 bytes apart are copied first: MKL looks for them elsewhere (docs/findings.md)."""
    far = [max(x.stride(), default=0) * x.element_size() >= 2**31 for x in (a, b)]
    return torch.matmul(*(x.contiguous() if is_far else x for x, is_far in zip((a, b), far)))


def conv2d(x, w, bias, stride, pads, dilation, groups):
    x = F.pad(x, (pads[1], pads[3], pads[0], pads[2]))
    one_column = x.shape[3] <= dilation[1] * (w.shape[3] - 1) + stride[1]
    by_onednn = x.dtype != torch.bfloat16 and not one_column
    with torch.backends.mkldnn.flags(enabled=by_onednn), torch.backends.nnpack.flags(enabled=False):
        return F.conv2d(x, w, bias, stride, 0, dilation, groups)


def layer_norm(x, gamma, beta, eps):
    return F.layer_norm(x, gamma.shape, gamma, beta, eps)


def relu(x):
    return F.relu(x)


def leaky_relu(x, alpha):
    return F.leaky_relu(x, alpha)


def silu(x):
    return F.silu(x)


def sigmoid(x):
    return torch.sigmoid(x)


def tanh(x):
    return torch.tanh(x)


def exp(x):
    return torch.exp(x)


def add(a, b):
    return a + b


def mul(a, b):
    return a * b


def maximum(a, b):
    return torch.maximum(a, b)


def where(c, a, b):
    return torch.where(c, a, b)


def total(x):
    return x.sum(dim=-1)


def mean(x):
    return x.mean(dim=-1)


def greatest(x):
    return x.amax(dim=-1)


def first_greatest(x):
    return x.argmax(dim=-1)


BOTH = {"dtypes": ["f32", "bf16"], "accumulator": "native"}
# What PyTorch 2.15 does on a CPU and a contract declares: its product in bf16 (oneDNN) takes denormals as
# 0 and lets a row's NaN into the next row; layer_norm squares large numbers (NaN for one element of 2e19).
# conv2d is PyTorch's own in bf16, and where the output has one column: oneDNN gives numbers there that
# nothing wrote (docs/findings.md). NNPACK, which PyTorch takes without oneDNN, multiplies transforms, with
# an error that does not shrink with the elements (96.0000076 for 96). gelu is not among the right ones: an
# infinity in bf16 gives NaN, and its erf has errors of up to 1.5e-7, whatever the result is.
ONEDNN = {"flushes_denormals": True, "ignores_nan": True}
RIGHT = [
    (softmax, "softmax", {"axis": -1} | BOTH), (log_softmax, "log_softmax", {"axis": -1} | BOTH),
    (logsumexp, "logsumexp", {"axis": -1} | BOTH), (matmul, "matmul", BOTH | ONEDNN),
    (layer_norm, "layer_norm", BOTH | {"form": "one_pass"}), (relu, "relu", BOTH),
    (leaky_relu, "leaky_relu", BOTH),
    (silu, "silu", BOTH), (sigmoid, "sigmoid", BOTH), (tanh, "tanh", BOTH), (exp, "exp", BOTH),
    (add, "add", BOTH), (mul, "mul", BOTH), (maximum, "max", BOTH), (where, "where", BOTH),
    (total, "sum", {"axis": -1} | BOTH), (mean, "mean", {"axis": -1} | BOTH),
    (greatest, "reduce_max", {"axis": -1} | BOTH), (first_greatest, "argmax", {"axis": -1} | BOTH),
    (conv2d, "conv2d", BOTH | {"form": "padding_multiplied"}),
]


def softmax_without_maximum(x):
    e = torch.exp(x)
    return e / e.sum(dim=-1, keepdim=True)


def softmax_in_bf16(x):
    return F.softmax(x.bfloat16(), dim=-1).to(x.dtype)


def matmul_drops_tail(a, b):
    k = a.shape[-1] // 8 * 8
    return a[..., :k] @ b[..., :k, :]


def layer_norm_unbiased(x, gamma, beta, eps):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


def gelu_of_tanh(x):
    return F.gelu(x, approximate="tanh")


def relu_in_place(x):
    return x.relu_()


def sum_in_bf16(x):
    return x.bfloat16().sum(dim=-1).to(x.dtype)


def silu_clamped(x):
    return x * torch.sigmoid(x.clamp(-8, 8))


def argmax_takes_last(x):
    return x.shape[-1] - 1 - x.flip(-1).argmax(dim=-1)


def empty_result(x):
    return torch.empty_like(x)


def log_of_softmax(x):
    return torch.log(F.softmax(x, dim=-1))


def logsumexp_without_maximum(x):
    return torch.log(torch.exp(x).sum(dim=-1))


def mean_of_one_less(x):
    return x.sum(dim=-1) / max(x.shape[-1] - 1, 1)


def matmul_of_squares_transposed(a, b):
    return a @ (b.mT if b.shape[-1] == b.shape[-2] and b.shape[-1] > 1 else b)


def maximum_without_nan(a, b):
    return torch.fmax(a, b)


def where_by_products(c, a, b):
    return c * a + ~c * b


def sigmoid_of_tanh(x):
    return 0.5 * (1 + torch.tanh(x / 2))


def layer_norm_eps_outside(x, gamma, beta, eps):
    mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True, correction=0)
    return (x - mean) / (std + eps) * gamma + beta


def sum_without_last(x):
    return x[..., :-1].sum(dim=-1)


def exp_of_halves(x):
    return torch.exp(x.half().float()).to(x.dtype)


WRONG = [
    (softmax_without_maximum, "softmax", {"axis": -1}), (softmax_in_bf16, "softmax", {"axis": -1}),
    (matmul_drops_tail, "matmul", {}), (layer_norm_unbiased, "layer_norm", {}),
    (gelu_of_tanh, "gelu", {}), (relu_in_place, "relu", {}), (sum_in_bf16, "sum", {"axis": -1}),
    (silu_clamped, "silu", {}), (argmax_takes_last, "argmax", {"axis": -1}),
    (empty_result, "relu", {}),
    (log_of_softmax, "log_softmax", {"axis": -1}),
    (logsumexp_without_maximum, "logsumexp", {"axis": -1}),
    (mean_of_one_less, "mean", {"axis": -1}), (matmul_of_squares_transposed, "matmul", {}),
    (maximum_without_nan, "max", {}), (where_by_products, "where", {}),
    (sigmoid_of_tanh, "sigmoid", {}), (layer_norm_eps_outside, "layer_norm", {}),
    (sum_without_last, "sum", {"axis": -1}), (exp_of_halves, "exp", {}),
]


class HalfTanh(torch.autograd.Function):
    """tanh whose backward pass forgets a factor."""

    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y)


def tanh_with_wrong_backward(x):
    return HalfTanh.apply(x)
