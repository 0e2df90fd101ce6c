# SPDX-License-Identifier: Apache-2.0
"""The reference of an op on the caller's arrays, its bound, and the judgement of results."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ._arrays import NARROW, Tensor, to_numpy
from ._commands import command_text
from ._door import Error, Texts, Unsupported, checked, ffi, lib, text
from ._lazy import Lazy
from ._ops import Op, op_of
from ._subject import Contract

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")  # an import of this package does not wait for it

_EXPECTED, _LOWER, _UPPER = 1, 3, 4


@dataclasses.dataclass(frozen=True)
class Bound:
    """The interval in which each element of a correct result lies, rounded to the output's dtype.

    The ends are equal where a result must be exact.
    """

    lower: np.ndarray
    upper: np.ndarray

    def holds(self, got: Any) -> np.ndarray:
        """Returns for each element whether it lies in the interval; NaN does where both ends are NaN.

        Raises Error for another shape than the bound's.
        """
        values = to_numpy(got)
        if values.shape != self.lower.shape:
            raise Error(f"bound: got must have the shape {list(self.lower.shape)}, "
                        f"got {list(values.shape)}")
        same_nan = np.isnan(self.lower) & np.isnan(self.upper) & np.isnan(values) \
            if np.issubdtype(values.dtype, np.floating) else False
        return ((self.lower <= values) & (values <= self.upper)) | same_nan


class _Call:
    """One call on arrays. Inputs may be named; params are those of the op, and axis."""

    def __init__(self, op: Op, args: tuple[Any, ...], named: dict[str, Any],
                 contract: Contract | None) -> None:
        self.op = op
        inputs, params = _split(op, args, named)
        self._tensors = [None if x is None else Tensor.over(x) for x in inputs]
        keep = Texts()
        handles = ffi.new("const mote_tensor*[]", max(1, len(inputs)))
        for k, t in enumerate(self._tensors):
            handles[k] = ffi.NULL if t is None else t.handle
        command = command_text(op.text, params)
        made = ffi.new("mote_py_call**")
        c = ffi.NULL
        if contract is not None:
            c = contract.to_c(keep, contract.accumulator or self._accumulator())
        checked(lib.mote_py_call_create(command.encode(), handles, len(inputs), c, made))
        self.handle = ffi.gc(made[0], lib.mote_py_call_free)

    def _accumulator(self) -> str:
        narrow = any(t is not None and t.dtype in NARROW for t in self._tensors)
        return "f32" if narrow else "native"

    def output(self, values: int, k: int) -> np.ndarray:
        name, tensor = ffi.new("const char**"), ffi.new("mote_tensor**")
        checked(lib.mote_py_call_output(self.handle, values, k, name, tensor))
        return Tensor(tensor[0]).numpy()

    def judge(self, got: tuple[Any, ...]) -> str:
        """"" if each element of each output lies in its bound, or what does not."""
        tensors = [None if y is None else Tensor.over(y) for y in got]
        handles = ffi.new("const mote_tensor*[]", max(1, len(tensors)))
        for k, t in enumerate(tensors):
            handles[k] = ffi.NULL if t is None else t.handle
        passed, said = ffi.new("int32_t*"), ffi.new("const char**")
        checked(lib.mote_py_call_judge(self.handle, handles, len(tensors), passed, said))
        return "" if passed[0] else text(said[0])


def _split(op: Op, args: tuple[Any, ...],
           named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    names = [x.name for x in op.inputs]
    if len(args) > len(names):
        raise Error(f"{op.name}: it has {len(names)} inputs, got {len(args)}")
    inputs = dict(zip(names, args))
    params: dict[str, Any] = {}
    families = op.families()
    known = {p.name for p in op.params} | {"axis"}
    for name, value in named.items():
        if name in names:
            if name in inputs:
                raise Error(f"{op.name}: input {name} is given twice, by its position and by its name")
            inputs[name] = value
        elif name in families:
            members = families[name]
            values = value if isinstance(value, (tuple, list)) else [value] * len(members)
            if len(values) != len(members):
                raise Error(f"{op.name}: {name}: expected {len(members)} numbers, got {value!r}")
            params.update(zip(members, values))
        elif name in known:
            params[name] = value
        else:
            raise Error(f"{op.name}: it has no input or parameter {name!r}, only "
                        f"{', '.join([*names, *sorted(known)])}")
    return [inputs.get(n) for n in names], params


class Reference:
    """The reference of an op: reals in double, rounded once where an output is stored.

    Calling it computes: `mote.reference("softmax")(x, axis=1)`. Arrays are of any library that has
    DLPack; results are NumPy's (a tuple if there are several outputs). Any ranks that the runtime
    takes are right: leading axes are a batch, operands broadcast. Without `axis` an op that works
    along one takes its last axis but one, that of N in [R, N, C]; a negative axis counts from the end.
    """

    def __init__(self, op: "str | Op") -> None:
        self.op = op_of(op)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The reference's outputs, each rounded once to its dtype.

        `named` are parameters of the op, inputs by name, and `axis`. Raises Error for an input or a
        parameter that is missing or unknown, and for dtypes, shapes and axes that the op does not take.
        """
        return self._outputs(_Call(self.op, inputs, named, None), _EXPECTED)

    def bound(self, *inputs: Any, contract: Contract | None = None, **named: Any) -> Any:
        """The Bound of each output for a kernel with that contract; a tuple if there are several.

        Raises Error as a call does, and for a contract with unknown words.
        """
        call = _Call(self.op, inputs, named, contract or Contract())
        bounds = []
        for k in range(len(self.op.outputs)):
            try:
                bounds.append(Bound(call.output(_LOWER, k), call.output(_UPPER, k)))
            except Unsupported:
                exact = call.output(_EXPECTED, k)
                bounds.append(Bound(exact, exact))
        return bounds[0] if len(bounds) == 1 else tuple(bounds)

    def _outputs(self, call: _Call, values: int) -> Any:
        outputs = tuple(call.output(values, k) for k in range(len(self.op.outputs)))
        return outputs[0] if len(outputs) == 1 else outputs

    def __repr__(self) -> str:
        return f"mote.reference({self.op.text!r})"


def reference(op: "str | Op") -> Reference:
    """The reference of an op, to be called on arrays: `mote.reference("softmax")(x, axis=-1)`.

    Without `axis` an op that works along an axis takes its last axis but one.
    """
    return Reference(op)


def assert_close(got: Any, op: "str | Op", *inputs: Any, contract: Contract | None = None,
                 accumulator: str | None = None, tf32: bool = False, **named: Any) -> None:
    """Raises AssertionError unless each element of `got` lies in the op's bound on these inputs.

    `got` is an array, or a tuple of the op's outputs (None: not judged). It is
    `torch.testing.assert_close` without a tolerance: the bound follows from the op, the data and the
    contract (by default sums in the inputs' dtype, in f32 for 16 bits). Raises Error if there is
    nothing to judge, for other dtypes and shapes of `got` than the op's, and as Reference does.
    """
    of = op_of(op)
    outputs = got if isinstance(got, (tuple, list)) else (got,)
    if all(y is None for y in outputs):
        names = ", ".join(y.name for y in of.outputs)
        raise Error(f"{of.name}: got: expected an array of {names}, got none")
    call = _Call(of, inputs, named, contract or Contract(accumulator, tf32))
    said = call.judge(tuple(outputs))
    if said:
        raise AssertionError(f"{of.name}: elements outside of the bound\n{said.rstrip()}")
