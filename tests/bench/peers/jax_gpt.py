#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures JAX on a training step of the small GPT of tests/graphs/networks/transformer.cpp.

Prints JSON: the bytes that XLA takes in addition to arguments and results, and the seconds of compiling.
Prints {"skipped": ...} where jax is missing.
"""

import json
import sys
import time

VOCABULARY, BLOCKS, HEADS, CHANNELS, TOKENS, BATCH = 65, 4, 4, 128, 64, 12


def parameters(np):
    draw = np.random.default_rng(1)

    def matrix(rows, columns):
        return draw.uniform(-1, 1, (rows, columns)).astype(np.float32) / np.sqrt(np.float32(rows))

    def linear(rows, columns):
        return {"w": matrix(rows, columns), "b": np.zeros(columns, np.float32)}

    def norm():
        return {"gamma": np.ones(CHANNELS, np.float32), "beta": np.zeros(CHANNELS, np.float32)}

    def block():
        return {"norm1": norm(), "qkv": linear(CHANNELS, 3 * CHANNELS),
                "out": linear(CHANNELS, CHANNELS), "norm2": norm(),
                "wide": linear(CHANNELS, 4 * CHANNELS), "narrow": linear(4 * CHANNELS, CHANNELS)}

    return {"tokens": matrix(VOCABULARY, CHANNELS), "positions": matrix(TOKENS, CHANNELS),
            "blocks": [block() for _ in range(BLOCKS)], "norm": norm()}


def main():
    try:
        import jax
        import jax.numpy as jnp
        import numpy as np
    except ImportError as error:
        print(json.dumps({"skipped": str(error)}))
        return 0

    def linear(p, x):
        return x @ p["w"] + p["b"]

    def norm(p, x):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["gamma"] + p["beta"]

    def attention(p, x):
        split = linear(p["qkv"], x).reshape(BATCH, TOKENS, 3, HEADS, CHANNELS // HEADS)
        q, k, v = (split[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
        scores = q @ k.transpose(0, 1, 3, 2) / (CHANNELS // HEADS) ** 0.5
        hidden = jnp.triu(jnp.ones((TOKENS, TOKENS), bool), 1)
        weights = jax.nn.softmax(jnp.where(hidden, -jnp.inf, scores), -1)
        y = (weights @ v).transpose(0, 2, 1, 3).reshape(BATCH, TOKENS, CHANNELS)
        return linear(p["out"], y)

    def loss(p, tokens, labels):
        x = p["tokens"][tokens] + p["positions"]
        for block in p["blocks"]:
            x = x + attention(block, norm(block["norm1"], x))
            wide = jax.nn.gelu(linear(block["wide"], norm(block["norm2"], x)), approximate=True)
            x = x + linear(block["narrow"], wide)
        logits = norm(p["norm"], x) @ p["tokens"].T
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)
        return -picked.mean()

    def step(p, m, v, tokens, labels):
        value, gradient = jax.value_and_grad(loss)(p, tokens, labels)
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, gradient)
        v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, gradient)
        p = jax.tree.map(lambda w, a, b: w - 1e-3 * (a / (1 - 0.9)) /
                         (jnp.sqrt(b / (1 - 0.999)) + 1e-8), p, m, v)
        return value, p, m, v

    p = parameters(np)
    zeros = jax.tree.map(np.zeros_like, p)
    tokens = np.zeros((BATCH, TOKENS), np.int32)
    start = time.process_time()
    compiled = jax.jit(step).lower(p, zeros, zeros, tokens, tokens).compile()
    seconds = time.process_time() - start
    memory = compiled.memory_analysis()
    print(json.dumps({"jax": jax.__version__, "temp_bytes": memory.temp_size_in_bytes,
                      "argument_bytes": memory.argument_size_in_bytes,
                      "output_bytes": memory.output_size_in_bytes, "compile_cpu_s": seconds}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
