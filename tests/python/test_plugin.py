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


CLASSES = """
import numpy as np
import mote_kernels as mote

class TestKernels:
    factor = 1

    @mote.kernel_test("relu", count=10)
    def of_instance(self, x):
        return np.maximum(x, 0) * x.dtype.type(self.factor)

    @staticmethod
    @mote.kernel_test("relu", count=10)
    def outside(x):
        return np.maximum(x, 1)

    @mote.kernel_test("relu", count=10)
    @staticmethod
    def inside(x):
        return np.maximum(x, 0)

    def test_they_are_still_functions(self):
        assert self.of_instance(np.float32([-1, 1])).tolist() == [0, 1]
        assert self.inside(np.float32([-1, 1])).tolist() == [0, 1]
        assert self.outside(np.float32([-1, 1])).tolist() == [1, 1]

class TestMore(TestKernels):
    factor = 2
"""


def test_methods_of_classes_are_tests(pytester):
    pytester.makepyfile(test_classes=CLASSES)
    result = pytester.runpytest_subprocess("-p", "mote_kernels.pytest_plugin", "-v")
    result.stdout.fnmatch_lines([
        "*TestKernels::of_instance PASSED*", "*TestKernels::outside FAILED*",
        "*TestKernels::inside PASSED*", "*TestMore::of_instance FAILED*"])
    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(["*relu: TestKernels.outside: FAILED (*"])


def test_a_mistake_in_a_kernel_test_is_one_line(pytester):
    pytester.makepyfile(test_mistake=TESTS.replace('"softmax", axis', '"sofmax", axis'))
    result = pytester.runpytest_subprocess("-p", "mote_kernels.pytest_plugin", "-k", "softmax")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unknown op 'sofmax': did you mean softmax?*"])
    assert len(result.outlines) < 20 and "another exception" not in result.stdout.str()


def test_a_skip_is_reported_where_the_kernel_is(pytester):
    skipped = TESTS.replace('@mote.kernel_test("softmax"',
                            '@__import__("pytest").mark.skip(reason="later")\n@mote.kernel_test("softmax"')
    pytester.makepyfile(test_kernels=skipped)
    result = pytester.runpytest_subprocess("-p", "mote_kernels.pytest_plugin", "-rs", "-k", "softmax")
    result.stdout.fnmatch_lines(["SKIPPED * test_kernels.py:4: later"])


PARAMETERS = """
import numpy as np
import pytest
import mote_kernels as mote

@pytest.mark.parametrize("dtypes", ["f32", "f64"])
@pytest.mark.parametrize("block, least", [(16, 0), (64, 1)])
@mote.kernel_test("relu", count=10)
def my_relu(x, block, least):
    assert block in (16, 64)
    return np.maximum(x, x.dtype.type(least))

@pytest.mark.parametrize("code", [7])
@mote.kernel_test("relu", count=3, isolate=True, shrink=1)
def ends(x, code):
    __import__("os")._exit(code)

@pytest.mark.parametrize("nonsense", [1])
@mote.kernel_test("relu", count=10)
def other(x):
    return np.maximum(x, 0)

@pytest.mark.parametrize("factor", [1, 2])
class TestKernels:
    @mote.kernel_test("relu", count=10)
    def scaled(self, x, factor):
        return np.maximum(x, 0) * x.dtype.type(factor)

def test_it_is_still_a_function():
    assert my_relu(np.float32([-1, 1]), 16, 0).tolist() == [0, 1]
    assert my_relu(np.float32([-1, 1]), block=16, least=0).tolist() == [0, 1]
"""


def test_parameters_of_a_kernel_and_options_of_the_check_have_many_values(pytester):
    pytester.makepyfile(test_many=PARAMETERS)
    result = pytester.runpytest_subprocess("-p", "mote_kernels.pytest_plugin", "-v")
    result.stdout.fnmatch_lines([
        "*my_relu?16-0-f32? PASSED*", "*my_relu?16-0-f64? PASSED*", "*my_relu?64-1-f32? FAILED*",
        "*my_relu?64-1-f64? FAILED*", "*ends?7? FAILED*", "*other?1? FAILED*",
        "*TestKernels::scaled?1? PASSED*", "*TestKernels::scaled?2? FAILED*"])
    result.assert_outcomes(passed=4, failed=5)
    result.stdout.fnmatch_lines([
        "relu: my_relu: FAILED (*",
        "  replay: mote.check(functools.partial(my_relu, block=64, least=1), 'relu', cases=*",
        "  smallest case: relu x=f64*", "  ended the process (exit code 7)*",
        "other: parametrize: expected a parameter of the function or an option of mote.check, "
        "got nonsense", "relu: TestKernels.scaled: FAILED (*"])
