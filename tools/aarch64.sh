#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles mote for AArch64 with Debian's cross compiler (preset aarch64), and checks the generated
# kernels under qemu-user: the cases around tiles, then random cases of every op and gradient for the
# number of seconds in $1 (60). `tools/install_packages.sh --aarch64` installs what it needs.
# Exit code 77: the compiler or the emulator is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds="${1:-60}"
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool (tools/install_packages.sh --aarch64)"
    exit 77
  fi
done
cmake --preset aarch64
cmake --build build/aarch64 --target mote
mote=(qemu-aarch64 build/aarch64/bin/mote)
"${mote[@]}" check --cases tests/oracle/tiles.cases --backend gen --require gen
"${mote[@]}" check --backend gen --require gen --budget "${seconds}s"
