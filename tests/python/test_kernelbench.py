# SPDX-License-Identifier: Apache-2.0
"""KernelBench's level 1, problems 1 to 20: right solutions pass, wrong ones do not."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "kernelbench"
sys.path.insert(0, str(FOLDER))
import level1  # noqa: E402


def product(a, b):
    return a @ b


RIGHT = {
    **{n: product for n in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15)},
    5: lambda a, s: (a * np.float32(s)).astype(a.dtype),
    12: lambda a, b: a[:, None] * b,
    16: lambda a, b: a.T @ b,
    17: lambda a, b: a @ b.T,
    18: lambda a, b: a.T @ b.T,
    19: lambda x: np.maximum(x, 0),
    20: lambda x: np.where(x >= 0, x, x * np.float32(0.01)),
}


def loses_columns(a, b):
    y = a @ b
    y[..., y.shape[-1] // 16 * 16:] = 0
    return y


WRONG = {
    **{n: loses_columns for n in (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 13, 14, 15)},
    5: lambda a, s: (a * np.float32(3.14)).astype(a.dtype),
    12: lambda a, b: a[None, :] * b if a.shape[0] == b.shape[1] else a[:, None] * b,
    16: lambda a, b: a @ b if a.shape == b.shape and a.shape[0] == a.shape[1] else a.T @ b,
    17: lambda a, b: a @ b if b.shape[0] == b.shape[1] else a @ b.T,
    18: lambda a, b: (a @ b).T if a.shape[1] == b.shape[0] == a.shape[0] else a.T @ b.T,
    19: np.abs,
    20: lambda x: np.where(x >= 0, x, x * np.float32(0.1)),
}


@pytest.mark.parametrize("number", sorted(level1.PROBLEMS))
def test_solutions(number):
    r = level1.judge(number, RIGHT[number], count=60, seed=1)
    assert r.passed, str(r)
    assert not level1.judge(number, WRONG[number], count=400, seed=1, max_failures=1).passed


def test_the_program_judges_a_file():
    done = subprocess.run([sys.executable, "level1.py", "16", "transposed.py"], cwd=FOLDER,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "transposed_matmul" not in done.stderr, done.stderr
    assert "matmul_ta: solution: FAILED" in done.stdout
