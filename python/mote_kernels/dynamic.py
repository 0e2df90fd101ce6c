# SPDX-License-Identifier: Apache-2.0
"""Dynamic graphs: ops run as they are given, on variables; gradients of what was run.

    g = mote.dynamic.Graph()
    w = g.variable(np.zeros((784, 10), np.float32))
    loss = mote.dynamic.cross_entropy(g.constant(images) @ w, g.constant(labels))
    (gw,) = loss.backward([w])
    w -= 0.1 * gw

Every op of the catalogue is a function here, and a method of Graph: `softmax(x, axis=1)`. Its inputs
are given by position, None for an optional one that is left out, its parameters by name; a tuple
`stride=(2, 2)` stands for stride0 and stride1. It returns the first output, or with `outputs=n` a tuple
of the first n. `help(mote.dynamic.softmax)` says shapes and parameters.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import numbers
from typing import Any, Callable, Iterable, Sequence

from ._arrays import Tensor, dl_dtype, extents
from ._callbacks import VariableCode, done, run_variables
from ._commands import check_op, command, op_function, op_names
from ._door import Error, ffi, lib, text
from ._functions import Form, Function, StaticFunction, graph_of, node
from ._variable import Variable

__all__ = ["Function", "Graph", "KeptMemory", "StaticFunction", "Statistics", "Variable", "no_gradient", "node"]


@functools.lru_cache(maxsize=None)
def context() -> Any:
    """The context of all dynamic graphs. It stays: variables may outlive anything else."""
    made = ffi.new("mote_context**")
    done(lib.mote_context_create(ffi.NULL, made))
    return made[0]


@dataclasses.dataclass(frozen=True)
class Statistics:
    """The contents of a dynamic graph, and the reasons why values keep their memory."""

    variables: int  #: those that the program has
    values: int  #: tensors that the graph knows, with memory or without
    steps: int  #: ops, views and functions that are remembered
    pending_steps: int  #: those that have not run
    variable_bytes: int  #: of values that variables have
    saved_bytes: int  #: of values that only gradients or pending steps need
    memo_bytes: int  #: of values that are only kept for equal commands
    free_bytes: int  #: memory that the next values take
    memo_hits: int  #: equal commands that were found
    compiled_graphs: int  #: those that are kept
    compilations: int  #: those that were made, ever
    computed_again: int  #: steps that ran again because their values had been dropped
    compiled_bytes: int  #: of the memory of the graphs that are kept
    forgotten: int  #: steps that went since no gradient could be asked for


@dataclasses.dataclass(frozen=True)
class KeptMemory:
    """Memory that values share, and why it is kept."""

    form: str  #: "f32[2,3]", of one of the values, or "a tape"
    bytes: int  #: of that value, or of a tape
    reason: str  #: "a variable has it", "the gradient of tanh reads it", …


class Graph:
    """A dynamic graph. Many threads may use it at once.

    deferred: ops are not run when they are given but when a value that depends on them is looked at;
    then all that this depends on is compiled as one graph, with the same bits.
    memo_bytes: results are kept for equal ops on the same values. saved_bytes: values that only
    gradients need and that take more are dropped, and computed again by backward(). pending_bytes,
    kept_graphs, kept_graph_bytes: docs/python.md.
    """

    def __init__(self, *, deferred: bool = False, memo_bytes: int = 0, saved_bytes: int = 0,
                 pending_bytes: int = 0, kept_graphs: int = 0, kept_graph_bytes: int = 0,
                 _handle: Any = None) -> None:
        made = ffi.new("mote_dynamic**")
        if _handle is None:
            options = ffi.new("mote_dynamic_options*")
            options.size, options.deferred = ffi.sizeof("mote_dynamic_options"), int(deferred)
            limits = {"memo_bytes": memo_bytes, "saved_bytes": saved_bytes,
                      "pending_bytes": pending_bytes, "kept_graphs": kept_graphs,
                      "kept_graph_bytes": kept_graph_bytes}
            for name, limit in limits.items():
                if not isinstance(limit, numbers.Integral) or not 0 <= int(limit) < 1 << 63:
                    raise Error(f"dynamic graph: {name}: expected a whole number from 0 on, "
                                f"got {limit!r}")
                setattr(options, name, int(limit))
            done(lib.mote_dynamic_create(context(), options, made))
        self.handle = ffi.gc(_handle or made[0], lib.mote_dynamic_free)

    def _made(self, function: Any, *arguments: Any) -> Variable:
        made = ffi.new("mote_variable**")
        done(function(self.handle, *arguments, made))
        return Variable(made[0], self)

    def _variables(self, values: Iterable[Any]) -> list[Variable | None]:
        return [v if v is None or isinstance(v, Variable) else self.constant(v) for v in values]

    # ---- variables

    def variable(self, value: Any) -> Variable:
        """A variable whose gradient may be asked for: an array of reals, of any library.

        It shares the array's memory, which must not change; set() gives it another one. Nothing is
        written to that memory. Raises Error for a dtype that is not one of reals.
        """
        return self._made(lib.mote_dynamic_variable, Tensor.sharing(value).handle)

    def constant(self, value: Any) -> Variable:
        """A variable through which no gradient flows, of any dtype, in the array's memory."""
        return self._made(lib.mote_dynamic_constant, Tensor.sharing(value).handle)

    def scalar(self, value: float, dtype: str = "f32") -> Variable:
        """A constant of one element and no axes."""
        return self._made(lib.mote_dynamic_scalar, dl_dtype(dtype), float(value))

    def zeros(self, shape: Sequence[int], dtype: str = "f32") -> Variable:
        """A constant of zeros, of which parts can be written: `y = g.zeros((4, 3)); y[0] = x`."""
        made = extents(shape)
        return self._made(lib.mote_dynamic_zeros, dl_dtype(dtype), len(made), made)

    # ---- ops

    def apply(self, op: str, *inputs: Any, outputs: int = 1, dtype: str | None = None,
              **params: Any) -> Any:
        """Runs an op by its name. Arrays among the inputs are constants.

        `dtype` is that of outputs whose dtype does not follow from the inputs.
        """
        given = self._variables(inputs)
        made = ffi.new("mote_variable*[]", outputs)
        wanted = ffi.NULL if dtype is None else ffi.new("DLDataType*", dl_dtype(dtype))
        done(lib.mote_dynamic_run(self.handle, command(op, params), _handles(given), len(given),
                                  wanted, made, outputs))
        results = tuple(None if made[k] == ffi.NULL else Variable(made[k], self)
                        for k in range(outputs))
        return results[0] if outputs == 1 else results

    def apply_to(self, output: Variable, op: str, *inputs: Any, **params: Any) -> None:
        """Runs an op and writes its first output to a variable, or a view, of its dtype and shape."""
        given = self._variables(inputs)
        done(lib.mote_dynamic_run_to(self.handle, output.handle, command(op, params),
                                     _handles(given), len(given)))

    def apply_in_place(self, x: Variable, op: str, *others: Any, **params: Any) -> None:
        """Runs an op and writes its output over the memory of x, its first input.

        Raises Error, with the reason, if the op does not allow that, or if a gradient, a pending op or
        another variable needs the old value.
        """
        given = self._variables(others)
        done(lib.mote_dynamic_run_in_place(self.handle, x.handle, command(op, params),
                                           _handles(given), len(given)))

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)
        check_op(op)
        return functools.partial(self.apply, op)

    def call(self, function: "Function | StaticFunction", *inputs: Any,
             outputs: Sequence[Form] = ()) -> tuple[Variable, ...]:
        """Calls a Function, whose outputs have these forms, or a StaticFunction, as one step."""
        given = self._variables(inputs)
        forms = function._forms(outputs)
        made = ffi.new("mote_variable*[]", len(forms))
        function._call(self, given, forms, made)
        return tuple(Variable(one, self) for one in made)

    # ---- gradients

    def backward(self, of: Variable | Sequence[Variable], wrt: Variable | Sequence[Variable], *,
                 seeds: Variable | Sequence[Variable | None] | None = None,
                 into: Variable | Sequence[Variable | None] | None = None,
                 traced: bool = False) -> tuple[Variable, ...]:
        """The gradient of sum_k <seeds[k], of[k]> with respect to each of `wrt`, of its form.

        A variable stands for a list of one; the result is a tuple always.
        No seed stands for ones, an array for a constant. `into` are variables that gradients are added to; what nothing
        depends on gets zeros. With `traced` gradients can be differentiated again. Raises Error if one
        of `wrt` is a constant or was computed from constants, and Unsupported if an op has no gradient.
        """
        of, wrt = _listed(of), _listed(wrt)
        into = None if into is None else _listed(into)
        if seeds is not None:
            seeds = self._variables([seeds] if hasattr(seeds, "__array__") else seeds)
        for name, given, expected in (("seeds", seeds, of), ("into", into, wrt)):
            if given is not None and len(given) != len(expected):
                raise Error(f"backward: {name} must have {len(expected)} entries, got {len(given)}")
        options = ffi.new("mote_backward_options*")
        options.size, options.is_traced = ffi.sizeof("mote_backward_options"), int(traced)
        kept = [ffi.new("mote_variable*[]", _handles(v or ())) for v in (seeds, into)]
        if seeds is not None:
            options.seeds = kept[0]
        if into is not None:
            options.into = kept[1]
        made = ffi.new("mote_variable*[]", len(wrt))
        done(lib.mote_dynamic_backward(self.handle, _handles(of), len(of), _handles(wrt), len(wrt),
                                       options, made))
        return tuple(Variable(made[k], self) for k in range(len(wrt)))

    def checkpoint(self, function: Callable[..., Any], *inputs: Variable, outputs: int = 1) -> Any:
        """Runs function(*inputs), and keeps of all that it computes only what it returns.

        backward() computes the rest again, with the same bits. `outputs` is the number of variables
        that the function returns.
        """
        code = VariableCode(function, lambda _graph, _inputs: inputs)
        argument = ffi.new_handle(code)
        made = ffi.new("mote_variable*[]", outputs)
        done(lib.mote_dynamic_checkpoint(self.handle, run_variables, argument, _handles(inputs),
                                         len(inputs), made, outputs))
        results = tuple(Variable(made[k], self) for k in range(outputs))
        return results[0] if outputs == 1 else results

    def has_effect(self, x: Variable, y: Variable) -> bool:
        """True if a gradient of y with respect to x can be other than zeros."""
        answer = ffi.new("int32_t*")
        done(lib.mote_dynamic_has_effect(self.handle, x.handle, y.handle, answer))
        return bool(answer[0])

    # ---- the graph

    def finish(self) -> None:
        """Computes everything pending that a variable has, and waits for devices."""
        done(lib.mote_dynamic_finish(self.handle))

    def statistics(self) -> Statistics:
        """How many variables, values and steps there are now, and what memory they have."""
        found = ffi.new("mote_dynamic_statistics*")
        found.size = ffi.sizeof("mote_dynamic_statistics")
        done(lib.mote_dynamic_get_statistics(self.handle, found))
        return Statistics(*(getattr(found, f.name) for f in dataclasses.fields(Statistics)))

    def memory(self) -> list[KeptMemory]:
        """All memory that values and tapes have, the latest value first, each once.

        The reason is the first of: a variable, a gradient or pending op that reads it, equal ops.
        """
        found, count = ffi.new("const mote_kept_memory**"), ffi.new("size_t*")
        done(lib.mote_dynamic_get_memory(self.handle, found, count))
        return [KeptMemory(text(one.form), one.bytes, text(one.reason))
                for one in (found[0][k] for k in range(count[0]))]

    def trim(self) -> None:
        """Gives free memory back, and forgets what is compiled and kept for equal ops."""
        done(lib.mote_dynamic_trim(self.handle))


def _listed(variables: Any) -> list[Any]:
    """The variables; one alone is not taken for the sequence of its rows."""
    is_one = isinstance(variables, Variable) or not isinstance(variables, Iterable)
    return [variables] if is_one else list(variables)


def _handles(variables: Iterable[Variable | None]) -> list[Any]:
    handles = []
    for v in variables:
        if not (v is None or isinstance(v, Variable)):
            raise Error(f"dynamic graph: expected a variable, got {v!r} of type {type(v).__name__}")
        handles.append(ffi.NULL if v is None else v.handle)
    return handles


class no_gradient(contextlib.ContextDecorator):
    """A scope in which this thread's ops are not remembered: results are constants."""

    def __enter__(self) -> "no_gradient":
        done(lib.mote_no_gradient_begin())
        return self

    def __exit__(self, *_: Any) -> None:
        done(lib.mote_no_gradient_end())


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(name)
    check_op(name)
    return op_function(name, graph_of, __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *op_names()})
