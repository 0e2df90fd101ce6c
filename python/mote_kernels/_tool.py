# SPDX-License-Identifier: Apache-2.0
"""The tool `mote`, which the library holds: emit, explain, and the command line itself."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from ._door import Error, ffi, lib, library_path
from ._ops import Op, op_of


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool with these arguments (default: the process's); returns its exit code."""
    words = ["mote", *(sys.argv[1:] if arguments is None else arguments)]
    kept = [ffi.new("char[]", w.encode()) for w in words]
    argv = ffi.new("char*[]", [*kept, ffi.NULL])
    sys.stdout.flush()
    share = pathlib.Path(library_path()).parent / "share"  # of the wheel; a build has its own
    folder = share if share.is_dir() else pathlib.Path(library_path()).parent
    return lib.mote_py_tool(len(words), argv, str(folder).encode())


def run(*arguments: str) -> str:
    """Returns what the tool prints, in a process of its own. Raises Error with its message."""
    done = subprocess.run([sys.executable, "-m", "mote_kernels", *arguments], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise Error(done.stderr.strip().removeprefix("mote: ") or done.stdout.strip())
    return done.stdout


def emit(op: "str | Op", lang: str = "c", *, dtype: str | None = None, grad: bool = False,
         variant: str | None = None, standalone: bool = False, schedule: str | None = None) -> str:
    """The source of the op's kernel: lang "c" or "cuda", variant "reference" or "gen", of CUDA "tf32" too.

    `schedule` has steps on the loops of the variant gen, as `explain` prints them at the stage
    "schedule": "split n 64, threads n_start", or of CUDA "grid r c, row_vectors r".

    Raises Error for an unknown op, language, dtype or variant, if the op has no such kernel, and
    for a step that cannot be taken, with the dependence that forbids it.
    """
    words = ["emit", op_of(op).text, "--lang", lang]
    words += ["--dtype", dtype] if dtype else []
    words += ["--variant", variant] if variant else []
    words += ["--schedule", schedule] if schedule is not None else []
    words += ["--grad"] if grad else []
    return run(*words, *(["--standalone"] if standalone else []))


def explain(op: "str | Op", stage: str = "fused", *, lang: str = "c", dtype: str | None = None,
            grad: bool = False) -> str:
    """Returns how the op's kernel is made: stage "uops", "loops", "fused", "schedule", "bound", …

    `lang` is that of the stage "schedule": the versions in "c", or the kernels in "cuda".

    Raises Error for an unknown op, dtype or language, and for an unknown stage with those that
    there are.
    """
    words = ["explain", op_of(op).text, "--stage", stage, "--lang", lang]
    words += ["--dtype", dtype] if dtype else []
    return run(*words, *(["--grad"] if grad else []))
