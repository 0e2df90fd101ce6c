# SPDX-License-Identifier: Apache-2.0
# python pytorch_conv2d_one_column.py compares PyTorch's conv2d of small whole numbers, whose results are
# exact, with that without oneDNN, for outputs of one column and of two.
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
LAYOUTS = {"row-major": (4, 4, 2, 1), "channels last": (4, 1, 2, 1)}  # strides of a weight [2, 1, 2, 2]


def differing(dtype, strides, columns):
    """How many of 100 results are wrong."""
    weight = torch.as_strided(torch.arange(8.0).to(dtype), (2, 1, 2, 2), strides)
    count = 0
    for rows in range(2, 102):
        x = (torch.arange(2.0 * rows * (2 * columns + 1)) % 16).to(dtype)
        x = x.reshape(2, 1, rows, 2 * columns + 1)
        got = F.conv2d(x, weight, stride=(1, 2))
        with torch.backends.mkldnn.flags(enabled=False):
            expected = F.conv2d(x, weight, stride=(1, 2))
        assert got.shape[-1] == columns
        count += not torch.equal(got, expected)
    return count


for dtype in (torch.float32, torch.bfloat16):
    for layout, strides in LAYOUTS.items():
        one, two = (differing(dtype, strides, columns) for columns in (1, 2))
        print(f"{dtype}, {layout} weight: {one} of 100 differ with one column, {two} with two")
