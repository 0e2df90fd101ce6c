#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Goes from a fresh clone to the main job: installs, builds, checks OpenBLAS against the generated
# reference, then finds, shrinks and replays a planted bug. Exits with 0 if all went as expected.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mote=build/release/bin/mote

step() { printf '\n== %s\n' "$*"; }

# Prints the command as one would type it.
show() {
  local word
  printf '$'
  for word in "$@"; do
    [[ "$word" =~ ^[A-Za-z0-9_./=-]+$ ]] || word="'$word'"
    printf ' %s' "$word"
  done
  printf '\n'
}

# expect CODE COMMAND...: shows the command, runs it, and stops if it ends with another code.
expect() {
  local wanted=$1 got=0
  shift
  show "$@"
  "$@" || got=$?
  ((got == wanted)) || {
    echo "quickstart: that should have exited with $wanted, but exited with $got" >&2
    exit 1
  }
}

step "Install the packages that are missing."
tools/install_packages.sh

step "Build what can be installed and the planted bugs; every kernel is generated on the way."
mkdir -p build
cmake --preset release >build/quickstart-configure.log || {
  cat build/quickstart-configure.log >&2
  exit 1
}
cmake --build --preset release --target mote_installed mote_mutants

step "Check OpenBLAS against the generated reference on random cases."
expect 0 "$mote" check gemm matmul conv2d --backend openblas --budget "${QUICKSTART_BUDGET:-20s}"

step "The same on the matrix products of a real network, BERT-base."
expect 0 "$mote" check --backend openblas --cases bert_base

step "Plant a bug: a gemm that drops the last K % 8 terms of each sum. It must be found (exit 1)."
report=build/quickstart-planted-bug.txt
expect 1 "$mote" check gemm --plugin build/release/lib/mutants/gemm_k_tail.so --dtype f32 --seed 1 \
  --budget 2s | tee "$report"

step "Replay the smallest case that still fails, from its one line of text (exit 1 again)."
case_text=$(sed -n "s/^ *replay: *//p" "$report" | head -n 1)
case_text=${case_text#mote replay }
case_text=${case_text#\'}
case_text=${case_text%\'}
[[ -n "$case_text" ]] || {
  echo "quickstart: the report names no case to replay" >&2
  exit 1
}
expect 1 "$mote" replay "$case_text"

step "All went as expected. The tool is $mote; try: $mote --help"
