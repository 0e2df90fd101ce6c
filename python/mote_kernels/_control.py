# SPDX-License-Identifier: Apache-2.0
"""Loops and branches of symbolic graphs (graphs.py): functions of symbols become graphs inside.

A function is called once, with symbols of a new graph, of which all that it adds becomes a part.
Where it uses a symbol of a graph around, that becomes one more input of the new graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from ._door import Error, checked, ffi, lib
from ._symbol import NO_SYMBOL, Symbol, is_one, listed

if TYPE_CHECKING:
    from .graphs import Graph



def checkpoints_of(value: "int | str") -> int:
    """The checkpoints of a loop as C takes them."""
    if value == "sqrt":
        return -1
    if not isinstance(value, int):
        raise Error(f"checkpoints: expected a number of iterations or 'sqrt', got {value!r}")
    return value


def _name_of(function: Callable[..., Any], otherwise: str) -> str:
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else otherwise


def _returned(function: Callable[..., Any], arguments: Sequence[Symbol], what: str) -> Any:
    """What the function returns. Raises Error if it is nothing like a symbol, and no sequence."""
    returned = function(*arguments)
    if not is_one(returned) and not isinstance(returned, (tuple, list)):
        raise Error(f"{what} must return symbols, got {type(returned).__name__}")
    return returned


def _check_symbols(results: Sequence[Any], what: str) -> None:
    for k, result in enumerate(results):
        if not isinstance(result, Symbol):
            raise Error(f"{what} must return symbols, got {type(result).__name__} at {k}")


class ControlFlow:
    """The loops and branches of a Graph."""

    def add_while(self: Any, body: "Graph", inputs: Sequence[Symbol], *, counter: bool = False,
                  limit: int | None = None, checkpoints: "int | str" = 0) -> tuple[Symbol, ...]:
        """Adds a loop whose body is a graph; returns the values that its first inputs have at the end.

        The body's outputs are the next values of its first inputs, and last the condition, a bool or
        an integer of one element; what computes it runs first in each iteration, and the loop ends
        when it is 0. With counter the body's last input, an i64[], is the number of the iteration.
        The graph gets a copy of the body. while_loop() describes the rest, and makes the body itself.
        """
        graph, outputs = self._current(), max(len(body.outputs) - 1, 0)
        options = ffi.new("mote_while_options*")
        options.size, options.has_counter = ffi.sizeof("mote_while_options"), int(counter)
        options.has_limit, options.limit = int(limit is not None), limit or 0
        options.checkpoints = checkpoints_of(checkpoints)
        graph._codes += body._codes
        made = ffi.new("mote_symbol[]", outputs)
        checked(lib.mote_symbolic_add_while(graph.handle, body.handle,
                                            [graph._own(x).c for x in inputs], len(inputs), options,
                                            made, outputs))
        return tuple(Symbol(graph, made[k]) for k in range(outputs))

    def add_case_of(self: Any, index: Symbol, branches: "Sequence[tuple[Graph, Sequence[Symbol]]]",
                    otherwise: "Symbol | Sequence[Symbol | None] | None" = None
                    ) -> tuple[Symbol, ...]:
        """Adds a choice of a branch, a graph and what its inputs are here, by its index.

        The graph gets copies of the branches. case_of() describes the rest, and makes the branches.
        """
        graph = self._current()
        lists = [ffi.new("mote_symbol[]", [graph._own(x).c for x in inputs])
                 for _, inputs in branches]
        c_branches = ffi.new("mote_branch[]", [
            {"graph": branch.handle, "inputs": symbols, "input_count": len(symbols)}
            for (branch, _), symbols in zip(branches, lists)])
        outputs = len(branches[0][0].outputs) if branches else 0
        replaced: Any = ffi.NULL
        if otherwise is not None:
            symbols = listed(otherwise)
            if len(symbols) != outputs:
                raise Error(f"case_of: otherwise must have {outputs} symbols, got {len(symbols)}")
            replaced = [NO_SYMBOL if x is None else graph._own(x).c for x in symbols]
        for branch, _ in branches:
            graph._codes += branch._codes
        made = ffi.new("mote_symbol[]", outputs)
        checked(lib.mote_symbolic_add_case_of(graph.handle, graph._own(index).c, c_branches,
                                              len(branches), replaced, made, outputs))
        return tuple(Symbol(graph, made[k]) for k in range(outputs))

    def while_loop(self: Any, condition: Callable[..., Symbol], body: Callable[..., Any],
                   values: "Symbol | Sequence[Any]", *, counter: bool = False,
                   limit: int | None = None, checkpoints: "int | str" = 0) -> Any:
        """Adds a loop, and returns the values at its end: one symbol for one, a tuple for a sequence.

            while condition(*values):
                values = body(*values)

            root = g.while_loop(lambda x: abs(x * x - a) > 1e-6, lambda x: (x + a / x) * 0.5, start)

        condition(*values) returns a bool or an integer of one element, body(*values) the next values,
        each of the dtype and shape of the one before; a number stands for one without axes. Both are
        called once, on symbols; symbols of this graph that they use, as `a`, stay the same in all
        iterations. With counter they get one argument more, the number of the iteration from 0, an
        i64[]. limit is the most iterations: a run that needs one more is an error.

        The gradient of a loop is a loop, for which the values that it reads of each iteration are
        kept. checkpoints="sqrt" keeps those with which about the square root of the iterations begin,
        a number those of at most so many, and the iterations between are computed again; the bits are
        the same, but that gradient has no gradient in turn. Raises Error, with both forms, where a value
        changes its dtype or shape.
        """
        graph = self._current()
        carried = [graph._symbol(value)._in_rows() for value in listed(values)]
        with graph._inner(_name_of(body, "body")) as inside:
            arguments = [inside._input_like(x, "value") for x in carried]
            number = inside.tensor("i64", ()) if counter else None
            given = [*arguments, number] if counter else arguments
            going = condition(*given)
            if not isinstance(going, Symbol):
                raise Error("while_loop: condition must return a symbol, a bool or an integer of one "
                            f"element, got {type(going).__name__}")
            results = listed(_returned(body, given, "while_loop: body"))
            if len(results) != len(carried):
                raise Error(f"while_loop: body must return {len(carried)} symbols, one for each "
                            f"value, got {len(results)}")
            results = [x._operand(y) for x, y in zip(arguments, results)]
            _check_symbols(results, "while_loop: body")
            inside.set_outputs([inside._own(y)._in_rows() for y in [*results, going]])
            if number is not None:  # the body's last input, behind those of the graphs around
                last = inside.input(inside._free_name("iteration"), "i64", ())
                inside.replace_uses(number, last)
                inside.apply_passes(["prune"])
        made = graph.add_while(inside, [*carried, *inside._taken], counter=counter, limit=limit,
                               checkpoints=checkpoints)
        return made[0] if is_one(values) else made

    def for_loop(self: Any, count: "int | Symbol", body: Callable[..., Any],
                 values: "Symbol | Sequence[Any]", *, checkpoints: "int | str" = 0) -> Any:
        """Adds a loop of `count` iterations: values = body(*values, k) for k from 0 to count - 1.

            power = g.for_loop(8, lambda y, k: y * x, x)

        count is a number or an i64 of one element. k is an i64[]; while_loop() describes the rest.
        """
        return self.while_loop(lambda *given: given[-1] < count, body, values, counter=True,
                               checkpoints=checkpoints)

    def case_of(self: Any, index: Symbol, branches: Sequence[Callable[..., Any]],
                *operands: Any, otherwise: Any = None) -> Any:
        """Adds a choice: the run computes branches[index](*operands) alone.

            y = g.case_of(k, [lambda x: x, lambda x: x * x, g.exp], x)

        index is a bool or an integer of one element. Each branch is called once, on symbols, and may
        use other symbols of this graph; all of them return as many symbols, of the same dtypes and
        shapes. If the index is negative no branch runs, and the result is `otherwise`, by default an
        error of the run. Returns one symbol, or a tuple where the branches return a sequence. The
        gradient is a case..of too, which computes its branch again.
        """
        if not branches:
            raise Error("case_of: expected at least one branch")
        graph = self._current()
        given = [graph._symbol(x) for x in operands]
        made_branches, are_single = [], True
        for k, branch in enumerate(branches):
            what = f"case_of: branch {k}"
            with graph._inner(_name_of(branch, f"branch{k}")) as inside:
                returned = _returned(branch, [inside._input_like(x, "operand") for x in given], what)
                results = listed(returned)
                _check_symbols(results, what)
                inside.set_outputs([inside._own(y)._in_rows() for y in results])
            are_single = are_single and is_one(returned)
            made_branches.append((inside, [*given, *inside._taken]))
        if otherwise is not None:
            otherwise = [y if y is None else graph._symbol(y)._in_rows() for y in listed(otherwise)]
        made = graph.add_case_of(graph._symbol(index), made_branches, otherwise)
        return made[0] if are_single else made

    def cond(self: Any, predicate: Symbol, on_true: Callable[..., Any],
             on_false: Callable[..., Any], *operands: Any) -> Any:
        """Adds a choice of two: on_true(*operands) where the predicate is true, else on_false.

            y = g.cond(loss < 1, lambda x: x, lambda x: x / loss, x)

        The predicate is a bool of one element; case_of() describes the rest.
        """
        predicate = self._current()._symbol(predicate)
        if predicate.dtype != "bool":
            raise Error(f"cond: the predicate must be a bool of one element, got {predicate!r}")
        return self.case_of(predicate, [on_false, on_true], *operands)
