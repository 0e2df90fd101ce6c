# SPDX-License-Identifier: Apache-2.0
"""A Python function as a backend of mote: kernels whose functions are callbacks.

The same code runs in the process that checks and in workers, so that both have equal backends.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import sys
import time
from typing import Any, Callable

from . import _arrays
from ._door import FAILED, INVALID, OK, OUT_OF_MEMORY, UNSUPPORTED, Error, Texts, ffi, lib, text
from ._earlier import Earlier
from ._exceptions import Returned, in_one_line, stays, traceback_of
from ._ops import Op
from ._signature import Signature, is_guessed, kind_of, signature_of

_ACCUMULATORS = {"native": 0, "f32": 1, "f64": 2}
_INDICES = {"any": 0, "valid": 1, "not_negative": 2, "valid_not_negative": 3}
_TF32_BITS = 11
_IN_PLACE_NONE = 0
OTHER_KERNEL = "another kernel of the function has this dtype"


@dataclasses.dataclass(frozen=True)
class Contract:
    """The promises of a kernel about its numbers; the bound follows from it (docs/bound.md)."""

    accumulator: str | None = None  #: native, f32 or f64; None: f32 for 16 bits, else native
    tf32: bool = False  #: operands of products that are summed keep 11 bits
    form: str = "direct"  #: the formula that is computed
    accuracy: dict[str, float] = dataclasses.field(default_factory=dict)  #: ulps by function
    flushes_denormals: bool = False
    deterministic: bool = True
    ignores_nan: bool = False
    indices: str = "any"

    def to_c(self, keep: Texts, accumulator: str) -> Any:
        """The mote_contract, whose memory `keep` has. Raises Error for unknown words."""
        c = keep.keep(ffi.new("mote_contract*"))
        c.size = ffi.sizeof("mote_contract")
        if accumulator not in _ACCUMULATORS:
            raise Error(f"accumulator: expected native, f32 or f64, got {accumulator!r}")
        if self.indices not in _INDICES:
            raise Error(f"indices: expected {', '.join(_INDICES)}, got {self.indices!r}")
        c.accumulator = _ACCUMULATORS[accumulator]
        c.multiply_rounding = _TF32_BITS if self.tf32 else 0
        c.flushes_denormals = int(self.flushes_denormals)
        c.deterministic = int(self.deterministic)
        c.form = keep.text(self.form)
        c.ignores_nan = int(self.ignores_nan)
        c.indices = _INDICES[self.indices]
        functions = keep.keep(ffi.new("mote_accuracy[]", max(1, len(self.accuracy))))
        for k, (name, ulps) in enumerate(self.accuracy.items()):
            if not 0 <= ulps < math.inf:
                raise Error(f"accuracy: expected ulps as numbers from 0 on, got {ulps!r} for {name}")
            functions[k].function, functions[k].ulp = keep.text(name), ulps
        c.function_count, c.functions = len(self.accuracy), functions
        c.in_place_count = _IN_PLACE_NONE
        return c


@dataclasses.dataclass(frozen=True)
class Style:
    """The manner in which a function is called."""

    arrays: str | None = None  #: numpy, torch or jax; None: what its code names
    axis: int | None = None  #: of an op with one: -1, 0 or 1
    row_major: bool = False  #: only tensors without gaps
    empty: bool = False  #: tensors without elements too
    grad: bool = False  #: the op is a gradient, and the function is the forward one
    device: str | None = None  #: of torch: inputs are moved there


class Subject:
    """A function with its backend. `errors` has the traceback of each message of an exception."""

    def __init__(self, fn: Callable[..., Any], op: Op, name: str, contract: Contract,
                 style: Style, forward: Op | None = None) -> None:
        self.fn, self.op, self.style, self.label = fn, op, style, name
        self.contract = contract
        self.replay = "{case}"  #: a line of Python that runs a case again
        self.kind = style.arrays or kind_of(fn)
        self.was_guessed = style.arrays is None and is_guessed(fn)
        if self.kind not in _arrays.KINDS:
            raise Error(f"arrays: expected {', '.join(_arrays.KINDS)}, got {self.kind!r}")
        self.signature: Signature = signature_of(fn, forward or op, self.kind)
        self.forward = forward
        self.errors: dict[str, str] = {}
        self.stopped = False
        self.interrupted_in = ""  #: the traceback of Ctrl-C in the function
        self._earlier = Earlier()
        self.error_file: str | None = os.environ.get("MOTE_WORKER_ERRORS")
        self.dropped = self._dropped_axes()
        self._texts = Texts()
        self.backend = self._make_backend(name, contract)

    # ---- the backend

    def _make_backend(self, name: str, contract: Contract) -> Any:
        keep = self._texts
        types = {name: field.type for name, field in ffi.typeof("mote_kernel").fields}
        run = keep.keep(ffi.callback(types["run"], self._run, FAILED, onerror=self.note))
        wide, narrow = (
            keep.keep(ffi.callback(types["can_run"], functools.partial(self._can_run, narrow=n),
                                   FAILED, onerror=self.note)) for n in (False, True))
        choices = ([(contract.accumulator, wide)] if contract.accumulator else
                   [("native", wide), ("f32", narrow)])
        self._any_dtype = contract.accumulator is not None
        kernels = keep.keep(ffi.new("mote_kernel[]", len(choices)))
        for k, (accumulator, can_run) in enumerate(choices):
            kernels[k].size = ffi.sizeof("mote_kernel")
            kernels[k].op = keep.text(self.op.name)
            kernels[k].contract = contract.to_c(keep, accumulator)
            kernels[k].can_run, kernels[k].run = can_run, run
        backend = keep.keep(ffi.new("mote_backend*"))
        backend.size = ffi.sizeof("mote_backend")
        backend.name, backend.version = keep.text(name), keep.text(self.kind)
        backend.kernel_count, backend.kernels = len(choices), kernels
        return backend

    def _dropped_axes(self) -> dict[str, int]:
        """Axes that the function does not see, which therefore have the extent 1."""
        op = self.forward or self.op
        if self.style.axis is None:
            return {}
        if op.axis is None:
            raise Error(f"{op.name}: it works along no axis, got axis={self.style.axis}")
        if self.style.axis not in (-1, 0, 1):
            raise Error(f"{op.name}: axis: expected -1, 0 or 1 (of three), got {self.style.axis}")
        return {-1: {"C": 1}, 0: {"R": 1}, 1: {}}[self.style.axis]

    # ---- a call

    def note(self, kind: type[BaseException], value: BaseException, trace: Any) -> None:
        """Ctrl-C may come anywhere in a callback, which then fails; the check ends."""
        if issubclass(kind, KeyboardInterrupt):
            self.stopped = True
        else:
            sys.excepthook(kind, value, trace)

    def _can_run(self, call: Any, narrow: bool) -> int:
        try:
            why = self._refusal(call, narrow)
        except BaseException as e:  # noqa: BLE001: no exception may pass C
            self.stopped = self.stopped or isinstance(e, KeyboardInterrupt)
            why = f"{type(e).__name__}: {e}"
        if why:
            _say(call, why)
            return UNSUPPORTED
        return OK

    def _refusal(self, call: Any, narrow: bool) -> str:
        tensors = [call.inputs[k] for k in range(call.input_count)]
        tensors += [call.outputs[k] for k in range(call.output_count)]
        present = [t for t in tensors if t != ffi.NULL]
        own = any(_arrays.dtype_name(t.dtype) in _arrays.NARROW for t in present)
        if not self._any_dtype and own != narrow:
            return OTHER_KERNEL
        if self.forward is None and (why := self._inputs_refused(call)):
            return why
        if not self.style.empty and any(0 in t.shape[0:t.ndim] for t in present):
            return "a tensor has no element (empty=True checks such cases)"
        why = self._params_refused(call) or self._axes_refused(call)
        if not why and self.style.row_major and not all(map(_is_row_major, present)):
            why = "it takes only tensors without gaps"
        return why

    def _inputs_refused(self, call: Any) -> str:
        taken, needs = self.signature.inputs(), self.signature.needs()
        for k in range(call.input_count):
            name, is_there = self.op.inputs[k].name, call.inputs[k] != ffi.NULL
            if is_there and name not in taken:
                return f"the function takes no {name}"
            if not is_there and name in needs:
                return f"the function needs {name}"
        return ""

    def _params_refused(self, call: Any) -> str:
        taken = self.signature.params()
        defaults = {p.name: p.default for p in self.op.params}
        for name, value in _params(call).items():
            if name not in taken and value != defaults.get(name):
                return f"the function takes no {name}"
        return ""

    def _axes_refused(self, call: Any) -> str:
        for tensors, of in ((call.inputs, self.op.inputs), (call.outputs, self.op.outputs)):
            for k, meant in enumerate(of):
                if tensors[k] == ffi.NULL:
                    continue
                lacking = len(meant.axes) - tensors[k].ndim
                for axis, extent in zip(meant.axes[lacking:], tensors[k].shape[0:tensors[k].ndim]):
                    if self.dropped.get(axis, extent) != extent:
                        return f"axis={self.style.axis}: {axis} is {extent}"
        return ""

    def _run(self, call: Any, _stream: Any) -> int:
        try:
            self.call(call)
            return OK
        except KeyboardInterrupt as e:
            self.stopped = True
            self.interrupted_in = traceback_of(e)
            lib.mote_py_interrupt()
            return OUT_OF_MEMORY
        except BaseException as e:  # noqa: BLE001: whatever the function raises is its failure
            self._note(call, e)
            return FAILED if stays(e) else INVALID

    def _note(self, call: Any, error: BaseException) -> None:
        message, full = in_one_line(error), traceback_of(error)
        self.errors[message] = full
        if self.error_file and len(self.errors) < 100:
            with open(self.error_file, "a", encoding="utf-8") as file:
                file.write(repr((message, full)) + "\n")
        _say(call, message)

    def call(self, call: Any) -> None:
        """Calls the function on the call's tensors, and stores what it returns."""
        make = _arrays.MAKERS[self.kind]
        inputs = self._views(call.inputs, call.input_count, self.op.inputs, make)
        outputs = {}
        if self.signature.outputs or self.forward is None:
            outputs = self._views(call.outputs, call.output_count, self.op.outputs,
                                  _arrays.MAKERS["numpy" if self.kind == "jax" else self.kind])
        if self.forward is not None:
            from ._grad import run_backward  # it needs no framework unless it is called

            return run_backward(self, inputs, _params(call), call)
        begin = time.monotonic()
        returned = self._called(inputs, outputs, call)
        seconds = time.monotonic() - begin
        if not self.signature.outputs:
            stored = self.store(returned, call)
            if self.kind != "jax":  # its arrays never change
                self._earlier.check(stored, inputs, lambda x: self._called(x, {}, call),
                                    seconds)
        elif self.style.device:
            for name, made in outputs.items():
                self.store_one(name, made, call)
        return None

    def _called(self, inputs: dict[str, Any], outputs: dict[str, Any], call: Any) -> Any:
        axis = self.style.axis if self.style.axis is not None else 1
        positional, named = self.signature.arguments(inputs, outputs, _params(call), axis)
        return self.fn(*positional, **named)

    def _views(self, tensors: Any, count: int, of: tuple[Any, ...],
               make: Callable[[Any], Any]) -> dict[str, Any]:
        views: dict[str, Any] = {}
        for k in range(count):
            dl = tensors[k]
            if dl == ffi.NULL:
                continue
            view = self.seen(make(dl), of[k])
            views[of[k].name] = view.to(self.style.device) if self.style.device else view
        return views

    def seen(self, array: Any, of: Any) -> Any:
        """The array without the dropped axes."""
        lacking = len(of.axes) - array.ndim
        index = tuple(0 if axis in self.dropped else slice(None) for axis in of.axes[lacking:])
        return array[index] if 0 in index else array

    def store(self, returned: Any, call: Any) -> dict[str, Any]:
        """Stores what the function returned, and returns it by the names of the outputs."""
        wanted = [(k, y.name) for k, y in enumerate(self.op.outputs)
                  if k < call.output_count]
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(values) != len(wanted):
            raise Returned(f"the function returned {len(values)} arrays, expected {len(wanted)}: "
                           + ", ".join(name for _, name in wanted))
        stored: dict[str, Any] = {}
        for (k, name), value in zip(wanted, values):
            if call.outputs[k] != ffi.NULL:
                if value is None:
                    raise Returned(f"{name}: the function returned None, expected an array")
                self.store_one(name, value, call)
                stored[name] = value
        return stored

    def store_one(self, name: str, value: Any, call: Any) -> None:
        k = [y.name for y in self.op.outputs].index(name)
        dl = call.outputs[k]
        if self.dropped:
            value = self._restored(value, dl, k, name)
        _arrays.store(value, dl, name)

    def _restored(self, value: Any, dl: Any, k: int, name: str) -> Any:
        """The value with the dropped axes again."""
        shape = tuple(dl.shape[0:dl.ndim])
        axes = self.op.outputs[k].axes
        seen = tuple(n for n, axis in zip(shape, axes) if axis not in self.dropped)
        if not hasattr(value, "shape"):
            return value  # it is refused where it is stored
        if tuple(value.shape) != seen:
            raise Returned(f"{name}: the function returned the shape {list(value.shape)}, "
                           f"expected {list(seen)}")
        return value.reshape(shape)


def _params(call: Any) -> dict[str, Any]:
    params = {}
    for k in range(call.param_count):
        p = call.params[k]
        params[text(p.name)] = p.real if p.is_real else p.integer
    return params


def _is_row_major(dl: Any) -> bool:
    if dl.strides == ffi.NULL:
        return True
    expected = 1
    for k in reversed(range(dl.ndim)):
        if dl.shape[k] != 1 and dl.strides[k] != expected:
            return False
        expected *= max(1, dl.shape[k])
    return True


def _say(call: Any, message: str) -> None:
    """Writes the call's message, as much as there is room for."""
    if call.message == ffi.NULL or call.message_bytes == 0:
        return
    data = message.encode()[: call.message_bytes - 1]
    ffi.memmove(call.message, data + b"\0", len(data) + 1)

