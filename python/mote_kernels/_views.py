# SPDX-License-Identifier: Apache-2.0
"""Indexing of variables and symbols: NumPy's basic indices as views."""

from __future__ import annotations

import math
import numbers
from typing import Any, Iterator, Sequence

from ._door import Error


class Indexed:
    """What has a shape and the views slice, select and reshape, and so can be indexed."""

    __slots__ = ()
    _noun: str  # "variable", for messages

    def __getitem__(self: Any, key: Any) -> Any:
        """A view by integers, slices and `...`, as NumPy's basic indexing."""
        keys = list(key) if isinstance(key, tuple) else [key]
        shape = self.shape
        if any(k is Ellipsis for k in keys):
            at = next(n for n, k in enumerate(keys) if k is Ellipsis)
            keys[at:at + 1] = [slice(None)] * (len(shape) - len(keys) + 1)
        if len(keys) > len(shape):
            raise IndexError(f"a {self._noun} of {len(shape)} axes has no {len(keys)} indices")
        view, axis = self, 0
        for k, extent in zip(keys, shape):
            if isinstance(k, slice):
                begin, end, step = k.indices(extent)
                count = len(range(begin, end, step))
                if (begin, count, step) != (0, extent, 1):
                    view = view.slice(axis, begin if count else 0, count, step)
                axis += 1
            elif isinstance(k, numbers.Integral):
                if not -extent <= k < extent:
                    raise IndexError(f"index {k} of an axis of extent {extent}")
                view = view.select(axis, int(k) % extent)
            else:
                raise TypeError(f"an index is an integer or a slice, got {type(k).__name__}")
        return view if view is not self else view.reshape(*shape)

    @property
    def T(self: Any) -> Any:
        """The view with the axes in reverse order."""
        return self.permute(*reversed(range(len(self.shape))))

    def _extents(self: Any, extents: Sequence[int]) -> Sequence[int]:
        """A shape for reshape, in which one -1 stands for the extent that the others leave."""
        if -1 not in extents:
            return extents
        if list(extents).count(-1) > 1:
            raise Error(f"reshape: expected one -1 at most, got {list(extents)}")
        others = math.prod(e for e in extents if e != -1)
        count = math.prod(self.shape)
        if others <= 0 or count % others != 0:
            raise Error(f"reshape: expected extents whose product divides the {count} elements of "
                        f"{list(self.shape)}, got {list(extents)}")
        return [count // others if e == -1 else e for e in extents]

    def __len__(self: Any) -> int:
        if not self.shape:
            raise TypeError(f"a {self._noun} without axes has no length")
        return self.shape[0]

    def __iter__(self: Any) -> Iterator[Any]:
        return (self.select(0, k) for k in range(len(self)))
