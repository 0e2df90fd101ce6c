#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how many isolated cases a second and core the oracle judges, for each op.

Each op's random cases run on the generated kernels, in f32 where the op has it, on one processor.
The time is that of the tool and of its workers on that processor, so that other work on the machine
counts little. It includes the start of the tool, and is the least of the repetitions. Several tools
are measured in turn. Prints a Markdown table of the slowest ops.

Usage: oracle_rate.py [--count 150] [--seed 1] [--repeat 1] [--slowest 20] [--ops a,b] TOOL...
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path


def ops_of(tool):
    """Returns the ops of the catalogue, each with the dtype that is measured."""
    lines = subprocess.run([tool, "ops", "--json"], check=True, capture_output=True, text=True)
    ops = [json.loads(line) for line in lines.stdout.splitlines()]
    return {o["op"]: "f32" if "f32" in o["dtypes"] else o["dtypes"][0] for o in ops}


def seconds_and_cases(tool, op, dtype, options):
    command = [tool, "check", op, "--backend", "gen", "--dtype", dtype, "--json", "--shrink", "0s",
               "--count", str(options.count), "--seed", str(options.seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 4):  # 4: no kernel
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    rows = [r for r in map(json.loads, text.splitlines()) if r["type"] == "row"]
    return usage.ru_utime + usage.ru_stime, sum(sum(r["verdicts"].values()) for r in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", nargs="+")
    for name, default in (("count", 150), ("seed", 1), ("repeat", 1), ("slowest", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--ops", default="")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ops = ops_of(options.tools[-1])
    chosen = options.ops.split(",") if options.ops else list(ops)
    rates = {}
    for op in chosen:
        best = [0.0] * len(options.tools)
        for _ in range(options.repeat):
            for k, tool in enumerate(options.tools):
                seconds, cases = seconds_and_cases(tool, op, ops[op], options)
                best[k] = max(best[k], cases / seconds)
        rates[op] = best
    slowest = sorted(rates, key=lambda op: rates[op][-1])[:options.slowest]
    names = [Path(tool).name for tool in options.tools]
    print("| op | " + " | ".join(names) + " |\n|---|" + "--:|" * len(names))
    for op in slowest:
        print(f"| {op} | " + " | ".join(f"{rate:.0f}" for rate in rates[op]) + " |")
    slow = sum(rate[-1] < 200 for rate in rates.values() if rate[-1] > 0)
    print(f"\n{len(rates)} ops, {slow} of them below 200 cases a second")


if __name__ == "__main__":
    main()
