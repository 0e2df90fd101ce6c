#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the ABI of a shared library with the one that is kept in docs/abi/ (libabigail; Debian package
# abigail-tools):
#   tools/abi.sh check LIBRARY INCLUDE [KEPT.abi.xz]   fails if anything is removed or changed
#   tools/abi.sh keep  LIBRARY INCLUDE [KEPT.abi.xz]   writes the ABI to be kept
# LIBRARY has debug information, INCLUDE holds its public headers: types of other headers do not count.
# Additions do not fail.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
if ! command -v abidiff >/dev/null || ! command -v xz >/dev/null; then
  echo "skipped: no abidiff or no xz (Debian packages abigail-tools, xz-utils)"
  exit 77
fi
[[ $# -ge 3 && ("$1" == check || "$1" == keep) ]] || { sed -n '2,7p' "$0" >&2; exit 2; }
library="$(readlink -f "$2")"
soname="$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')"
kept="${4:-$here/docs/abi/$soname.abi.xz}"
if [[ "$(readelf --sections --wide "$library")" != *.debug_info* ]]; then
  echo "skipped: $library has no debug information (preset nightly compiles with it)"
  exit 77
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
abidw --exported-interfaces-only --headers-dir "$3" --drop-private-types --no-show-locs \
  --no-corpus-path --no-comp-dir-path --no-parameter-names --no-write-default-sizes \
  --out-file "$work/now.abi" "$library"
if [[ "$1" == keep ]]; then
  xz -9 --stdout "$work/now.abi" >"$kept"
  echo "kept: $kept"
  exit 0
fi
if [[ ! -f "$kept" ]]; then
  echo "there is no $kept: a new SONAME needs 'tools/abi.sh keep'"
  exit 1
fi
xz --decompress --stdout "$kept" >"$work/kept.abi"
if ! abidiff --no-added-syms "$work/kept.abi" "$work/now.abi"; then
  echo "the ABI of $soname is not that of $kept. Where that is meant: a new minor version, then"
  echo "'tools/abi.sh keep $2 $3' (docs/embedding.md, What stays, and what may change)"
  exit 1
fi
echo "$soname: nothing of $(basename "$kept") is gone or changed"
