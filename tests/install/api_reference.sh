#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# api_reference.sh FOLDER: Doxygen reads every public header without a warning, and writes FOLDER/html.
set -euo pipefail
if ! command -v doxygen >/dev/null; then
  echo "skipped: no doxygen (Debian package doxygen)"
  exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rm -rf "$1"
mkdir -p "$1"
{ cat Doxyfile; echo "OUTPUT_DIRECTORY = $1"; } | doxygen -  # WARN_AS_ERROR is set there
for page in mote_8h classmote_1_1Tensor classmote_1_1Registry; do
  [[ -s "$1/html/$page.html" ]] || { echo "no page $page"; exit 1; }
done
