#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# emit.sh PREFIX LIBDIR FOLDER: runs the commands that `mote emit OP --plugin` prints, with only the installed
# files: they compile and check the op's own emitted kernel.
set -euo pipefail
rm -rf "$3"
mkdir -p "$3"
cd "$3"
export PATH="$1/bin:$PATH"
for op in gemm slice conv2d.grad; do
  source="$(mote emit "$op" --standalone -o .)"
  function="mote_$(basename "$source" .c)"
  mote emit "$op" --plugin "$function" --source "$source" -o "of $op" >"$function.printed"
  sed -n 2p "$function.printed" | grep -q -- "-I$1/include "
  sed -n 2p "$function.printed" | bash -e
  sed -n 3p "$function.printed" | sed 's/$/ --count 60 --seed 1/' | bash -e
done
