# SPDX-License-Identifier: Apache-2.0
"""Twenty wrong kernels of usual kinds, in NumPy and JAX: each with its op and options."""

import jax
import jax.numpy as jnp
import numpy as np


def softmax_without_maximum(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def softmax_over_wrong_axis(x):
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def softmax_of_padded_rows(x):
    """Pads rows to a multiple of 4 with zeros, which are terms of the sum."""
    n = x.shape[-1]
    padded = np.zeros(x.shape[:-1] + (-(-n // 4) * 4,), x.dtype)
    padded[..., :n] = x
    e = np.exp(padded - padded.max(axis=-1, keepdims=True, initial=-np.inf))
    return (e / e.sum(axis=-1, keepdims=True))[..., :n]


def matmul_drops_tail(a, b):
    k = a.shape[-1] // 8 * 8
    return a[..., :k] @ b[..., :k, :]


def matmul_in_half(a, b):
    return (a.astype(np.float16) @ b.astype(np.float16)).astype(a.dtype)


def layer_norm_with_sample_variance(x, gamma, beta, eps):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True, ddof=1)
    return ((x - mean) / np.sqrt(variance + np.float32(eps)) * gamma + beta).astype(x.dtype)


def layer_norm_eps_outside(x, gamma, beta, eps):
    mean = x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(x.var(axis=-1, keepdims=True)) + np.float32(eps)
    return ((x - mean) / deviation * gamma + beta).astype(x.dtype)


def relu_of_blocks(x, y):
    """Leaves the last block unwritten if it is not whole."""
    flat = x.reshape(-1)
    n = flat.size // 16 * 16
    out = y.reshape(-1)
    out[:n] = np.maximum(flat[:n], 0)
    y[...] = out.reshape(y.shape)


def gelu_is_of_tanh(x):
    return (0.5 * x * (1 + np.tanh(0.7978846 * (x + 0.044715 * x**3)))).astype(x.dtype)


def sigmoid_overflows(x):
    e = np.exp(x)
    return e / (1 + e)


def log_softmax_by_log(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.log(e / e.sum(axis=-1, keepdims=True))


def add_by_reshape(a, b):
    """Broadcasts by repeating, which needs equal shapes."""
    return a + b.reshape(a.shape)


def sum_in_place(x):
    x *= 1
    x[..., :1] += 1
    return x.sum(axis=-1)


def argmax_takes_last(x):
    flipped = x[..., ::-1]
    return (x.shape[-1] - 1 - np.argmax(flipped, axis=-1)).astype(np.int64)


def rms_norm_without_mean(x, gamma, eps):
    return (x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + np.float32(eps)) * gamma).astype(
        x.dtype)


_cache = {}


def exp_by_shape(x):
    """Keeps the result of the first call of each shape."""
    return _cache.setdefault(x.shape, np.exp(x))


def jax_softmax_without_maximum(x):
    e = jnp.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@jax.jit
def jax_mean_of_half(x):
    return x.astype(jnp.bfloat16).mean(axis=-1).astype(x.dtype)


def jax_silu_clamped(x):
    return x * jax.nn.sigmoid(jnp.clip(x, -8, 8))


def jax_matmul_transposed(a, b):
    return jnp.swapaxes(a, -1, -2) @ jnp.swapaxes(b, -1, -2)


WRONG = [
    (softmax_without_maximum, "softmax", {"axis": -1}),
    (softmax_over_wrong_axis, "softmax", {"axis": -1}),
    (softmax_of_padded_rows, "softmax", {"axis": -1}),
    (matmul_drops_tail, "matmul", {}),
    (matmul_in_half, "matmul", {}),
    (layer_norm_with_sample_variance, "layer_norm", {}),
    (layer_norm_eps_outside, "layer_norm", {}),
    (relu_of_blocks, "relu", {}),
    (gelu_is_of_tanh, "gelu", {}),
    (sigmoid_overflows, "sigmoid", {}),
    (log_softmax_by_log, "log_softmax", {"axis": -1}),
    (add_by_reshape, "add", {}),
    (sum_in_place, "sum", {"axis": -1}),
    (argmax_takes_last, "argmax", {"axis": -1}),
    (rms_norm_without_mean, "rms_norm", {}),
    (exp_by_shape, "exp", {}),
    (jax_softmax_without_maximum, "softmax", {"axis": -1}),
    (jax_mean_of_half, "mean", {"axis": -1}),
    (jax_silu_clamped, "silu", {}),
    (jax_matmul_transposed, "matmul", {}),
]
