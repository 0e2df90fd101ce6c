#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares mote's generated kernels with oneDNN, PyTorch (eager, compiled), JAX and ONNX Runtime.

Measures the cases of oracle/cases/speed.cases in rounds: each round runs every subject, in another
order each time, in one process for each number of threads. `mote run` makes the data, which the
subjects share in memory that begins on a page (JAX may copy it). Prints a Markdown table: the time
of the generated kernel, that of the best other, and the ratio of the two by rounds with the
interval that holds its median with 99% (the ranks of the sign test, as in `mote bench`).

Results are compared first: a case whose data make every sum exact has to equal mote's reference,
and the exit code is 1 where it does not. For other cases the table has the greatest difference from
mote's reference, in units of 2^-24 of the greatest element. `mote check` judges mote's own kernels
by their bounds.

Usage: speed.py BUILD [--threads 1,2] [--rounds 12] [--only TEXT]; BUILD is a build folder.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

TURN_SECONDS = 0.004  # a turn of a fast subject repeats its call for this long
PAUSE_SECONDS = 0.01  # a turn begins once no thread of this process has worked for this long
PATIENCE_SECONDS = 2.0  # threads that wait for work by spinning longer than this are an error
MISSED = 0.01  # the probability that an interval misses the median
INEXACT = ("softmax", "softmax.grad", "attention", "attention.grad", "layer_norm",
           "layer_norm.grad", "batch_norm_training", "gelu")


