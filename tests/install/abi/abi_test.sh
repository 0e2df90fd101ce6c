#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abi_test.sh FOLDER: tests tools/abi.sh on a small library: it passes equal, added or hidden functions, and
# fails for a function that is gone and a struct with another layout.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
abi="$here/../../../tools/abi.sh"
mkdir -p "$1"
cd "$1"
build() { # build FLAGS...: builds libsome.so
  "${CXX:-c++}" -std=c++20 -g -O1 -shared -fPIC -Wl,-soname,libsome.so.1 "$@" "$here/library.cpp" -o libsome.so
}
build
"$abi" keep libsome.so "$here" "$PWD/kept.abi.xz"  # exits with 77 if abidiff is missing
failed=0
expect() { # expect STATUS TEXT FLAGS...
  build "${@:3}"
  local status=0
  "$abi" check libsome.so "$here" "$PWD/kept.abi.xz" >log 2>&1 || status=$?
  if [[ "$status" != "$1" ]] || ! grep -q "$2" log; then
    echo "with flags '${*:3}': status $status, expected $1 and '$2'"
    cat log
    failed=1
  fi
}
expect 0 'nothing of kept.abi.xz is gone or changed'
expect 0 'nothing of' -DADDED
expect 0 'nothing of' -DHIDDEN_CHANGE
expect 1 'some::rows' -DREMOVED
expect 1 'Size' -DWIDER
rm kept.abi.xz
expect 1 'tools/abi.sh keep'
exit "$failed"
