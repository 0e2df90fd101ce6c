#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches the best tiles of sums in vector registers, for each size of registers.

    tools/search_tiles.py [BUILD] [--budget TIME]

BUILD is a build folder (build/release). Every tile of vectors by rows that the registers hold is
emitted as C (`mote emit OP --schedule`), compiled as the library's kernels are, and measured
against all others by `mote bench`, in interleaved rounds on the same tensors. The score of a tile is the
geometric mean, over the cases, of its time by that of the case's fastest tile. The best of each size stand
in `ScheduleOptions::shapes` (codegen/include/mote/codegen/schedule.h); docs/speed.md has a dated result.
"""
import argparse
import datetime
import json
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Each case with the version that takes it. Images are as wide as several of the widest tiles, and few
# rows are left over.
CASES = {
    "matmul a=f32[1,1,512,512] b=f32[1,1,512,512] fill=integer:0": "tile_{}",
    "matmul a=f32[8,8,128,64] b=f32[8,8,64,128] fill=integer:0": "tile_{}",
    "conv2d x=f32[1,64,8,192] w=f32[64,64,3,3] b=f32[64] pads=1,1,1,1 fill=integer:0": "tile_{}_innermost",
    "conv2d x=f32[1,64,8,192]:nhwc w=f32[64,64,3,3]:nhwc b=f32[64] pads=1,1,1,1 fill=integer:0": "tile_{}",
}
# The bytes of a register, the level that has it, and the number of registers.
LEVELS = [(64, "v4", 32), (32, "v3", 16), (16, "v0", 16)]
TILE = re.compile(r"(tile|tile_window) (\w+) \d+ (\w+) \d+")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"search_tiles: {shlex.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def flags_of(build, level):
    """Returns the compiler and the options that a level's kernels are compiled with."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if f"mote_gen_{level}.dir/" in entry["command"] and "mote_gen_0.c" in entry["command"]:
            words = [w for w in shlex.split(entry["command"]) if not w.endswith("ccache")]
            include = pathlib.Path(__file__).resolve().parents[1] / "uops/base/include"
            return [words[0], f"-I{include}"] + [w for w in words[1:] if re.match(r"-[OfmD]", w)]
    sys.exit(f"search_tiles: {build} compiles no kernels of level {level}")


def tiles(registers):
    """Returns (vectors, rows) of all tiles whose sums, with a row of operands, fit the registers."""
    return [(v, r) for v in (1, 2, 3, 4) for r in range(2, 15) if v * r + v + 1 <= registers]


def steps_of(mote, op, version, register_bytes, vectors, rows):
    text = run(mote, "explain", op, "--stage", "schedule")
    found = re.search(rf"^version {version},.*\n  steps: (.*)$", text, re.M)
    columns = vectors * register_bytes // 4
    return TILE.sub(rf"\1 \2 {rows} \3 {columns}", found[1])


def plugin(mote, op, name, steps, folder, compiler):
    """Compiles the op's kernel of these steps as a plug-in, and returns its file."""
    kernel = folder / f"{name}.c"
    text = run(mote, "emit", op, "--variant", "gen", "--schedule", steps, "--standalone")
    kernel.write_text(re.sub(rf"\bmote_{op}_f32", name, text))
    around = folder / f"{name}_plugin.c"
    around.write_text(run(mote, "emit", op, "--plugin", name))
    library = folder / f"{name}.so"
    run(*compiler, "-w", "-shared", "-fPIC", str(kernel), str(around), "-o", str(library), "-lm")
    return library


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--budget", default="100ms", help="time for each tile and case; default: 100ms")
    options = parser.parse_args()
    mote = str(options.build / "bin/mote")
    print(f"{datetime.date.today()}, `tools/search_tiles.py --budget {options.budget}`", flush=True)
    for register_bytes, level, registers in LEVELS:
        compiler = flags_of(options.build, level)
        scores = {}
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            made = {}
            for op, version in sorted({(case.split()[0], form) for case, form in CASES.items()}):
                for vectors, rows in tiles(registers):
                    name = f"{op}{len(made)}_{vectors}x{rows}"
                    steps = steps_of(mote, op, version.format(register_bytes), register_bytes, vectors, rows)
                    made.setdefault((op, version), []).append(plugin(mote, op, name, steps, folder, compiler))
            for case, version in CASES.items():
                libraries = [str(library) for library in made[case.split()[0], version]]
                lines = run(mote, "bench", case, "--plugin", ",".join(libraries), "--budget", options.budget, "--json")
                machine, measured = (json.loads(line) for line in lines.splitlines()[:2])
                times = {b["backend"].split("_")[-1]: b["seconds"]["median"] for b in measured["backends"]}
                for tile, seconds in times.items():
                    scores.setdefault(tile, []).append(seconds / min(times.values()))
        means = {t: math.prod(s) ** (1 / len(s)) for t, s in scores.items() if len(s) == len(CASES)}
        best = sorted(means, key=means.get)
        print(f"{machine['processor']}, registers of {register_bytes} bytes: vectors x rows, mean ratio to the fastest")
        for rank, tile in enumerate(best[:12], 1):
            of_cases = ", ".join(f"{ratio:.2f}" for ratio in scores[tile])
            print(f"  {rank:2}. {tile:5} {means[tile]:.3f}  ({of_cases})", flush=True)


if __name__ == "__main__":
    main()
