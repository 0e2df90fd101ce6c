# SPDX-License-Identifier: Apache-2.0
"""Python's code in dynamic graphs: called back by C, with its exceptions handed on."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from ._arrays import numpy_over, to_numpy
from ._door import FAILED, OK, Error, checked, ffi, lasting, lib

if TYPE_CHECKING:
    import numpy as np

_raised = threading.local()


def done(status: int) -> None:
    """Checks as checked() does; if Python's code has failed in this call, raises its own exception."""
    if status == OK:
        return
    exception = getattr(_raised, "exception", None)
    if exception is not None:
        _raised.exception = None
        raise exception
    checked(status)


def note(_type: Any, exception: BaseException, _traceback: Any) -> None:
    _raised.exception = exception


class Code:
    """Python's code that C calls, perhaps in a thread of its own."""

    raised: BaseException | None = None  #: what it raised in the last run


@contextlib.contextmanager
def noted(code: Code) -> Iterator[None]:
    """Remembers what the code raises: the thread that waits for the run may be another one."""
    try:
        yield
    except BaseException as exception:
        code.raised = exception
        raise


def run_code_of(codes: Iterable[Code], function: Any, handle: Any, *arguments: Any) -> None:
    """Calls a function of C that runs this code; what the code raises in any thread is raised here."""
    for code in codes:
        code.raised = None
    try:
        done(function(handle, *arguments))
    except Error:
        for code in codes:
            if code.raised is not None:
                raise code.raised from None
        raise


class TensorCode(Code):
    """A function of arrays with a gradient, as C calls it."""

    def __init__(self, forward: Callable[..., Any],
                 backward: Callable[..., Iterable[Any]] | None, name: str) -> None:
        self.forward, self.backward, self.name = forward, backward, name

    def run(self, inputs: list["np.ndarray"], outputs: list["np.ndarray"]) -> None:
        results = self.forward(*inputs)
        results = results if isinstance(results, (tuple, list)) else (results,)
        if len(results) != len(outputs):
            raise Error(f"{self.name}: it must return {len(outputs)} arrays, "
                        f"got {len(results)}")
        for k, (result, output) in enumerate(zip(results, outputs)):
            _write(result, output, f"{self.name}: output {k}")

    def run_backward(self, inputs: list["np.ndarray"], outputs: list["np.ndarray"],
                     seeds: list["np.ndarray | None"],
                     gradients: list["np.ndarray | None"]) -> None:
        assert self.backward is not None
        name = f"{self.name}'s gradient"
        results = list(self.backward(inputs, outputs, seeds))
        if len(results) != len(gradients):
            raise Error(f"{name}: it must return a gradient, or None, for each of "
                        f"{len(gradients)} inputs, got {len(results)}")
        for k, (result, gradient) in enumerate(zip(results, gradients)):
            if gradient is not None:
                _write(0 if result is None else result, gradient, f"{name}: that of input {k}")


class TracedCode(TensorCode):
    """The same with a gradient of variables: wrap(graph, handles) makes these, None of NULL."""

    def __init__(self, forward: Callable[..., Any], backward: Callable[..., Iterable[Any]],
                 name: str, wrap: Callable[..., list[Any]]) -> None:
        super().__init__(forward, backward, name)
        self.wrap = wrap


def _write(result: Any, to: "np.ndarray", what: str) -> None:
    array = to_numpy(result)
    if array.shape not in (to.shape, ()):
        raise Error(f"{what} must have the shape {list(to.shape)}, got {list(array.shape)}")
    to[...] = array


_kept: dict[int, Any] = {}  # what C has the address of, until C releases it


def address_of(code: Any) -> Any:
    """An address by which C names the object, which stays until release() is called with it."""
    handle = ffi.new_handle(code)
    _kept[int(ffi.cast("uintptr_t", handle))] = handle
    return handle


@lasting
@ffi.callback("void(void*)")
def release(argument: Any, kept: dict[int, Any] = _kept) -> None:
    kept.pop(int(ffi.cast("uintptr_t", argument)), None)


def _arrays(tensors: Any, count: int) -> list[Any]:
    return [None if t == ffi.NULL else numpy_over(t.dl) for t in tensors[0:count]] if count else []


def _read_only(arrays: list[Any]) -> list[Any]:
    for array in arrays:
        if array is not None:
            array.flags.writeable = False
    return arrays


@lasting
@ffi.callback("mote_node_work", error=FAILED, onerror=note)
def run_code(argument: Any, inputs: Any, input_count: int, outputs: Any, output_count: int) -> int:
    code = ffi.from_handle(argument)
    with noted(code):
        code.run(_read_only(_arrays(inputs, input_count)), _arrays(outputs, output_count))
    return OK


@lasting
@ffi.callback("mote_graph_function_gradient", error=FAILED, onerror=note)
def run_gradient(argument: Any, inputs: Any, input_count: int, outputs: Any, seeds: Any,
                 output_count: int, gradients: Any) -> int:
    code = ffi.from_handle(argument)
    with noted(code):
        code.run_backward(_read_only(_arrays(inputs, input_count)),
                          _read_only(_arrays(outputs, output_count)),
                          _read_only(_arrays(seeds, output_count)), _arrays(gradients, input_count))
    return OK


@lasting
@ffi.callback("mote_graph_function_traced_gradient", error=FAILED, onerror=note)
def run_traced_gradient(argument: Any, graph: Any, inputs: Any, input_count: int, outputs: Any,
                        seeds: Any, output_count: int, gradients: Any) -> int:
    code = ffi.from_handle(argument)
    with noted(code):
        lists = (handles[0:count] if count else [] for handles, count in (
            (inputs, input_count), (outputs, output_count), (seeds, output_count)))
        name = f"{code.name}'s gradient"
        results = list(code.backward(*(code.wrap(graph, handles) for handles in lists)))
        if len(results) != input_count:
            raise Error(f"{name}: it must return a gradient, or None, for each of {input_count} "
                        f"inputs, got {len(results)}")
        _give(results, gradients, name)
    return OK


def _give(results: Iterable[Any], to: Any, name: str) -> None:
    """Gives C new handles of the variables; None stays NULL."""
    made = ffi.new("mote_variable**")
    for k, result in enumerate(results):
        if result is None:
            continue
        if not hasattr(result, "handle"):
            raise Error(f"{name}: it must return variables, got {type(result).__name__}")
        done(lib.mote_variable_share(result.handle, made))
        to[k] = made[0]


class VariableCode(Code):
    """A function of variables, as C calls it: for checkpoints and nodes of symbolic graphs."""

    def __init__(self, function: Callable[..., Any], wrap: Callable[..., Any]) -> None:
        self.function, self.wrap = function, wrap


@lasting
@ffi.callback("mote_dynamic_work", error=FAILED, onerror=note)
def run_variables(argument: Any, graph: Any, inputs: Any, input_count: int, outputs: Any,
                  output_count: int) -> int:
    code = ffi.from_handle(argument)
    with noted(code):
        results = code.function(*code.wrap(graph, inputs[0:input_count] if input_count else []))
        results = results if isinstance(results, (tuple, list)) else (results,)
        name = getattr(code.function, "__name__", "the function")
        if len(results) != output_count:
            raise Error(f"{name}: it must return {output_count} variables, got {len(results)}")
        if any(result is None for result in results):
            raise Error(f"{name}: it must return variables, got NoneType")
        _give(results, outputs, name)
    return OK
