# SPDX-License-Identifier: Apache-2.0
# python pytorch_matmul_far_columns.py STRIDE multiplies 1 by two columns, 0 and 1, that lie STRIDE elements
# apart; of the memory between only two pages are used.
import sys

import numpy as np
import torch

torch.set_num_threads(1)
stride = int(sys.argv[1])
memory = np.empty(stride + 1, np.float32)
columns = np.lib.stride_tricks.as_strided(memory, (1, 2), (4, 4 * stride))
columns[...] = [0, 1]
print(f"stride {stride}:", torch.matmul(torch.ones(2, 9, 1, 1), torch.from_numpy(columns))[0, 0, 0].tolist())
