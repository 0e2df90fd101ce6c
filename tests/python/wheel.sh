#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD FOLDER: builds the wheel of a copy of the sources, names it by the manylinux tag that fits,
# checks its size and what its library needs, installs it in an empty environment, and uses it there without
# a compiler. Exit code 77: PyPI is not reachable.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
folder=$2
python="${MOTE_TEST_PYTHON:-python3}"
rm -rf "$folder"
mkdir -p "$folder/source" "$folder/wheels" "$folder/alone"
if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
  git -C "$root" ls-files -z --cached --others --exclude-standard
else
  (cd "$root" && find . -path ./build -prune -o -type f -print0)
fi | tar -C "$root" --null --files-from=- --ignore-failed-read -cf - | tar -C "$folder/source" -xf -
"$python" -m venv "$folder/builder"
"$folder/builder/bin/pip" download -q --no-deps -d "$folder/probe" cffi >/dev/null 2>&1 ||
  { echo "skipped: PyPI is not reachable"; exit 77; }
# The compilers have the names that they have in other builds, so that ccache finds what those made.
export CC="${CC:-cc}" CXX="${CXX:-c++}"
"$folder/builder/bin/pip" wheel -q --no-deps -w "$folder/wheels" "$folder/source"
# The oldest glibc and libstdc++ that the wheel runs with are part of its name, as PyPI wants it.
"$folder/builder/bin/pip" install -q 'auditwheel==6.8.2' 'wheel==0.48.0'
wheel=$(echo "$folder/wheels"/mote_kernels-*.whl)
tag=$("$folder/builder/bin/auditwheel" show "$wheel" | tr '\n' ' ' |
  sed -nE 's/.*following platform tag: *"([a-z0-9_]+)".*/\1/p')
[[ "$tag" == manylinux_* ]] || { echo "the wheel fits no manylinux tag: $tag"; exit 1; }
"$folder/builder/bin/wheel" tags --remove --platform-tag "$tag" "$wheel" >/dev/null
"$here/wheel_use.sh" "$folder/wheels"/mote_kernels-*-"$tag".whl "$folder/alone"
