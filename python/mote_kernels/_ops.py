# SPDX-License-Identifier: Apache-2.0
"""Ops by name or by the text of a program."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import tempfile
from typing import Any

from ._door import Error, checked, ffi, lib, text


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input or output of an op: its name, its dtype in the first instance, its axes as text."""

    name: str
    dtype: str
    axes: tuple[str, ...]
    optional: bool


@dataclasses.dataclass(frozen=True)
class Param:
    """A parameter of an op; default is None if a call must give it."""

    name: str
    is_integer: bool
    default: float | None
    meaning: str


@dataclasses.dataclass(frozen=True)
class Op:
    """An op: its tensors at the op's own ranks, its parameters, dtypes and forms."""

    text: str  #: what the tool takes: a name, or the path of a program file
    name: str
    equation: str
    is_file: bool
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    params: tuple[Param, ...]
    dtypes: tuple[str, ...]
    forms: tuple[str, ...]

    @property
    def axis(self) -> int | None:
        """The position of the axis that the op works along, as in x[R, N, C]; None: it has none."""
        first = self.inputs[0].axes if self.inputs else ()
        return 1 if first == ("R", "N", "C") else None

    def families(self) -> dict[str, tuple[str, ...]]:
        """Parameters by the names that a function may give them: stride for stride0 and stride1."""
        members: dict[str, list[str]] = {}
        for p in self.params:
            members.setdefault(re.sub(r"\d+$", "", p.name), []).append(p.name)
        return {name: tuple(of) for name, of in members.items() if len(of) > 1 and name}

    def __repr__(self) -> str:
        return f"mote.op({self.text!r})"


def _tensor(of: dict[str, Any]) -> Tensor:
    return Tensor(of["name"], of.get("dtype", ""), tuple(of.get("axes", ())), of["optional"])


@functools.lru_cache(maxsize=None)
def _described(name: str) -> Op:
    pointer = ffi.new("char**")
    checked(lib.mote_py_describe(name.encode(), pointer))
    try:
        d = json.loads(text(pointer[0]))
    finally:
        lib.mote_py_text_free(pointer[0])
    params = (Param(p["name"], p["integer"], p.get("default"), p["meaning"]) for p in d["params"])
    return Op(name, d["op"], d["equation"], d["file"], tuple(map(_tensor, d["inputs"])),
              tuple(map(_tensor, d["outputs"])), tuple(params), tuple(d["dtypes"]),
              tuple(d["forms"]))


_FOLDER = "mote-python"


def _folder() -> pathlib.Path:
    """Returns the folder of program texts, which workers and replay lines read by their path."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(tempfile.gettempdir(), f"{os.getuid()}")
    folder = pathlib.Path(base) / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _own_path(name: str) -> str:
    """Another user's file of a program text, as a replay line names it, is this user's."""
    path = pathlib.Path(name)
    if path.parent.name == _FOLDER and not path.exists() and (own := _folder() / path.name).exists():
        return str(own)
    return name


def op(program: str | os.PathLike[str]) -> Op:
    """An op by its name ("softmax"), by the path of a program file, or by the program's text.

    A text has several lines or begins with "op "; docs/language.md describes it. Raises Error for an
    unknown op, with similar names, and for a text that does not parse, with its line.
    """
    if isinstance(program, os.PathLike):
        return _described(_own_path(os.fspath(program)))
    if not isinstance(program, str):
        raise Error("op: expected a name, a path, a program's text or an Op, "
                    f"got {program!r} of type {type(program).__name__}")
    stripped = program.strip()
    if "\n" not in stripped and not re.match(r"op\s", stripped):
        return _described(_own_path(program))
    name = re.search(r"^\s*op\s+(\w+)", program, flags=re.MULTILINE)
    digest = hashlib.sha256(program.encode()).hexdigest()[:12]
    path = _folder() / f"{name.group(1) if name else 'op'}-{digest}.mote"
    if not path.exists():
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(stripped + "\n")
        scratch.replace(path)
    return _described(str(path))


def op_of(given: "str | os.PathLike[str] | Op") -> Op:
    return given if isinstance(given, Op) else op(given)


def ops() -> list[str]:
    """The names of the catalogue's ops, sorted."""
    count = ffi.new("size_t*")
    checked(lib.mote_op_names(ffi.NULL, 0, count))
    names = ffi.new("const char*[]", count[0])
    checked(lib.mote_op_names(names, count[0], count))
    return sorted(text(n) for n in names)
