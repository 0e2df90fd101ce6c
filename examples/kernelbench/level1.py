# SPDX-License-Identifier: Apache-2.0
"""Judges solutions of KernelBench's level 1, problems 1 to 20: each problem as an op of mote.

    python level1.py 8 my_solution.py

The file has a function `solution`, or a module `ModelNew` as the benchmark asks for. A problem's text
here says in mote's words what it computes; shapes and data are drawn, with edges that a benchmark's
one shape never has, so no tolerance and no shape can be special-cased.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from typing import Any, Callable

import numpy as np

import mote_kernels as mote


@dataclasses.dataclass(frozen=True)
class Problem:
    name: str
    op: str
    prepare: Callable[..., tuple[Any, ...]] | None = None  #: structure that inputs have
    ignores_nan: bool = False  #: a zero outside of the structure may meet an infinity


def _product(name: str, a: str, b: str, left: str, right: str, space: str = "M, N, K",
             sums: int = 2) -> str:
    return f"""op {name} "y = sum_k of a times b"
input a f32[{a}]
input b f32[{b}]
output y = sum[{sums}](a[{left} over {space}] * b[{right} over {space}])
"""


def _library(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np
    return sys.modules["torch" if type(x).__module__.startswith("torch") else "jax.numpy"]


def upper(*arrays: Any) -> tuple[Any, ...]:
    return tuple(_library(x).triu(x) for x in arrays)


def lower(*arrays: Any) -> tuple[Any, ...]:
    return tuple(_library(x).tril(x) for x in arrays)


def symmetric(*arrays: Any) -> tuple[Any, ...]:
    """The upper triangle, and its mirror image below."""
    return tuple(_library(x).triu(x) + _mirror(_library(x), x) for x in arrays)


def _mirror(library: Any, x: Any) -> Any:
    above = library.triu(x, 1)
    return above.T


_MIRRORED = "{x}[min({r}, {c}), max({r}, {c}) over N, N, N]"
_SYMMETRIC = f"""op symmetric_matmul "y = a b, where the upper triangles of a and b give both"
input a f32[N, N]
input b f32[N, N]
output y = sum[2]({_MIRRORED.format(x="a", r="i0", c="i2")} * {_MIRRORED.format(x="b", r="i2", c="i1")})
"""


def _triangular(name: str, first: str, second: str) -> str:
    return f"""op {name} "y = a b of triangular matrices, which is triangular"
input a f32[N, N]
input b f32[N, N]
row = iota(i0 over N, N, N)
column = iota(i1 over N, N, N)
k = iota(i2 over N, N, N)
inside = {first} <= k && k <= {second}
output y = sum[2](where(inside, a[i0, i2 over N, N, N] * b[i2, i1 over N, N, N], 0))
"""


PROBLEMS = {
    1: Problem("square matrices", _product("square_matmul", "N, N", "N, N", "i0, i2", "i2, i1",
                                           "N, N, N")),
    2: Problem("matrices", _product("plain_matmul", "M, K", "K, N", "i0, i2", "i2, i1")),
    3: Problem("batches of matrices", _product(
        "batched_matmul", "B, M, K", "B, K, N", "i0, i1, i3", "i0, i3, i2", "B, M, N, K", 3)),
    4: Problem("a matrix and a column", _product(
        "matrix_vector", "M, K", "K, 1", "i0, i2", "i2, i1", "M, 1, K")),
    5: Problem("a matrix and a number", """op scaled "y = s a"
param s real = 3.14
input a f32[M, N]
output y = $s * a
"""),
    6: Problem("matrices, a long sum", _product("long_matmul", "M, K", "K, N", "i0, i2", "i2, i1")),
    7: Problem("matrices, a short sum", _product("short_matmul", "M, K", "K, N", "i0, i2", "i2, i1")),
    8: Problem("matrices of odd sizes", _product("odd_matmul", "M, K", "K, N", "i0, i2", "i2, i1")),
    9: Problem("tall and wide matrices", _product("tall_matmul", "M, K", "K, N", "i0, i2", "i2, i1")),
    10: Problem("three axes and a matrix", _product(
        "matmul_3d", "N, M, K", "K, L", "i0, i1, i3", "i3, i2", "N, M, L, K", 3)),
    11: Problem("four axes and a matrix", _product(
        "matmul_4d", "B, I, J, L", "L, K", "i0, i1, i2, i4", "i4, i3", "B, I, J, K, L", 4)),
    12: Problem("a diagonal and a matrix", """op diagonal_matmul "y[i, j] = a[i] b[i, j]"
input a f32[N]
input b f32[N, M]
output y = a[i0 over N, M] * b
""", ignores_nan=True),
    13: Problem("symmetric matrices", _SYMMETRIC, symmetric, ignores_nan=True),
    14: Problem("upper triangles", _triangular("upper_matmul", "row", "column"), upper, True),
    15: Problem("lower triangles", _triangular("lower_matmul", "column", "row"), lower, True),
    16: Problem("the first transposed", _product("matmul_ta", "K, M", "K, N", "i2, i0", "i2, i1")),
    17: Problem("the second transposed", _product("matmul_tb", "M, K", "N, K", "i0, i2", "i1, i2")),
    18: Problem("both transposed", _product("matmul_tab", "K, M", "N, K", "i2, i0", "i1, i2")),
    19: Problem("ReLU", """op relu_rows "y = max(x, 0)"
input x f32[N, D]
output y = max(x, 0)
"""),
    20: Problem("leaky ReLU", """op leaky_relu_rows "y = x >= 0 ? x : 0.01 x"
input x f32[N, D]
output y = where(x >= 0, x, x * 0.01)
"""),
}


def judge(number: int, solution: Callable[..., Any], **options: Any) -> mote.Result:
    """Checks a solution; options are those of mote.check. It runs in this process."""
    problem = PROBLEMS[number]
    options.setdefault("arrays", mote.arrays_of(solution))
    fn = solution
    if problem.prepare is not None:
        def fn(a: Any, b: Any) -> Any:
            return solution(*problem.prepare(a, b))
    return mote.check(fn, mote.op(problem.op), ignores_nan=problem.ignores_nan, isolate=False,
                      name=getattr(solution, "__name__", type(solution).__name__), **options)


def load(path: str) -> Callable[..., Any]:
    """`solution` of a file, or an object of its ModelNew."""
    spec = importlib.util.spec_from_file_location("solution_file", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path}: no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.solution if hasattr(module, "solution") else module.ModelNew()


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: level1.py PROBLEM FILE")
    result = judge(int(sys.argv[1]), load(sys.argv[2]))
    print(result)
    sys.exit(0 if result.passed else 1)


if __name__ == "__main__":
    main()
