# SPDX-License-Identifier: Apache-2.0
"""mote for Python: kernels checked against generated references, without a tolerance.

    import mote_kernels as mote

    r = mote.check(my_softmax, "softmax", axis=-1)
    print(r)                 # the smallest case that fails, and why
    r.failure.inputs["x"]    # that case as arrays

docs/python.md shows the rest.
"""

from . import concrete, dynamic, graphs
from ._arrays import Tensor
from ._check import check
from ._door import Error, Unsupported, lib as _lib, text as _text
from ._ops import Op, op, ops
from ._reference import Bound, Reference, assert_close, reference
from ._result import Difference, Failure, Result
from ._signature import kind_of as arrays_of
from ._subject import Contract
from ._testing import kernel_test
from ._tool import emit, explain

__version__: str = _text(_lib.mote_version())

__all__ = [
    "Bound", "Contract", "Difference", "Error", "Failure", "Op", "Reference", "Result", "Tensor",
    "Unsupported", "arrays_of", "assert_close", "check", "concrete", "dynamic", "emit", "explain", "graphs",
    "kernel_test", "op", "ops", "reference",
]
