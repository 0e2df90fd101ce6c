# SPDX-License-Identifier: Apache-2.0
"""A softmax of rows in Triton, checked: on the CPU under Triton's interpreter, or on a GPU.

    TRITON_INTERPRET=1 python triton_softmax.py    # on the CPU
    python triton_softmax.py                       # on a GPU
"""

import os

import torch
import triton
import triton.language as tl

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"


@triton.jit
def softmax_rows(y, x, x_row, x_column, y_row, y_column, columns, BLOCK: tl.constexpr,
                 MASKED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)  # row * x_row may exceed 2**31
    at = tl.arange(0, BLOCK).to(tl.int64)
    inside = at < columns if MASKED else at < BLOCK
    values = tl.load(x + row * x_row + at * x_column, mask=at < columns,
                     other=-float("inf") if MASKED else 0.0)
    shifted = tl.exp(values - tl.max(values, axis=0))
    result = shifted / tl.sum(tl.where(inside, shifted, 0.0), axis=0)
    tl.store(y + row * y_row + at * y_column, result, mask=at < columns)


def launch(x, masked):
    rows, columns = x.shape
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if rows and columns:
        softmax_rows[(rows,)](y, x, *x.stride(), *y.stride(), columns,
                              BLOCK=triton.next_power_of_2(columns), MASKED=masked)
    return y


def softmax(x):
    return launch(x, True)


def softmax_without_mask(x):
    """Lets what lies behind a row, as 0, be among its terms."""
    return launch(x, False)


if __name__ == "__main__":
    import mote_kernels as mote

    on = None if DEVICE == "cpu" else DEVICE
    options = {"axis": -1, "device": on, "isolate": False, "count": 20 if on is None else 500,
               "seed": 1}
    # Rows that lie further apart than 2**31 elements from first to last; no others are in memory.
    far = "softmax x=f32[150,3,1]:gap0x16777216 fill=uniform:1"
    print(mote.check(softmax, "softmax", cases=[far], **options))
    # The interpreter is slow: the first case is given, and not made smaller.
    print(mote.check(softmax_without_mask, "softmax", cases=["softmax x=f32[2,3,1] fill=uniform:1"],
                     max_failures=1, shrink=0, **options))
