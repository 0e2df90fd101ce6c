# SPDX-License-Identifier: Apache-2.0
"""The capsule of a DLManagedTensor, made and taken by Python's C API: no library has a function for it."""

from __future__ import annotations

import ctypes
from typing import Any

from ._door import ffi, lasting

_NAME = b"dltensor"
_USED = b"used_dltensor"
_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


@lasting
@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _free(capsule: int) -> None:
    """Frees a capsule that nothing took: a consumer renames it to used_dltensor."""
    if _is_valid(capsule, _NAME):
        managed = ffi.cast("DLManagedTensor*", _pointer(capsule, _NAME))
        managed.deleter(managed)


def capsule_of(managed: Any) -> Any:
    address = int(ffi.cast("uintptr_t", managed))
    return _new(address, _NAME, ctypes.cast(_free, ctypes.c_void_p))


_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def taken(capsule: object) -> Any:
    """The DLManagedTensor of a capsule, which is the caller's to delete from now on."""
    managed = ffi.cast("DLManagedTensor*", _pointer_of(capsule, _NAME))
    _rename(capsule, _USED)
    return managed
