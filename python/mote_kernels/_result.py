# SPDX-License-Identifier: Apache-2.0
"""The results of a check."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from typing import TYPE_CHECKING, Any

from ._arrays import Tensor
from ._door import INVALID, UNSUPPORTED, checked, ffi, lib, text
from ._subject import OTHER_KERNEL

if TYPE_CHECKING:
    import numpy as np

_INPUT, _EXPECTED, _GOT, _LOWER, _UPPER = range(5)
_TEXT, _HTML = 1, 2
_NOT_IN_PLACE = "its contract does not let "  #: of cases in place, which no function here takes
_RUN_FAILED = re.compile("run returned status [14]: ")
#: of a message of Returned: the function raised nothing
_RETURNED = re.compile(_RUN_FAILED.pattern + r"(?=(\w+: )?the function|autograd gave )")


@dataclasses.dataclass
class Difference:
    """An element outside of its bound."""

    tensor: str
    index: tuple[int, ...]
    expected: float
    got: float
    allowed: tuple[float, float] | None  #: None: only `expected`


class Failure:
    """A failure: its smallest case as text and as arrays.

    `inputs`, `expected`, `got`, `lower` and `upper` are dictionaries of NumPy arrays by the names of
    the op's tensors; `got` is empty if the function raised or crashed, and `lower` and `upper` lack
    outputs that must be exact.
    """

    def __init__(self, result: "Result", position: int, of: dict[str, Any]) -> None:
        self._result, self._position, self._of = result, position, of
        self.verdict: str = of["verdict"]
        self.reason: str = of["reason"]
        self.case: str = of["smallest"].partition(" backend=")[0]
        self.first: str = of["first"].partition(" backend=")[0]
        diagnosis = of["diagnosis"]
        #: The kind of error, and how that was seen: "missing term: …"; "" if nothing fits.
        self.diagnosis: str = ": ".join(filter(None, (diagnosis["kind"], diagnosis["text"])))
        #: A condition on sizes, parameters or data under which it fails: "K % 8 != 0"; or "".
        self.condition: str = diagnosis["condition"]
        self.occurrences: int = of["occurrences"]
        self.differing: int = of["differing"]
        self.found_after: float = of["found_after_s"]
        self.differences = [
            Difference(d["tensor"], tuple(d["index"]), _number(d["expected"]), _number(d["got"]),
                       (_number(d["allowed"][0]), _number(d["allowed"][1])) if "allowed" in d else None)
            for d in of["differences"]]
        message = _RUN_FAILED.sub("", self.reason, count=1)
        #: The traceback of the exception on the smallest case; "" if the function raised none.
        self.traceback: str = result.subject.errors.get(message, "")
        if message in result.subject.errors:
            self.reason = message
        self.replay: str = result.replay_of(self.case)

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs of the smallest case."""
        return self._tensors(_INPUT)

    @property
    def expected(self) -> dict[str, np.ndarray]:
        """What the reference gives for them."""
        return self._tensors(_EXPECTED)

    @property
    def got(self) -> dict[str, np.ndarray]:
        """What the function gave; empty if it raised or crashed."""
        return self._tensors(_GOT)

    @property
    def lower(self) -> dict[str, np.ndarray]:
        """The least that each element may be; outputs that must be exact are left out."""
        return self._tensors(_LOWER)

    @property
    def upper(self) -> dict[str, np.ndarray]:
        """The greatest that each element may be; outputs that must be exact are left out."""
        return self._tensors(_UPPER)

    def _tensors(self, values: int) -> dict[str, np.ndarray]:
        tensors: dict[str, np.ndarray] = {}
        name, handle = ffi.new("const char**"), ffi.new("mote_tensor**")
        for k in range(1 << 10):
            status = lib.mote_py_result_tensor(self._result.handle, self._position, values, k, name,
                                               handle)
            if status == INVALID:
                break
            if status == UNSUPPORTED:
                continue
            checked(status)
            tensors[text(name[0])] = Tensor(handle[0]).numpy()
        return tensors

    def __repr__(self) -> str:
        return f"<mote failure: {self.verdict}: {self.case}>"


