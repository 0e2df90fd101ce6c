# SPDX-License-Identifier: Apache-2.0
"""A kernel on a pool of threads that works when the module is imported."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

pool = ThreadPoolExecutor(2)
list(pool.map(abs, range(8)))


def by_pool(x):
    return pool.submit(np.maximum, x, 0).result()
