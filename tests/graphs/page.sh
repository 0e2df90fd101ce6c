#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# page.sh MOTE FOLDER: runs the commands of docs/graphs.md, the lines "$ mote …" of its code blocks, in the tree.
# The lines below a command must be what it prints; numbers that a run computes may differ (another machine's
# kernels add in another order). The graph that the page shows must be that of examples/mlp.graph.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
mote=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$here/../.."
awk -v folder="$folder/" '
  /^    \$ mote / { print substr($0, 12) > sprintf("%s%02d.arguments", folder, ++step); shown = 1; next }
  /^    graph mlp/ && !shown { text = 1 }
  /^    / && text { print substr($0, 5) > (folder "mlp.graph"); next }
  /^    / && shown { print substr($0, 5) > sprintf("%s%02d.expected", folder, step); next }
  { shown = text = 0 }
' docs/graphs.md

failed=0 count=0
for step in "$folder"/*.arguments; do
  read -ra arguments <"$step"
  name="${step%.arguments}"
  count=$((count + 1))
  if ! "$mote" "${arguments[@]}" >"$name.printed" 2>&1; then
    echo "docs/graphs.md: 'mote ${arguments[*]}' fails:"
    cat "$name.printed"
    failed=1
    continue
  fi
  kind=output
  [[ "${arguments[1]}" != run ]] || kind=report
  if ! tests/install/printed.sh "$kind" "$name.expected" "$name.printed"; then
    echo "by 'mote ${arguments[*]}' of docs/graphs.md, which printed"
    cat "$name.printed"
    failed=1
  fi
done
((count >= 4)) || { echo "only $count commands in docs/graphs.md"; exit 1; }
diff <("$mote" graph show "$folder/mlp.graph") <("$mote" graph show examples/mlp.graph) || failed=1
exit "$failed"
