# SPDX-License-Identifier: Apache-2.0
"""Twenty right kernels of NumPy and JAX: each with its op and options."""

import jax
import jax.numpy as jnp
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_along(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def softmax_into(x, out):
    np.exp(x - x.max(axis=0, keepdims=True), out=out)
    out /= out.sum(axis=0, keepdims=True)


def matmul(a, b):
    return a @ b


def layer_norm(x, gamma, beta, eps):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return (centred / np.sqrt(variance + x.dtype.type(eps)) * gamma + beta).astype(x.dtype)


def rms_norm(x, gamma, eps):
    scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(eps))
    return (x / scale * gamma).astype(x.dtype)


def relu(x, y):
    np.maximum(x, 0, out=y)


def where(c, a, b):
    return np.where(c, a, b)


def total(x):
    return x.sum(axis=-1)


def argmax(x):
    return np.argmax(x, axis=-1)


def jax_softmax(x):
    return jax.nn.softmax(x, axis=-1)


@jax.jit
def jax_matmul(a, b):
    return jnp.matmul(a, b, precision="highest")


def jax_logsumexp(x):
    return jax.scipy.special.logsumexp(x, axis=-1)


def jax_relu(x):
    return jax.nn.relu(x)


RIGHT = [
    (softmax, "softmax", {"axis": -1}),
    (softmax_along, "softmax", {}),
    (softmax_into, "softmax", {"axis": 0}),
    (matmul, "matmul", {"dtypes": ["f32", "f64", "i32"]}),
    (layer_norm, "layer_norm", {}),
    (rms_norm, "rms_norm", {"dtypes": ["f32", "f64"]}),
    (relu, "relu", {"dtypes": ["f32", "f16", "i8"]}),
    (where, "where", {}),
    (total, "sum", {"axis": -1}),
    (argmax, "argmax", {"axis": -1}),
    (np.add, "add", {}),
    (np.exp, "exp", {}),
    (np.tanh, "tanh", {"dtypes": ["f32", "f64"]}),
    (np.maximum, "max", {"dtypes": ["f32", "i64", "u8"]}),
    (np.floor, "floor", {}),
    (np.bitwise_xor, "bitwise_xor", {"dtypes": ["i32", "u8"]}),
    (jax_softmax, "softmax", {"axis": -1, "flushes_denormals": True}),
    (jax_matmul, "matmul", {"flushes_denormals": True}),
    (jax_logsumexp, "logsumexp", {"axis": -1, "flushes_denormals": True}),
    (jax_relu, "relu", {}),
]
