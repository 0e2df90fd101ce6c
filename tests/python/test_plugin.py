# SPDX-License-Identifier: Apache-2.0
"""The pytest plug-in: collection, options, failures' texts, xdist."""

TESTS = """
import numpy as np
import mote_kernels as mote

@mote.kernel_test("softmax", axis=-1, count=30)
def my_softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

@mote.kernel_test("relu", dtypes=["f32", "f64"], budget="30min")
def test_relu(x):
    return np.maximum(x, 1)

def test_the_kernel_is_still_a_function():
    assert my_softmax(np.float32([[1, 1]])).tolist() == [[0.5, 0.5]]
"""


def test_kernels_are_tests_whatever_their_names(pytester):
    pytester.makepyfile(test_kernels=TESTS)
    result = pytester.runpytest_subprocess("--mote-budget", "1s", "-p", "mote_kernels.pytest_plugin")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*relu: test_relu: FAILED (* judged, seed *",
                                 "*replay: mote.check(test_relu, 'relu', cases=*"])


def test_seeds_follow_from_names_or_the_option(pytester):
    pytester.makepyfile(test_kernels=TESTS)

    def seed(*words):
        result = pytester.runpytest_subprocess("-p", "mote_kernels.pytest_plugin", "--mote-budget",
                                               "200ms", "-k", "relu", *words)
        line = next(x for x in result.outlines if x.startswith("relu: test_relu: FAILED ("))
        return int(line.partition("seed ")[2].rstrip(")"))

    assert seed() == seed() != seed("--mote-seed", "7") == 7


def test_xdist_runs_them_in_any_order(pytester):
    pytester.makepyfile(test_kernels=TESTS, test_more=TESTS.replace("maximum(x, 1)", "maximum(x, 0)"))
    result = pytester.runpytest_subprocess("-n", "2", "--mote-budget", "1s", "-p",
                                           "mote_kernels.pytest_plugin")
    result.assert_outcomes(passed=5, failed=1)
