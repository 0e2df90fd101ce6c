# SPDX-License-Identifier: Apache-2.0
# python pytorch_conv2d_bf16.py compares PyTorch's conv2d of small whole numbers in bf16, which are exact,
# with that in f32, with oneDNN and without, for outputs of one column and of two.
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
weight = torch.arange(8.0).reshape(2, 2, 1, 2)
for width in (3, 5):
    for onednn in (True, False):
        differ = columns = 0
        for rows in range(1, 101):
            x = (torch.arange(4.0 * rows * width) % 16).reshape(2, 2, rows, width)
            expected = F.conv2d(x, weight, stride=(1, 2), dilation=(1, 2))
            with torch.backends.mkldnn.flags(enabled=onednn):
                got = F.conv2d(x.bfloat16(), weight.bfloat16(), stride=(1, 2), dilation=(1, 2))
            differ += not torch.equal(got, expected.bfloat16())
            columns = got.shape[-1]
        print(f"{columns} columns, oneDNN {'on' if onednn else 'off'}: {differ} of 100 differ")
