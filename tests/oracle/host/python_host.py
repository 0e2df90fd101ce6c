# SPDX-License-Identifier: Apache-2.0
"""The oracle's C functions from Python: python_host.py LIBMOTE_ORACLE LIBRARY, where the library has the
functions of kernels.h. Each is called in the interpreter first, as a program that uses it does, and
Python's own threads are busy meanwhile."""
import ctypes
import sys
import threading
import time

OK, FAILED = 0, 4


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("dtype", ctypes.c_char_p),
        ("accumulator", ctypes.c_char_p),
        ("row_major", ctypes.c_int32),
        ("nondeterministic", ctypes.c_int32),
        ("count", ctypes.c_int64),
        ("seed", ctypes.c_uint64),
    ]


def call(function):
    x = (ctypes.c_float * 64)(*([1.0] * 64))
    y = (ctypes.c_float * 4)()
    strides = ctypes.c_int64 * 3
    function(x, strides(16, 1, 1), y, strides(1, 1, 0), ctypes.c_int64(4), ctypes.c_int64(16),
             ctypes.c_int64(1))
    if list(y) != [16.0] * 4:
        sys.exit(f"expected four sums of 16, got {list(y)}")


def check(oracle, function):
    options = Options(size=ctypes.sizeof(Options), count=60, seed=1)
    report = ctypes.c_char_p()
    begin = time.monotonic()
    status = oracle.mote_check_function(b"sum", function, ctypes.byref(options), ctypes.byref(report))
    return status, (report.value or b"").decode(), time.monotonic() - begin


def main():
    oracle = ctypes.CDLL(sys.argv[1])
    library = ctypes.CDLL(sys.argv[2])
    ends = threading.Event()
    busy = threading.Thread(target=lambda: [str(k) for k in iter(ends.is_set, True)])
    busy.start()
    failures = 0
    for name in ("openmp_sum", "pool_sum"):
        call(library[name])
        for suffix, expected in (("", OK), ("_short", FAILED)):
            status, report, seconds = check(oracle, library[name + suffix])
            print(f"{name}{suffix}: status {status} in {seconds:.1f} s")
            if status != expected or "hung" in report or seconds > 60:
                print(f"expected status {expected}, got {status}:\n{report}")
                failures += 1
    ends.set()
    busy.join()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
