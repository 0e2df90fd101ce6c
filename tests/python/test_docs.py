# SPDX-License-Identifier: Apache-2.0
"""The sessions of docs/python.md and of README.md's first screen give what the pages show.

A session is a block ```python-console; "..." stands for anything. A block ```python that begins with
`# NAME.py` is written to that file first. $MOTE_UPDATE_DOCS=1 writes what was printed into the page.
"""

import contextlib
import doctest
import inspect
import io
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(python-console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(example, names):
    """Returns what a session prints for one statement."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(example.source, "<session>", "single"), names)
        except Exception as e:  # noqa: BLE001: a session may show an exception
            print("Traceback (most recent call last):\n    ...")
            print(f"{type(e).__module__}.{type(e).__qualname__}: {e}".replace("builtins.", ""))
    return out.getvalue()


@pytest.mark.parametrize("page", ["docs/python.md"])
def test_sessions_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = ROOT / page
    text = path.read_text()
    names, wrong = {"__name__": "__console__"}, []
    checker = doctest.OutputChecker()
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        if block[1] == "python":
            name = re.match(r"# (\w+\.py)\n", block[2])
            if name:
                (tmp_path / name[1]).write_text(block[2])
    new = text
    for block in blocks:
        if block[1] != "python-console":
            continue
        shown = block[2]
        for example in doctest.DocTestParser().get_examples(block[2]):
            got = printed(example, names)
            if not checker.check_output(example.want, got, FLAGS):
                wrong.append(f">>> {example.source}expected:\n{example.want}got:\n{got}")
                if example.want:
                    shown = shown.replace(example.want, got, 1)
                else:
                    source = example.source.rstrip("\n").replace("\n", "\n... ")
                    shown = shown.replace(f">>> {source}\n", f">>> {source}\n{got}", 1)
        new = new.replace(block[2], shown, 1)
    if wrong and os.environ.get("MOTE_UPDATE_DOCS"):
        path.write_text(new)
    assert not wrong, "\n".join(wrong)
    assert any(b[1] == "python-console" for b in blocks)


def undocumented(of, name):
    """The public members of a class or module that are mote's and have no docstring."""
    bases = of.__mro__ if inspect.isclass(of) else [of]
    members = {member: value for base in reversed(bases) for member, value in vars(base).items()}
    for member, value in members.items():
        value = getattr(value, "fget", None) or getattr(value, "__func__", value)
        is_own = (getattr(value, "__module__", "") or "").startswith("mote_kernels")
        if inspect.ismodule(of) and member not in of.__all__:
            continue
        if member.startswith("_") or not is_own:
            continue
        if inspect.isclass(value) and inspect.ismodule(of):
            yield from undocumented(value, member)
        if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__:
            yield f"{name}.{member}"


def test_public_members_have_docstrings():
    import mote_kernels
    from mote_kernels import concrete, dynamic, graphs

    lacking = [*undocumented(mote_kernels, "mote"), *undocumented(dynamic, "dynamic"),
               *undocumented(graphs, "graphs"), *undocumented(concrete, "concrete")]
    assert lacking == []
