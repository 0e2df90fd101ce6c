# SPDX-License-Identifier: Apache-2.0
"""Training steps of two small networks, eager and compiled, next to JAX's in turn.

    python tests/bench/peers/jax_dynamic.py build/release/bin/mote_dynamic_steps

Prints a Markdown table: medians of rounds, and the median of the ratios of each round. The MLP with
sizes of 1 costs what a step costs beyond its kernels. It prints {"skipped": ...} where JAX is not
there. Both sides use one thread.
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

ROUNDS = 15
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
    h = pool(jnp.maximum(conv(x, w[0], w[1], 2), 0))
    h = pool(jnp.maximum(conv(h, w[2], w[3], 0), 0)).reshape(32, 400)
    h = jnp.maximum(h @ w[4] + w[5], 0)
    h = jnp.maximum(h @ w[6] + w[7], 0)
    return loss_of(h @ w[8] + w[9], labels)


NETWORKS = {
    "mlp_of_1": (mlp, [(1, 1), (1,), (1, 1), (1,)], (1, 1), 1),
    "mlp": (mlp, [(2, 64), (64,), (64, 3), (3,)], (300, 2), 3),
    "lenet": (lenet, [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (400, 120), (120,), (120, 84), (84,),
                      (84, 10), (10,)], (32, 1, 28, 28), 10),
}


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

        self.run = jax.jit(step) if compiled else step
        for _ in range(3):
            self.step()

    def step(self):
        start = time.perf_counter()
        self.w = jax.block_until_ready(self.run(self.w, self.x, self.labels))
        return time.perf_counter() - start


def main():
    mote = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(name, mode, count):
        mote.stdin.write(f"{name} {mode} {count}\n")
        mote.stdin.flush()
        return float(mote.stdout.readline())

    print("| network | mote eager µs | mote deferred µs | JAX compiled µs | JAX op by op µs "
          "| deferred / JAX compiled | eager / JAX op by op |")
    print("|---|---|---|---|---|---|---|")
    for name in NETWORKS:
        compiled, eager = Training(name, True), Training(name, False)
        rounds = []
        for _ in range(ROUNDS):
            rounds.append((ask(name, "eager", 30), ask(name, "deferred", 30),
                           statistics.median(compiled.step() for _ in range(30)),
                           statistics.median(eager.step() for _ in range(2))))
        medians = [statistics.median(column) * 1e6 for column in zip(*rounds)]
        deferred = statistics.median(r[1] / r[2] for r in rounds)
        at_once = statistics.median(r[0] / r[3] for r in rounds)
        print(f"| {name} | {medians[0]:.1f} | {medians[1]:.1f} | {medians[2]:.1f} | {medians[3]:.0f} "
              f"| {deferred:.2f} | {at_once:.3f} |")
    mote.stdin.close()


main()
