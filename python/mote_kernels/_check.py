# SPDX-License-Identifier: Apache-2.0
"""mote.check: a function against the reference of an op."""

from __future__ import annotations

import functools
import math
import numbers
import os
import random
import re
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from . import _isolate
from ._arrays import known_dtype
from ._door import Error, Texts, checked, ffi, lib
from ._grad import gradient_of, kind_of_grad
from ._lazy import Lazy
from ._mistakes import (MOST_SEED, check_environment, check_function, check_numbers,
                        check_some_run, check_texts)
from ._ops import Op, op_of
from ._replay import OPTIONS, dtypes_in, replay_line, with_own_path
from ._result import NotRun, Result
from ._subject import Contract, Style, Subject

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")

DEFAULT_BUDGET = 10.0


def _default_seed() -> int:
    """The environment's MOTE_SEED, or a random seed."""
    given = os.environ.get("MOTE_SEED", "")
    if not given:
        return random.SystemRandom().randrange(1 << 32)
    if not given.isdecimal() or int(given) > MOST_SEED:
        raise Error(f"MOTE_SEED: expected a whole number from 0 to {MOST_SEED}, got {given!r}")
    return int(given)


def check(
    fn: Callable[..., Any],
    op: str | os.PathLike[str] | Op,
    *,
    axis: int | None = None,
    dtypes: str | Sequence[str] | None = None,
    budget: float | str | None = None,
    count: int | None = None,
    seed: int | None = None,
    cases: str | Iterable[str] = (),
    arrays: str | None = None,
    isolate: bool | None = None,
    grad: bool = False,
    accumulator: str | None = None,
    tf32: bool = False,
    form: str = "direct",
    accuracy: dict[str, float] | None = None,
    deterministic: bool = True,
    ignores_nan: bool = False,
    flushes_denormals: bool = False,
    indices: str = "any",
    empty: bool = False,
    row_major: bool = False,
    device: str | None = None,
    max_failures: int | None = None,
    shrink: float | None = None,
    timeout: float | None = None,
    warm_up: float | None = None,
    name: str | None = None,
) -> Result:
    """Runs the function on random cases of the op and compares each element with the op's bound.

    `fn` gets the op's inputs, in the op's order or by its names, and the parameters that it has a
    parameter for. It returns the outputs, or writes them where it has a parameter of an output's
    name (or `out`). Shapes are those of `mote ops OP`: softmax's x is [R, N, C], along axis 1; with
    axis=-1 it is [R, N], with axis=0 [N, C].

    The end of the random cases: `budget` seconds (10; "2s" and "500ms" are texts of it) or `count`
    cases, drawn by `seed`, else by MOTE_SEED of the environment, else at random. `cases` are texts of
    cases that run first, as a failure's replay line gives them. `dtypes` are f32 (or the op's first)
    by default, and those of `cases`.

    `arrays`: "numpy", "torch" or "jax"; by default what the function's code names. `device` moves
    torch's tensors. `grad=True` checks the gradients that torch's autograd, or JAX's, gives for
    `fn`, a function of the op itself; those at NaN and infinities are left open, and at a kink, as that
    of relu at 0, any between those of its sides is right. Equal arguments of a max share one.

    `isolate`: True runs the function in worker processes that import it by its name, so that a crash
    or a hang is a failure with a smallest case; False runs it in this process. The default is
    workers where the function can be imported.

    `empty=True` has cases with tensors without elements too, on which many functions raise;
    `row_major=True` has none with gaps or transposed axes.

    The contract by which results are judged: `accumulator` ("native", "f32", "f64"; 16-bit tensors
    have f32 by default), `tf32`, `form` (another formula of the op), `accuracy` ({"exp": 4}: ulps),
    `deterministic`, `ignores_nan`, `flushes_denormals`, `indices` ("any", "valid", "not_negative").

    A failure is made smaller for at most `shrink` seconds (20), and then diagnosed for as many;
    with 0 it is neither. `timeout` is that of a call in a worker, `warm_up` what the first has more;
    without them a call hangs that takes far longer than others did, while it loads and compiles
    nothing.

    Ctrl-C ends the check and returns what was found. Raises Error for an unknown op, dtype or form,
    if the function's parameters do not fit the op, and if this Python lacks what the arrays need.
    """
    given = {option: value for option, value in locals().items() if option in OPTIONS}
    fn = _isolate.kernel_of(fn)
    if _isolate.is_importing():
        return NotRun()
    forward = op_of(op)
    check_function(fn, forward)
    check_numbers(forward, seed=seed, count=count, max_failures=max_failures, shrink=shrink,
                  timeout=timeout, warm_up=warm_up, accuracy=accuracy)
    cases = [cases] if isinstance(cases, str) else list(cases)
    check_texts(forward, name, cases)
    checked_op = gradient_of(fn, forward) if grad else forward
    known = checked_op.forms or ("direct",)
    if form not in known:
        raise Error(f"{checked_op.name}: form: expected {', '.join(known)}, got {form!r}")
    contract = Contract(accumulator, tf32, form, dict(accuracy or {}), flushes_denormals,
                        deterministic, ignores_nan or grad, indices)
    kind = kind_of_grad(fn, forward, arrays) if grad else arrays
    style = Style(kind, axis, row_major, empty, grad, device)
    label = name or name_of(fn)
    subject = Subject(fn, checked_op, label, contract, style, forward if grad else None)
    cases = [with_own_path(case, checked_op) for case in cases]
    are_drawn = not cases or budget is not None or count is not None
    dtypes = _dtypes(forward, dtypes, cases, are_drawn)
    check_environment(forward, subject.kind, dtypes, cases, device)
    worker = _isolate.worker_of(fn, isolate, forward.text, grad, label, contract, style)
    given_seed = _default_seed() if seed is None else int(seed)
    if are_drawn and budget is None and count is None:
        budget = DEFAULT_BUDGET
    budget_s = None if budget is None else seconds(budget)
    check_some_run(checked_op, dtypes, cases, budget_s, count)
    keep = Texts()
    options = _options(keep, checked_op, dtypes, cases, subject.dropped)
    options.budget_s = -1 if budget_s is None else budget_s
    options.count = -1 if count is None else count
    options.shrink_s = -1 if shrink is None else shrink
    options.limit_s = timeout or -1
    options.warm_up_s = -1 if warm_up is None else warm_up
    options.seed = given_seed
    options.max_failures = max_failures or 0
    subject.replay = replay_line(check, _text_of(fn), forward, given)
    options.replay = keep.text(subject.replay)
    return _run(subject, options, keep, worker, given_seed)