class Result:
    """The result of mote.check: true if every case passed and at least one was judged.

    `print(r)` is short, a notebook shows the report's page, `r.failure` is the first failure.
    """

    def __init__(self, handle: Any, subject: Any, seed: int, interrupted: bool,
                 isolated: bool) -> None:
        self.handle = ffi.gc(handle, lib.mote_py_result_free)
        self.subject = subject
        self.seed = seed
        #: True if Ctrl-C ended it.
        self.interrupted = interrupted
        #: True if the function ran in workers.
        self.isolated = isolated
        lines = [json.loads(line) for line in self.json().splitlines()]
        #: A dictionary for each op and dtype, as docs/reports.md describes rows.
        self.rows = [line for line in lines if line["type"] == "row"]
        self._replay = ""
        found = [line for line in lines if line["type"] == "failure"]
        self.failures = [Failure(self, k, line) for k, line in enumerate(found)]

    @property
    def judged(self) -> int:
        """The number of cases whose outputs were compared."""
        return sum(row["judged"] for row in self.rows)

    @property
    def declined(self) -> dict[str, int]:
        """The cases that the function does not take, by reason, the most frequent first."""
        reasons: dict[str, int] = {}
        for row in self.rows:
            for declined in row["declined"]:
                reason = _without_internal(declined["reason"])
                reasons[reason] = reasons.get(reason, 0) + declined["count"]
        return dict(sorted(reasons.items(), key=lambda item: -item[1]))

    @property
    def passed(self) -> bool:
        """No case failed, at least one was judged, and nothing interrupted the check."""
        return not self.failures and self.judged > 0 and not self.interrupted

    @property
    def failure(self) -> Failure | None:
        """The failure with the smallest case; None if there is none."""
        return self.failures[0] if self.failures else None

    def __bool__(self) -> bool:
        return self.passed

    def replay_of(self, case: str) -> str:
        """The line of Python that runs this case again."""
        return self.subject.replay.replace("{case}", case)

    def json(self) -> str:
        """Lines of JSON, format 2 of docs/reports.md."""
        return self._report(0)

    def _report(self, format_: int) -> str:
        pointer = ffi.new("const char**")
        checked(lib.mote_py_result_report(self.handle, format_, pointer))
        return text(pointer[0])

    def raise_if_failed(self) -> "Result":
        """Raises AssertionError with the report unless it passed."""
        if not self.passed:
            raise AssertionError(str(self))
        return self

    def __str__(self) -> str:
        name, op = self.subject.label, self.subject.op.name
        head = f"{op}: {name}: "
        cases = f"{self.judged} case{'s' if self.judged != 1 else ''} judged"
        if self.interrupted:
            cases += ", interrupted"
        if self.failures:
            told = _RETURNED.sub("", self._report(_TEXT).rstrip())
            blocks = [_RUN_FAILED.sub("raised ", told)]
            blocks += [f.traceback.rstrip() for f in self.failures if f.traceback]
            if self.subject.was_guessed and any("numpy.ndarray" in f.reason for f in self.failures):
                blocks.append("  It was given NumPy's arrays, as its code names no library: "
                              "arrays='torch' or arrays='jax' gives others.")
            return f"{head}FAILED ({cases}, seed {self.seed})\n" + "\n".join(blocks)
        if self.interrupted and self.judged == 0:
            where = self.subject.interrupted_in.rstrip()
            return f"{head}interrupted before a case was judged" + (f", in\n{where}" if where else "")
        if self.judged == 0:
            return f"{head}no case was judged{self._why()}"
        reasons = {why: n for why, n in self.declined.items() if not why.startswith(_NOT_IN_PLACE)}
        more = f", {sum(reasons.values())} declined: {next(iter(reasons))}" if reasons else ""
        return f"{head}{'passed' if self.passed else 'not finished'} ({cases}{more}, seed {self.seed})"

    def _why(self) -> str:
        reasons = list(self.declined)
        reasons += [_without_internal(row["reason"]) for row in self.rows if row["reason"]]
        return f": {reasons[0]}" if reasons else ": none was drawn that the function takes"

    def __repr__(self) -> str:
        return f"<mote result: {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        page = html.escape(self._report(_HTML), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:32em;border:0"></iframe>'

    def html(self) -> str:
        """The report's page, which needs no other file."""
        return self._report(_HTML)


class NotRun(Result):
    """What mote.check returns in a worker that imports a script for another function: a pass."""

    def __init__(self) -> None:
        self.seed, self.interrupted, self.isolated = 0, False, True
        self.rows: list[Any] = []
        self.failures: list[Failure] = []

    @property
    def passed(self) -> bool:
        return True

    def _report(self, format_: int) -> str:
        return ""

    def __str__(self) -> str:
        return "not run: this is a worker, which looks for another function"


def _without_internal(reason: str) -> str:
    """The reason without that of the other kernel that a function is, for 16 bits or for others."""
    return "; ".join(part for part in reason.split("; ") if part != OTHER_KERNEL)


def _number(of: Any) -> float:
    return float(of) if isinstance(of, str) else of

