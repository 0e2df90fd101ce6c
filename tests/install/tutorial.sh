#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tutorial.sh PREFIX LIBDIR FOLDER: follows docs/tutorial.md. Blocks of the page with a name become files,
# blocks `sh` are run in order, and the text of a block `output` or `report` must be in the output of the last
# command (printed.sh).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
page="$here/../../docs/tutorial.md"
rm -rf "$3"
mkdir -p "$3/steps"
cd "$3"
export PATH="$1/bin:$PATH" PKG_CONFIG_PATH="$1/$2/pkgconfig" CMAKE_PREFIX_PATH="$1"
export CMAKE_GENERATOR="${GENERATOR:-Ninja}"

awk '
  /^```/ && !inside {
    inside = 1
    kind = substr($1, 4)
    target = kind == "sh" ? sprintf("steps/%02d.sh", ++step) \
           : kind == "output" || kind == "report" ? sprintf("steps/%02d.%s", step, kind) : $2
    next
  }
  /^```/ { inside = 0; next }
  inside && target != "" { print > target }
' "$page"

failed=0
for step in steps/*.sh; do
  name="${step%.sh}"
  # A command runs as a reader types it; `!` precedes a command that must fail.
  if ! bash -euo pipefail "$step" >"$name.printed" 2>&1; then
    echo "$step of $page fails:"
    cat "$step" "$name.printed"
    exit 1
  fi
  for kind in output report; do
    [[ -f "$name.$kind" ]] || continue
    if ! "$here/printed.sh" "$kind" "$name.$kind" "$name.printed"; then
      echo "after $step of $page, which printed"
      cat "$name.printed"
      failed=1
    fi
  done
done
exit "$failed"
