# SPDX-License-Identifier: Apache-2.0
"""Results of earlier calls: a function that writes into an array that it has returned is wrong, as a
program that keeps two results has one of them twice."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Callable

from ._arrays import is_torch, to_numpy
from ._door import Error
from ._exceptions import Returned
from ._lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")

_MOST_BYTES = 1 << 16  #: of an array that is kept
_MOST_HELD = 1 << 24  #: of the memory that it is a view of
_MOST_ARRAYS = 4
_TIMES = 2  #: of further calls: a function may take two buffers in turn
_FIRST = 2  #: calls that are always followed by further ones
_QUICK = 0.05  #: seconds that such a call takes at the most


class Earlier:
    """The latest small results, with what they held when they were returned."""

    def __init__(self) -> None:
        self._kept: collections.deque[tuple[str, Any, bytes]] = collections.deque(
            maxlen=_MOST_ARRAYS)
        self._calls = 0
        self._has_changed = False  #: it was found: each case shows it then

    def check(self, returned: dict[str, Any], inputs: dict[str, Any],
              again: Callable[[dict[str, Any]], Any], seconds: float) -> None:
        """Raises Returned if a result has changed since it was returned.

        `again` calls the function, which took `seconds`, on other inputs: at first, and where results
        share memory. That alone proves nothing: equal results may be cached, and rightly so.
        """
        self._raise_if_changed()
        held = [(name, y) for name, y in returned.items()
                if _is_small(y) and not any(_share(y, x) for x in inputs.values())]
        shares = any(_share(y, kept) for _, y in held for _, kept, _ in self._kept)
        self._kept.extend((name, y, to_numpy(y).tobytes()) for name, y in held)
        self._calls += 1 if held else 0
        is_first = self._calls <= _FIRST and seconds < _QUICK
        if not held or not (shares or is_first or self._has_changed):
            return
        try:
            for _ in range(_TIMES):
                again({name: _other(x) for name, x in inputs.items()})
        except Exception:  # noqa: BLE001: the function may refuse what no case has
            return
        self._raise_if_changed()

    def _raise_if_changed(self) -> None:
        for name, kept, data in self._kept:
            if to_numpy(kept).tobytes() != data:
                self._kept.clear()
                self._has_changed = True
                raise Returned(f"{name}: the function changed an array that it had returned before, "
                               "expected a new array from each call")


def _is_small(value: Any) -> bool:
    """True for an array of NumPy or PyTorch that can be kept, with what it is a view of."""
    if is_torch(value):
        try:
            return (value.numel() * value.element_size() <= _MOST_BYTES
                    and value.untyped_storage().nbytes() <= _MOST_HELD)
        except (NotImplementedError, RuntimeError):  # a sparse tensor
            return False
    if not isinstance(value, np.ndarray) or value.nbytes > _MOST_BYTES:
        return False
    while isinstance(value.base, np.ndarray):
        value = value.base
    return value.nbytes <= _MOST_HELD


def _share(a: Any, b: Any) -> bool:
    if is_torch(a) and is_torch(b):
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    try:
        return np.may_share_memory(to_numpy(a), to_numpy(b))
    except Error:
        return False


def _other(x: Any) -> Any:
    """A copy with the elements in the other order, reals with the other sign: what the op takes too."""
    if is_torch(x):
        other = x.flatten().flip(0).reshape(x.shape)
        return -other if other.is_floating_point() else other
    other = np.ascontiguousarray(np.ravel(x)[::-1]).reshape(x.shape)
    return -other if other.dtype.kind in "fV" else other
