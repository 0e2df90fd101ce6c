#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gradients of networks with JAX's: jax_gradients.py PATH/mote_network_gradients [NETWORK...]

Both get equal data and parameters. JAX computes in f64. For four directions of random signs s, the
sum <s, gradient> over all parameters must agree within what rounding may do to it, which
mote_network_gradients derives (tests/bench/gradients/sensitivity.h): once for mote's f32 next to
JAX's f64, twice for f64, since JAX rounds too. Elements of an LSTM's gradients must lie in the bound
of the whole graph, widened by its f64 width. Prints a table in Markdown; exit code 1 if something
is outside. Prints {"skipped": ...} where jax is missing.
"""

import json
import math
import subprocess
import sys
import tempfile

try:
    import jax
    import numpy as np
except ImportError as error:
    print(json.dumps({"skipped": str(error)}))
    sys.exit(0)

jax.config.update("jax_enable_x64", True)

from jax_networks import NETWORKS  # noqa: E402 (jax decides about f64 before arrays are made)

DTYPES = ("f32", "f64")


def results_of(tool, network, dtype):
    """Returns the arrays that the tool writes, or the reason why it writes none."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        done = subprocess.run([tool, network, dtype, file.name], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip()
        with np.load(file.name) as arrays:
            return dict(arrays)


def gradients_of(network, arrays, real):
    """Returns JAX's gradients with respect to all parameters, with reals of that dtype."""
    names = [name[len("grad."):] for name in arrays if name.startswith("grad.")]
    values = {name: array.astype(real) if array.dtype.kind == "f" else array
              for name, array in arrays.items()}
    parameters = {name: values[name] for name in names}
    loss = lambda p: NETWORKS[network]({**values, **p})  # noqa: E731
    return {name: np.asarray(g) for name, g in jax.jit(jax.grad(loss))(parameters).items()}


def sum_along(arrays, direction, gradients):
    terms = (arrays[f"sign{direction}.{name}"].astype(np.float64) * g.astype(np.float64)
             for name, g in gradients.items())
    return math.fsum(float(value) for term in terms for value in term.ravel())


def greatest_difference(a, b):
    """The greatest difference of elements, in parts of the tensor's greatest element."""
    return max(float(np.abs(a[name].astype(np.float64) - b[name]).max() /
                     np.abs(b[name]).max()) for name in a)


def judge_directions(arrays, mine, exact, factor):
    """Returns the greatest share of what rounding may do, over all directions."""
    shares = []
    for direction in range(4):
        distance = abs(sum_along(arrays, direction, mine) - sum_along(arrays, direction, exact))
        shares.append(distance / (factor * float(arrays[f"error{direction}"])))
    return max(shares)


def judge_elements(arrays, exact, factor, narrow):
    """Judges by the bounds of each element as judge_directions does; `narrow` are the bounds in f64."""
    share = 0.0
    for name, g in exact.items():
        low, high = arrays["low." + name], arrays["high." + name]
        if not np.isfinite(low).all() or not np.isfinite(high).all():
            return math.inf
        middle, half = (low + high) / 2, (high - low) / 2 * factor
        if narrow is not None:
            half = half + (narrow["high." + name] - narrow["low." + name])
        distance = np.abs(g.ravel() - middle)
        share = max(share, float(np.divide(distance, half, out=np.where(distance > 0, np.inf, 0.0),
                                           where=half > 0).max()))
    return share


def row(tool, network, dtype):
    """Returns the row's texts, and whether all agrees."""
    arrays = results_of(tool, network, dtype)
    if isinstance(arrays, str):
        return [network, dtype, "-", "-", "-", "not judged: " + arrays], True
    mine = {name[len("grad."):]: g for name, g in arrays.items() if name.startswith("grad.")}
    exact = gradients_of(network, arrays, np.float64)
    own = gradients_of(network, arrays, np.float32) if dtype == "f32" else exact
    factor = 1 if dtype == "f32" else 2
    if "error0" in arrays:
        share, by = judge_directions(arrays, mine, exact, factor), "directions"
    else:
        narrow = results_of(tool, network, "f64") if dtype == "f32" else None
        narrow = None if isinstance(narrow, str) else narrow
        share, by = judge_elements(arrays, exact, factor, narrow), "elements"
    count = sum(g.size for g in mine.values())
    theirs = f"{greatest_difference(own, exact):.1e}" if dtype == "f32" else "-"
    verdict = f"{by}, {share:.2g} of the bound"
    return ([network, dtype, str(count), f"{greatest_difference(mine, exact):.1e}", theirs,
             verdict], share <= 1)


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    print("| network | dtype | parameters | mote to JAX in f64 | JAX in f32 to JAX in f64 | judged by |")
    print("|---|---|---|---|---|---|")
    agrees = True
    for network in sys.argv[2:] or NETWORKS:
        for dtype in DTYPES:
            texts, fits = row(sys.argv[1], network, dtype)
            agrees = agrees and fits
            print("| " + " | ".join(texts) + " |" + ("" if fits else " OUTSIDE"), flush=True)
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
