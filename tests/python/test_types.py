# SPDX-License-Identifier: Apache-2.0
"""Type hints: what mypy says of a program of a user, and of the package."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

import mote_kernels as mote

PROGRAM = """
import numpy as np

import mote_kernels as mote
from mote_kernels import dynamic, graphs

g = graphs.Graph("types")
x = g.input("x", "f32", (2, 3))
reveal_type(2 * x @ x.reshape((3, 2)) < 1)
reveal_type(g.compile([x])(x=np.ones((2, 3)))[0])
v = dynamic.Graph().variable(np.ones(3))
reveal_type(1 / v ** 2)
v -= v
reveal_type(v.backward(v)[0])
reveal_type(mote.check(np.exp, "exp").failure)
mote.check(np.exp, "exp", budgte=3)
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_knows_operators_and_results(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    package = pathlib.Path(mote.__file__).resolve().parent  # the links of a test's package lead there
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache",
         program, package],
        capture_output=True, text=True, check=False, env={"MYPYPATH": str(package.parent)}).stdout
    lines = [line.partition(": ")[2] for line in said.splitlines()]
    types = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert types == ["mote_kernels._symbol.Symbol", "mote_kernels._arrays.Tensor",
                     "mote_kernels._variable.Variable", "mote_kernels._variable.Variable",
                     "mote_kernels._result.Failure | None"], said
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1 and 'did you mean "budget"?' in errors[0], said