def _run(subject: Subject, options: Any, keep: Texts, worker: "_isolate.Worker | None",
         seed: int) -> Result:
    @ffi.callback("int32_t(void)", error=1, onerror=subject.note)
    def progress() -> int:
        return int(subject.stopped)

    options.progress = progress
    handle = ffi.new("mote_py_result**")
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="mote-") as folder:
        errors = os.path.join(folder, "errors")
        if worker is not None:
            words = worker.command(errors)
            options.worker, options.worker_words = keep.texts(words), len(words)
        try:
            with np.errstate(all="ignore"):  # cases overflow, and have NaN
                checked(lib.mote_py_check(subject.backend, options, handle))
        except KeyboardInterrupt:  # noted by the library too, which has ended the check
            interrupted = True
            if handle[0] == ffi.NULL:
                raise
        except Error as e:
            if worker is None or "isolation" not in str(e):
                raise
            absence = _isolate.absence_in(worker.absent(errors))
            if absence and not worker.is_asked_for:
                options.worker_words = 0
                return _run(subject, options, keep, None, seed)
            why = f"a worker cannot find the function: {absence}" if absence else (
                f"{e}: {worker.what()}")
            raise Error(f"{why}; isolate=False runs it in this process") from None
        if worker is not None:
            subject.errors.update(_isolate.errors_in(errors))
    return Result(handle[0], subject, seed, interrupted or subject.stopped, worker is not None)


def _options(keep: Texts, op: Op, dtypes: Sequence[str], cases: list[str],
             extents: dict[str, int]) -> Any:
    options = keep.keep(ffi.new("mote_py_options*"))
    options.size = ffi.sizeof("mote_py_options")
    options.op = keep.text(op.text)
    options.dtypes, options.dtype_count = keep.texts(list(dtypes)), len(dtypes)
    options.cases, options.case_count = keep.texts(cases), len(cases)
    fixed = keep.keep(ffi.new("mote_py_extent[]", max(1, len(extents))))
    for k, (axis, extent) in enumerate(extents.items()):
        fixed[k].axis, fixed[k].extent = keep.text(axis), extent
    options.extents, options.extent_count = fixed, len(extents)
    return options


def _dtypes(op: Op, dtypes: str | Sequence[str] | None, cases: Sequence[str],
            are_drawn: bool) -> list[str]:
    """The given dtypes; else those of the cases and, if others are drawn, that of these."""
    if dtypes is not None:
        given = [dtypes] if isinstance(dtypes, str) else dtypes
        return [known_dtype(dtype) for dtype in given]
    named = [dtype for case in cases for dtype in dtypes_in(case, op)]
    drawn = "f32" if "f32" in op.dtypes else op.dtypes[0]
    return list(dict.fromkeys([drawn, *named] if are_drawn or not named else named))


def name_of(fn: Callable[..., Any]) -> str:
    """The function's name for reports, without blanks; of a partial that of its function."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    name = name.rpartition("<locals>.")[2]
    return re.sub(r"[^\w.]", "_", name).strip("_") or "function"


def _text_of(fn: Callable[..., Any]) -> str:
    """The function in a replay line: its name, or the call that makes a partial."""
    if not isinstance(fn, functools.partial):
        return name_of(fn)
    given = [*map(repr, fn.args), *(f"{n}={v!r}" for n, v in fn.keywords.items())]
    return f"functools.partial({', '.join([_text_of(fn.func), *given])})"


_UNITS = {"ms": 1e-3, "s": 1, "min": 60, "m": 60, "h": 3600}


def seconds(of: float | str) -> float:
    """Seconds of a number or of a text: 2, "2s", "500ms", "1min"."""
    if isinstance(of, numbers.Real) and not math.isnan(of):
        return float(of)
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ms|s|min|m|h)?\s*", of) if isinstance(
        of, str) else None
    if match is None:
        raise Error(f"budget: expected seconds as in 2, '2s' or '500ms', got {of!r}")
    return float(match.group(1)) * _UNITS[match.group(2) or "s"]
