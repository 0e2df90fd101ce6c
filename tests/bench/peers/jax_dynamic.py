# SPDX-License-Identifier: Apache-2.0
"""Training steps of two small networks, eager and compiled, next to JAX's in turn.

    python tests/bench/peers/jax_dynamic.py build/release/bin/mote_dynamic_steps

Prints three Markdown tables: medians of rounds, and the median of the ratios of each round. The
first has the steps; networks with sizes of 1 cost what a step costs beyond its kernels. The second
takes the kernels away, which are the same step compiled as one graph, on either side: what is left
of the eager step, for each op. The third has a traced addition of one element, and the MLPs' eager
steps next to MLX's, where that is installed. It prints {"skipped": ...} where JAX is not there. All
use one thread.
"""

import os
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
except ImportError as error:
    print(f'{{"skipped": "{error}"}}')
    sys.exit(0)

try:
    import mlx.core as mx
except ImportError:
    mx = None

ROUNDS = 15
ADDS = 1000
RATE = 0.01


def loss_of(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1)
    return -picked.mean()


def mlp(w, x, labels):
    h = jnp.maximum(x @ w[0] + w[1], 0)
    return loss_of(h @ w[2] + w[3], labels)


def conv(x, w, b, pad):
    y = lax.conv_general_dilated(x, w, (1, 1), [(pad, pad), (pad, pad)],
                                 dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return y + b[:, None, None]


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet(w, x, labels):
    pad = 2 if x.shape[2] == 28 else 0
    h = pool(jnp.maximum(conv(x, w[0], w[1], pad), 0))
    h = pool(jnp.maximum(conv(h, w[2], w[3], 0), 0)).reshape(x.shape[0], -1)
    h = jnp.maximum(h @ w[4] + w[5], 0)
    h = jnp.maximum(h @ w[6] + w[7], 0)
    return loss_of(h @ w[8] + w[9], labels)


NETWORKS = {
    "mlp_of_1": (mlp, [(1, 1), (1,), (1, 1), (1,)], (1, 1), 1),
    "lenet_of_1": (lenet, [(1, 1, 1, 1), (1,)] * 2 + [(1, 1), (1,)] * 3, (1, 1, 4, 4), 1),
    "mlp": (mlp, [(2, 64), (64,), (64, 3), (3,)], (300, 2), 3),
    "lenet": (lenet, [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (400, 120), (120,), (120, 84), (84,),
                      (84, 10), (10,)], (32, 1, 28, 28), 10),
}


def count_ops(jaxpr):
    """The primitives, with those of functions that are called."""
    count = 0
    for equation in jaxpr.eqns:
        inner = [p for p in equation.params.values() if hasattr(p, "jaxpr") or hasattr(p, "eqns")]
        count += sum(count_ops(getattr(p, "jaxpr", p)) for p in inner) if inner else 1
    return count


def jax_add():
    """Seconds of an addition of one element on JAX's arrays, in a chain of them."""
    x, by = jnp.ones(1), jnp.full(1, 0.5)
    start = time.perf_counter()
    for _ in range(ADDS):
        x = x + by
    x.block_until_ready()
    return (time.perf_counter() - start) / ADDS


def mlx_add():
    """The same on MLX's arrays, which are computed when the chain has ended."""
    x, by = mx.ones(1), mx.full(1, 0.5)
    start = time.perf_counter()
    for _ in range(ADDS):
        x = x + by
    mx.eval(x)
    return (time.perf_counter() - start) / ADDS


def mlx_mlp(w, x, labels):
    h = mx.maximum(x @ w[0] + w[1], 0)
    logits = h @ w[2] + w[3]
    picked = mx.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    return (mx.logsumexp(logits, axis=-1) - picked).mean()


class MlxTraining:
    """An MLP's steps in MLX, which computes what was given at the end of each."""

    def __init__(self, name):
        _, shapes, points, classes = NETWORKS[name]
        self.w = [mx.random.normal(s) * 0.1 for s in shapes]
        self.x, self.labels = mx.random.normal(points), mx.arange(points[0]) % classes
        self.gradient = mx.grad(mlx_mlp)
        for _ in range(20):
            self.step()

    def step(self):
        start = time.perf_counter()
        gradients = self.gradient(self.w, self.x, self.labels)
        self.w = [a - RATE * g for a, g in zip(self.w, gradients)]
        mx.eval(self.w)
        return time.perf_counter() - start


class Training:
    """One network's steps in JAX, compiled or op by op."""

    def __init__(self, name, compiled):
        function, shapes, images, classes = NETWORKS[name]
        random = np.random.default_rng(0)
        self.w = [jnp.asarray(random.normal(size=s, scale=0.1), jnp.float32) for s in shapes]
        self.x = jnp.asarray(random.normal(size=images), jnp.float32)
        self.labels = jnp.arange(images[0]) % classes

        def step(w, x, labels):
            gradients = jax.grad(function)(w, x, labels)
            return [a - RATE * g for a, g in zip(w, gradients)]

        self.ops = count_ops(jax.make_jaxpr(step)(self.w, self.x, self.labels).jaxpr)
        self.run = jax.jit(step) if compiled else step
        for _ in range(3):
            self.step()

    def step(self):
        start = time.perf_counter()
        self.w = jax.block_until_ready(self.run(self.w, self.x, self.labels))
        return time.perf_counter() - start


def main():
    mote = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(*words):
        mote.stdin.write(" ".join(map(str, words)) + "\n")
        mote.stdin.flush()
        return float(mote.stdout.readline())

    def median(numbers):
        return statistics.median(numbers)

    print("| network | mote eager µs | mote deferred µs | JAX compiled µs | JAX op by op µs "
          "| deferred / JAX compiled | eager / JAX op by op |")
    print("|---|---|---|---|---|---|---|")
    beyond = []
    for name in NETWORKS:
        compiled, eager = Training(name, True), Training(name, False)
        rounds = []
        for _ in range(ROUNDS):
            rounds.append((ask(name, "eager", 30), ask(name, "deferred", 30),
                           median(compiled.step() for _ in range(30)),
                           median(eager.step() for _ in range(2)), ask(name, "static", 30)))
        medians = [median(column) * 1e6 for column in zip(*rounds)]
        deferred = median(r[1] / r[2] for r in rounds)
        at_once = median(r[0] / r[3] for r in rounds)
        print(f"| {name} | {medians[0]:.1f} | {medians[1]:.1f} | {medians[2]:.1f} | {medians[3]:.0f} "
              f"| {deferred:.2f} | {at_once:.3f} |")
        nodes, ops = ask(name, "nodes"), eager.ops
        here = [(r[0] - r[4]) / nodes for r in rounds]
        there = [(r[3] - r[2]) / ops for r in rounds]
        beyond.append(f"| {name} | {medians[4]:.1f} | {nodes:.0f} | {median(here) * 1e6:.2f} "
                      f"| {ops} | {median(there) * 1e6:.1f} "
                      f"| {median(h / t for h, t in zip(here, there)):.4f} |")

    print("\n| network | mote's kernels µs | mote's nodes | mote eager beyond, µs a node "
          "| JAX's ops | JAX op by op beyond, µs an op | mote / JAX |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(beyond))

    rows = {"an addition of one element": (lambda: ask("adds", "eager", 5),
                                           lambda: median(jax_add() for _ in range(5)),
                                           lambda: median(mlx_add() for _ in range(5)))}
    for name in ("mlp_of_1", "mlp"):
        in_jax, in_mlx = Training(name, False), MlxTraining(name) if mx else None
        rows[name] = (lambda name=name: ask(name, "eager", 30),
                      lambda t=in_jax: median(t.step() for _ in range(2)),
                      lambda t=in_mlx: median(t.step() for _ in range(10)))
    print("\n| eager | mote µs | JAX µs | MLX µs | mote / JAX | mote / MLX |")
    print("|---|---|---|---|---|---|")
    for name, (here, jax_s, mlx_s) in rows.items():
        rounds = [(here(), jax_s(), mlx_s() if mx else float("nan")) for _ in range(ROUNDS)]
        medians = [median(column) * 1e6 for column in zip(*rounds)]
        print(f"| {name} | {medians[0]:.2f} | {medians[1]:.2f} | {medians[2]:.2f} "
              f"| {median(r[0] / r[1] for r in rounds):.3f} "
              f"| {median(r[0] / r[2] for r in rounds):.3f} |")
    mote.stdin.close()


main()
