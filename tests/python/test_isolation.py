# SPDX-License-Identifier: Apache-2.0
"""Functions in workers: crashes and hangs are failures, correct functions never hang, Ctrl-C."""

import os
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


def test_a_crash_is_a_failure_with_a_smallest_case():
    f = mote.check(isolated.crashes_from_three, "relu", count=30, seed=1).failure
    assert f.verdict == "crashed" and "SIGSEGV" in f.reason
    assert f.inputs["x"].size in (3, 4) and f.got == {}


def test_a_hang_is_a_failure_within_the_limit():
    r = mote.check(isolated.hangs_from_three, "relu", count=3, seed=1, timeout=0.5, warm_up=0, shrink=4)
    assert r.failure.verdict == "hung"


def test_an_exception_brings_its_traceback_from_the_worker():
    f = mote.check(isolated.raises_from_three, "relu", count=30, seed=1).failure
    assert f.reason == "ValueError: three" and 'raise ValueError("three")' in f.traceback
    assert f.inputs["x"].size in (3, 4)


def test_a_write_outside_is_found():
    f = mote.check(isolated.writes_before, "relu", count=30, seed=1).failure
    assert f.verdict in ("out of bounds", "crashed"), f.verdict


def test_what_remembers_contents_is_stale():
    f = mote.check(isolated.exp_by_shape, "exp", count=60, seed=1).failure
    assert f.verdict == "stale", f.reason


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
