# SPDX-License-Identifier: Apache-2.0
"""Functions as single steps: of symbolic graphs in dynamic ones, and of Python's code in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from ._arrays import dl_dtype
from ._callbacks import (TensorCode, TracedCode, VariableCode, address_of, done, release, run_code,
                         run_gradient, run_traced_gradient, run_variables)
from ._door import Error, ffi, lib
from ._symbol import symbols_of
from ._variable import Variable
from .graphs import Graph as SymbolicGraph, Symbol

if TYPE_CHECKING:
    from .dynamic import Graph

#: the dtype and shape of an output: ("f32", (2, 3)), or a variable or symbol that has them
Form = Any


def form_of(form: Form) -> tuple[str, tuple[int, ...]]:
    if isinstance(form, (Variable, Symbol)):
        return form.dtype, form.shape
    try:
        dtype, shape = form
        return dtype, tuple(int(extent) for extent in shape)
    except (TypeError, ValueError):
        raise Error("outputs: expected a variable, a symbol or (dtype, shape) for each, "
                    f"got {form!r}") from None


def graph_of(inputs: Iterable[Any], what: str) -> "Graph":
    """The dynamic graph of the first variable."""
    for value in inputs:
        if isinstance(value, Variable):
            return value.graph
    raise Error(f"{what}: none of the inputs is a variable; a method of Graph takes arrays only")


class StaticFunction:
    """A symbolic graph (mote.graphs) as one step of dynamic graphs.

    Its inputs are the graph's, in the order in which they were added, perhaps of other shapes; its
    outputs are `outputs`. It is compiled once for each set of shapes; gradients flow through it.

        step = mote.dynamic.StaticFunction(g, [y])
        (y,) = step(x, w)
    """

    def __init__(self, graph: SymbolicGraph, outputs: Sequence[Symbol]) -> None:
        made, outputs = ffi.new("mote_static_function**"), symbols_of(outputs, "static function")
        done(lib.mote_static_function_create(graph.handle, [y.c for y in outputs], len(outputs),
                                             made))
        self.handle = ffi.gc(made[0], lib.mote_static_function_free)
        self.output_count = len(outputs)

    def __call__(self, *inputs: Any) -> tuple[Variable, ...]:
        return graph_of(inputs, "static function").call(self, *inputs)

    def _forms(self, _forms: Sequence[Form]) -> list[None]:
        return [None] * self.output_count

    def _call(self, graph: "Graph", inputs: list[Any], forms: list[Any], made: Any) -> None:
        handles = [ffi.NULL if x is None else x.handle for x in inputs]
        done(lib.mote_dynamic_run_static(graph.handle, self.handle, handles, len(handles), made,
                                         len(forms)))


def _tensors(graph: SymbolicGraph, outputs: Sequence[Form]) -> list[Symbol]:
    """Symbols of these forms that a node is to write."""
    return [graph.tensor(dtype, shape) for dtype, shape in map(form_of, outputs)]


class Function:
    """Python's code on arrays as one step, of a dynamic graph or of a symbolic one.

    forward(*inputs) returns an array for each output. backward(inputs, outputs, seeds) returns the
    gradient with respect to each input, None for zeros; seeds[k] is None if nothing depends on
    output k. Arrays are NumPy's, in mote's memory, read only, and valid during the call. An exception
    is raised by the call that needed the function.

        clip = mote.dynamic.Function(lambda x: np.minimum(x, 1), lambda xs, ys, ds: [ds[0]])
        (y,) = clip(x, outputs=[x])

    With `traced` backward is given variables, of a graph of their own, and returns variables, so that
    the gradient can be differentiated again, any number of times. A seed may be zeros then instead of
    None.

        square = mote.dynamic.Function(lambda x: x * x, lambda xs, ys, ds: [2 * xs[0] * ds[0]],
                                       traced=True)
    """

    def __init__(self, forward: Callable[..., Any],
                 backward: Callable[..., Iterable[Any]] | None = None, *,
                 name: str | None = None, traced: bool = False) -> None:
        from .dynamic import context

        name = name or getattr(forward, "__name__", "function").replace("<lambda>", "function")
        made = ffi.new("mote_graph_function**")
        self._code: Any
        if not traced:
            self._code = TensorCode(forward, backward, name)
        elif backward is None:
            raise Error(f"{name}: traced: expected a backward, which is what is traced, got none")
        else:
            self._code = TracedCode(forward, backward, name, _wrapped)
        argument = address_of(self._code)
        gradient = ffi.NULL if backward is None else run_gradient
        try:
            if traced:
                done(lib.mote_graph_function_create_traced(
                    context(), name.encode(), run_code, run_traced_gradient, argument, release, made))
            else:
                done(lib.mote_graph_function_create(name.encode(), run_code, gradient, argument,
                                                    release, made))
        except BaseException:
            release(argument)
            raise
        self.handle = ffi.gc(made[0], lib.mote_graph_function_free)

    def __call__(self, *inputs: Any, outputs: Sequence[Form]) -> tuple[Any, ...]:
        """Calls the function on variables, or adds it as a node if the inputs are symbols."""
        if inputs and all(isinstance(x, Symbol) for x in inputs):
            graph = inputs[0].graph._current()
            made = _tensors(graph, outputs)
            graph._codes.append(self._code)
            done(lib.mote_symbolic_call_function(
                graph.handle, self.handle, [graph._own(x).c for x in inputs], len(inputs),
                [y.c for y in made], len(made)))
            return tuple(made)
        return graph_of(inputs, "function").call(self, *inputs, outputs=outputs)

    def _forms(self, forms: Sequence[Form]) -> list[tuple[str, tuple[int, ...]]]:
        return [form_of(form) for form in forms]

    def _call(self, graph: "Graph", inputs: list[Any], forms: list[Any], made: Any) -> None:
        shapes = [ffi.new("int64_t[]", list(shape)) for _, shape in forms]
        c_forms = ffi.new("mote_form[]", [
            {"dtype": dl_dtype(dtype), "rank": len(shape), "shape": kept}
            for (dtype, shape), kept in zip(forms, shapes)])
        handles = [ffi.NULL if x is None else x.handle for x in inputs]
        done(lib.mote_dynamic_call(graph.handle, self.handle, handles, len(handles), c_forms, made,
                                   len(forms)))


def _wrapped(dynamic: Any, variables: Iterable[Any]) -> list[Variable | None]:
    """Variables, of which C has the handles, and their graph; None of NULL."""
    from .dynamic import Graph

    same, shared = ffi.new("mote_dynamic**"), ffi.new("mote_variable**")
    done(lib.mote_dynamic_share(dynamic, same))
    inside, wrapped = Graph(_handle=same[0]), list[Variable | None]()
    for variable in variables:
        if variable == ffi.NULL:
            wrapped.append(None)
            continue
        done(lib.mote_variable_share(variable, shared))
        wrapped.append(Variable(shared[0], inside))
    return wrapped


def node(function: Callable[..., Any], *inputs: Symbol, outputs: Sequence[Form],
         name: str | None = None) -> tuple[Symbol, ...]:
    """Adds Python's code on variables as a node of a symbolic graph, also inside of its loops.

    function(*variables) returns a variable for each output. The gradient runs it again, traced.

        (y,) = mote.dynamic.node(lambda x: newton(x), x, outputs=[x])
    """
    from .dynamic import context

    if not inputs or not all(isinstance(x, Symbol) for x in inputs):
        raise Error("node: expected symbols of a graph, at least one")
    graph = inputs[0].graph._current()

    name = name or getattr(function, "__name__", "node").replace("<lambda>", "node")
    made = _tensors(graph, outputs)
    code = VariableCode(function, _wrapped)
    argument = address_of(code)
    try:
        done(lib.mote_symbolic_call_dynamic(
            graph.handle, context(), name.encode(), run_variables, argument, release,
            [graph._own(x).c for x in inputs], len(inputs), [y.c for y in made], len(made)))
    except BaseException:
        release(argument)
        raise
    graph._codes.append(code)
    return tuple(made)
