# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy, PyTorch and JAX over memory that mote describes, and tensors of mote over theirs.

NumPy and PyTorch see the memory itself. JAX's arrays are immutable and asynchronous, so they are
copies.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any, Callable

from ._door import Error, checked, ffi, lasting, lib
from ._exceptions import Returned
from ._lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")  # an import of this package does not wait for it

KINDS = ("numpy", "torch", "jax")
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_NAMES = {
    (_FLOAT, 64): "f64", (_FLOAT, 32): "f32", (_FLOAT, 16): "f16", (_BFLOAT, 16): "bf16",
    (_INT, 64): "i64", (_INT, 32): "i32", (_INT, 8): "i8", (_UINT, 8): "u8", (_BOOL, 8): "bool",
}
_CODES = {name: code for code, name in _NAMES.items()}
#: The reals of 16 bits.
NARROW = tuple(name for (code, bits), name in _NAMES.items()
               if code in (_FLOAT, _BFLOAT) and bits == 16)
_NUMPY = {
    "f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32",
    "i8": "int8", "u8": "uint8", "bool": "bool_",
}


def dtype_name(dl: Any) -> str:
    """mote's name of a DLDataType."""
    try:
        return _NAMES[dl.code, dl.bits]
    except KeyError:
        raise Error(f"dtype: mote has none with code {dl.code} and {dl.bits} bits") from None


def known_dtype(name: Any) -> str:
    """The name of a dtype. Raises Error, with mote's name of NumPy's dtype, if it is none of mote's."""
    if isinstance(name, str) and name in _CODES:
        return name
    other = getattr(name, "name", None) or getattr(name, "__name__", name)
    ours = [own for own, numpys in (*_NUMPY.items(), ("bf16", "bfloat16"), ("bool", "bool"))
            if str(other).removeprefix("torch.") == numpys]
    said = f": {ours[0]} is its name" if ours else ""
    raise Error(f"dtype: expected {', '.join(_CODES)}, got {name!r}{said}")


def extents(shape: Any) -> list[int]:
    """The extents of a shape. Raises Error for what is none."""
    try:
        return [operator.index(extent) for extent in shape]
    except TypeError:
        raise Error(f"shape: expected whole numbers as in (2, 3), got {shape!r}") from None


def unpacked(given: tuple[Any, ...]) -> list[int]:
    """The numbers of reshape(2, 3), or of reshape((2, 3))."""
    return extents(given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given)


def dl_dtype(name: str) -> Any:
    code, bits = _CODES[known_dtype(name)]
    return {"code": code, "bits": bits, "lanes": 1}


def numpy_dtype(name: str) -> np.dtype:
    """NumPy's dtype; that of bf16 is ml_dtypes', which JAX brings along."""
    if name != "bf16":
        return np.dtype(_NUMPY[name])
    try:
        import ml_dtypes
    except ImportError:
        raise Error("bf16: NumPy has no such dtype; the package ml_dtypes adds it") from None
    return np.dtype(ml_dtypes.bfloat16)


def name_of_numpy(dtype: np.dtype) -> str:
    if dtype.name == "bfloat16":
        return "bf16"
    for name, numpy_name in _NUMPY.items():
        if dtype == np.dtype(numpy_name):
            return name
    raise Error(f"dtype: mote has no {dtype}")


def _memory(dl: Any, dtype: np.dtype, keep: Any) -> np.ndarray:
    """The array over a DLTensor's memory; `keep` is what owns that."""
    shape = tuple(dl.shape[0:dl.ndim])
    strides = tuple(dl.strides[0:dl.ndim]) if dl.strides != ffi.NULL else None
    if dl.data == ffi.NULL or 0 in shape:
        return np.zeros(shape, dtype)
    size = dtype.itemsize
    first = ffi.cast("char*", dl.data) + dl.byte_offset
    if strides is None:
        strides = tuple(int(s) // size for s in np.empty(shape, np.int8).strides)
    lowest = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides))
    highest = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides))
    first = first + lowest * size
    if keep is not None:  # the array keeps the buffer, which keeps the pointer, which keeps this
        first = ffi.gc(first, lambda _, kept=keep: None)
    buffer = ffi.buffer(first, (highest - lowest + 1) * size)
    return np.ndarray(shape, dtype, buffer, -lowest * size, tuple(s * size for s in strides))


def numpy_over(dl: Any) -> np.ndarray:
    """A NumPy array over the memory of a DLTensor, which must outlive it."""
    return _memory(dl, numpy_dtype(dtype_name(dl.dtype)), None)