def median_of(samples):
    """Returns the median and the interval that holds the true one."""
    samples, n = sorted(samples), len(samples)
    total, rank = 2.0 ** -n, 0
    for k in range(1, n // 2):
        total += math.comb(n, k) * 2.0 ** -n
        if total > MISSED / 2:
            break
        rank = k
    return (samples[(n - 1) // 2] + samples[n // 2]) / 2, samples[rank], samples[n - 1 - rank]


def difference(data, outputs):
    """Returns the greatest difference from the reference in units of 2^-24 of the greatest element;
    infinite where an element is no number, or an output of another size."""
    import numpy as np
    worst = 0.0
    for name, got in outputs.items():
        expected = data.expected[name]
        if data.is_nhwc(name):
            expected = expected.transpose(0, 2, 3, 1)
        if got.size != expected.size:
            return math.inf
        apart = np.abs(got.reshape(expected.shape).astype(np.float64) - expected)
        if not np.isfinite(apart).all():
            return math.inf
        greatest = max(float(np.abs(expected).max()), 1e-30)
        worst = max(worst, float(apart.max()) / greatest * 2 ** 24)
    return worst


def seconds_of(call, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def wait_for_rest():
    """Waits until the threads of the subject before have stopped to spin: ONNX Runtime's do so for
    longer than a call of the next subject lasts, which then has one processor fewer."""
    end = time.perf_counter() + PATIENCE_SECONDS
    while time.perf_counter() < end:
        begin = time.process_time()
        time.sleep(PAUSE_SECONDS)
        if time.process_time() - begin < PAUSE_SECONDS / 10:
            return
    raise RuntimeError(f"threads of this process were still at work after {PATIENCE_SECONDS} s")


def measured(subjects, rounds):
    """Returns the seconds of a call of each subject in each round."""
    calls = {}
    for name, (call, _) in subjects.items():
        once = min(seconds_of(call, 1), seconds_of(call, 1))
        calls[name] = max(1, min(int(TURN_SECONDS / once), 1000))
    seconds = {name: [] for name in subjects}
    names = list(subjects)
    for turn in range(rounds):
        for k in range(len(names)):
            name = names[(turn + (k if turn % 2 == 0 else -k)) % len(names)]
            call = subjects[name][0]
            wait_for_rest()
            if calls[name] > 1:
                call()
            seconds[name].append(seconds_of(call, calls[name]))
    return seconds


def measure_case(mote, case, threads, rounds):
    from speed_data import Data
    from speed_libraries import jax_subjects, onnxruntime_subjects, torch_subjects
    data = Data(mote.tool, case)
    subjects, left_out = {}, {}
    for backend in mote.contexts:
        if backend == "oneDNN" and not mote.is_taken(case, "onednn"):
            continue
        try:
            subjects[backend] = mote.subject(data, backend)
        except RuntimeError as error:
            left_out[backend] = str(error).splitlines()[0]
    for make in (torch_subjects, jax_subjects, onnxruntime_subjects):
        try:
            subjects.update(make(data, threads))
        except Exception as error:  # pylint: disable=broad-except
            left_out[make.__name__] = str(error).splitlines()[0] if str(error) else repr(error)
    differences = {}
    for name in list(subjects):
        try:
            subjects[name][0]()
            differences[name] = difference(data, subjects[name][1]())
        except Exception as error:  # pylint: disable=broad-except
            left_out[name] = str(error).splitlines()[0] if str(error) else repr(error)
            del subjects[name]
    return {"case": case, "threads": threads, "left_out": left_out, "differences": differences,
            "exact": data.op not in INEXACT, "seconds": measured(subjects, rounds)}


def measure(options):
    """Measures all cases with one number of threads; prints a line of JSON for each."""
    from speed_data import Mote, cases
    mote = Mote(Path(options.build).resolve())
    for case in cases():
        if options.only in case:
            result = measure_case(mote, case, options.measure, options.rounds)
            print(json.dumps(result), flush=True)


def environment(threads):
    """Returns the environment of a measuring process.

    Every library keeps its memory instead of giving it back to the system after each call, since
    the pages of a fresh output take longer to come than some ops.
    """
    env = dict(os.environ)
    env.pop("OPENBLAS_CORETYPE", None)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        env[name] = str(threads)
    env["MALLOC_MMAP_THRESHOLD_"] = str(32 << 20)
    env["MALLOC_TRIM_THRESHOLD_"] = str(8 << 30)
    env["MALLOC_TOP_PAD_"] = str(256 << 20)
    env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
    return env


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def versions():
    from importlib.metadata import version
    return ", ".join(f"{name} {version(package)}" for name, package in
                     (("PyTorch", "torch"), ("JAX", "jax"), ("ONNX Runtime", "onnxruntime")))


def shown(seconds):
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def cells(result):
    """Returns ours, the best peer with its name, and the ratio with its interval."""
    seconds = {name: s for name, s in result["seconds"].items() if s}
    ours = seconds.pop("mote", None)
    if not ours or not seconds:
        return ["-", "-", "-"]
    best = min(seconds, key=lambda name: median_of(seconds[name])[0])
    value, low, high = median_of([a / b for a, b in zip(ours, seconds[best])])
    return [shown(median_of(ours)[0]), f"{best} {shown(median_of(seconds[best])[0])}",
            f"{value:.2f} ({low:.2f}–{high:.2f})"]


def short(case):
    words = [w for w in case.split() if not w.startswith(("y=", "gx=", "gw=", "fill="))]
    return " ".join(w.replace("=f32", "").replace("=i64", "") for w in words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--only", default="")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options)
    threads = [int(t) for t in options.threads.split(",")]
    results, wrong = {}, []
    last = max(os.sched_getaffinity(0))
    for t in threads:
        command = [sys.executable, __file__, options.build, "--measure", str(t), "--rounds",
                   str(options.rounds), "--only", options.only]
        prefix = ["taskset", "-c", str(last)] if t == 1 else []  # JAX counts the processors
        with subprocess.Popen(prefix + command, stdout=subprocess.PIPE, text=True,
                              env=environment(t)) as process:
            for line in process.stdout:
                result = json.loads(line)
                results.setdefault(result["case"], {})[t] = result
                print(f"{t} threads: {short(result['case'])}: {cells(result)}", file=sys.stderr)
                for name, why in result["left_out"].items():
                    print(f"  left out: {name}: {why}", file=sys.stderr)
        if process.returncode != 0:
            return process.returncode
    print(f"{processor()}, {os.cpu_count()} processors, load {os.getloadavg()[1]:.1f}, "
          f"{time.strftime('%d %B %Y')}; {versions()}.\n")
    head = ["case"] + [f"{what}, {t} thread{'s' * (t > 1)}" for t in threads
                       for what in ("ours", "best peer", "ours / best")] + ["difference"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for case, by_threads in results.items():
        row = [short(case)]
        for t in threads:
            row += cells(by_threads[t]) if t in by_threads else ["-"] * 3
        worst = max((d, name) for r in by_threads.values() for name, d in r["differences"].items())
        row.append("none" if worst[0] == 0 else f"{worst[0]:.1f} ({worst[1]})")
        print("| " + " | ".join(row) + " |")
        if any(r["exact"] for r in by_threads.values()) and worst[0] != 0:
            wrong.append(f"{short(case)}: {worst[1]} differs from the reference")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
