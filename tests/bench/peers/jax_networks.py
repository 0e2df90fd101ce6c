# SPDX-License-Identifier: Apache-2.0
"""The networks of tests/graphs/networks written again in JAX, from the papers' formulas.

Each function returns the loss for a dictionary of arrays with the names of the graphs' inputs.
Layers are counted in the order in which the graphs add them: conv0, norm1, ...
"""

import jax
import jax.numpy as jnp
from jax import lax

EPSILON = 1e-5


class Layers:
    """The layers of one network; `values` holds inputs and parameters by name."""

    def __init__(self, values):
        self.values = values
        self.count = 0

    def next(self, layer):
        self.count += 1
        return f"{layer}{self.count - 1}"

    def conv(self, x, stride=1, pad=0):
        w = self.values[self.next("conv") + ".weight"]
        return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad), (pad, pad)],
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"))

    def batch_norm(self, x):
        name = self.next("norm")
        mean = x.mean((0, 2, 3), keepdims=True)
        variance = ((x - mean) ** 2).mean((0, 2, 3), keepdims=True)
        gamma, beta = (self.values[f"{name}.{part}"][:, None, None] for part in ("gamma", "beta"))
        return (x - mean) / jnp.sqrt(variance + EPSILON) * gamma + beta

    def layer_norm(self, x):
        name = self.next("norm")
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return ((x - mean) / jnp.sqrt(variance + EPSILON) * self.values[name + ".gamma"] +
                self.values[name + ".beta"])

    def linear(self, x):
        name = self.next("linear")
        return x @ self.values[name + ".weight"] + self.values[name + ".bias"]

    def loss(self, logits, labels):
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1)
        return -picked.mean()


def pooled(x, size, stride, pad, start, operation):
    window, strides = (1, 1, size, size), (1, 1, stride, stride)
    pads = ((0, 0), (0, 0), (pad, pad), (pad, pad))
    return lax.reduce_window(x, start, operation, window, strides, pads)


def max_pool(x, size, stride, pad=0):
    return pooled(x, size, stride, pad, -jnp.inf, lax.max)


def average_pool(x, size, stride):
    return pooled(x, size, stride, 0, 0.0, lax.add) / size**2


def relu(x):
    return jnp.maximum(x, 0)


def mlp(v):
    layers = Layers(v)
    x = layers.linear(v["rows"])
    return layers.loss(layers.linear(relu(x)), v["labels"])


def cnn(v):
    layers = Layers(v)
    x = v["images"]
    for _ in range(2):
        x = relu(layers.batch_norm(layers.conv(x, pad=1)))
        x = max_pool(x, 2, 2)
    return layers.loss(layers.linear(x.reshape(x.shape[0], -1)), v["labels"])


def residual_block(v):
    layers = Layers(v)
    x = v["images"]
    y = relu(layers.batch_norm(layers.conv(x, pad=1)))
    y = layers.batch_norm(layers.conv(y, pad=1))
    return layers.loss(layers.linear(relu(x + y).mean((2, 3))), v["labels"])


def resnet50(v):
    layers = Layers(v)
    x = relu(layers.batch_norm(layers.conv(v["images"], stride=2, pad=3)))
    x = max_pool(x, 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = relu(layers.batch_norm(layers.conv(x)))
            y = relu(layers.batch_norm(layers.conv(y, stride=stride, pad=1)))
            y = layers.batch_norm(layers.conv(y))
            if stride != 1 or x.shape[1] != y.shape[1]:
                x = layers.batch_norm(layers.conv(x, stride=stride))
            x = relu(x + y)
    return layers.loss(layers.linear(x.mean((2, 3))), v["labels"])


def densenet121(v):
    layers = Layers(v)
    x = relu(layers.batch_norm(layers.conv(v["images"], stride=2, pad=3)))
    for block, count in enumerate((6, 12, 24, 16)):
        x = max_pool(x, 3, 2, 1) if block == 0 else average_pool(x, 2, 2)
        for _ in range(count):
            y = layers.conv(relu(layers.batch_norm(x)))
            y = layers.conv(relu(layers.batch_norm(y)), pad=1)
            x = jnp.concatenate([x, y], 1)
        x = relu(layers.batch_norm(x))
        if block < 3:
            x = layers.conv(x)
    return layers.loss(layers.linear(x.mean((2, 3))), v["labels"])


def lstm(v, count=1):
    layers = Layers(v)
    x = list(v["sequence"])
    for layer in range(count):
        w, r, b, h, c = (v[f"lstm{layer}.{part}"] for part in "wrbhc")
        for t, step in enumerate(x):
            i, f, g, o = (step @ w[k].T + h @ r[k].T + b[k] for k in range(4))
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            x[t] = h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return layers.loss(layers.linear(x[-1]), v["labels"])


def stacked_lstm(v):
    return lstm(v, 2)


def gpt(v, heads=4, blocks=4):
    layers = Layers(v)
    tokens, table = v["tokens"], v["tokens.weight"]
    batch, length = tokens.shape
    channels = table.shape[1]

    def attention(x):
        split = layers.linear(x).reshape(batch, length, 3, heads, channels // heads)
        q, k, value = (split[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
        scores = q @ k.transpose(0, 1, 3, 2) / (channels // heads) ** 0.5
        hidden = jnp.triu(jnp.ones((length, length), bool), 1)
        weights = jax.nn.softmax(jnp.where(hidden, -jnp.inf, scores), -1)
        return layers.linear((weights @ value).transpose(0, 2, 1, 3).reshape(x.shape))

    def wide(x):
        return layers.linear(jax.nn.gelu(layers.linear(x), approximate=True))

    x = (table[tokens] + v["positions.weight"]).reshape(batch * length, channels)
    for _ in range(blocks):
        x = x + attention(layers.layer_norm(x))
        x = x + wide(layers.layer_norm(x))
    return layers.loss(layers.layer_norm(x) @ table.T, v["labels"].reshape(-1))


NETWORKS = {"mlp": mlp, "cnn": cnn, "residual_block": residual_block, "lstm": lstm,
            "stacked_lstm": stacked_lstm, "gpt": gpt, "densenet121": densenet121,
            "resnet50": resnet50}
