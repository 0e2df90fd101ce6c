#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# environment.sh BUILD FOLDER: makes FOLDER/venv with the pinned packages, and FOLDER/package/mote_kernels,
# the package around the library of the build. Exit code 77: PyPI is not reachable, or there is no venv.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
build=$1 folder=$2
mkdir -p "$folder"
python="${MOTE_TEST_PYTHON:-python3}"
if ! cmp -s "$here/requirements.txt" "$folder/venv/installed.txt"; then
  rm -rf "$folder/venv"
  "$python" -m venv "$folder/venv" || { echo "skipped: $python has no venv (Debian: python3-venv)"; exit 77; }
  "$folder/venv/bin/pip" install -q --no-input --disable-pip-version-check -r "$here/requirements.txt" || {
    "$folder/venv/bin/pip" download -q --no-deps -d "$folder/probe" cffi >/dev/null 2>&1 && exit 1
    echo "skipped: PyPI is not reachable, or lacks wheels for $("$python" --version)"
    exit 77
  }
  cp "$here/requirements.txt" "$folder/venv/installed.txt"
fi
package="$folder/package/mote_kernels"
rm -rf "$package"
mkdir -p "$package"
ln -s "$root"/python/mote_kernels/* "$package/"
"$folder/venv/bin/python" "$root/python/make_ffi.py" "$root" "$package"
ln -s "$build/lib/libmote_python.so" "$package/libmote_python.so"
mkdir -p "$package/share/mote"
ln -s "$root/oracle/cases" "$package/share/mote/cases"