def torch_over(dl: Any) -> Any:
    """A torch tensor over the memory of a DLTensor, which must outlive it."""
    import torch

    if dtype_name(dl.dtype) == "bf16":
        return torch.from_numpy(_memory(dl, np.dtype(np.int16), None)).view(torch.bfloat16)
    return torch.from_numpy(numpy_over(dl))


def jax_from(dl: Any) -> Any:
    """A JAX array with the elements of a DLTensor."""
    import jax.numpy as jnp

    values = numpy_over(dl)
    array = jnp.array(values)
    if array.dtype != values.dtype:
        raise Error(f"JAX keeps {values.dtype} as {array.dtype}: set jax_enable_x64")
    return array


MAKERS: dict[str, Callable[[Any], Any]] = {
    "numpy": numpy_over, "torch": torch_over, "jax": jax_from,
}


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any) -> np.ndarray:
    """The elements of an array of any library that has DLPack or NumPy's protocols.

    A tensor of PyTorch is detached and comes from its device; one in bf16 becomes ml_dtypes'.
    """
    if isinstance(value, np.ndarray):
        return value
    if is_torch(value):
        import torch

        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            return value.view(torch.int16).numpy().view(numpy_dtype("bf16"))
        return value.resolve_conj().resolve_neg().numpy()
    if hasattr(value, "__array__") or isinstance(value, (int, float, bool, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    raise Error(f"expected an array, got {type(value).__name__}")


def store(value: Any, dl: Any, name: str) -> None:
    """Copies a returned array to an output. Raises Returned for another dtype or shape."""
    if is_torch(value) and dtype_name(dl.dtype) == "bf16":
        import torch

        to = torch_over(dl)
        if value.dtype == torch.bfloat16 and value.numel() == to.numel() and (
                _without_leading_ones(value) == _without_leading_ones(to)):
            to.copy_(value.detach().cpu().reshape(to.shape))
            return
    wanted = numpy_over(dl)
    try:
        array = to_numpy(value)
    except Error:
        raise Returned(f"{name}: the function returned {type(value).__name__}, "
                       f"expected {_form(wanted)}") from None
    except (TypeError, NotImplementedError) as e:  # of PyTorch: a sparse tensor, one on "meta"
        raise Returned(f"{name}: the function returned a tensor that cannot be read, "
                       f"expected {_form(wanted)}: {e}") from None
    if array.dtype != wanted.dtype and _is_narrowed_by_jax(value, array, wanted):
        array = array.astype(wanted.dtype)
    if array.dtype == wanted.dtype and _without_leading_ones(array) == _without_leading_ones(wanted):
        wanted[...] = array.reshape(wanted.shape)  # inputs may lack leading axes of extent 1
        return
    raise Returned(f"{name}: the function returned {_form(array)}, expected {_form(wanted)}")


def _is_narrowed_by_jax(value: Any, array: np.ndarray, wanted: np.ndarray) -> bool:
    """True for indices in i32 of JAX, which has no i64 unless jax_enable_x64 is set."""
    jax = sys.modules.get("jax")
    return (jax is not None and isinstance(value, jax.Array) and not jax.config.jax_enable_x64
            and wanted.dtype == np.int64 and array.dtype == np.int32)


def _without_leading_ones(array: Any) -> tuple[int, ...]:
    shape = tuple(array.shape)
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def _form(array: np.ndarray) -> str:
    return f"{array.dtype}{list(array.shape)}"


def check_memory(value: Any, what: str, is_written: bool) -> None:
    """Raises Error for an array whose memory mote cannot use where it is."""
    if isinstance(value, Tensor):
        if not isinstance(value._keep, np.ndarray):
            return
        value = value._keep  # what the tensor is over
    array = to_numpy(value)
    if is_written and not array.flags.writeable:
        raise Error(f"{what} needs an array that can be written to, got one that is read only")
    if any(stride % array.dtype.itemsize for stride in array.strides):
        raise Error(f"{what} needs strides of whole elements, got {array.strides} bytes")


def as_asked(array: np.ndarray, dtype: Any, copy: bool | None) -> np.ndarray:
    """What __array__ returns: the array, or a copy if one is asked for or its dtype needs it."""
    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError(f"array: expected {np.dtype(dtype)}, got {array.dtype}, which is not "
                         "converted without a copy")
    return array.astype(dtype)


_held: dict[int, Any] = {}


@lasting
@ffi.callback("void(DLManagedTensor*)")
def _let_go(managed: Any, held: dict[int, Any] = _held) -> None:
    held.pop(int(ffi.cast("uintptr_t", managed)), None)


def _managed(value: Any) -> Any:
    """The DLManagedTensor of an array's memory: the array's own, or one that holds the array."""
    if is_torch(value) and value.requires_grad:
        value = value.detach()
    if hasattr(value, "__dlpack__") and not isinstance(value, Tensor):
        from ._capsule import taken

        try:
            return taken(value.__dlpack__())
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # a dtype that it does not export, or memory that is read only
    array = to_numpy(value)
    size = array.dtype.itemsize
    if any(s % size for s in array.strides):
        array = np.ascontiguousarray(array)
    managed = ffi.new("DLManagedTensor*")
    shape = ffi.new("int64_t[]", list(array.shape))
    strides = ffi.new("int64_t[]", [s // size for s in array.strides])
    managed.dl_tensor = {
        "data": ffi.cast("void*", array.__array_interface__["data"][0]),
        "device": {"device_type": 1, "device_id": 0}, "ndim": array.ndim,
        "dtype": dl_dtype(name_of_numpy(array.dtype)), "shape": shape, "strides": strides,
        "byte_offset": 0,
    }
    managed.deleter = _let_go
    _held[int(ffi.cast("uintptr_t", managed))] = managed, shape, strides, value, array
    return managed


class Tensor:
    """A tensor of mote: it owns or views memory, and goes to and from any library by DLPack.

    `numpy()`, `numpy.from_dlpack`, `torch.from_dlpack` and `jax.dlpack.from_dlpack` see its memory
    without a copy.
    """

    def __init__(self, handle: Any, keep: Any = None) -> None:
        self.handle = ffi.gc(handle, lib.mote_tensor_free)
        self._keep = keep

    @classmethod
    def over(cls, value: Any) -> "Tensor":
        """A view of an array's memory: NumPy's, or any library's whose arrays have DLPack."""
        if isinstance(value, Tensor):
            return value
        array = to_numpy(value)
        size = array.dtype.itemsize
        if any(s % size for s in array.strides):
            array = np.ascontiguousarray(array)
        handle = ffi.new("mote_tensor**")
        address = array.__array_interface__["data"][0]
        checked(lib.mote_tensor_over(
            ffi.cast("void*", address), dl_dtype(name_of_numpy(array.dtype)), array.ndim,
            list(array.shape), [s // size for s in array.strides], handle))
        return cls(handle[0], array)

    @classmethod
    def sharing(cls, value: Any) -> "Tensor":
        """A tensor in an array's memory, which stays as long as anything of mote needs it."""
        if isinstance(value, Tensor) and value._keep is None:
            return value
        managed = _managed(value)
        handle = ffi.new("mote_tensor**")
        try:
            checked(lib.mote_tensor_from_dlpack(managed, handle))
        except Exception:
            managed.deleter(managed)
            raise
        return cls(handle[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return tuple(self.handle.dl.shape[0:self.handle.dl.ndim])

    @property
    def dtype(self) -> str:
        """mote's name: "f32"."""
        return dtype_name(self.handle.dl.dtype)

    def numpy(self) -> np.ndarray:
        """An array over the same memory, which it keeps alive."""
        dl = self.handle.dl
        return _memory(dl, numpy_dtype(dtype_name(dl.dtype)), self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """For NumPy: `np.asarray(t)` is over the tensor's memory, `np.array(t)` is a copy."""
        return as_asked(self.numpy(), dtype, copy)

    def _copied(self) -> "Tensor":
        made, dl = ffi.new("mote_tensor**"), self.handle.dl
        checked(lib.mote_tensor_create(dl.dtype, dl.ndim, list(self.shape), made))
        copy = Tensor(made[0])
        checked(lib.mote_tensor_copy(self.handle, copy.handle))
        return copy

    def __dlpack__(self, *, stream: Any = None, copy: bool | None = None, **_: Any) -> Any:
        from ._capsule import capsule_of

        managed = ffi.new("DLManagedTensor**")
        of = self._copied() if copy else self
        checked(lib.mote_tensor_to_dlpack(of.handle, managed))
        return capsule_of(managed[0])

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.handle.dl.device
        return device.device_type, device.device_id

    def __repr__(self) -> str:
        return f"mote.Tensor({self.dtype}{list(self.shape)})"

