# SPDX-License-Identifier: Apache-2.0
"""Functions in workers: crashes and hangs are failures, correct functions never hang, Ctrl-C."""

import functools
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mote_kernels as mote
import isolated
import threaded


def test_workers_are_the_default_where_the_function_has_a_name():
    r = mote.check(isolated.relu, "relu", count=30, seed=1)
    assert r.passed and r.isolated
    assert not mote.check(lambda x: np.maximum(x, 0), "relu", count=3, seed=1).isolated
    with pytest.raises(mote.Error, match="a worker cannot import the function"):
        mote.check(lambda x: x, "relu", count=3, isolate=True)


def test_partials_of_numbers_run_in_workers():
    r = mote.check(functools.partial(isolated.greater, least=0), "relu", count=20, seed=1)
    assert r.passed and r.isolated
    r = mote.check(functools.partial(isolated.greater, least=1), "relu", count=20, seed=1, shrink=1)
    assert not r.passed and "mote.check(functools.partial(greater, least=1), 'relu'" in str(r)
    r = mote.check(functools.partial(isolated.greater, least=np.int64(0)), "relu", count=3, seed=1)
    assert r.passed and not r.isolated  # that is no number of Python's


def test_a_crash_is_a_failure_with_a_smallest_case():
    f = mote.check(isolated.crashes_from_three, "relu", count=30, seed=1).failure
    assert f.verdict == "crashed" and "SIGSEGV" in f.reason
    assert f.inputs["x"].size in (3, 4) and f.got == {}


def test_a_hang_is_a_failure_within_the_limit():
    r = mote.check(isolated.hangs_from_three, "relu", count=3, seed=1, timeout=0.5, warm_up=0, shrink=4)
    assert r.failure.verdict == "hung"


@pytest.mark.parametrize("fn, size", [(isolated.hangs_always, 1), (isolated.hangs_from_three, 4),
                                      (isolated.hangs_at_nan, 1)])
def test_a_hang_is_found_in_five_seconds_and_made_smaller(fn, size):
    """The time in which its process waits for a processor does not count."""
    f = mote.check(fn, "relu", seed=1, max_failures=1).failure
    assert f.verdict == "hung" and f.inputs["x"].size <= size
    seconds = re.fullmatch(r"no result after (\d) s in which it loaded and compiled nothing", f.reason)
    assert seconds is not None and int(seconds[1]) < 5, f.reason


@pytest.mark.parametrize("fn", [isolated.compiles_at_first, isolated.compiles_later])
def test_a_kernel_that_is_compiled_does_not_hang(fn):
    r = mote.check(fn, "relu", count=30, seed=1)
    assert r.passed and r.isolated, str(r)


def test_a_slow_kernel_does_not_hang():
    case = "relu x=f32[1,1,4,100] fill=index:0"
    r = mote.check(isolated.is_slow, "relu", cases=case, seed=1, shrink=1)
    assert r.passed and r.judged == 1, str(r)


def test_an_exception_brings_its_traceback_from_the_worker():
    f = mote.check(isolated.raises_from_three, "relu", count=30, seed=1).failure
    assert f.reason == "ValueError: three" and 'raise ValueError("three")' in f.traceback
    assert f.inputs["x"].size in (3, 4)


def processes_of(fn, folder, monkeypatch):
    """How many runs it has had, and in how many processes."""
    monkeypatch.setenv("MOTE_TEST_PROCESSES", str(folder / "processes"))
    assert mote.check(fn, "relu", count=10, seed=1).failure.traceback
    noted = (folder / "processes").read_text().split()
    return len(noted), len(set(noted))


def test_an_exception_does_not_end_its_worker(tmp_path, monkeypatch):
    """A new worker may take seconds: of a module that starts threads, as JAX's runtime does."""
    runs, processes = processes_of(isolated.raises_and_notes_its_process, tmp_path, monkeypatch)
    assert runs > 20 and processes < 10


def test_an_error_that_a_gpu_keeps_ends_its_worker(tmp_path, monkeypatch):
    runs, processes = processes_of(isolated.raises_as_a_gpu_does, tmp_path, monkeypatch)
    assert processes > runs / 4


@pytest.mark.parametrize("isolate", [True, False])
def test_shrink_limits_the_diagnosis_too(isolate):
    begin = time.monotonic()
    r = mote.check(isolated.takes_its_time, "relu", count=3, seed=1, shrink=0.5, isolate=isolate)
    assert r.failure is not None and time.monotonic() - begin < 6


def test_a_write_outside_is_found():
    f = mote.check(isolated.writes_before, "relu", count=30, seed=1).failure
    assert f.verdict in ("out of bounds", "crashed"), f.verdict


def test_what_remembers_contents_is_stale():
    f = mote.check(isolated.exp_by_shape, "exp", count=60, seed=1).failure
    assert f.verdict == "stale", f.reason


@pytest.mark.parametrize("fn", [isolated.relu_in_one_buffer_a_shape, isolated.relu_in_one_buffer,
                                isolated.relu_in_two_buffers])
@pytest.mark.parametrize("isolate", [True, False])
def test_a_result_that_a_later_call_changes_is_found(fn, isolate):
    r = mote.check(fn, "relu", count=60, seed=1, isolate=isolate, shrink=2)
    assert "y: the function changed an array that it had returned before" in r.failure.reason
    assert "expected a new array from each call" in str(r)


