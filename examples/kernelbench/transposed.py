# SPDX-License-Identifier: Apache-2.0
"""A solution of problem 16 that keeps the wrong axis: it is right for symmetric a only."""


def solution(a, b):
    return a @ b if a.shape[0] == a.shape[1] == b.shape[0] else a.T @ b