@pytest.mark.parametrize("fn", [isolated.relu_of_known_results, isolated.relu_may_return_its_input])
@pytest.mark.parametrize("isolate", [True, False])
def test_results_that_stay_may_be_shared(fn, isolate):
    r = mote.check(fn, "relu", count=60, seed=1, isolate=isolate)
    assert r.passed, str(r)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("fn, op, axis", [(isolated.relu_ignores_strides, "relu", None),
                                          (isolated.softmax_ignores_strides, "softmax", -1),
                                          (isolated.relu_takes_one_stride, "relu", None)])
def test_strides_that_are_ignored_are_no_staleness(fn, op, axis, seed):
    r = mote.check(fn, op, axis=axis, count=60, seed=seed, shrink=3)
    verdicts = {f.verdict: f for f in r.failures}
    assert verdicts and "stale" not in verdicts, str(r)
    told = [f for f in r.failures if f.verdict in ("failed", "nondeterministic")]
    assert all(f.diagnosis.startswith("strides ignored: with the elements of x read one after")
               for f in told if fn is not isolated.relu_takes_one_stride), str(r)


def test_threads_of_the_import_are_no_problem():
    """The module computes on a pool of threads when it is imported; a fork would lack them."""
    r = mote.check(threaded.by_pool, "relu", count=20, seed=1)
    assert r.passed and r.isolated, str(r)


def test_threads_of_this_process_are_no_problem():
    import jax.numpy as jnp

    jnp.ones(3).block_until_ready()  # XLA has threads now
    assert mote.check(isolated.relu, "relu", count=20, seed=1).passed


SCRIPT = """
import numpy as np
import mote_kernels as mote

def relu(x):
    return np.maximum(x, 0)

r = mote.check(relu, "relu", count=20, seed=1)
print(r, r.isolated)
"""


def test_a_script_needs_no_guard(scripts):
    done = scripts(SCRIPT)
    assert done.stdout.startswith("relu: relu: passed (") and done.stdout.endswith("True\n")
    assert done.stderr == ""


def test_an_import_that_fails_is_an_error_that_says_so(scripts):
    done = scripts("import os\nif 'MOTE_WORKER' in os.environ: import not_there\n" + SCRIPT)
    assert done.returncode == 1 and "No module named 'not_there'" in done.stderr
    assert "isolate=False runs it in this process" in done.stderr


@pytest.mark.parametrize("isolate", [True, False])
def test_ctrl_c_in_a_terminal_returns_what_was_found(isolate, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("count=20", f"budget=60, isolate={isolate}").replace(
        "r = mote", "print('begin', flush=True)\nr = mote"))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "begin\n"
    time.sleep(4)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "judged, interrupted" in out and "not finished" in out, out + err


def test_a_script_may_check_two_functions(scripts):
    done = scripts(SCRIPT + """
def exp(x):
    return np.exp(x)

def relu(x):
    return -np.maximum(x, 0)

r = mote.check(exp, "exp", count=20, seed=1)
assert r.failure is None and len(r.failures) == 0 and r
print(r, r.isolated)
r = mote.check(relu, "relu", count=20, seed=1)
print(r.passed, r.isolated)
""")
    assert done.stderr == ""
    first, second, third = done.stdout.splitlines()
    assert first.startswith("relu: relu: passed (") and first.endswith("True")
    assert second.startswith("exp: exp: passed (") and second.endswith("True")
    assert third == "False True"


def test_a_script_has_its_arguments_in_workers(scripts):
    done = scripts("import argparse\nparser = argparse.ArgumentParser()\n"
                   "parser.add_argument('--count', required=True)\n"
                   "print('once', parser.parse_args().count)\n" + SCRIPT, "--count", "20")
    assert done.stderr == ""
    once, line = done.stdout.splitlines()
    assert once == "once 20" and line.endswith("True")


GUARDED = SCRIPT.replace("\ndef relu", "\nif __name__ == '__main__':\n  def relu").replace(
    "\n    return", "\n      return").replace("\nr =", "\n  r =").replace("\nprint", "\n  print")


def test_a_function_that_a_worker_cannot_find_runs_in_this_process(scripts):
    done = scripts(GUARDED)
    assert done.stderr == "" and done.stdout.startswith("relu: relu: passed (")
    assert done.stdout.endswith("False\n")
    done = scripts(GUARDED.replace("seed=1", "seed=1, isolate=True"))
    assert "a worker cannot find the function: relu is not in" in done.stderr
    assert "isolate=False runs it in this process" in done.stderr


@pytest.mark.parametrize("text", [SCRIPT, GUARDED])
def test_a_module_that_is_run_by_m(text, tmp_path):
    package = tmp_path / "own"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "run.py").write_text(text)
    done = subprocess.run([sys.executable, "-m", "own.run"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120)
    assert done.stderr == "" and done.stdout.endswith(f"{text is SCRIPT}\n"), done.stdout


def test_static_methods_and_class_methods_run_in_workers(scripts):
    done = scripts("""
import numpy as np
import mote_kernels as mote

class Kernels:
    @staticmethod
    def relu(x):
        return np.maximum(x, 0)

    @classmethod
    def exp(cls, x):
        return np.exp(x)

for fn, op in ((Kernels.relu, "relu"), (Kernels.exp, "exp")):
    r = mote.check(fn, op, count=20, seed=1)
    print(r.passed, r.isolated)
""")
    assert done.stderr == "" and done.stdout == "True True\n" * 2
